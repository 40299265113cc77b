// A remote store against a real server, through the store interface alone.
#include "http/remote_store.hpp"

#include "tests/http/served.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cairn::test {
namespace {

// A body in windows of a given size, of known or unknown length; ends with an error if told to.
class pieces final : public source {
public:
    pieces(std::string bytes, std::size_t piece, bool sized, error_code end = {})
        : bytes_(std::move(bytes)), piece_(piece), sized_(sized), end_(end) {}

    std::optional<std::uint64_t> size() const override {
        if (!sized_) return std::nullopt;
        return bytes_.size();
    }
    awaitable<result<buffer>> next() override {
        ++asked;
        if (at_ == bytes_.size() && end_) co_return end_;
        const std::string part = bytes_.substr(at_, piece_);
        at_ += part.size();
        co_return buffer::copy_of(as_bytes(part));
    }

    int asked = 0;

private:
    const std::string bytes_;
    const std::size_t piece_;
    const bool sized_;
    const error_code end_;
    std::size_t at_ = 0;
};

struct remote {
    explicit remote(served& server) : there(server), store(host_port{"127.0.0.1", server.port()}) {}
    ~remote() { there.threads().run(store.close()); }

    result<receipt> put(source& body, std::optional<blob_id> claim = std::nullopt) {
        return there.threads().run(store.put(body, claim));
    }
    result<receipt> put(const std::string& bytes) {
        pieces body(bytes, window_bytes, true);
        return put(body);
    }
    result<std::string> get(const blob_id& id, byte_range range = {}) {
        return there.threads().run(read(store, id, range));
    }

    static awaitable<result<std::string>> read(cairn::store& from, blob_id id, byte_range range) {
        auto found = co_await from.get(id, range);
        if (!found) co_return found.error();
        if (*found == nullptr) co_return error_code(errc::absent);
        std::string bytes;
        for (;;) {
            const auto window = co_await (*found)->next();
            if (!window) co_return window.error();
            if (window->empty()) break;
            bytes += window->text();
        }
        if ((*found)->size() != bytes.size()) co_return error_code(errc::unanswered);
        co_return bytes;
    }

    served& there;
    remote_store store;
};

// Answers every connection with the same bytes after so many reads, then closes it.
class canned_server {
public:
    explicit canned_server(std::string answer, int reads = 1)
        : answer_(std::move(answer)), reads_(reads) {
        listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
        REQUIRE(::listen(listener_, 8) == 0);
        socklen_t size = sizeof address;
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { run(); });
    }
    ~canned_server() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    std::uint16_t port() const { return port_; }

private:
    void run() {
        for (;;) {
            const int one = ::accept(listener_, nullptr, nullptr);
            if (one < 0) return;
            char request[4096];
            for (int i = 0; i < reads_; ++i) (void)!::recv(one, request, sizeof request, 0);
            (void)!::send(one, answer_.data(), answer_.size(), MSG_NOSIGNAL);
            ::shutdown(one, SHUT_WR);
            while (::recv(one, request, sizeof request, 0) > 0) {
            }
            ::close(one);
        }
    }

    std::string answer_;
    int reads_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

result<std::string> get_from(const std::string& answer, const blob_id& id) {
    runtime threads(two_threads());
    canned_server server(answer);
    remote_store store(host_port{"127.0.0.1", server.port()});
    return threads.run(remote::read(store, id, {}));
}

}  // namespace

