// Many blobs in one request, over real sockets: every line of the contract for /blobs/stat,
// /blobs/read and /blobs/write.
#include "http/blob_frames.hpp"
#include "http/id_list.hpp"
#include "runtime/deadline.hpp"
#include "tests/http/served.hpp"
#include "tests/support/forwarding_store.hpp"

#include <algorithm>
#include <atomic>
#include <boost/json/parse.hpp>
#include <chrono>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cairn::test {
namespace {

using namespace std::chrono_literals;

const std::string frames_type(blob_frames_type);
const std::string ids_type(binary_ids_type);
const std::string json_type = "application/json";

blob_id id_of(std::string_view bytes) { return blob_id::of(as_bytes(bytes)); }

std::string raw(const std::vector<blob_id>& ids) {
    std::string text;
    for (const blob_id& id : ids) text += as_text(id.view());
    return text;
}

std::string json_list(const std::vector<blob_id>& ids) {
    std::string text;
    for (const blob_id& id : ids) text += (text.empty() ? "[\"" : ",\"") + id.hex() + '"';
    return text.empty() ? "[]" : text + "]";
}

http_response ask(http_client& client,
                  const std::string& target,
                  const std::string& type,
                  std::string_view body) {
    return client.request("POST", target, {{"Content-Type", type}}, body);
}

std::string framed(const blob_id& id, std::string_view bytes) {
    return std::string(as_text(blob_frame{id, bytes.size()}.head())) + std::string(bytes);
}
std::string framed(std::string_view bytes) { return framed(id_of(bytes), bytes); }
std::string absent(const blob_id& id) { return std::string(as_text(blob_frame{id}.head())); }

std::string problem_type(const http_response& answer) {
    CHECK(answer.header("content-type") == "application/problem+json");
    return std::string(boost::json::parse(answer.body).at("type").as_string());
}

std::string detail(const http_response& answer) {
    return std::string(boost::json::parse(answer.body).at("detail").as_string());
}

// One line of the answer to a write.
std::string line(const blob_id& id, int status, std::string_view type = "") {
    const std::string tail = type.empty() ? "}\n" : fmt::format(",\"type\":\"{}\"}}\n", type);
    return fmt::format(R"({{"id":"{}","status":{},"created":{})", id.hex(), status, status == 201) +
           tail;
}

// Sizes on both sides of every limit that a blob can cross on its way.
const std::vector<std::size_t> sizes{0,      1,      1000,   4096,   4097,   65'495,
                                     65'496, 65'497, 65'535, 65'536, 65'537, 300'000};

// Counts what is under way at once, and fails what it is told to. Told from any thread.
class meddled_store final : public forwarding_store {
public:
    using forwarding_store::forwarding_store;

    std::atomic<int> in_flight{0};
    std::atomic<int> in_flight_max{0};

    void wait(std::chrono::milliseconds time) { wait_ = time; }
    void fail(const blob_id& id, errc why) {
        const std::scoped_lock lock(mutex_);
        failures_[id] = why;
    }
    // Of reads, behind the first window.
    void fail_in_the_middle(const blob_id& id, errc why) {
        const std::scoped_lock lock(mutex_);
        late_failures_[id] = why;
    }

    awaitable<result<receipt>> put(source& body, std::optional<blob_id> claim) override {
        auto failure = co_await pass(*claim);
        if (!failure) co_return failure.error();
        co_return co_await forwarding_store::put(body, claim);
    }
    awaitable<result<std::unique_ptr<source>>> get(blob_id id, byte_range range) override {
        auto failure = co_await pass(id);
        if (!failure) co_return failure.error();
        auto found = co_await forwarding_store::get(id, range);
        const auto why = failure_of(late_failures_, id);
        if (!found || !why) co_return found;
        co_return std::make_unique<broken_source>(std::move(*found), *why);
    }
    awaitable<result<std::optional<lease>>> hold(blob_id id) override {
        auto failure = co_await pass(id);
        if (!failure) co_return failure.error();
        co_return co_await forwarding_store::hold(id);
    }

private:
    class broken_source final : public source {
    public:
        broken_source(std::unique_ptr<source> inner, errc why)
            : inner_(std::move(inner)), why_(why) {}
        std::optional<std::uint64_t> size() const override { return inner_->size(); }
        awaitable<result<buffer>> next() override {
            if (std::exchange(begun_, true)) co_return error_code(why_);
            co_return co_await inner_->next();
        }

