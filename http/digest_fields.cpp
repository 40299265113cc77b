#include "http/digest_fields.hpp"

#include "http/grammar.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace cairn {
namespace {

// 32 bytes as base64: 43 digits and one pad, with no bit set that does not count.
constexpr std::size_t base64_size = 44;

int base64_value(char c) noexcept {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+') return 62;
    if (c == '/') return 63;
    return -1;
}

std::optional<blob_id> from_base64(std::string_view text) {
    if (text.size() != base64_size || text.back() != '=') return std::nullopt;
    blob_id id;
    std::uint32_t bits = 0;
    int bit_count = 0;
    std::size_t filled = 0;
    for (const char c : text.substr(0, base64_size - 1)) {
        const int value = base64_value(c);
        if (value < 0) return std::nullopt;
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        bit_count += 6;
        if (bit_count < 8) continue;
        bit_count -= 8;
        id.bytes[filled++] = static_cast<std::byte>(bits >> bit_count & 0xff);
    }
    if ((bits & ((1U << bit_count) - 1)) != 0) return std::nullopt;
    return id;
}

}  // namespace

digest_claim parse_digest(std::string_view field) {
    digest_claim claim;
    list_reader members(field);
    while (const auto member = members.next()) {
        const std::size_t equals = member->find('=');
        if (!iequals(member->substr(0, equals), "sha-256")) continue;
        // A structured dictionary's last member of a name counts (RFC 8941 3.2).
        claim = {};
        std::string_view value =
            equals == std::string_view::npos ? std::string_view() : member->substr(equals + 1);
        if (value.size() >= 2 && value.starts_with(':') && value.ends_with(':')) {
            claim.id = from_base64(value.substr(1, value.size() - 2));
        }
        claim.malformed = !claim.id;
    }
    return claim;
}

std::string repr_digest(const blob_id& id) { return "sha-256=:" + to_base64(id.bytes) + ":"; }

bool wants_sha256(std::string_view want_digest) {
    list_reader wishes(want_digest);
    while (const auto wish = wishes.next()) {
        const std::size_t end = std::min(wish->find(';'), wish->size());
        if (!iequals(trim(wish->substr(0, end)), "sha-256")) continue;
        std::string_view quality = trim(wish->substr(end));
        // "q=0", "q=0.0", ...: not wanted.
        return quality.empty() || quality.find_first_of("123456789") != std::string_view::npos;
    }
    return false;
}

std::string legacy_digest(const blob_id& id) { return "SHA-256=" + to_base64(id.bytes); }

}  // namespace cairn
