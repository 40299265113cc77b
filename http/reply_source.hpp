// The body of a reply as a source, verified against an id when it is a whole blob.
#pragma once

#include "engines/blob_id.hpp"
#include "engines/source.hpp"
#include "http/connection_pool.hpp"
#include "runtime/hash.hpp"

#include <memory>
#include <optional>

namespace cairn {

class reply_source final : public source {
public:
    // `size_bytes` is what the body must bring. Gives its connection back to the pool at the end.
    reply_source(std::shared_ptr<connection_pool> pool,
                 std::unique_ptr<client_connection> connection,
                 std::uint64_t size_bytes,
                 std::optional<blob_id> whole);

    std::optional<std::uint64_t> size() const override { return size_bytes_; }

    // errc::short_body when the server cuts it, errc::corrupt instead of the last window when the
    // bytes do not hash to the id. Cancelled: throws, and the connection is lost.
    awaitable<result<buffer>> next() override;

private:
    const std::shared_ptr<connection_pool> pool_;
    std::unique_ptr<client_connection> connection_;
    const std::uint64_t size_bytes_;
    const std::optional<blob_id> whole_;
    std::uint64_t count_ = 0;
    sha256 hash_;
};

}  // namespace cairn
