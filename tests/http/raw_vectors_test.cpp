// The table of raw requests, judged twice: by the machines that read heads and bodies, cut at every
// byte and byte by byte, and by a server over sockets, cut at a seeded choice of places (at all of
// them with CAIRN_LONG=1).
#include "tests/http/raw_vectors.hpp"

#include "http/chunked.hpp"
#include "http/head.hpp"
#include "tests/fault/crash_counts.hpp"
#include "tests/http/served.hpp"

#include <algorithm>
#include <chrono>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace cairn::test {
namespace {

// Between cuts of a long request. With instrumentation all of them would take a minute.
#ifdef __has_feature
constexpr std::size_t long_step = __has_feature(address_sanitizer) ? 17 : 1;
#else
constexpr std::size_t long_step = 1;
#endif

// Reads requests as a connection does, from bytes that come in pieces, and writes down what it
// made of them: two readings of the same bytes are alike or one of them is wrong.
class reader {
public:
    void feed(std::string_view piece) {
        received_ += piece;
        while (!over_ && (in_body_ ? read_body() : read_head())) {
        }
    }
    const std::string& verdict() const { return verdict_; }
    int refusal() const { return refusal_; }  // of a head, 0 for none
    bool refused_chunks() const { return refused_chunks_; }

private:
    std::string_view rest() const { return std::string_view(received_).substr(at_); }

    bool read_head() {
        const auto size = scanner_.find_end(rest());
        if (scanner_.refusal()) return refuse(*scanner_.refusal());
        if (!size) return false;
        if (const auto refusal = head_.parse(rest().substr(0, *size))) return refuse(*refusal);
        at_ += *size;
        scanner_ = {};
        decoder_ = {};
        left_ = head_.content_length();
        in_body_ = head_.framing() != body_framing::none;
        verdict_ += fmt::format("\n{} {} {} keep={} framing={} length={} host={} body=",
                                head_.method_text(), head_.target(), head_.is_http_1_0(),
                                head_.keeps_alive(), static_cast<int>(head_.framing()), left_,
                                head_.find(field_name::host).value_or("none"));
        return true;
    }

    bool read_body() {
        const bool chunked = head_.framing() == body_framing::chunked;
        if (chunked) {
            const auto eaten = decoder_.eat(rest());
            refused_chunks_ = over_ = !eaten;
            if (over_) verdict_ += " bad chunks";
            if (over_) return false;
            at_ += *eaten;
        }
        const std::uint64_t run = chunked ? decoder_.data_bytes() : left_;
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(run, rest().size()));
        verdict_ += rest().substr(0, count);
        at_ += count;
        if (chunked && count > 0) decoder_.moved(count);
        left_ -= chunked ? 0 : count;
        in_body_ = chunked ? !decoder_.done() : left_ > 0;
        return !in_body_ || (count > 0 && !rest().empty());
    }

    bool refuse(const head_refusal& refusal) {
        verdict_ += fmt::format("\nrefused {} {}", refusal.status, refusal.reason);
        refusal_ = refusal.status;
        over_ = true;
        return false;
    }

    std::string received_;
    std::size_t at_ = 0;
    head_scanner scanner_;
    request_head head_;
    chunked_decoder decoder_;
    std::uint64_t left_ = 0;
    bool in_body_ = false;
    bool over_ = false;
    bool refused_chunks_ = false;
    int refusal_ = 0;
    std::string verdict_;
};

std::string verdict_of(const std::vector<std::string_view>& pieces) {
    reader in;
    for (const std::string_view piece : pieces) in.feed(piece);
    return in.verdict();
}

// Sends a vector in two pieces and holds the answers against the table.
void ask(const served& here, const raw_vector& asked, std::size_t cut) {
    INFO(asked.name, " cut at ", cut);
    http_client client = here.connect();
    try {
        client.send_raw(std::string_view(asked.bytes).substr(0, cut));
        // Not a promise that two reads happen, but on loopback nearly always so.
        if (cut > 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        client.send_raw(std::string_view(asked.bytes).substr(cut));
    } catch (const connection_lost&) {
        // Refused before its end; the answer is there all the same.
    }
    try {
        for (const int status : asked.answers) {
            http_response answer = client.receive();
            while (answer.status < 200) answer = client.receive();
            CHECK(answer.status == status);
            if (status != 204) CHECK(answer.count("content-length") == 1);
            if (status >= 400) CHECK(answer.header("content-type") == "application/problem+json");
        }
        if (asked.end == ending::kept) {
            CHECK(client.get("/healthz").status == 200);
        } else {
            CHECK(client.closed_by_peer());
        }
    } catch (const connection_lost& e) {
        FAIL_CHECK(e.what());
    }
}

}  // namespace

TEST_CASE("raw requests: there are enough of them, each under its own name") {
    std::set<std::string> names;
    for (const raw_vector& each : raw_vectors()) names.insert(each.name);
    CHECK(names.size() == raw_vectors().size());
    CHECK(names.size() >= 120);
}

TEST_CASE("raw requests: the machines refuse what the table says, and nothing else") {
    for (const raw_vector& each : raw_vectors()) {
        CAPTURE(each.name);
        reader in;
        in.feed(each.bytes);
        CAPTURE(in.verdict());
        // Behind an answer that ends the connection nobody reads.
        if (each.end == ending::closed) continue;
        CHECK(in.refusal() == (each.end == ending::bad_head ? each.answers.back() : 0));
        CHECK(in.refused_chunks() == (each.end == ending::bad_chunk));
    }
}

TEST_CASE("raw requests: the machines judge alike wherever the bytes are cut") {
    for (const raw_vector& each : raw_vectors()) {
        CAPTURE(each.name);
        const std::string_view bytes = each.bytes;
        const std::string whole = verdict_of({bytes});
        std::size_t different = 0;
        const std::size_t step = bytes.size() > 1024 ? long_step : 1;
        for (std::size_t cut = 1; cut < bytes.size(); cut += step) {
            if (verdict_of({bytes.substr(0, cut), bytes.substr(cut)}) != whole) ++different;
        }
        CHECK(different == 0);
        std::vector<std::string_view> single;
        for (std::size_t at = 0; at < bytes.size(); ++at) single.push_back(bytes.substr(at, 1));
        CHECK(verdict_of(single) == whole);
    }
}

TEST_CASE("raw requests: a server answers each as the table says, and as often") {
    served here;
    here.keep("hello");
    for (const raw_vector& each : raw_vectors()) ask(here, each, 0);
}

TEST_CASE("raw requests: a server answers alike wherever the network cuts them") {
    served here;
    here.keep("hello");
    if (is_set("CAIRN_LONG", "1")) {
        for (const raw_vector& each : raw_vectors()) {
            for (std::size_t cut = 1; cut < each.bytes.size(); ++cut) ask(here, each, cut);
        }
        return;
    }
    std::mt19937_64 random(crash_seed());
    for (int i = 0; i < 500; ++i) {
        const raw_vector& each = raw_vectors()[random() % raw_vectors().size()];
        ask(here, each, 1 + random() % (each.bytes.size() - 1));
    }
}

}  // namespace cairn::test
