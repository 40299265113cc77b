#include "http/connection_pool.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/errc.hpp>
#include <fmt/format.h>
#include <utility>

namespace cairn {

namespace {

std::string own_fields(const host_port& to, std::string_view token) {
    std::string fields = fmt::format("Host: {}\r\n", to.text());
    if (!token.empty()) fields += fmt::format("Authorization: Bearer {}\r\n", token);
    return fields;
}

}  // namespace

connection_pool::connection_pool(host_port to, client_settings settings, std::string_view token)
    : to_(std::move(to)), settings_(settings), own_fields_(own_fields(to_, token)) {}

bool is_stale(const error_code& ec) noexcept {
    return ec == errc::closed || ec == boost::system::errc::connection_reset ||
           ec == boost::system::errc::broken_pipe;
}

std::string connection_pool::head_of(std::string_view method,
                                     std::string_view target,
                                     std::string_view fields) const {
    return fmt::format("{} {} HTTP/1.1\r\n{}{}\r\n", method, target, own_fields_, fields);
}

awaitable<result<connection_pool::taken>> connection_pool::take(bool fresh) {
    const executor home = co_await asio::this_coro::executor;
    {
        std::lock_guard lock(mutex_);
        if (closed_) co_return error_code(errc::closed);
    }
    taken out;
    if (!fresh) out.connection = take_idle(home);
    out.used_before = out.connection != nullptr;
    if (!out.used_before) {
        auto opened = co_await client_connection::open(to_, settings_);
        if (!opened) co_return opened.error();
        out.connection = std::move(*opened);
    }
    co_return out;
}

void connection_pool::give_back(std::unique_ptr<client_connection> connection) {
    if (connection == nullptr || !connection->reusable()) return;
    std::lock_guard lock(mutex_);
    if (!closed_ && idle_.size() < idle_max) idle_.push_back(std::move(connection));
}

void connection_pool::close() {
    std::vector<std::unique_ptr<client_connection>> idle;
    {
        std::lock_guard lock(mutex_);
        closed_ = true;
        idle.swap(idle_);
    }
    // Each goes on its own executor's thread, where its timer runs.
    for (auto& one : idle) {
        const executor home = one->home();
        asio::post(home, [gone = std::move(one)] {});
    }
}

std::unique_ptr<client_connection> connection_pool::take_idle(const executor& home) {
    std::lock_guard lock(mutex_);
    for (std::size_t i = idle_.size(); i-- > 0;) {
        if (idle_[i]->home() != home) continue;
        std::unique_ptr<client_connection> found = std::move(idle_[i]);
        idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
        if (found->is_quiet()) return found;
    }
    return nullptr;
}

}  // namespace cairn
