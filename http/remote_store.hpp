// Another cairn, over HTTP, as a store.
//
// Every call is one request on a kept-alive connection of the caller's executor; a connection that
// the server closed meanwhile is replaced once, where repeating the request is safe. The server
// verifies what is put; a blob that is read whole is verified here against its id, and ends with
// errc::corrupt when it differs. A part of a blob cannot be verified and is as good as the server
// and the way to it. Errors: those of the store interface as the server reports them, errc::refused
// for a refusal without a closer name, errc::unauthorized for a token that is missing or wrong, and
// the socket's. Sources keep what they need alive, but not
// past close().
#pragma once

#include "http/connection_pool.hpp"
#include "http/endpoint.hpp"
#include "store/store.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace cairn {

class remote_store final : public store {
public:
    // With a token, every request brings it.
    explicit remote_store(host_port server,
                          client_settings settings = {},
                          std::string_view token = {});
    ~remote_store() override;

    awaitable<result<receipt>> put(source& body, std::optional<blob_id> claim) override;
    awaitable<result<std::unique_ptr<source>>> get(blob_id id, byte_range range) override;
    awaitable<result<std::optional<lease>>> hold(blob_id id) override;
    awaitable<result<std::vector<listed_blob>>> list(std::optional<blob_id> after,
                                                     std::size_t limit) override;
    awaitable<result<bool>> remove(blob_id id) override;
    awaitable<result<store_status>> status() override;
    awaitable<result<backup>> back_up() override;
    awaitable<void> close() override;

    // What GET /status says, as it says it.
    awaitable<result<std::string>> status_json();

private:
    awaitable<result<reply>> ask(std::string_view method, std::string target, std::string fields);
    awaitable<result<std::string>> read_text(reply& from);
    awaitable<error_code> read_refusal(reply& from);
    awaitable<result<std::vector<listed_blob>>> list_page(std::optional<blob_id> after,
                                                          std::size_t limit);

    // Shared with the sources that still read.
    const std::shared_ptr<connection_pool> pool_;
};

}  // namespace cairn
