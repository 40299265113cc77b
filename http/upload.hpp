// One body on its way to a server: PUT when its id is claimed, else POST.
//
// A window is sent once the next one, or the end, has come: a body that fails is never complete in
// the server's eyes. A body over one window whose id is known is announced with `Expect:
// 100-continue`, so that a server that has it already says so before it is sent.
#pragma once

#include "engines/blob_id.hpp"
#include "engines/source.hpp"
#include "http/connection_pool.hpp"
#include "runtime/hash.hpp"

#include <optional>
#include <string>

namespace cairn {

class upload {
public:
    // Both outlive the upload.
    upload(connection_pool& pool, source& body, std::optional<blob_id> claim);

    // Sends head and body and reads the final reply, which may come before the body's end. As long
    // as only the first window was taken, a connection that the server had closed is replaced. The
    // error of the body, of the socket, or of a reply that does not come. Cancelled: throws; the
    // server may have stored the blob if all of it was sent.
    awaitable<result<reply>> send();

    // What the bytes hash to that were sent; nothing when not all were.
    const std::optional<blob_id>& sent_id() const noexcept { return sent_id_; }

private:
    awaitable<result<void>> advance();
    awaitable<result<reply>> attempt(reply to);
    awaitable<result<reply>> send_rest(reply to);
    awaitable<result<reply>> read_final(reply to);
    awaitable<result<void>> send_window(client_connection& to);
    std::string make_head() const;

    connection_pool& pool_;
    source& body_;
    const std::optional<blob_id> claim_;
    buffer window_;  // to be sent next; empty at the end
    buffer ahead_;   // the one behind it
    bool chunked_ = false;
    bool whole_ = false;  // the first window is all of it
    bool begun_ = false;  // past the first window: it cannot be sent again
    sha256 hash_;
    std::optional<blob_id> sent_id_;
};

}  // namespace cairn
