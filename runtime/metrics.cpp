#include "runtime/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sstream>
#include <utility>

namespace cairn {
namespace {

std::size_t stripe_of_this_thread() noexcept {
    static std::atomic<std::size_t> threads{0};
    thread_local const std::size_t index = threads.fetch_add(1, std::memory_order_relaxed);
    return index;
}

std::vector<prometheus::ClientMetric::Label> to_prometheus(const metric_labels& labels) {
    std::vector<prometheus::ClientMetric::Label> list;
    for (const auto& [name, value] : labels) list.push_back({name, value});
    return list;
}

double seconds(std::chrono::nanoseconds time) noexcept {
    return std::chrono::duration<double>(time).count();
}

prometheus::ClientMetric::Histogram to_prometheus(const histogram& source) {
    prometheus::ClientMetric::Histogram target;
    const auto counts = source.counts();
    for (std::size_t i = 0; i < histogram::bucket_count; ++i) {
        target.sample_count += counts[i];
        target.bucket.push_back({target.sample_count, seconds(histogram::upper_bound(i))});
    }
    target.sample_count += counts[histogram::bucket_count];
    target.bucket.push_back({target.sample_count, INFINITY});
    target.sample_sum = static_cast<double>(source.total_us()) / 1e6;
    return target;
}

const std::array<std::int64_t, histogram::bucket_count>& bounds_ns() noexcept {
    static const auto bounds = [] {
        std::array<std::int64_t, histogram::bucket_count> list{};
        double bound = 1000;
        for (auto& each : list) {
            each = std::llround(bound);
            bound *= std::sqrt(2.0);
        }
        return list;
    }();
    return bounds;
}

}  // namespace

void counter::add(std::uint64_t amount) noexcept {
    const std::size_t index = stripe_of_this_thread() % stripes_.size();
    stripes_[index].value.fetch_add(amount, std::memory_order_relaxed);
}

std::uint64_t counter::value() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& each : stripes_) sum += each.value.load(std::memory_order_relaxed);
    return sum;
}

void histogram::observe(std::chrono::nanoseconds time) noexcept {
    const auto& bounds = bounds_ns();
    const auto found = std::lower_bound(bounds.begin(), bounds.end(), time.count());
    const auto bucket = static_cast<std::size_t>(found - bounds.begin());
    buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
    total_us_.add(static_cast<std::uint64_t>(time.count() / 1000));
}

std::array<std::uint64_t, histogram::bucket_count + 1> histogram::counts() const noexcept {
    std::array<std::uint64_t, bucket_count + 1> list{};
    for (std::size_t i = 0; i < list.size(); ++i) {
        list[i] = buckets_[i].load(std::memory_order_relaxed);
    }
    return list;
}

std::chrono::nanoseconds histogram::upper_bound(std::size_t bucket) noexcept {
    return std::chrono::nanoseconds(bounds_ns()[bucket]);
}

std::chrono::nanoseconds histogram::quantile(double share) const noexcept {
    const auto list = counts();
    std::uint64_t all = 0;
    for (const std::uint64_t each : list) all += each;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < bucket_count && all > 0; ++i) {
        below += list[i];
        if (static_cast<double>(below) >= share * static_cast<double>(all)) return upper_bound(i);
    }
    return all > 0 ? upper_bound(bucket_count - 1) : std::chrono::nanoseconds(0);
}

struct metrics::family {
    std::string help;
    std::map<metric_labels, std::unique_ptr<counter>> counters;
    std::map<metric_labels, std::unique_ptr<histogram>> histograms;
    std::map<metric_labels, std::weak_ptr<const std::function<double()>>> gauges;

    prometheus::MetricFamily collect(const std::string& name) const {
        prometheus::MetricFamily target;
        target.name = name;
        target.help = help;
        target.type = !counters.empty()     ? prometheus::MetricType::Counter
                      : !histograms.empty() ? prometheus::MetricType::Histogram
                                            : prometheus::MetricType::Gauge;
        for (const auto& [labels, each] : counters) {
            prometheus::ClientMetric metric;
            metric.label = to_prometheus(labels);
            metric.counter.value = static_cast<double>(each->value());
            target.metric.push_back(std::move(metric));
        }
        for (const auto& [labels, each] : histograms) {
            prometheus::ClientMetric metric;
            metric.label = to_prometheus(labels);
            metric.histogram = to_prometheus(*each);
            target.metric.push_back(std::move(metric));
        }
        for (const auto& [labels, each] : gauges) {
            const auto value = each.lock();
            if (!value) continue;
            prometheus::ClientMetric metric;
            metric.label = to_prometheus(labels);
            metric.gauge.value = (*value)();
            target.metric.push_back(std::move(metric));
        }
        return target;
    }
};

metrics::metrics() = default;
metrics::~metrics() = default;

metrics::family& metrics::family_of(const std::string& name, const std::string& help) {
    auto& slot = families_[name];
    if (!slot) slot = std::make_unique<family>();
    slot->help = help;
    return *slot;
}

counter& metrics::get_counter(const std::string& name,
                              const std::string& help,
                              const metric_labels& labels) {
    std::lock_guard lock(mutex_);
    auto& slot = family_of(name, help).counters[labels];
    if (!slot) slot = std::make_unique<counter>();
    return *slot;
}

histogram& metrics::get_histogram(const std::string& name,
                                  const std::string& help,
                                  const metric_labels& labels) {
    std::lock_guard lock(mutex_);
    auto& slot = family_of(name, help).histograms[labels];
    if (!slot) slot = std::make_unique<histogram>();
    return *slot;
}

metrics::gauge_handle metrics::add_gauge(const std::string& name,
                                         const std::string& help,
                                         std::function<double()> value,
                                         const metric_labels& labels) {
    auto handle = std::make_shared<const std::function<double()>>(std::move(value));
    std::lock_guard lock(mutex_);
    family_of(name, help).gauges[labels] = handle;
    return handle;
}

std::string metrics::expose() const {
    std::vector<prometheus::MetricFamily> families;
    std::lock_guard lock(mutex_);
    for (const auto& [name, each] : families_) families.push_back(each->collect(name));
    return prometheus::TextSerializer().Serialize(families);
}

}  // namespace cairn
