#include "http/cairn/bench/chart.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace cairn::bench {
namespace {

constexpr double panel_width = 440;
constexpr double panel_height = 300;
// Of the plot in its panel.
constexpr double left = 64;
constexpr double right = panel_width - 16;
constexpr double top = 56;
constexpr double bottom = panel_height - 44;

// Plain colours: many programs that show pictures know no variables of CSS.
constexpr const char* style = R"(<style>
  .page { fill: #ffffff; }
  text { fill: #1f2328; font: 12px sans-serif; }
  .title { font-weight: bold; }
  .grid { stroke: #d8dee4; }
  .curve { fill: none; stroke-width: 2; }
  .ours, .ours_dashed { stroke: #0a62c4; }
  .rival, .rival_dashed { stroke: #c2410c; }
  .ours_dashed, .rival_dashed { stroke-dasharray: 6 4; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; }
    text { fill: #e6edf3; }
    .grid { stroke: #30363d; }
    .ours, .ours_dashed { stroke: #58a6ff; }
    .rival, .rival_dashed { stroke: #ff9a57; }
  }
</style>
)";

const char* class_of(stroke how) {
    switch (how) {
        case stroke::ours: return "ours";
        case stroke::ours_dashed: return "ours_dashed";
        case stroke::rival: return "rival";
        case stroke::rival_dashed: return "rival_dashed";
    }
    return "";
}

std::string escaped(const std::string& text) {
    std::string safe;
    for (const char c : text) {
        if (c == '&')
            safe += "&amp;";
        else if (c == '<')
            safe += "&lt;";
        else
            safe += c;
    }
    return safe;
}

// 1, 10, 100, 1k, ... 1M, 1G
std::string tick_text(double value) {
    if (value >= 1e9) return fmt::format("{:g}G", value / 1e9);
    if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
    if (value >= 1e3) return fmt::format("{:g}k", value / 1e3);
    return fmt::format("{:g}", value);
}

// Whole powers of ten around all values, laid between two coordinates.
class axis {
public:
    axis(const std::vector<double>& values, double from, double to) : from_(from), to_(to) {
        double min = 1e300;
        double max = 0;
        for (const double value : values) {
            if (value > 0) min = std::min(min, value);
            max = std::max(max, value);
        }
        if (max > 0) {
            low_ = std::floor(std::log10(min));
            high_ = std::max(low_ + 1, std::ceil(std::log10(max)));
        }
        has_zero_ = std::find(values.begin(), values.end(), 0.0) != values.end();
        if (has_zero_) --low_;
    }
    double at(double value) const {
        const double power = value > 0 ? std::max(low_, std::log10(value)) : low_;
        return from_ + (to_ - from_) * (power - low_) / (high_ - low_);
    }
    // At most eight, so that their texts do not touch.
    std::vector<double> ticks() const {
        const double step = std::ceil((high_ - low_ + 1) / 8);
        std::vector<double> all;
        for (double power = low_; power <= high_; power += step) all.push_back(std::pow(10, power));
        if (has_zero_) all.front() = 0;
        return all;
    }

private:
    double from_;
    double to_;
    double low_ = 0;
    double high_ = 1;
    bool has_zero_ = false;
};

using text = std::back_insert_iterator<std::string>;

void draw_axes(text out, const panel& of, const axis& x, const axis& y) {
    for (const double tick : x.ticks()) {
        const double at = x.at(tick);
        fmt::format_to(out, R"(<line class="grid" x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}"/>)",
                       at, top, bottom);
        fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", at,
                       bottom + 16, tick_text(tick));
    }
    for (const double tick : y.ticks()) {
        const double at = y.at(tick);
        fmt::format_to(out, R"(<line class="grid" x1="{1}" y1="{0:.1f}" x2="{2}" y2="{0:.1f}"/>)",
                       at, left, right);
        fmt::format_to(out, "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 6,
                       at + 4, tick_text(tick));
    }
    fmt::format_to(out, "<text class=\"title\" x=\"{}\" y=\"16\">{}</text>\n", left,
                   escaped(of.title));
    fmt::format_to(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                   (left + right) / 2, bottom + 34, escaped(of.x_name));
    fmt::format_to(out,
                   "<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">"
                   "{}</text>\n",
                   (top + bottom) / 2, escaped(of.y_name));
}

void draw_line(text out, const line& of, const axis& x, const axis& y) {
    fmt::format_to(out, "<polyline class=\"curve {}\" points=\"", class_of(of.how));
    for (const auto& [at, value] : of.points) {
        fmt::format_to(out, "{:.1f},{:.1f} ", x.at(at), y.at(value));
    }
    fmt::format_to(out, "\"/>\n");
}

// In one row over the plot.
void draw_legend(text out, const std::vector<line>& lines) {
    double at = left;
    for (const line& each : lines) {
        fmt::format_to(out, R"(<line class="curve {}" x1="{}" y1="36" x2="{}" y2="36"/>)",
                       class_of(each.how), at, at + 14);
        fmt::format_to(out, "<text x=\"{}\" y=\"40\">{}</text>\n", at + 18, escaped(each.name));
        at += 94;
    }
}

void draw(text out, const panel& of) {
    std::vector<double> all_x;
    std::vector<double> all_y;
    for (const line& each : of.lines) {
        for (const auto& [x, y] : each.points) {
            all_x.push_back(x);
            all_y.push_back(y);
        }
    }
    const axis x(all_x, left, right);
    const axis y(all_y, bottom, top);
    draw_axes(out, of, x, y);
    for (const line& each : of.lines) draw_line(out, each, x, y);
    draw_legend(out, of.lines);
}

}  // namespace

std::string to_svg(const std::vector<panel>& panels) {
    const double width = 2 * panel_width;
    const double height = panel_height * static_cast<double>((panels.size() + 1) / 2);
    std::string all;
    const text out(all);
    fmt::format_to(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
                   "width=\"{0}\" height=\"{1}\">\n",
                   width, height);
    all += style;
    fmt::format_to(out, "<rect class=\"page\" width=\"{}\" height=\"{}\"/>\n", width, height);
    for (std::size_t i = 0; i < panels.size(); ++i) {
        fmt::format_to(out, "<g transform=\"translate({} {})\">\n",
                       static_cast<double>(i % 2) * panel_width,
                       static_cast<double>(i / 2) * panel_height);
        draw(out, panels[i]);
        all += "</g>\n";
    }
    all += "</svg>\n";
    return all;
}

}  // namespace cairn::bench
