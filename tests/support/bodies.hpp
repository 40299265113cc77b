// Bodies for tests: random bytes that a seed repeats, and sources that misbehave on purpose.
#pragma once

#include "engines/blob_id.hpp"
#include "engines/source.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <utility>

namespace cairn::test {

inline buffer random_body(std::size_t size_bytes, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    buffer body = buffer::allocate(size_bytes);
    for (std::size_t at = 0; at < size_bytes; at += sizeof(std::uint64_t)) {
        const std::uint64_t word = random();
        std::memcpy(body.mutable_data() + at, &word, std::min(sizeof word, size_bytes - at));
    }
    return body;
}

// How a body comes.
struct manner {
    std::size_t piece_bytes = window_bytes;
    bool announces_size = true;
    std::optional<error_code> ends_with = {};  // instead of the end
    std::size_t ends_after_bytes = SIZE_MAX;
};

// Gives a body in pieces of a chosen size, with its length announced or not, and may end it early.
class piecewise_source final : public source {
public:
    explicit piecewise_source(buffer body, manner how = {}) : body_(std::move(body)), how_(how) {}

    std::optional<std::uint64_t> size() const override {
        if (!how_.announces_size) return std::nullopt;
        return body_.size();
    }
    awaitable<result<buffer>> next() override {
        const std::size_t end = std::min(body_.size(), how_.ends_after_bytes);
        if (at_ == end && how_.ends_with) co_return *how_.ends_with;
        const std::size_t count = std::min(how_.piece_bytes, end - at_);
        buffer piece = body_.slice(at_, count);
        at_ += count;
        co_return piece;
    }

private:
    const buffer body_;
    const manner how_;
    std::size_t at_ = 0;
};

// All that a source gives, or the error with which it ended.
inline awaitable<result<std::string>> read_all(source& from) {
    std::string all;
    while (true) {
        auto window = co_await from.next();
        if (!window) co_return window.error();
        if (window->empty()) co_return all;
        all += window->text();
    }
}

}  // namespace cairn::test
