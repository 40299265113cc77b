// Slow, greedy, vanishing and too many clients, with limits shrunk to milliseconds; and the drain.
#include "tests/http/served.hpp"

#include <chrono>
#include <csignal>
#include <doctest/doctest.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

namespace cairn::test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

void wait_until(const auto& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) std::this_thread::sleep_for(5ms);
    CHECK(condition());
}

void reset(http_client& client) {
    const linger now{1, 0};
    ::setsockopt(client.descriptor(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void shrink_receiving(http_client& client) {
    const int size = 4096;
    ::setsockopt(client.descriptor(), SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

// Whether the connection is broken, without reading what came before.
bool was_reset(http_client& client) {
    pollfd broken{client.descriptor(), 0, 0};
    return ::poll(&broken, 1, 1'000) == 1 && (broken.revents & POLLERR) != 0;
}

}  // namespace

TEST_CASE("timeouts: an idle connection is closed without a word") {
    http_settings settings = quick_settings();
    settings.idle_time = 100ms;
    served here(settings);
    http_client client = here.connect();
    CHECK(client.get("/healthz").status == 200);
    const auto begin = clock::now();
    CHECK(client.closed_by_peer());
    CHECK(clock::now() - begin >= 90ms);
}

TEST_CASE("timeouts: a head has its time in total, however it trickles") {
    http_settings settings = quick_settings();
    settings.head_time = 150ms;
    served here(settings);
    http_client client = here.connect();
    const auto begin = clock::now();
    client.send_raw("GET / HT");
    for (int i = 0; i < 8; ++i) {
        std::this_thread::sleep_for(20ms);
        if (i < 5) client.send_raw("T");
    }
    CHECK(client.receive().status == 408);
    CHECK(clock::now() - begin < 2s);
}

TEST_CASE(
    "timeouts: a body that makes no progress is 408, one that makes enough may take its time") {
    http_settings settings = quick_settings();
    settings.body_period = 150ms;
    settings.body_rate_min = 1000;  // 150 bytes a period
    settings.window_time = 30ms;
    served here(settings);
    const std::string bytes = numbered_bytes(4000);
    const std::string head =
        "PUT " + path_of(bytes) + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n";
    {
        http_client client = here.connect();
        client.send_raw(head + bytes.substr(0, 100));
        const http_response answer = client.receive();
        CHECK(answer.status == 408);
        CHECK(answer.header("connection") == "close");
    }
    {
        // One byte now and then keeps no connection alive.
        http_client client = here.connect();
        client.send_raw(head);
        const auto begin = clock::now();
        try {
            for (std::size_t i = 0; i < 200 && clock::now() - begin < 2s; ++i) {
                client.send_raw(bytes.substr(i, 1));
                std::this_thread::sleep_for(10ms);
            }
        } catch (const connection_lost&) {
        }
        CHECK(clock::now() - begin < 2s);
    }
    {
        http_client client = here.connect();
        client.send_raw(head);
        for (std::size_t at = 0; at < bytes.size(); at += 100) {
            client.send_raw(bytes.substr(at, 100));
            std::this_thread::sleep_for(15ms);
        }
        CHECK(client.receive().status == 201);
    }
}

TEST_CASE("timeouts: a reader that takes nothing is cut off, and frees what it held") {
    http_settings settings = quick_settings();
    settings.stall_time = 100ms;
    served here(settings);
    const blob_id id = here.keep(numbered_bytes(16 << 20));
    http_client client = here.connect();
    shrink_receiving(client);
    client.send_raw("GET " + path_of(id) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    wait_until([&] { return here.server().connection_count() == 0; });
    // By a reset: what it was sent and did not take does not stay with the kernel.
    CHECK(was_reset(client));
}

TEST_CASE("windows: a slow upload holds no window that others need") {
    http_settings settings = quick_settings();
    settings.body_bytes = 64 << 10;  // one window
    settings.window_time = 30ms;
    served here(settings);
    const std::string bytes = numbered_bytes(100'000);
    http_client slow = here.connect();
    slow.send_raw("PUT " + path_of(bytes) +
                  " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n" +
                  bytes.substr(0, 1000));
    std::this_thread::sleep_for(100ms);
    const auto begin = clock::now();
    CHECK(here.connect().put(path_of("other"), "other").status == 201);
    CHECK(clock::now() - begin < 1s);
    slow.send_raw(bytes.substr(1000));
    CHECK(slow.receive().status == 201);
    CHECK(here.connect().get(path_of(bytes)).body == bytes);
}

TEST_CASE("windows: more slow uploads than there are windows keep nobody from storing") {
    http_settings settings = quick_settings();
    settings.body_bytes = 128 << 10;  // two windows
    settings.window_time = 50ms;
    served here(settings);
    const std::string bytes = numbered_bytes(100'000);
    const std::string head =
        "PUT " + path_of(bytes) + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n";
    std::vector<http_client> slow;
    for (int i = 0; i < 20; ++i) {
        slow.push_back(here.connect());
        slow.back().send_raw(head);
    }
    http_client honest = here.connect();
    for (std::size_t i = 0; i < 50; ++i) {
        for (http_client& each : slow) each.send_raw(bytes.substr(i, 1));
        const std::string body = "body " + std::to_string(i);
        CHECK(honest.put(path_of(body), body).status == 201);
        std::this_thread::sleep_for(5ms);
    }
    for (http_client& each : slow) {
        each.send_raw(bytes.substr(50));
        CHECK(each.receive().status < 300);
    }
    CHECK(honest.get(path_of(bytes)).body == bytes);
}

TEST_CASE("budget: with all windows taken an upload is told to come again, at once") {
    http_settings settings = quick_settings();
    settings.body_bytes = 64 << 10;
    settings.window_time = 2s;
    served here(settings);
    http_client holder = here.connect();
    // Fast enough to be given a window, and then silent.
    holder.send_raw("PUT " + path_of("x") +
                    " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n" +
                    numbered_bytes(60'000));
    std::this_thread::sleep_for(100ms);
    const http_response answer = here.connect().put(path_of("other"), "other");
    CHECK(answer.status == 503);
    CHECK(answer.header("retry-after") == "1");
    CHECK(here.connect().get("/healthz").status == 200);
}

TEST_CASE("connections: one over the limit is told so, and one that leaves makes room") {
    http_settings settings = quick_settings();
    settings.connections_max = 3;
    served here(settings);
    std::vector<http_client> clients;
    for (int i = 0; i < 3; ++i) {
        clients.push_back(here.connect());
        CHECK(clients.back().get("/healthz").status == 200);
    }
    {
        http_client refused = here.connect();
        const http_response answer = refused.get("/healthz");
        CHECK(answer.status == 503);
        CHECK(answer.header("retry-after") == "1");
        CHECK(answer.header("connection") == "close");
        CHECK(refused.closed_by_peer());
    }
    clients.pop_back();
    wait_until([&] { return here.server().connection_count() == 2; });
    CHECK(here.connect().get("/healthz").status == 200);
}

TEST_CASE("aborts: a client that resets in the middle takes nobody with it") {
    served here;
    const std::string bytes = numbered_bytes(8 << 20);
    const blob_id id = here.keep(bytes);
    for (int i = 0; i < 20; ++i) {
        http_client reader = here.connect();
        shrink_receiving(reader);
        reader.send_raw("GET " + path_of(id) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        reset(reader);
        http_client writer = here.connect();
        writer.send_raw("PUT " + path_of(id) +
                        " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8388608\r\n\r\n" +
                        bytes.substr(0, 100'000));
        reset(writer);
        http_client early = here.connect();
        reset(early);
    }
    wait_until([&] { return here.server().connection_count() == 0; });
    CHECK(here.connect().get(path_of(id)).body == bytes);
}

TEST_CASE("refusals reach a client that is still sending") {
    served here;
    const std::string large(4 << 20, 'x');
    for (int i = 0; i < 5; ++i) {
        http_client client = here.connect();
        try {
            client.send_raw(
                "PUT /blobs/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4194304\r\n\r\n");
            client.send_raw(large);
        } catch (const connection_lost&) {
        }
        CHECK(client.receive().status == 400);
    }
}

TEST_CASE("signals: a reader that goes away does not end the process that sends to it") {
    // sendfile raises SIGPIPE, where send can be told not to.
    const auto before = std::signal(SIGPIPE, SIG_DFL);
    {
        served here;
        const bool ignored = std::signal(SIGPIPE, SIG_DFL) == SIG_IGN;
        CHECK(ignored);
    }
    std::signal(SIGPIPE, before);
}

TEST_CASE("drain: idle connections close at once, requests under way are finished") {
    served here;
    const std::string bytes = numbered_bytes(200'000);
    http_client idle = here.connect();
    CHECK(idle.get("/healthz").status == 200);
    http_client fresh = here.connect();
    http_client writing = here.connect();
    writing.send_raw("PUT " + path_of(bytes) +
                     " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n" +
                     bytes.substr(0, 1000));
    wait_until([&] { return here.server().connection_count() == 3; });
    std::thread drain([&] { here.drain(10s); });
    CHECK(idle.closed_by_peer());
    CHECK(fresh.closed_by_peer());
    writing.send_raw(bytes.substr(1000));
    const http_response answer = writing.receive();
    CHECK(answer.status == 201);
    CHECK(answer.header("connection") == "close");
    CHECK(writing.closed_by_peer());
    drain.join();
    CHECK_THROWS_AS(here.connect(), connection_lost);
}

TEST_CASE("drain: what does not finish by its deadline is cut off") {
    served here;
    http_client stuck = here.connect();
    stuck.send_raw("PUT " + path_of("x") +
                   " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx");
    wait_until([&] { return here.server().connection_count() == 1; });
    std::this_thread::sleep_for(50ms);
    const auto begin = clock::now();
    here.drain(200ms);
    CHECK(clock::now() - begin < 3s);
    CHECK(stuck.closed_by_peer());
}

TEST_CASE("drain: under load every answer that was begun arrives whole") {
    served here;
    const std::string bytes = numbered_bytes(50'000);
    const blob_id id = here.keep(bytes);
    std::atomic<int> answered{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            try {
                for (;;) {
                    http_client client = here.connect();
                    while (true) {
                        const http_response answer = client.get(path_of(id));
                        if (answer.body != bytes) std::abort();
                        ++answered;
                        if (answer.header("connection") == "close") break;
                    }
                }
            } catch (const connection_lost&) {
            }
        });
    }
    wait_until([&] { return answered > 100; });
    here.drain(5s);
    for (std::thread& each : threads) each.join();
}

TEST_CASE("listen: beyond this machine only when everybody is allowed") {
    runtime threads(two_threads());
    http_settings settings = quick_settings();
    settings.listen = "0.0.0.0:0";
    CHECK_THROWS_AS(http_server(threads, settings), std::invalid_argument);
    settings.allow_anonymous = true;
    CHECK_NOTHROW(http_server(threads, settings));
    for (const char* listen :
         {"", "nonsense", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", ":80", "[::1"}) {
        CAPTURE(listen);
        settings.listen = listen;
        CHECK_THROWS_AS(http_server(threads, settings), std::invalid_argument);
    }
    served here;
    settings.listen = "127.0.0.1:" + std::to_string(here.port());
    CHECK_THROWS_AS(
        {
            http_server second(threads, settings);
            second.start();
        },
        std::system_error);
}

}  // namespace cairn::test
