// `cairn serve` whose every blob lies in segments, which are small, and whose compaction never
// rests, so that crashes meet it.
#include "tests/fault/quick_compaction.hpp"
#include "tests/fault/serve.hpp"

int main(int count, char** words) {
    cairn::store_options options;
    options.inline_bytes_max = 0;
    options.segment_bytes = 256 << 10;
    options.compaction = cairn::test::quick_compaction();
    return cairn::test::serve(count, words, std::move(options));
}
