// A catalog that hands every call on: override the one that shall be watched, or misbehave.
#pragma once

#include "engines/catalog.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace cairn::test {

class forwarding_catalog : public catalog {
public:
    explicit forwarding_catalog(std::unique_ptr<catalog> real) : real_(std::move(real)) {}

    std::string name() const override { return real_->name(); }
    std::uint64_t boot() const noexcept override { return real_->boot(); }
    awaitable<result<applied>> commit(change what) override {
        return real_->commit(std::move(what));
    }
    awaitable<result<std::optional<row>>> find(blob_id id) override { return real_->find(id); }
    awaitable<result<std::vector<row>>> list(std::optional<blob_id> after,
                                             std::size_t limit) override {
        return real_->list(after, limit);
    }
    awaitable<result<std::vector<locator>>> reclaimable(std::size_t limit) override {
        return real_->reclaimable(limit);
    }
    awaitable<result<std::vector<segment_row>>> segments(std::uint64_t after,
                                                         std::size_t limit,
                                                         bool only_unsealed) override {
        return real_->segments(after, limit, only_unsealed);
    }
    awaitable<result<catalog_counts>> count() override { return real_->count(); }
    awaitable<void> close() override { return real_->close(); }

private:
    const std::unique_ptr<catalog> real_;
};

}  // namespace cairn::test
