// Bytes, hashes, errors, metrics, log text: plain functions, against published vectors.
#include "runtime/bytes.hpp"
#include "runtime/error.hpp"
#include "runtime/fail_stop.hpp"
#include "runtime/hash.hpp"
#include "runtime/log.hpp"
#include "runtime/metrics.hpp"

#include <algorithm>
#include <boost/system/errc.hpp>
#include <cerrno>
#include <doctest/doctest.h>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace cairn {
namespace {

using namespace std::chrono_literals;

// --- bytes

TEST_CASE("buffer: slices and copies share the bytes and keep them alive") {
    buffer part;
    {
        const buffer whole = buffer::copy_of(as_bytes("hello, world"));
        part = whole.slice(7, 5);
        CHECK(part.data() == whole.data() + 7);
    }
    CHECK(part.text() == "world");
    part.truncate(3);
    CHECK(part.text() == "wor");
    CHECK(part.slice(3, 0).empty());
    CHECK(buffer().empty());
    CHECK(buffer::allocate(0).empty());
}

TEST_CASE("hex: two lower-case digits a byte, and back") {
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    const std::string digits = to_hex(as_bytes(all));
    CHECK(digits.substr(0, 8) == "00010203");
    CHECK(digits.substr(504) == "fcfdfeff");
    std::vector<std::byte> back(256);
    REQUIRE(from_hex(digits, back));
    CHECK(as_text(back) == all);
}

TEST_CASE("hex: anything but exactly the lower-case digits is refused") {
    std::array<std::byte, 2> out{};
    CHECK(from_hex("00ff", out));
    for (const char* bad :
         {"", "00f", "00fff", "00FF", "00fg", "00f ", "0x00", "00f\n", "00f/", "00f:", "00f`"}) {
        CAPTURE(bad);
        CHECK(!from_hex(bad, out));
    }
}

TEST_CASE("base64: the vectors of RFC 4648") {
    CHECK(to_base64(as_bytes("")) == "");
    CHECK(to_base64(as_bytes("f")) == "Zg==");
    CHECK(to_base64(as_bytes("fo")) == "Zm8=");
    CHECK(to_base64(as_bytes("foo")) == "Zm9v");
    CHECK(to_base64(as_bytes("foob")) == "Zm9vYg==");
    CHECK(to_base64(as_bytes("fooba")) == "Zm9vYmE=");
    CHECK(to_base64(as_bytes("foobar")) == "Zm9vYmFy");
    CHECK(to_base64(as_bytes("\xfb\xff\xfe")) == "+//+");
}

// --- hashes

TEST_CASE("sha256: the vectors of FIPS 180-4") {
    const auto digest = [](std::string_view text) { return to_hex(sha256::of(as_bytes(text))); };
    CHECK(digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(digest(std::string(1'000'000, 'a')) ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("xxh3: published values") {
    CHECK(xxh3(as_bytes("")) == 0x2d06800538d394c2);
    CHECK(xxh3(as_bytes("abc")) == 0x78af5f94892f3950);
}

TEST_CASE("hashes: in pieces of any size they are what they are in one") {
    std::mt19937_64 random(3);
    std::string text(100'000, '\0');
    for (char& each : text) each = static_cast<char>(random());
    sha256 sha;
    xxh3_stream xxh;
    for (int round = 0; round < 20; ++round) {
        const std::string_view whole = std::string_view(text).substr(random() % text.size());
        for (std::string_view rest = whole; !rest.empty();) {
            const auto piece = rest.substr(0, random() % 5000);
            sha.update(as_bytes(piece));
            xxh.update(as_bytes(piece));
            rest.remove_prefix(piece.size());
        }
        // finish() starts anew, so the next round is a test of that, too.
        CHECK(sha.finish() == sha256::of(as_bytes(whole)));
        CHECK(xxh.finish() == xxh3(as_bytes(whole)));
    }
}

// --- errors

TEST_CASE("errors: every one has a text of its own") {
    std::set<std::string> texts;
    for (int value = 1; value <= static_cast<int>(errc::refused); ++value) {
        texts.insert(error_code(static_cast<errc>(value)).message());
    }
    CHECK(texts.size() == static_cast<std::size_t>(errc::refused));
    CHECK(texts.count("unknown cairn error") == 0);
    CHECK(error_code(errc::corrupt).category().name() == std::string("cairn"));
}

TEST_CASE("errors: each decision has its errors and no others") {
    const std::pair<failure, std::set<errc>> decisions[] = {
        {failure::retryable, {errc::overloaded, errc::timed_out, errc::vanished}},
        {failure::missing, {errc::absent, errc::quarantined}},
        {failure::bad_input,
         {errc::malformed, errc::digest_mismatch, errc::too_large, errc::out_of_range,
          errc::short_body}},
        {failure::full, {errc::no_space}},
        {failure::stopped, {errc::stopped, errc::outcome_unknown}},
    };
    for (const auto& [decision, members] : decisions) {
        for (int value = 1; value <= static_cast<int>(errc::refused); ++value) {
            const auto each = static_cast<errc>(value);
            CAPTURE(value);
            CHECK((error_code(each) == decision) == members.contains(each));
        }
    }
}

TEST_CASE("errors: a full disk is one error, whatever the system calls it") {
    CHECK(system_error_from(ENOSPC) == errc::no_space);
    CHECK(system_error_from(EDQUOT) == errc::no_space);
    CHECK(system_error_from(EIO) == boost::system::errc::io_error);
    errno = ENOENT;
    CHECK(last_system_error() == boost::system::errc::no_such_file_or_directory);
}

TEST_CASE("fail_stop: the first reason stays, and there is no way back") {
    fail_stop stop;
    CHECK(stop.check());
    CHECK(stop.description().empty());
    set_log_level(log_level::off);
    stop.trip(errc::outcome_unknown, "first");
    stop.trip(errc::corrupt, "second");
    set_log_level(log_level::info);
    CHECK(stop.check().error() == errc::stopped);
    CHECK(stop.description().find("first: ") == 0);
}

// --- metrics

TEST_CASE("counter: threads add up") {
    counter sum;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&sum] {
            for (int k = 0; k < 10'000; ++k) sum.add(3);
        });
    }
    for (auto& each : threads) each.join();
    CHECK(sum.value() == 4 * 10'000 * 3);
}

TEST_CASE("histogram: a duration falls into the bucket that bounds it") {
    histogram times;
    times.observe(0ns);
    times.observe(1us);  // on the bound: inside
    times.observe(histogram::upper_bound(5));
    times.observe(histogram::upper_bound(5) + 1ns);
    times.observe(1h);
    const auto counts = times.counts();
    CHECK(counts[0] == 2);
    CHECK(counts[5] == 1);
    CHECK(counts[6] == 1);
    CHECK(counts[histogram::bucket_count] == 1);
    CHECK(histogram::upper_bound(0) == 1us);
    CHECK(histogram::upper_bound(20) == 1024us);
}

TEST_CASE("histogram: a quantile is the bound of the bucket that holds it") {
    histogram times;
    CHECK(times.quantile(0.5) == 0ns);
    for (int i = 0; i < 99; ++i) times.observe(1us);
    times.observe(1ms);
    CHECK(times.quantile(0.5) == 1us);
    CHECK(times.quantile(0.99) == 1us);
    CHECK(times.quantile(1.0) >= 1ms);
    CHECK(times.quantile(1.0) < 2ms);
}

TEST_CASE("metrics: the same name and labels are the same metric") {
    metrics all;
    counter& first = all.get_counter("cairn_puts_total", "puts", {{"tier", "row"}});
    counter& other = all.get_counter("cairn_puts_total", "puts", {{"tier", "bulk"}});
    CHECK(&first == &all.get_counter("cairn_puts_total", "puts", {{"tier", "row"}}));
    CHECK(&first != &other);
}

TEST_CASE("metrics: exposed in the text format, gauges for as long as they are held") {
    metrics all;
    all.get_counter("cairn_puts_total", "puts done", {{"tier", "row"}}).add(7);
    all.get_histogram("cairn_put_seconds", "time of a put").observe(1500us);
    auto gauge = all.add_gauge("cairn_queue_entries", "in the queue", [] { return 12.5; });
    const std::string text = all.expose();
    const auto has = [&text](std::string_view line) {
        return text.find(line) != std::string::npos;
    };
    CHECK(has("# HELP cairn_puts_total puts done\n"));
    CHECK(has("# TYPE cairn_puts_total counter\n"));
    CHECK(has("cairn_puts_total{tier=\"row\"} 7"));
    CHECK(has("# TYPE cairn_put_seconds histogram\n"));
    CHECK(has("cairn_put_seconds_count 1"));
    CHECK(has("cairn_put_seconds_bucket{le=\"+Inf\"} 1"));
    CHECK(has("cairn_put_seconds_sum 0.0015"));
    CHECK(has("# TYPE cairn_queue_entries gauge\n"));
    CHECK(has("cairn_queue_entries 12.5"));
    gauge.reset();
    CHECK(all.expose().find("cairn_queue_entries 12.5") == std::string::npos);
}

// --- log

TEST_CASE("log: foreign text is made printable and short") {
    CHECK(printable("GET /blobs/9f3a") == "GET /blobs/9f3a");
    CHECK(printable("a\r\nW faked line") == "a\\x0d\\x0aW faked line");
    CHECK(printable("back\\slash") == "back\\x5cslash");
    CHECK(printable("\x1b[31m\x7f\xc3\xa4") == "\\x1b[31m\\x7f\\xc3\\xa4");
    CHECK(printable(std::string(256, 'x')) == std::string(256, 'x'));
    CHECK(printable(std::string(257, 'x')) == std::string(256, 'x') + "...");
}

TEST_CASE("log: levels below the set one are skipped") {
    set_log_level(log_level::warn);
    CHECK(!log_enabled(log_level::info));
    CHECK(log_enabled(log_level::warn));
    CHECK(log_enabled(log_level::error));
    set_log_level(log_level::off);
    CHECK(!log_enabled(log_level::error));
    set_log_level(log_level::info);
    CHECK(!log_enabled(log_level::debug));
}

}  // namespace
}  // namespace cairn
