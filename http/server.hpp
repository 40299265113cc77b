// The HTTP server in front of a store: accepts connections and spreads them over the loop threads.
//
// The life of one: start() opens the port, attach() gives it its store (until then /healthz and
// /status answer), drain() ends it. Members are called from the thread or coroutine that owns the
// server, one at a time. It uses the store until drain() has returned, and is drained before it is
// destroyed (CHECKed). The process must not die of SIGPIPE, which sendfile raises: the constructor
// ignores the signal where nobody handles it.
#pragma once

#include "http/server_context.hpp"
#include "http/settings.hpp"
#include "runtime/runtime.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cairn {

class acceptor;
class shard;

class http_server {
public:
    // `threads` outlives the server. Throws std::invalid_argument for settings that are refused: an
    // address that does not parse, one beyond this machine without a token or allow_anonymous, both
    // of these, or a token that is none; and std::system_error when the address cannot be bound.
    http_server(runtime& threads, http_settings settings);
    ~http_server();
    http_server(const http_server&) = delete;
    http_server& operator=(const http_server&) = delete;

    // Begins to accept. Blocks for a moment: not on a loop thread.
    void start();

    // From now on everything is answered. The store's error when it cannot say what it is.
    awaitable<result<void>> attach(cairn::store& store);

    // "http://127.0.0.1:7480", with the port that was bound.
    std::string url() const;
    std::uint16_t port() const noexcept;
    std::size_t connection_count() const noexcept;

    // Stops accepting, closes idle connections, lets requests under way finish for up to `time`,
    // and cuts off the rest. Must not be cancelled: it crosses to the threads of the connections.
    awaitable<void> drain(std::chrono::milliseconds time);

private:
    enum class state { made, started, drained };

    state state_ = state::made;
    std::unique_ptr<server_context> context_;
    std::vector<std::unique_ptr<shard>> shards_;
    std::unique_ptr<acceptor> acceptor_;
    metrics::gauge_handle connections_gauge_;
};

}  // namespace cairn
