#include "http/cairn/bench/fresh_blob.hpp"

#include "runtime/bytes.hpp"
#include "runtime/hash.hpp"

#include <algorithm>
#include <new>
#include <openssl/evp.h>

namespace cairn::bench {
namespace {

constexpr std::size_t tail_bytes_max = 64;

}  // namespace

void fresh_blob::free_context::operator()(evp_md_ctx_st* context) const noexcept {
    EVP_MD_CTX_free(context);
}

fresh_blob::fresh_blob(std::size_t size_bytes)
    : bytes_(size_bytes),
      tail_bytes_(std::min(size_bytes, tail_bytes_max)),
      before_tail_(EVP_MD_CTX_new()),
      whole_(EVP_MD_CTX_new()) {
    random_.fill(bytes_.data(), bytes_.size());
    const std::size_t head_bytes = size_bytes - tail_bytes_;
    if (EVP_DigestInit_ex(before_tail_.get(), EVP_sha256(), nullptr) != 1 ||
        EVP_DigestUpdate(before_tail_.get(), bytes_.data(), head_bytes) != 1) {
        throw std::bad_alloc();
    }
}

std::string fresh_blob::next() {
    std::byte* const tail = bytes_.data() + bytes_.size() - tail_bytes_;
    random_.fill(tail, tail_bytes_);
    sha256_digest digest;
    if (EVP_MD_CTX_copy_ex(whole_.get(), before_tail_.get()) != 1 ||
        EVP_DigestUpdate(whole_.get(), tail, tail_bytes_) != 1 ||
        EVP_DigestFinal_ex(whole_.get(), reinterpret_cast<unsigned char*>(digest.data()),
                           nullptr) != 1) {
        throw std::bad_alloc();
    }
    return to_hex(digest);
}

}  // namespace cairn::bench
