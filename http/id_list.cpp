#include "http/id_list.hpp"

#include "http/target.hpp"

#include <fmt/format.h>
#include <utility>

namespace cairn {
namespace {

// "sha256:" and 64 digits.
constexpr std::size_t name_size_max = 71;

bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

result<void> id_list_parser::eat(byte_view piece) {
    if (!complaint_.empty()) return errc::malformed;
    for (const std::byte b : piece) {
        const bool binary = form_ == id_list_form::binary;
        auto good = binary ? take_binary(b) : step(static_cast<char>(b));
        if (!good) return good;
        ++offset_;
    }
    return {};
}

result<void> id_list_parser::finish() {
    if (!complaint_.empty()) return errc::malformed;
    if (form_ == id_list_form::binary) {
        if (partial_size_ == 0) return {};
        return fail(errc::malformed,
                    fmt::format("ids[{}] ends after {} of its {} bytes", ids_.size(), partial_size_,
                                partial_.bytes.size()));
    }
    if (state_ == state::done) return {};
    return fail(errc::malformed, fmt::format("the list of ids ends open, at byte {}", offset_));
}

result<void> id_list_parser::step(char c) {
    if (state_ == state::string) return step_in_string(c);
    if (is_space(c)) return {};
    const auto next = after(c);
    if (!next) {
        return fail(errc::malformed, fmt::format("byte {}: expected {}", offset_, expected()));
    }
    state_ = *next;
    return {};
}

// Where the list goes on behind `c`; nothing when `c` cannot stand here.
std::optional<id_list_parser::state> id_list_parser::after(char c) const noexcept {
    switch (state_) {
        case state::before:
            if (c == '[') return state::first;
            break;
        case state::first:
            if (c == ']') return state::done;
            [[fallthrough]];
        case state::value:
            if (c == '"') return state::string;
            break;
        case state::after_value:
            if (c == ',') return state::value;
            if (c == ']') return state::done;
            break;
        case state::string:
        case state::done: break;
    }
    return std::nullopt;
}

std::string_view id_list_parser::expected() const noexcept {
    switch (state_) {
        case state::before: return "the `[` of a list of ids";
        case state::first:
        case state::value: return "an id in quotes";
        case state::after_value: return "`,` or `]`";
        case state::string:
        case state::done: break;
    }
    return "nothing more";
}

result<void> id_list_parser::step_in_string(char c) {
    if (c != '"' && text_.size() < name_size_max) {
        text_ += c;
        return {};
    }
    const auto id = c == '"' ? parse_blob_name(text_) : std::nullopt;
    if (!id) {
        return fail(errc::malformed,
                    fmt::format("ids[{}] is no id: 64 lower-case hex digits, alone or behind "
                                "`sha256:`",
                                ids_.size()));
    }
    text_.clear();
    state_ = state::after_value;
    return add(*id);
}

result<void> id_list_parser::take_binary(std::byte b) {
    partial_.bytes[partial_size_] = b;
    if (++partial_size_ < partial_.bytes.size()) return {};
    partial_size_ = 0;
    return add(partial_);
}

result<void> id_list_parser::add(const blob_id& id) {
    if (ids_.size() == batch_entries_max) {
        return fail(errc::too_large, fmt::format("more than {} ids", batch_entries_max));
    }
    ids_.push_back(id);
    return {};
}

result<void> id_list_parser::fail(errc why, std::string complaint) {
    complaint_ = std::move(complaint);
    return why;
}

}  // namespace cairn
