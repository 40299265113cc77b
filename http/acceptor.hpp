// Takes connections from one listening port and deals them out to the shards in turn.
#pragma once

#include "http/server_context.hpp"
#include "http/shard.hpp"
#include "runtime/task_scope.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <vector>

namespace cairn {

class acceptor {
public:
    // Binds `at`; throws std::system_error naming the address. The shards outlive the acceptor,
    // which lives on the first one's thread.
    acceptor(server_context& server,
             std::vector<std::unique_ptr<shard>>& shards,
             const asio::ip::tcp::endpoint& at);

    const asio::ip::tcp::endpoint& local() const noexcept { return local_; }

    // Begins to listen and to accept; throws std::system_error. Any thread, once.
    void start();

    // Closes the port. On the home thread, after start(); last.
    awaitable<void> stop();

private:
    awaitable<void> run();
    shard& next_shard() noexcept;

    server_context& server_;
    std::vector<std::unique_ptr<shard>>& shards_;
    asio::basic_socket_acceptor<asio::ip::tcp, executor> socket_;
    asio::ip::tcp::endpoint local_;
    std::uint64_t accepted_ = 0;
    task_scope scope_;
};

}  // namespace cairn
