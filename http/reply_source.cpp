#include "http/reply_source.hpp"

#include <utility>

namespace cairn {

reply_source::reply_source(std::shared_ptr<connection_pool> pool,
                           std::unique_ptr<client_connection> connection,
                           std::uint64_t size_bytes,
                           std::optional<blob_id> whole)
    : pool_(std::move(pool)),
      connection_(std::move(connection)),
      size_bytes_(size_bytes),
      whole_(whole) {}

awaitable<result<buffer>> reply_source::next() {
    if (connection_ == nullptr) co_return buffer();
    auto window = co_await connection_->read_body();
    if (!window) {
        connection_.reset();
        co_return window.error();
    }
    count_ += window->size();
    if (whole_) hash_.update(window->view());
    if (count_ < size_bytes_ && !window->empty()) co_return window;

    // The last window is given once everything is known to be right.
    if (count_ != size_bytes_) {
        connection_.reset();
        co_return error_code(errc::short_body);
    }
    pool_->give_back(std::move(connection_));
    if (whole_ && hash_.finish() != whole_->bytes) co_return error_code(errc::corrupt);
    co_return window;
}

}  // namespace cairn
