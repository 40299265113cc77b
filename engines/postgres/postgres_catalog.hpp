// The catalog on PostgreSQL, which any number of processes may share.
//
// One lane commits and a few readers look up, each behind a queue that makes batches. A server that
// is away for a while makes callers wait, then answers them errc::unavailable; it never stops the
// store.
#pragma once

#include "engines/catalog.hpp"
#include "engines/postgres/database.hpp"
#include "engines/postgres/look_ups.hpp"
#include "engines/postgres/writer.hpp"
#include "runtime/fail_stop.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cairn {

class postgres_catalog final : public catalog {
public:
    // Both outlive it. close() closes `in` as well, so what else uses that is closed before.
    postgres_catalog(postgres::database& in, fail_stop& stop);
    ~postgres_catalog() override;

    group_commit_counts commit_counts() const noexcept { return writer_.counts(); }
    group_commit_counts look_up_counts() const noexcept;

    std::string name() const override { return in_.address(); }
    std::uint64_t boot() const noexcept override { return in_.boot(); }
    awaitable<result<applied>> commit(change what) override {
        return writer_.commit(std::move(what));
    }
    awaitable<result<std::optional<row>>> find(blob_id id) override;
    awaitable<result<void>> confirm() override;
    awaitable<result<std::vector<row>>> list(std::optional<blob_id> after,
                                             std::size_t limit) override;
    awaitable<result<std::vector<locator>>> reclaimable(std::size_t limit) override;
    awaitable<result<std::vector<segment_row>>> segments(std::uint64_t after,
                                                         std::size_t limit,
                                                         bool only_unsealed) override;
    awaitable<result<catalog_counts>> count() override;
    awaitable<result<std::vector<status_detail>>> details() override;
    awaitable<void> close() override;

private:
    std::size_t reader_for(const executor& here, const blob_id& id) const;

    postgres::database& in_;
    postgres::writer writer_;
    std::vector<std::unique_ptr<postgres::look_ups>> look_ups_;
};

}  // namespace cairn
