// Copies what one server has and another lacks, in few requests: a page of ids (GET /blobs), which
// of them are missing (POST /blobs/stat), and those out of POST /blobs/read straight into POST
// /blobs/write, whose framing is the same. Resumed by running it again.
#include "http/connection_pool.hpp"
#include "http/server.hpp"
#include "store/open_store.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

using namespace cairn;
namespace json = boost::json;

// One server and its connections. What goes wrong is thrown, and ends the copy.
class peer {
public:
    explicit peer(const std::string& url) : connections_(parse_server_url(url).value(), {}) {}

    // Begins a request; `fields` say how its body is framed.
    awaitable<std::unique_ptr<client_connection>> begin(std::string_view method,
                                                        std::string target,
                                                        std::string fields,
                                                        std::string body = {}) {
        auto taken = (co_await connections_.take()).value();
        const std::string head = connections_.head_of(method, target, fields) + body;
        (co_await taken.connection->send(as_bytes(head), byte_view())).value();
        co_return std::move(taken.connection);
    }

    // Waits until the answer begins.
    awaitable<void> expect_success(client_connection& on) {
        const reply_head head = (co_await on.read_head("POST")).value();
        if (head.status != 200) throw std::runtime_error("status " + std::to_string(head.status));
    }

    awaitable<std::string> finish(std::unique_ptr<client_connection> on) {
        std::string text;
        for (bool more = true; more;) {
            const buffer window = (co_await on->read_body()).value();
            text += window.text();
            more = !window.empty();
        }
        connections_.give_back(std::move(on));
        co_return text;
    }

    awaitable<json::value> fetch(std::string_view method, std::string target, std::string body) {
        const std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n";
        auto on = co_await begin(method, target, length, body);
        co_await expect_success(*on);
        const std::string text = co_await finish(std::move(on));
        co_return json::parse(text);
    }

private:
    connection_pool connections_;
};

// Those of a page that the server lacks, 32 bytes each.
awaitable<std::string> missing_at(peer& to, const json::array& page) {
    json::array names;
    for (const json::value& blob : page) names.push_back(blob.at("id"));
    const json::value held = co_await to.fetch("POST", "/blobs/stat", json::serialize(names));
    std::string ids;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!held.at(i).is_null()) continue;
        ids += as_text(blob_id::parse(names[i].as_string()).value().view());
    }
    co_return ids;
}

// Streams blobs from one server into the other; the other's word on each of them, line by line.
// When `from` cuts its answer short, this throws with the body not ended: `to` keeps whole blobs.
awaitable<std::string> carry(peer& from, peer& to, std::string ids) {
    const std::string asks =
        "Content-Type: application/vnd.cairn.ids\r\nContent-Length: " + std::to_string(ids.size()) +
        "\r\n";
    auto reading = co_await from.begin("POST", "/blobs/read", asks, ids);
    co_await from.expect_success(*reading);
    const std::string frames =
        "Content-Type: application/vnd.cairn.blobs\r\nTransfer-Encoding: chunked\r\n";
    auto writing = co_await to.begin("POST", "/blobs/write", frames);
    for (bool more = true; more;) {
        const buffer window = (co_await reading->read_body()).value();
        more = !window.empty();
        char size[24];
        std::snprintf(size, sizeof size, "%zx\r\n", window.size());
        (co_await writing->send(as_bytes(size), window.view())).value();
        (co_await writing->send(as_bytes("\r\n"), byte_view())).value();
    }
    co_await from.finish(std::move(reading));
    co_await to.expect_success(*writing);
    co_return co_await to.finish(std::move(writing));
}

// How many blobs it copied.
awaitable<std::size_t> copy_all(peer& from, peer& to) {
    std::size_t copied = 0;
    std::string after;
    for (bool more = true; more;) {
        const std::string page_target = "/blobs?limit=1000&after=" + after;
        const json::value page = co_await from.fetch("GET", page_target, "");
        const std::string ids = co_await missing_at(to, page.at("blobs").as_array());
        std::string told;
        if (!ids.empty()) told = co_await carry(from, to, ids);
        for (std::size_t at = 0; (at = told.find("true", at)) != told.npos; ++at) ++copied;
        more = page.at("next").is_string();
        if (more) after = page.at("next").as_string();
    }
    co_return copied;
}

awaitable<void> fill(store& blobs, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
        const std::string bytes(i * 31, static_cast<char>('a' + i % 26));
        buffer_source body(buffer::copy_of(as_bytes(bytes)));
        (co_await blobs.put(body, std::nullopt)).value();
    }
}

int main() {
    runtime threads;
    const auto source_store = threads.run(open_memory_store(threads));
    const auto sink_store = threads.run(open_memory_store(threads));
    threads.run(fill(*source_store, 0, 2500));
    threads.run(fill(*sink_store, 1000, 1200));  // these are there before
    http_settings settings;
    settings.listen = "127.0.0.1:0";
    http_server source_server(threads, settings), sink_server(threads, settings);
    source_server.start();
    sink_server.start();
    threads.run(source_server.attach(*source_store)).value();
    threads.run(sink_server.attach(*sink_store)).value();

    peer from(source_server.url()), to(sink_server.url());
    const std::size_t first = threads.run(copy_all(from, to));
    const std::size_t again = threads.run(copy_all(from, to));
    std::printf("copied %zu blobs, and %zu when run again\n", first, again);

    threads.run(source_server.drain(std::chrono::seconds(1)));
    threads.run(sink_server.drain(std::chrono::seconds(1)));
    threads.run(source_store->close());
    threads.run(sink_store->close());
    return first == 2300 && again == 0 ? 0 : 1;
}
