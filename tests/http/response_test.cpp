#include "http/response.hpp"

#include "http/problem.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>
#include <string>

namespace cairn {
namespace {

std::string head_of(const response& answer, bool keep = true, bool say_keep = false) {
    std::string head = "what was there before";
    answer.write_head(head, {keep, say_keep, false, {}});
    return head;
}

bool has(const std::string& head, std::string_view line) {
    return head.find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
}

}  // namespace

TEST_CASE("response: a head is a status line, a date, a length, fields and an empty line") {
    response answer;
    answer.start(200);
    answer.text("text/plain", "hello");
    answer.field("X-Count", std::uint64_t{18446744073709551615U});
    const std::string head = head_of(answer);
    CHECK(head.starts_with("HTTP/1.1 200 OK\r\nDate: "));
    CHECK(head.find(" GMT\r\n") ==
          std::string("HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00").size());
    CHECK(has(head, "Content-Length: 5"));
    CHECK(has(head, "Content-Type: text/plain"));
    CHECK(has(head, "X-Count: 18446744073709551615"));
    CHECK(head.ends_with("\r\n\r\n"));
    CHECK(head.find("Connection") == std::string::npos);
}

TEST_CASE("response: the connection's fate is told where the client would not know it") {
    response answer;
    answer.start(200);
    CHECK(has(head_of(answer, false), "Connection: close"));
    CHECK(has(head_of(answer, true, true), "Connection: keep-alive"));
}

TEST_CASE("response: 204 and 304 announce no length, everything else does") {
    response answer;
    for (const int status : {204, 304}) {
        answer.start(status);
        CHECK(head_of(answer).find("Content-Length") == std::string::npos);
    }
    for (const int status : {200, 201, 404, 412, 503}) {
        answer.start(status);
        CHECK(has(head_of(answer), "Content-Length: 0"));
    }
}

TEST_CASE("response: starting anew forgets the answer before") {
    response answer;
    answer.start(200);
    answer.text("text/plain", "hello");
    answer.close_connection();
    answer.start(201);
    CHECK(answer.text_body().empty());
    CHECK_FALSE(answer.closes_connection());
    CHECK(head_of(answer).find("text/plain") == std::string::npos);
}

TEST_CASE("response: a blob's fields name its id in three ways") {
    response answer;
    answer.start(200);
    add_blob_fields(answer, blob_id::of(as_bytes("hello")));
    const std::string head = head_of(answer);
    CHECK(has(head, "ETag: \"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\""));
    CHECK(has(head, "Repr-Digest: sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"));
    CHECK(has(head, "Accept-Ranges: bytes"));
    CHECK(has(head, "Cache-Control: public, max-age=31536000, immutable"));
    CHECK(has(head, "X-Content-Type-Options: nosniff"));
    answer.start(200);
    add_blob_fields(answer, blob_id::of(as_bytes("hello")), audience::asker);
    CHECK(has(head_of(answer), "Cache-Control: private, max-age=31536000, immutable"));
}

TEST_CASE("problem: the body is JSON that says what went wrong, and nothing breaks out of it") {
    response answer;
    make_problem(answer, 404, "not-found", "a \"quote\", a \\ and a \n line", "7-3");
    const auto body = boost::json::parse(answer.text_body()).as_object();
    CHECK(body.at("type") == "not-found");
    CHECK(body.at("title") == "Not Found");
    CHECK(body.at("status") == 404);
    CHECK(body.at("detail") == "a \"quote\", a \\ and a \n line");
    CHECK(body.at("request_id") == "7-3");
    const std::string head = head_of(answer);
    CHECK(has(head, "Content-Type: application/problem+json"));
    CHECK(has(head, "Cache-Control: no-store"));

    make_problem(answer, 503, "overloaded", "", "1-1");
    CHECK(has(head_of(answer), "Retry-After: 1"));
}

TEST_CASE("problem: errors of the store have the status that HTTP gives them") {
    CHECK(problem_of(errc::digest_mismatch).status == 400);
    CHECK(problem_of(errc::digest_mismatch).type == "digest-mismatch");
    CHECK(problem_of(errc::quarantined).status == 404);
    CHECK(problem_of(errc::too_large).status == 413);
    CHECK(problem_of(errc::no_space).status == 507);
    CHECK(problem_of(errc::overloaded).status == 503);
    CHECK(problem_of(errc::stopped).status == 503);
    CHECK(problem_of(system_error_from(5)).status == 500);
    CHECK(problem_of(error_code(28, boost::system::system_category())).status == 507);
}

}  // namespace cairn
