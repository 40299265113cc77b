#include "http/conditional.hpp"

#include <doctest/doctest.h>
#include <string>

namespace cairn {
namespace {

constexpr std::string_view tag = "aa11";

precondition with_match(std::string_view field, std::optional<std::string_view> current = tag) {
    return judge({field, std::nullopt}, current, true);
}

precondition with_none_match(std::string_view field,
                             bool reading,
                             std::optional<std::string_view> current = tag) {
    return judge({std::nullopt, field}, current, reading);
}

}  // namespace

TEST_CASE("conditional: If-Match wants a strong tag among those named") {
    for (const char* field :
         {"\"aa11\"", "*", " * ", "\"x\", \"aa11\"", "\"x\",\"aa11\",\"y\"", ",\"aa11\""}) {
        CAPTURE(field);
        CHECK(with_match(field) == precondition::proceed);
    }
    for (const char* field :
         {"\"x\"", "W/\"aa11\"", "aa11", "", "\"aa11", "\"AA11\"", "x, \"aa11\""}) {
        CAPTURE(field);
        CHECK(with_match(field) == precondition::failed);
    }
}

TEST_CASE("conditional: If-Match fails where nothing is") {
    CHECK(with_match("*", std::nullopt) == precondition::failed);
    CHECK(with_match("\"aa11\"", std::nullopt) == precondition::failed);
}

TEST_CASE("conditional: If-None-Match compares weakly; 304 for readers, 412 for writers") {
    for (const char* field : {"\"aa11\"", "W/\"aa11\"", "*", "\"x\", W/\"aa11\""}) {
        CAPTURE(field);
        CHECK(with_none_match(field, true) == precondition::not_modified);
        CHECK(with_none_match(field, false) == precondition::failed);
        CHECK(with_none_match(field, false, std::nullopt) == precondition::proceed);
    }
    CHECK(with_none_match("\"x\"", true) == precondition::proceed);
    CHECK(with_none_match("garbage", true) == precondition::proceed);
}

TEST_CASE("conditional: If-Match is judged before If-None-Match") {
    CHECK(judge({"\"x\"", "\"aa11\""}, tag, true) == precondition::failed);
    CHECK(judge({"\"aa11\"", "\"aa11\""}, tag, true) == precondition::not_modified);
    CHECK(judge({"\"aa11\"", "\"x\""}, tag, true) == precondition::proceed);
}

TEST_CASE("conditional: If-Range is strong, and a date or anything else means the whole blob") {
    CHECK(range_applies(std::nullopt, tag));
    CHECK(range_applies("\"aa11\"", tag));
    for (const char* field : {"W/\"aa11\"", "\"x\"", "aa11", "*", "", "\"aa11\", \"x\"",
                              "Wed, 21 Oct 2015 07:28:00 GMT"}) {
        CAPTURE(field);
        CHECK_FALSE(range_applies(field, tag));
    }
}

}  // namespace cairn
