// A server in this process, with limits that a test can shrink. Its store is one in memory, or with
// CAIRN_TEST_STORE=postgres one on PostgreSQL with chunks: the suites do not know which.
#pragma once

#include "http/server.hpp"
#include "runtime/runtime.hpp"
#include "store/open_store.hpp"
#include "tests/support/http_client.hpp"
#include "tests/support/postgres_server.hpp"

#include <chrono>
#include <cstdlib>
#include <doctest/doctest.h>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cairn::test {

inline runtime_options two_threads() {
    runtime_options options;
    options.threads = 2;
    return options;
}

// Port 0, and a tick that notices shrunken deadlines in time.
inline http_settings quick_settings() {
    http_settings settings;
    settings.listen = "127.0.0.1:0";
    settings.tick = std::chrono::milliseconds(10);
    settings.linger_time = std::chrono::milliseconds(300);
    return settings;
}

inline bool served_from_postgres() {
    const char* kind = std::getenv("CAIRN_TEST_STORE");
    return kind != nullptr && std::string_view(kind) == "postgres";
}

inline durability served_durability() {
    return served_from_postgres() ? durability::full : durability::none;
}

inline std::unique_ptr<store> open_served_store(runtime& threads) {
    if (!served_from_postgres()) return threads.run(open_memory_store(threads));
    postgres_server& server = postgres_server::shared();
    store_options options;
    options.catalog = server.url(server.fresh_database());
    return threads.run(open_store(threads, options)).value();
}

class served {
public:
    explicit served(http_settings settings = quick_settings(), bool attached = true)
        : threads_(two_threads()),
          store_(open_served_store(threads_)),
          server_(threads_, std::move(settings)) {
        server_.start();
        if (attached) attach();
    }
    ~served() {
        drain(std::chrono::seconds(5));
        threads_.run(store_->close());
    }

    void attach() { REQUIRE(threads_.run(server_.attach(*store_)).has_value()); }
    void drain(std::chrono::milliseconds time) { threads_.run(server_.drain(time)); }

    http_client connect(std::chrono::milliseconds patience = std::chrono::seconds(10)) const {
        return http_client("127.0.0.1", server_.port(), patience);
    }
    std::uint16_t port() const { return server_.port(); }
    http_server& server() { return server_; }
    cairn::store& store() { return *store_; }
    runtime& threads() { return threads_; }

    // Stores a blob behind the server's back.
    blob_id keep(std::string_view bytes) {
        buffer_source body(buffer::copy_of(as_bytes(bytes)));
        const auto stored = threads_.run(store_->put(body, std::nullopt));
        REQUIRE(stored.has_value());
        return stored->id;
    }

private:
    runtime threads_;
    std::unique_ptr<cairn::store> store_;
    http_server server_;
};

inline std::string path_of(const blob_id& id) { return "/blobs/" + id.hex(); }
inline std::string path_of(std::string_view bytes) { return path_of(blob_id::of(as_bytes(bytes))); }

// Bytes that differ at every place, so that a wrong offset cannot go unseen.
inline std::string numbered_bytes(std::size_t size) {
    std::string bytes(size, '\0');
    std::uint64_t state = size * 2862933555777941757ULL + 1;
    for (char& c : bytes) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        c = static_cast<char>(state >> 56);
    }
    return bytes;
}

}  // namespace cairn::test
