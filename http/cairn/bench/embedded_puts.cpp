#include "http/cairn/bench/embedded.hpp"
#include "http/cairn/bench/puts.hpp"

#include <utility>

namespace cairn::bench {

std::unique_ptr<contender> embedded_puts(std::filesystem::path folder,
                                         put_load load,
                                         std::size_t inline_bytes_max) {
    embedded_store in;
    const bool in_rows = load.size_bytes <= inline_bytes_max;
    in.what = in_rows ? "cairn, embedded, in SQLite" : "cairn, embedded, in segments";
    in.options.data = std::move(folder);
    in.options.inline_bytes_max = inline_bytes_max;
    return puts_into(std::move(in), load);
}

}  // namespace cairn::bench
