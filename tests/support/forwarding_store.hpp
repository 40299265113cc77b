// A store that hands every call on: override the one that shall misbehave.
#pragma once

#include "store/store.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace cairn::test {

// The real one outlives it, and is closed by whoever opened it.
class forwarding_store : public store {
public:
    explicit forwarding_store(store& real) : real_(real) {}

    awaitable<result<receipt>> put(source& body, std::optional<blob_id> claim) override {
        return real_.put(body, claim);
    }
    awaitable<result<std::unique_ptr<source>>> get(blob_id id, byte_range range) override {
        return real_.get(id, range);
    }
    awaitable<result<std::optional<lease>>> hold(blob_id id) override { return real_.hold(id); }
    awaitable<result<std::vector<listed_blob>>> list(std::optional<blob_id> after,
                                                     std::size_t limit) override {
        return real_.list(after, limit);
    }
    awaitable<result<bool>> remove(blob_id id) override { return real_.remove(id); }
    awaitable<result<store_status>> status() override { return real_.status(); }
    awaitable<result<backup>> back_up() override { return real_.back_up(); }
    awaitable<void> close() override { co_return; }

private:
    store& real_;
};

}  // namespace cairn::test
