// A body on its way in: hands a source's windows on, and knows at their end what they were.
//
// Every put goes through one, whoever sent the body, so that nothing unverified gets in (SAFETY.md
// R1.1, R5). The check of the claim is part of the end: a body that is not what it claimed to be
// ends with an error instead of an empty window, and no engine ever sees such a body complete.
#pragma once

#include "engines/blob_id.hpp"
#include "engines/checksums.hpp"
#include "engines/source.hpp"

#include <deque>

namespace cairn {

// What the bytes are written for.
enum class intake_for {
    put,   // a blob that may be new
    move,  // a blob that stands and is to stand elsewhere: never put again after a crash
};

class intake final : public source {
public:
    // The body outlives this. A body longer than size_max_bytes ends with errc::too_large.
    intake(source& body,
           std::optional<blob_id> claim,
           std::uint64_t size_max_bytes,
           intake_for what = intake_for::put);

    intake_for what() const noexcept { return what_; }

    std::optional<std::uint64_t> size() const override { return body_.size(); }

    // Besides the body's own errors: errc::too_large; at the end errc::short_body when it is
    // shorter than its size() said, errc::malformed when longer, errc::digest_mismatch when it does
    // not hash to the claim. Cancellation is the body's.
    awaitable<result<buffer>> next() override;

    // The whole body when it ends within limit_bytes; otherwise nothing, and next() will still give
    // everything from the first byte on. Called before next().
    awaitable<result<std::optional<buffer>>> whole_within(std::size_t limit_bytes);

    // Reads to the end and keeps nothing.
    awaitable<result<void>> drain();

    // After the end:
    const blob_id& id() const;
    std::uint64_t size_bytes() const noexcept { return size_bytes_; }
    const checksums& sums() const;

private:
    awaitable<result<buffer>> pull();
    result<void> check_end();

    source& body_;
    const std::optional<blob_id> claim_;
    const std::uint64_t size_max_bytes_;
    const intake_for what_;
    std::deque<buffer> kept_;  // read by whole_within(), not yet given by next(); at most its limit
    sha256 hash_;
    checksum_stream checks_;
    std::uint64_t size_bytes_ = 0;
    bool ended_ = false;
    blob_id id_;
    checksums sums_;
};

}  // namespace cairn
