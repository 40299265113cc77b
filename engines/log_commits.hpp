// Which commits the log holds already, so that the catalog need not sync them: one sync for a put,
// not two.
//
// A record of a `replayed` segment is synced before its row is committed, and after a crash every
// whole record that lies behind the end of an unsealed one is put again before anything is answered
// (segments::open). So a row may be lost with the power as long as the end that is durable then
// does not cover its record:
//   - any commit may become durable by itself, so the end that counts is the one before the row's
//     own batch; a put below it, which was overtaken, is synced;
//   - every other change is synced, and with it all that was committed before: what was removed,
//     or lost to another put, lies below the end by then and is not put again;
//   - sealing is such a change: a sealed segment is what its row says.
#pragma once

#include "engines/catalog.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <variant>

namespace cairn {

// The replayed segments of this boot and where they end. One thread: the one that commits.
class log_commits {
public:
    // Whether the change, committed with others of which this holds, needs no sync.
    bool hold(const change& what) const {
        const auto* put = std::get_if<put_blob>(&what);
        if (put == nullptr || !put->where || put->alone) return false;
        const auto end = ends_.find(put->where->container);
        return end != ends_.end() && put->where->offset >= end->second;
    }

    // It is committed.
    void note(const change& what) {
        if (const auto* put = std::get_if<put_blob>(&what)) return move_end(*put);
        if (const auto* opened = std::get_if<open_segment>(&what)) {
            if (opened->replay_key != 0) ends_[opened->segment] = 0;
        } else if (const auto* sealed = std::get_if<seal_segment>(&what)) {
            ends_.erase(sealed->segment);
        }
    }

private:
    void move_end(const put_blob& put) {
        if (!put.where) return;
        const auto end = ends_.find(put.where->container);
        if (end == ends_.end()) return;
        end->second = std::max(end->second, put.where->offset + put.where->length_bytes);
        if (put.alone) ends_.erase(end);
    }

    std::map<std::uint64_t, std::uint64_t> ends_;
};

}  // namespace cairn
