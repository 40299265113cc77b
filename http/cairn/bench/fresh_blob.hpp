// A large body that becomes another with each turn, and its name.
//
// Only its last bytes change: what came before them is hashed once, so that neither drawing nor
// naming a megabyte takes the time of who sends it.
#pragma once

#include "http/cairn/bench/contender.hpp"

#include <memory>
#include <string>
#include <vector>

struct evp_md_ctx_st;

namespace cairn::bench {

class fresh_blob {
public:
    explicit fresh_blob(std::size_t size_bytes);

    // Makes it another, never seen before; its id.
    std::string next();
    const std::vector<std::byte>& bytes() const noexcept { return bytes_; }

private:
    struct free_context {
        void operator()(evp_md_ctx_st* context) const noexcept;
    };
    using context = std::unique_ptr<evp_md_ctx_st, free_context>;

    fresh_bytes random_;
    std::vector<std::byte> bytes_;
    std::size_t tail_bytes_;
    context before_tail_;
    context whole_;
};

}  // namespace cairn::bench
