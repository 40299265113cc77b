// The token by which a server knows its clients (RFC 6750), and the file that keeps it.
//
// One token opens everything. It travels as it is, so whoever sees the network learns it.
#pragma once

#include "runtime/hash.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn {

// Shorter ones can be guessed; longer ones crowd a head.
inline constexpr std::size_t token_bytes_min = 16;
inline constexpr std::size_t token_bytes_max = 1024;

// Letters, digits and -._~+/ with = at the end (b64token of RFC 6750), of a length that will do.
bool is_bearer_token(std::string_view text) noexcept;

// What the file holds, without the newline at its end. Throws std::invalid_argument that names the
// file and says what to do: when it cannot be read, when others may read it, and when it holds no
// token. Blocks: not on a loop thread of a server.
std::string read_token_file(const std::string& path);

// What a server keeps of its token. Immutable, so any thread.
class token_check {
public:
    explicit token_check(std::string_view token);

    // Takes as long for a guess that is nearly right as for any other.
    bool accepts(std::string_view token) const;

private:
    sha256_digest digest_;
};

}  // namespace cairn