    private:
        const std::unique_ptr<source> inner_;
        const errc why_;
        bool begun_ = false;
    };

    awaitable<result<void>> pass(blob_id id) {
        struct departure {
            std::atomic<int>& count;
            ~departure() { --count; }
        };
        const int now = ++in_flight;
        const departure counted{in_flight};
        if (now > in_flight_max) in_flight_max = now;
        const std::chrono::milliseconds time = wait_;
        if (time > 0ms) co_await sleep_for(time);
        const auto why = failure_of(failures_, id);
        if (why) co_return *why;
        co_return result<void>();
    }

    std::optional<errc> failure_of(const std::map<blob_id, errc>& in, const blob_id& id) {
        const std::scoped_lock lock(mutex_);
        const auto found = in.find(id);
        if (found == in.end()) return std::nullopt;
        return found->second;
    }

    std::atomic<std::chrono::milliseconds> wait_{0ms};
    std::mutex mutex_;
    std::map<blob_id, errc> failures_;
    std::map<blob_id, errc> late_failures_;
};

struct meddled_server {
    served here;
    meddled_store store{here.store()};

    explicit meddled_server(http_settings settings = quick_settings())
        : here(std::move(settings), false) {
        REQUIRE(here.threads().run(here.server().attach(store)).has_value());
    }
    ~meddled_server() { here.drain(5s); }
};

// What an HTTP/1.0 client is sent until the server closes: frames without chunks around them.
std::string read_to_end(served& here, const std::vector<blob_id>& ids) {
    http_client client = here.connect();
    const std::string body = raw(ids);
    client.send_raw(
        fmt::format("POST /blobs/read HTTP/1.0\r\nConnection: keep-alive\r\nContent-Type: "
                    "{}\r\nContent-Length: {}\r\n\r\n{}",
                    ids_type, body.size(), body));
    const http_response answer = client.receive();
    CHECK(answer.status == 200);
    CHECK(answer.count("transfer-encoding") == 0);
    CHECK(answer.count("content-length") == 0);
    CHECK(answer.header("connection") == "close");
    return answer.body;
}

}  // namespace

TEST_CASE("stat: sizes in the order of the request, null for what is absent") {
    served here;
    http_client client = here.connect();
    std::vector<blob_id> ids;
    std::string expected = "[";
    for (const std::size_t size : sizes) {
        ids.push_back(here.keep(numbered_bytes(size)));
        ids.push_back(id_of("absent " + std::to_string(size)));
        expected += fmt::format("{},null,", size);
    }
    ids.push_back(ids.front());
    expected += "0]\n";
    for (const http_response& answer :
         {ask(client, "/blobs/stat", json_type, json_list(ids)),
          ask(client, "/blobs/stat", "Application/JSON; charset=utf-8", json_list(ids)),
          ask(client, "/blobs/stat", ids_type, raw(ids)),
          ask(client, "/blobs/stat?renew=0", ids_type, raw(ids)),
          client.post("/blobs/stat?renew=1", json_list(ids))}) {
        CHECK(answer.status == 200);
        CHECK(answer.header("content-type") == "application/json");
        CHECK(answer.header("cache-control") == "no-store");
        CHECK(answer.body == expected);
    }
    const std::string prefixed = "[ \"sha256:" + ids[0].hex() + "\" ]";
    CHECK(client.post("/blobs/stat", prefixed).body == "[0]\n");
    CHECK(client.post("/blobs/stat", "[]").body == "[]\n");
    CHECK(ask(client, "/blobs/stat", ids_type, "").body == "[]\n");
}

TEST_CASE("stat: look-ups of one request run side by side, 64 of them, and stay in order") {
    meddled_server there;
    std::vector<blob_id> ids;
    std::string expected;
    for (std::size_t i = 0; i < 200; ++i) {
        ids.push_back(there.here.keep(numbered_bytes(i)));
        expected += (i == 0 ? "[" : ",") + std::to_string(i);
    }
    there.store.wait(5ms);
    http_client client = there.here.connect();
    CHECK(ask(client, "/blobs/stat", ids_type, raw(ids)).body == expected + "]\n");
    CHECK(there.store.in_flight_max == 64);
}

TEST_CASE("stat: a store that cannot tell fails the whole answer") {
    meddled_server there;
    const blob_id good = there.here.keep("good");
    there.store.fail(id_of("bad"), errc::overloaded);
    http_client client = there.here.connect();
    const http_response refused =
        ask(client, "/blobs/stat", ids_type, raw({good, id_of("bad"), good}));
    CHECK(refused.status == 503);
    CHECK(refused.header("retry-after") == "1");
    CHECK(problem_type(refused) == "overloaded");
    CHECK(ask(client, "/blobs/stat", ids_type, raw({good})).body == "[4]\n");
}