TEST_CASE("remote: what is put comes back, of any size, with and without a known length or id") {
    served here;
    remote far(here);
    for (const std::size_t size : {0, 1, 5000, 65536, 65537, 200'000, 3 << 20}) {
        for (const bool sized : {true, false}) {
            for (const bool claimed : {true, false}) {
                CAPTURE(size);
                CAPTURE(sized);
                CAPTURE(claimed);
                const std::string bytes = numbered_bytes(size);
                const blob_id id = blob_id::of(as_bytes(bytes));
                std::optional<blob_id> claim;
                if (claimed) claim = id;
                for (const bool created : {true, false}) {
                    pieces body(bytes, 30'000, sized);
                    const auto stored = far.put(body, claim);
                    REQUIRE(stored.has_value());
                    CHECK(stored->id == id);
                    CHECK(stored->size_bytes == bytes.size());
                    CHECK(stored->created == created);
                    CHECK(stored->kept == served_durability());
                }
                CHECK(*far.get(id) == bytes);
                CHECK(*here.threads().run(here.store().remove(id)));
            }
        }
    }
}

TEST_CASE("remote: a large body that is there already is not sent") {
    served here;
    remote far(here);
    const std::string bytes = numbered_bytes(1 << 20);
    const blob_id id = here.keep(bytes);
    pieces body(bytes, 10'000, true);
    const auto stored = far.put(body, id);
    REQUIRE(stored.has_value());
    CHECK_FALSE(stored->created);
    CHECK(body.asked == 2);
}

TEST_CASE("remote: a wrong claim is digest_mismatch, and nothing is stored") {
    served here;
    remote far(here);
    for (const std::size_t size : {100, 300'000}) {
        const std::string bytes = numbered_bytes(size);
        const blob_id other = blob_id::of(as_bytes("other"));
        pieces body(bytes, 50'000, true);
        CHECK(far.put(body, other).error() == errc::digest_mismatch);
        CHECK(far.get(other).error() == errc::absent);
    }
}

TEST_CASE("remote: a body that fails ends the put with its error, and nothing is stored") {
    served here;
    remote far(here);
    for (const bool sized : {true, false}) {
        pieces body(numbered_bytes(200'000), 50'000, sized, errc::corrupt);
        CHECK(far.put(body).error() == errc::corrupt);
    }
    CHECK(here.threads().run(here.store().list(std::nullopt, 10))->empty());
}

TEST_CASE("remote: parts of a blob, and ranges that begin behind its end") {
    served here;
    remote far(here);
    const std::string bytes = numbered_bytes(100'000);
    const blob_id id = here.keep(bytes);
    CHECK(*far.get(id, {10, 5}) == bytes.substr(10, 5));
    CHECK(*far.get(id, {99'990, 500}) == bytes.substr(99'990));
    CHECK(*far.get(id, {50, byte_range::to_end}) == bytes.substr(50));
    CHECK(*far.get(id, {50, byte_range::to_end - 20}) == bytes.substr(50));
    CHECK(far.get(id, {10, 0})->empty());
    CHECK(far.get(id, {100'000, 1}).error() == errc::out_of_range);
    CHECK(far.get(id, {100'000, byte_range::to_end}).error() == errc::out_of_range);
    const blob_id empty = here.keep("");
    CHECK(far.get(empty)->empty());
    CHECK(far.get(empty, {0, 10})->empty());
    CHECK(far.get(empty, {1, 10}).error() == errc::out_of_range);
}

TEST_CASE("remote: hold, list, remove and status say what the store says") {
    served here;
    remote far(here);
    runtime& threads = here.threads();
    std::vector<blob_id> ids;
    for (int i = 0; i < 30; ++i) ids.push_back(here.keep("blob " + std::to_string(i)));
    std::sort(ids.begin(), ids.end());
    const auto all = threads.run(far.store.list(std::nullopt, 100));
    REQUIRE(all->size() == 30);
    for (std::size_t i = 0; i < 30; ++i) CHECK((*all)[i].id == ids[i]);
    CHECK(threads.run(far.store.list(ids[9], 5))->front().id == ids[10]);
    CHECK(threads.run(far.store.list(ids[9], 5))->size() == 5);
    CHECK(threads.run(far.store.list(ids.back(), 5))->empty());

    CHECK((*threads.run(far.store.hold(ids[0])))->size_bytes == (*all)[0].size_bytes);
    CHECK_FALSE(threads.run(far.store.hold(blob_id::of(as_bytes("x"))))->has_value());
    CHECK(*threads.run(far.store.remove(ids[0])));
    CHECK_FALSE(*threads.run(far.store.remove(ids[0])));

    const auto status = threads.run(far.store.status());
    REQUIRE(status.has_value());
    CHECK(status->blob_count == 29);
    CHECK(status->catalog == "http://127.0.0.1:" + std::to_string(here.port()));
    CHECK(status->kept == served_durability());
}

TEST_CASE("remote: copying between two stores is a put of a get") {
    served from;
    served to;
    remote source_store(from);
    remote target_store(to);
    const std::string bytes = numbered_bytes(1 << 20);
    const blob_id id = from.keep(bytes);
    auto body = from.threads().run(source_store.store.get(id, {}));
    REQUIRE(body.has_value());
    const auto copied = from.threads().run(target_store.store.put(**body, id));
    REQUIRE(copied.has_value());
    CHECK(copied->created);
    CHECK(*target_store.get(id) == bytes);
}

TEST_CASE("remote: kept connections that the server closed are replaced unseen") {
    http_settings settings = quick_settings();
    settings.idle_time = std::chrono::milliseconds(30);
    served here(settings);
    remote far(here);
    for (int i = 0; i < 5; ++i) {
        const std::string bytes = numbered_bytes(100 + static_cast<std::size_t>(i));
        REQUIRE(far.put(bytes).has_value());
        std::this_thread::sleep_for(std::chrono::milliseconds(i % 2 == 0 ? 100 : 28));
        CHECK(*far.get(blob_id::of(as_bytes(bytes))) == bytes);
    }
}

TEST_CASE("remote: bytes that are not the blob are corrupt, cut ones are short") {
    const blob_id id = blob_id::of(as_bytes("hello"));
    CHECK(*get_from("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", id) == "hello");
    CHECK(get_from("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhellO", id).error() ==
          errc::corrupt);
    CHECK(get_from("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", id).error() ==
          errc::short_body);
    CHECK(get_from("HTTP/1.1 200 OK\r\nContent-Len", id).error() == errc::short_body);
    CHECK(get_from("", id).error() == errc::closed);
    CHECK(get_from("nonsense\r\n\r\n", id).error() == errc::malformed);
    CHECK(get_from("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", id)
              .error() == errc::malformed);
    CHECK(get_from("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", id).error() == errc::refused);
    CHECK(get_from("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", id).error() ==
          errc::overloaded);
    CHECK(get_from("HTTP/1.1 404 Gone\r\nContent-Length: 22\r\n\r\n{\"type\":\"quarantined\"}", id)
              .error() == errc::quarantined);
}

TEST_CASE("remote: a server that gives no leave is sent the body all the same") {
    runtime threads(two_threads());
    const std::string bytes = numbered_bytes(100'000);
    const blob_id id = blob_id::of(as_bytes(bytes));
    // Answers when the body begins: a server that passes over `Expect`.
    const std::string receipt = "{\"id\":\"" + id.hex() + "\",\"size\":100000}";
    canned_server server("HTTP/1.1 201 Created\r\nContent-Length: " +
                             std::to_string(receipt.size()) + "\r\n\r\n" + receipt,
                         2);
    client_settings settings;
    settings.leave_time = std::chrono::milliseconds(50);
    remote_store store(host_port{"127.0.0.1", server.port()}, settings);
    pieces body(bytes, 50'000, true);
    const auto stored = threads.run(store.put(body, id));
    REQUIRE(stored.has_value());
    CHECK(stored->created);
}

TEST_CASE("remote: a server that is not there is an error, and a closed store says so") {
    served here;
    remote far(here);
    here.threads().run(far.store.close());
    CHECK(far.get(blob_id()).error() == errc::closed);

    std::uint16_t free_port = 0;
    { free_port = served().port(); }
    remote_store nobody(host_port{"127.0.0.1", free_port});
    CHECK(here.threads().run(nobody.status()).error() == boost::system::errc::connection_refused);
}

TEST_CASE("remote: many callers on several threads each get their own answer") {
    served here;
    remote far(here);
    std::vector<std::string> blobs;
    for (std::size_t i = 0; i < 16; ++i) blobs.push_back(numbered_bytes(1000 * i + 7));
    std::vector<std::thread> threads;
    for (const std::string& bytes : blobs) {
        threads.emplace_back([&] {
            for (int round = 0; round < 20; ++round) {
                if (!far.put(bytes)) std::abort();
                if (*far.get(blob_id::of(as_bytes(bytes))) != bytes) std::abort();
            }
        });
    }
    for (std::thread& each : threads) each.join();
}

}  // namespace cairn::test
