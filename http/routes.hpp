// From a request to the answer: which route it is, and whether it may be taken now.
#pragma once

#include "http/exchange.hpp"
#include "runtime/awaitable.hpp"

namespace cairn {

// Fills x.answer, whatever was asked. Cancelled: throws.
awaitable<void> route(exchange& x);

// The routes of one noun each; `x.store()` is there. Called by route() only.
awaitable<void> get_blob(exchange& x, blob_id id);
awaitable<void> head_blob(exchange& x, blob_id id);
awaitable<void> put_blob(exchange& x, blob_id id);
awaitable<void> post_blob(exchange& x);
awaitable<void> delete_blob(exchange& x, blob_id id);
awaitable<void> list_blobs(exchange& x);

// Many blobs in one request.
awaitable<void> stat_blobs(exchange& x);
awaitable<void> read_blobs(exchange& x);
awaitable<void> write_blobs(exchange& x);

// For who runs the server.
awaitable<void> make_backup(exchange& x);
void get_health(exchange& x);
awaitable<void> get_readiness(exchange& x);
awaitable<void> get_status(exchange& x);
void get_metrics(exchange& x);

}  // namespace cairn
