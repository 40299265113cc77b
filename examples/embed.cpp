// A store in a folder, a put, a get: what README shows.
#include "store/open_store.hpp"

#include <cstdio>
#include <string>

using namespace cairn;

awaitable<void> put_and_get(store& blobs) {
    buffer_source body(buffer::copy_of(as_bytes("hello")));
    const receipt stored = (co_await blobs.put(body, std::nullopt)).value();  // durable by now
    const byte_range part{1, 3};
    const auto reader = (co_await blobs.get(stored.id, part)).value();  // null when absent
    const buffer window = (co_await reader->next()).value();            // verified bytes
    std::printf("%s holds %s\n", stored.id.hex().c_str(), std::string(window.text()).c_str());
}

int main() {
    runtime threads;
    store_options options;
    options.data = "blobs";
    const auto blobs = threads.run(open_store(threads, options)).value();
    threads.run(put_and_get(*blobs));
    threads.run(blobs->close());
}
