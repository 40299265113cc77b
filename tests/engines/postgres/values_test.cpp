// What stands around the client: error codes of SQLSTATEs, parameters on the wire, URLs, delays.
#include "engines/postgres/backoff.hpp"
#include "engines/postgres/parameters.hpp"
#include "engines/postgres/server_url.hpp"
#include "engines/postgres/sql_error.hpp"
#include "tests/support/results.hpp"

#include <doctest/doctest.h>
#include <optional>
#include <string>
#include <vector>

namespace cairn::test {
namespace {

using namespace postgres;

std::string hex_of(const parameters& with) { return to_hex(with.bytes(0)); }

result<server_url> parsed(const std::string& text) { return server_url::parse(text); }

}  // namespace

TEST_CASE("sql_error: an SQLSTATE goes into an error code and comes out again") {
    for (const std::string state : {"00000", "23505", "40P01", "57P01", "CA001", "ZZZZZ"}) {
        CHECK(sqlstate_of(sql_error(state)) == state);
    }
    CHECK(sql_error("CA001") == sql_error("CA001"));
    CHECK(sql_error("CA001") != sql_error("CA002"));
    CHECK(sqlstate_of(sql_error("")) == "XX000");
    CHECK(sqlstate_of(sql_error("abc  ")) == "XX000");
    CHECK(sqlstate_of(errc::absent).empty());
    CHECK(sql_error("23505").message() == "SQLSTATE 23505");
}

TEST_CASE("sql_error: decisions are made of conditions, not of numbers") {
    CHECK(sql_error("53100") == errc::no_space);
    CHECK(sql_error("53100") == failure::full);
    for (const auto state :
         {"40001", "40P01", "57P01", "08006", "08P01", "25006", "53200", "53300", "57014", "CA003"})
        CHECK(sql_error(state) == failure::retryable);
    for (const auto state : {"23505", "42P01", "XX000", "CA001", "0A000"})
        CHECK(sql_error(state) != failure::retryable);
    CHECK(error_code(errc::unavailable) == failure::retryable);
    CHECK(error_code(errc::connection_lost) == failure::retryable);
    CHECK(is_retry_whole(sql_error("40P01")));
    CHECK_FALSE(is_retry_whole(sql_error("57P01")));
    CHECK(is_connection_gone(sql_error("25006")));
    CHECK_FALSE(is_connection_gone(sql_error("57014")));
    CHECK(is_too_many_connections(sql_error("53300")));
    CHECK(is_stale_statement(sql_error("26000")));
    CHECK_FALSE(is_stale_statement(error_code(errc::malformed)));
}

TEST_CASE("parameters: values are in the server's binary form") {
    CHECK(hex_of(parameters().add(std::int64_t{-2})) == "fffffffffffffffe");
    CHECK(hex_of(parameters().add(true)) == "01");
    CHECK(hex_of(parameters().add("ab")) == "6162");
    CHECK(hex_of(parameters().add(as_bytes("ab"))) == "6162");
    CHECK(hex_of(parameters().add(buffer::copy_of(as_bytes("ab")))) == "6162");

    parameters several;
    several.add(std::int64_t{1}).add_null().add("").add(false);
    REQUIRE(several.size() == 4);
    CHECK(several.type(0) == 20);
    CHECK(several.is_null(1));
    CHECK_FALSE(several.is_null(2));
    CHECK(several.bytes(2).empty());
    CHECK(several.size_bytes() == 4 * 4 + 8 + 1);
}

TEST_CASE("parameters: arrays carry their type, their nulls and their lengths") {
    const std::vector<std::int64_t> numbers{1, 2};
    CHECK(hex_of(parameters().add(numbers)) ==
          "00000001"  // one dimension
          "00000000"  // no nulls
          "00000014"  // of bigint
          "00000002"  // two elements
          "00000001"  // from 1
          "00000008"
          "0000000000000001"
          "00000008"
          "0000000000000002");
    const std::vector<std::optional<std::int64_t>> some{std::nullopt};
    CHECK(hex_of(parameters().add(some)) ==
          "00000001"
          "00000001"
          "00000014"
          "00000001"
          "00000001"
          "ffffffff");
    const std::vector<std::optional<byte_view>> bytes{as_bytes("a"), byte_view()};
    CHECK(hex_of(parameters().add(bytes)) ==
          "00000001"
          "00000000"
          "00000011"
          "00000002"
          "00000001"
          "00000001"
          "61"
          "00000000");
    CHECK(hex_of(parameters().add(std::vector<std::int64_t>())) ==
          "00000000"
          "00000000"
          "00000014");
}

TEST_CASE("server_url: hosts, ports and settings are what libpq reads; its own are cairn's") {
    const auto url = parsed(
        "postgresql://me:pw@a,b:99/store?sslmode=require&cairn.prepare=false"
        "&cairn.read_connections=3");
    REQUIRE(url.has_value());
    REQUIRE(url->places().size() == 2);
    CHECK(url->places()[0].name() == "a:5432");
    CHECK(url->places()[1].name() == "b:99");
    CHECK_FALSE(url->prepare());
    CHECK(url->read_connections() == 3);
    CHECK(url->write_connections() == 2);
    CHECK(url->settings().at("dbname") == "store");
    CHECK(url->settings().at("sslmode") == "require");
    CHECK(url->settings().at("password") == "pw");
    CHECK(url->settings().at("target_session_attrs") == "read-write");
    CHECK(url->settings().at("tcp_user_timeout") == "15000");
    CHECK(parsed("postgresql://h/d?target_session_attrs=any")
              ->settings()
              .at("target_session_attrs") == "any");

    const auto socket = parsed("postgresql:///store?host=/run/pg&port=1");
    REQUIRE(socket.has_value());
    CHECK(socket->places()[0].is_socket());
    CHECK(socket->places()[0].name() == "/run/pg:1");
    CHECK(parsed("postgresql://[::1]:7/d")->places()[0].name() == "[::1]:7");
    CHECK(parsed("postgresql:///d")->places().size() == 1);
}

TEST_CASE("server_url: what neither libpq nor cairn knows is refused") {
    for (const auto* const text :
         {"", "host=a", "http://a/", "postgresql://a/d?nonsense=1",
          "postgresql://a/d?cairn.speed=1", "postgresql://a/d?cairn.prepare=maybe",
          "postgresql://a/d?cairn.read_connections=0", "postgresql://a/d?cairn.read_connections=1x",
          "postgresql://a,b,c:1,d:2/d?port=1,2", "postgresql://%zz/d"}) {
        CAPTURE(text);
        CHECK(parsed(text).error() == errc::malformed);
    }
}

TEST_CASE("server_url: what may be shown has no secrets") {
    const auto url = parsed("postgresql://me:s3cret@a,b:99/store?sslpassword=key");
    REQUIRE(url.has_value());
    CHECK(url->redacted() == "postgresql://a:5432,b:99/store");
    CHECK(url->without_secrets("s3cret and key: s3cret") == "*** and ***: ***");
    CHECK(parsed("postgresql://a/d")->without_secrets("as it is") == "as it is");
}

TEST_CASE("backoff: delays grow to their limit, are jittered, and begin anew") {
    using std::chrono::milliseconds;
    backoff delays(milliseconds(50), milliseconds(400));
    for (const int full : {50, 100, 200, 400, 400}) {
        const auto delay = delays.next();
        CHECK(delay >= milliseconds(full / 2));
        CHECK(delay <= milliseconds(full));
    }
    delays.reset();
    CHECK(delays.next() <= milliseconds(50));
}

}  // namespace cairn::test
