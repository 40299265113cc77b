// Hashes as streams: SHA-256 names a blob, XXH3-64 checks stored bytes.
#pragma once

#include "runtime/bytes.hpp"

#include <array>
#include <cstdint>
#include <memory>

struct evp_md_ctx_st;

namespace cairn {

using sha256_digest = std::array<std::byte, 32>;

// SHA-256 of bytes that arrive in pieces. One thread at a time. Throws std::bad_alloc.
class sha256 {
public:
    sha256();
    sha256(sha256&&) noexcept = default;
    sha256& operator=(sha256&&) noexcept = default;
    ~sha256();

    void update(byte_view bytes);
    // The digest of everything so far; the object then starts anew.
    sha256_digest finish();

    static sha256_digest of(byte_view bytes);

private:
    struct free_context {
        void operator()(evp_md_ctx_st* context) const noexcept;
    };
    std::unique_ptr<evp_md_ctx_st, free_context> context_;
};

// XXH3-64 with seed 0, as published by xxHash 0.8.
std::uint64_t xxh3(byte_view bytes) noexcept;

// XXH3-64 of bytes that arrive in pieces. One thread at a time.
class xxh3_stream {
public:
    xxh3_stream();
    xxh3_stream(xxh3_stream&&) noexcept = default;
    xxh3_stream& operator=(xxh3_stream&&) noexcept = default;
    ~xxh3_stream();

    void update(byte_view bytes) noexcept;
    // The checksum of everything so far; the object then starts anew.
    std::uint64_t finish() noexcept;

private:
    struct free_state {
        void operator()(void* state) const noexcept;
    };
    std::unique_ptr<void, free_state> state_;
};

}  // namespace cairn
