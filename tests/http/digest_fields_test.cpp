#include "http/digest_fields.hpp"

#include <doctest/doctest.h>
#include <string>

namespace cairn {
namespace {

// SHA-256 of "hello", as openssl prints it.
constexpr std::string_view hello_hex =
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
constexpr std::string_view hello_base64 = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=";

std::string member(std::string_view base64) { return "sha-256=:" + std::string(base64) + ":"; }

}  // namespace

TEST_CASE("digest fields: what is claimed is read back, among other algorithms") {
    const auto id = blob_id::parse(hello_hex);
    CHECK(repr_digest(*id) == member(hello_base64));
    CHECK(legacy_digest(*id) == "SHA-256=" + std::string(hello_base64));
    for (const std::string& field :
         {member(hello_base64), "sha-512=:AA==:, " + member(hello_base64),
          member(hello_base64) + ",md5=:AA==:", "SHA-256" + member(hello_base64).substr(7)}) {
        CAPTURE(field);
        CHECK(parse_digest(field).id == id);
        CHECK_FALSE(parse_digest(field).malformed);
    }
}

TEST_CASE("digest fields: a sha-256 member that does not parse is malformed, its absence is not") {
    for (const std::string& field :
         {std::string("sha-256"), std::string("sha-256="), member(""), member("AAAA"),
          "sha-256=" + std::string(hello_base64),
          member("LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCR="),
          member("LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="), member(hello_hex)}) {
        CAPTURE(field);
        CHECK(parse_digest(field).malformed);
        CHECK_FALSE(parse_digest(field).id);
    }
    CHECK_FALSE(parse_digest("").malformed);
    CHECK_FALSE(parse_digest("sha-512=:AA==:").malformed);
    CHECK_FALSE(parse_digest("sha-512=:AA==:").id);
}

TEST_CASE("digest fields: Want-Digest is understood with and without qualities") {
    for (const char* field : {"SHA-256", "sha-256", "md5, sha-256;q=0.5", "SHA-256;q=1"})
        CHECK(wants_sha256(field));
    for (const char* field : {"", "md5", "sha-256;q=0", "sha-256;q=0.000", "sha-2567"})
        CHECK_FALSE(wants_sha256(field));
}

}  // namespace cairn