TEST_CASE("ids: 10,000 are taken, more are 413") {
    served here;
    std::vector<blob_id> ids(10'000, id_of("absent"));
    const blob_id last = ids.back() = here.keep("here");
    const std::string stated = here.connect().post("/blobs/stat", json_list(ids)).body;
    CHECK(stated.size() == 10'000 * 5 - 3 + 2);
    CHECK(stated.ends_with("null,4]\n"));
    http_client reader = here.connect();
    const http_response read = ask(reader, "/blobs/read", ids_type, raw(ids));
    CHECK(read.body.size() == 10'000 * 40 + 4);
    CHECK(read.body.ends_with(framed(last, "here")));
    ids.push_back(last);
    for (const char* target : {"/blobs/stat", "/blobs/read"}) {
        CAPTURE(target);
        http_client first = here.connect(), second = here.connect();
        for (const http_response& refused : {ask(first, target, json_type, json_list(ids)),
                                             ask(second, target, ids_type, raw(ids))}) {
            CHECK(refused.status == 413);
            CHECK(problem_type(refused) == "too-large");
            CHECK(detail(refused).find("10000 ids") != std::string::npos);
        }
        // Padding does not stretch the limit either.
        http_client padded = here.connect();
        padded.send_raw(fmt::format(
            "POST {} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", target));
        const std::string spaces = "10000\r\n" + std::string(65'536, ' ') + "\r\n";
        for (int i = 0; i < 17; ++i) padded.send_raw(spaces);
        CHECK(padded.receive().status == 413);
    }
}

TEST_CASE("ids: a list that does not parse is 400 and told where") {
    served here;
    http_client client = here.connect();
    for (const std::string target : {"/blobs/stat", "/blobs/read"}) {
        CAPTURE(target);
        const std::string id = '"' + id_of("x").hex() + '"';
        const auto complaint = [&](const std::string& type, const std::string& body) {
            const http_response refused = ask(client, target, type, body);
            CHECK(refused.status == 400);
            CHECK(problem_type(refused) == "malformed");
            return detail(refused);
        };
        CHECK(complaint(json_type, "[" + id + "," + id + ",\"x\"]").starts_with("ids[2] is no id"));
        CHECK(complaint(json_type, "[" + id + "; ") == "byte 67: expected `,` or `]`");
        CHECK(complaint(json_type, "") == "the list of ids ends open, at byte 0");
        CHECK(complaint(ids_type, raw({id_of("x")}) + "12345") ==
              "ids[1] ends after 5 of its 32 bytes");
    }
}

TEST_CASE("batches: what is not their type, method or moment is refused, and the connection kept") {
    served here;
    http_client client = here.connect();
    for (const std::string target : {"/blobs/stat", "/blobs/read", "/blobs/write"}) {
        CAPTURE(target);
        const http_response foreign = ask(client, target, "text/plain", "[]");
        CHECK(foreign.status == 415);
        CHECK(detail(foreign).find("application/vnd.cairn.") != std::string::npos);
        CHECK(client.request("POST", target, {{"Content-Encoding", "gzip"}}, "[]").status == 415);
        for (const char* method : {"GET", "PUT", "DELETE"}) {
            const http_response refused = client.request(method, target, {}, "");
            CHECK(refused.status == 405);
            CHECK(refused.header("allow") == "POST, OPTIONS");
        }
        CHECK(client.request("OPTIONS", target).header("allow") == "POST, OPTIONS");
    }
    CHECK(client.post("/blobs/stat?renew=maybe", "[]").status == 400);
    CHECK(client.post("/blobs/other", "[]").status == 400);

    served closed(quick_settings(), false);
    http_client early = closed.connect();
    CHECK(early.post("/blobs/stat", "[]").status == 503);

    http_settings poor = quick_settings();
    poor.body_bytes = 1000;
    served busy(poor);
    http_client late = busy.connect();
    CHECK(late.post("/blobs/write", std::string(1001, 'x')).status == 503);
}

TEST_CASE("read: one frame for each id, in order, absent ones too") {
    for (const std::uint64_t batch_bytes : {64 << 20, 100'000, 0}) {
        CAPTURE(batch_bytes);
        http_settings settings = quick_settings();
        settings.batch_bytes = batch_bytes;
        served here(settings);
        std::vector<blob_id> ids;
        std::string expected;
        for (int round = 0; round < 3; ++round) {
            for (const std::size_t size : sizes) {
                const std::string bytes = numbered_bytes(size);
                ids.push_back(here.keep(bytes));
                expected += framed(bytes);
                ids.push_back(id_of("absent " + std::to_string(size)));
                expected += absent(ids.back());
            }
        }
        http_client client = here.connect();
        for (int round = 0; round < 2; ++round) {
            const http_response answer = ask(client, "/blobs/read", ids_type, raw(ids));
            CHECK(answer.status == 200);
            CHECK(answer.header("content-type") == frames_type);
            CHECK(answer.header("transfer-encoding") == "chunked");
            CHECK(answer.count("content-length") == 0);
            CHECK((answer.body == expected));
            CHECK((client.post("/blobs/read", json_list(ids)).body == expected));
        }
        CHECK(client.post("/blobs/read", "[]").body == "");
        CHECK((read_to_end(here, ids) == expected));
    }
}

TEST_CASE("read: small blobs are fetched side by side, 64 at a time") {
    meddled_server there;
    std::vector<blob_id> ids;
    std::string expected;
    for (std::size_t i = 0; i < 200; ++i) {
        const std::string bytes = numbered_bytes(i * 10);
        ids.push_back(there.here.keep(bytes));
        expected += framed(bytes);
    }
    there.store.wait(5ms);
    http_client client = there.here.connect();
    CHECK((ask(client, "/blobs/read", ids_type, raw(ids)).body == expected));
    CHECK(there.store.in_flight_max == 64);
}

TEST_CASE("read: an error before the first byte is a problem, a later one ends short of a frame") {
    meddled_server there;
    served& here = there.here;
    const std::string large = numbered_bytes(200'000);
    const blob_id good = here.keep("good"), broken = here.keep(large), bad = id_of("bad");
    there.store.fail(bad, errc::overloaded);
    there.store.fail_in_the_middle(broken, errc::overloaded);

    http_client client = here.connect();
    const http_response refused = ask(client, "/blobs/read", ids_type, raw({bad, good}));
    CHECK(refused.status == 503);
    CHECK(problem_type(refused) == "overloaded");
    CHECK(ask(client, "/blobs/read", ids_type, raw({good})).body == framed("good"));

    // The id of the blob that failed, and no more.
    CHECK(read_to_end(here, {good, good, bad, good}) ==
          framed("good") + framed("good") + raw({bad}));
    const std::string cut = read_to_end(here, {good, broken, good});
    const std::string whole = framed("good") + framed(large);
    CHECK(cut.size() >= framed("good").size() + 40);
    CHECK(cut.size() < whole.size());
    CHECK((whole.substr(0, cut.size()) == cut));
    for (const blob_id& id : {bad, broken}) {
        http_client cut_off = here.connect();
        CHECK_THROWS_AS(ask(cut_off, "/blobs/read", ids_type, raw({good, id, good})),
                        connection_lost);
    }
}

TEST_CASE("read: a blob that is quarantined, or turns out bad before its first byte, is absent") {
    meddled_server there;
    const blob_id good = there.here.keep("good");
    for (const errc why : {errc::quarantined, errc::corrupt, errc::vanished}) {
        const blob_id bad = id_of("bad");
        there.store.fail(bad, why);
        http_client client = there.here.connect();
        CHECK(ask(client, "/blobs/read", ids_type, raw({bad, good, bad})).body ==
              absent(bad) + framed("good") + absent(bad));
    }
}

TEST_CASE("write: every entry is stored and told of in order, by status and created") {
    for (const std::uint64_t batch_bytes : {64 << 20, 100'000, 0}) {
        CAPTURE(batch_bytes);
        http_settings settings = quick_settings();
        settings.batch_bytes = batch_bytes;
        served here(settings);
        here.keep("here already");
        std::string body, expected;
        for (const std::size_t size : sizes) {
            const std::string bytes = numbered_bytes(size);
            body += framed(bytes) + framed("here already");
            expected += line(id_of(bytes), 201) + line(id_of("here already"), 200);
        }
        http_client client = here.connect();
        const http_response answer = ask(client, "/blobs/write", frames_type, body);
        CHECK(answer.status == 200);
        CHECK(answer.header("content-type") == "application/x-ndjson");
        CHECK(answer.header("cairn-durability") == to_string(served_durability()));
        CHECK(answer.body == expected);
        for (const std::size_t size : sizes) {
            const std::string bytes = numbered_bytes(size);
            CHECK((client.get(path_of(bytes)).body == bytes));
        }
        CHECK(client.post("/blobs/write", "").body == "");
    }
}

TEST_CASE("write: one bad entry does not fail the others") {
    http_settings settings = quick_settings();
    settings.blob_bytes_max = 100'000;
    meddled_server there(settings);
    const std::string large = numbered_bytes(90'000), wrong = numbered_bytes(90'001);
    there.store.fail(id_of("full"), errc::no_space);
    there.store.fail(id_of(wrong), errc::no_space);  // before it has read any of it
    const std::string body =
        framed("a") + framed(id_of("b"), "not b") + framed("c") + absent(id_of("d")) +
        framed(large) + framed(id_of("e"), numbered_bytes(80'000)) +
        framed(numbered_bytes(100'001)) + framed("full") + framed(wrong) + framed("f");
    http_client client = there.here.connect();
    const http_response answer = ask(client, "/blobs/write", frames_type, body);
    CHECK(answer.status == 200);
    CHECK(answer.body == line(id_of("a"), 201) + line(id_of("b"), 400, "digest-mismatch") +
                             line(id_of("c"), 201) + line(id_of("d"), 404, "not-found") +
                             line(id_of(large), 201) + line(id_of("e"), 400, "digest-mismatch") +
                             line(id_of(numbered_bytes(100'001)), 413, "too-large") +
                             line(id_of("full"), 507, "no-space") +
                             line(id_of(wrong), 507, "no-space") + line(id_of("f"), 201));
    for (const char* bytes : {"b", "d", "e"}) {
        CHECK(client.get(path_of(std::string_view(bytes))).status == 404);
    }
    CHECK(client.get(path_of("f")).body == "f");
}

TEST_CASE("write: small puts of one request run side by side, 64 at a time") {
    meddled_server there;
    there.store.wait(20ms);
    std::string body, expected;
    for (std::size_t i = 0; i < 200; ++i) {
        const std::string bytes = numbered_bytes(i);
        body += framed(bytes);
        expected += line(id_of(bytes), 201);
    }
    http_client client = there.here.connect();
    CHECK(ask(client, "/blobs/write", frames_type, body).body == expected);
    CHECK(there.store.in_flight_max == 64);
}

TEST_CASE("write: what read answers can be written as it is") {
    served from, to;
    std::vector<blob_id> ids;
    for (const std::size_t size : sizes) ids.push_back(from.keep(numbered_bytes(size)));
    ids.insert(ids.begin() + 3, id_of("absent"));
    http_client source = from.connect(), sink = to.connect();
    const std::string read = ask(source, "/blobs/read", ids_type, raw(ids)).body;
    const std::string told = ask(sink, "/blobs/write", frames_type, read).body;
    std::string expected;
    for (const blob_id& id : ids) {
        expected += id == id_of("absent") ? line(id, 404, "not-found") : line(id, 201);
    }
    CHECK(told == expected);
    CHECK((ask(sink, "/blobs/read", ids_type, raw(ids)).body == read));
}

TEST_CASE("write: a body that is no frames is 400 and told where; what came before it may stay") {
    served here;
    const auto complaint = [&](const std::string& body, bool chunked) {
        http_client client = here.connect();
        const std::string head = "POST /blobs/write HTTP/1.1\r\nHost: localhost\r\n";
        if (chunked) {
            client.send_raw(head + "Transfer-Encoding: chunked\r\n\r\n");
            client.send_raw(fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", body.size(), body));
        } else {
            client.send_raw(head + fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body));
        }
        const http_response refused = client.receive();
        CHECK(refused.status == 400);
        CHECK(problem_type(refused) == "malformed");
        return detail(refused);
    };
    const std::string one = framed("one");
    for (const bool chunked : {true, false}) {
        CAPTURE(chunked);
        CHECK(complaint("x", chunked) ==
              "entries[0]: the body ends after 1 of the 40 bytes of its head");
        CHECK(complaint(one + framed("two").substr(0, 39), chunked) ==
              "entries[1]: the body ends after 39 of the 40 bytes of its head");
    }
    CHECK(complaint(one + framed("three").substr(0, 42), true) ==
          "entries[1]: the body ends 3 bytes before the entry does");
    CHECK(complaint(one + framed("three").substr(0, 42), false) ==
          "entries[1], byte 43: announces 5 bytes where 2 are left");
    const std::string huge(as_text(blob_frame{id_of("x"), UINT64_MAX - 1}.head()));
    CHECK(complaint(huge + "x", false) ==
          "entries[0], byte 0: announces 18446744073709551614 bytes where 1 are left");
    CHECK(complaint(framed(numbered_bytes(200'000)).substr(0, 100'000), true) ==
          "entries[0]: the body ends 100040 bytes before the entry does");
    CHECK(here.connect().get(path_of("one")).body == "one");
    CHECK(here.connect().get(path_of("three")).status == 404);
}

TEST_CASE("write: more than 10,000 entries are 413; the whole may be larger than one blob may") {
    http_settings settings = quick_settings();
    settings.blob_bytes_max = 100;
    served here(settings);
    http_client client = here.connect();
    std::string body;
    for (int i = 0; i < 10'000; ++i) body += framed("same");
    const http_response answer = ask(client, "/blobs/write", frames_type, body);
    CHECK(answer.status == 200);
    CHECK(std::count(answer.body.begin(), answer.body.end(), '\n') == 10'000);
    const http_response refused = ask(client, "/blobs/write", frames_type, body + framed("more"));
    CHECK(refused.status == 413);
    CHECK(detail(refused).find("10000 entries") != std::string::npos);
    CHECK(client.get(path_of("more")).status == 404);
}

TEST_CASE("write: leave is given to a client that expects it") {
    served here;
    http_client client = here.connect();
    const std::string body = framed("hello");
    client.send_raw(
        fmt::format("POST /blobs/write HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                    "Content-Length: {}\r\n\r\n",
                    body.size()));
    CHECK(client.receive().status == 100);
    client.send_raw(body);
    CHECK(client.receive().body == line(id_of("hello"), 201));
}

TEST_CASE("batches: clients that go away in the middle leave nothing behind") {
    meddled_server there;
    served& here = there.here;
    std::vector<blob_id> ids;
    for (int i = 0; i < 100; ++i) ids.push_back(here.keep(numbered_bytes(50'000 + i)));
    there.store.wait(20ms);
    {
        http_client reader = here.connect(), writer = here.connect(), large = here.connect();
        reader.send_raw("POST /blobs/read HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
                        ids_type + "\r\nContent-Length: 3200\r\n\r\n" + raw(ids));
        CHECK(reader.receive().status == 200);
        for (http_client* each : {&writer, &large}) {
            each->send_raw(
                "POST /blobs/write HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n");
        }
        writer.send_raw(framed("complete") + framed("cut").substr(0, 42));
        large.send_raw(framed(numbered_bytes(500'000)).substr(0, 200'000));
    }
    for (int i = 0; i < 1000 && here.server().connection_count() > 0; ++i) {
        std::this_thread::sleep_for(5ms);
    }
    CHECK(here.server().connection_count() == 0);
    http_client after = here.connect();
    CHECK(after.get(path_of("cut")).status == 404);
    CHECK(after.get(path_of(numbered_bytes(500'000))).status == 404);
}

TEST_CASE("batches: a drain cuts off those whose store does not answer") {
    meddled_server there;
    const blob_id id = there.here.keep("x");
    there.store.wait(1h);
    http_client stat = there.here.connect(), read = there.here.connect(),
                write = there.here.connect();
    const std::string head = " HTTP/1.1\r\nHost: localhost\r\nContent-Type: ";
    const std::string ids = raw(std::vector<blob_id>(70, id));
    stat.send_raw("POST /blobs/stat" + head + ids_type + "\r\nContent-Length: 2240\r\n\r\n" + ids);
    read.send_raw("POST /blobs/read" + head + ids_type + "\r\nContent-Length: 2240\r\n\r\n" + ids);
    std::string body;
    for (int i = 0; i < 70; ++i) body += framed("y");
    write.send_raw("POST /blobs/write" + head + frames_type +
                   fmt::format("\r\nContent-Length: {}\r\n\r\n", body.size()) + body);
    for (int i = 0; i < 1000 && there.store.in_flight < 3 * 64; ++i) {
        std::this_thread::sleep_for(5ms);
    }
    CHECK(there.store.in_flight == 3 * 64);
    const auto begin = std::chrono::steady_clock::now();
    there.here.drain(50ms);
    CHECK(std::chrono::steady_clock::now() - begin < 5s);
    CHECK(there.store.in_flight == 0);
}

}  // namespace cairn::test
