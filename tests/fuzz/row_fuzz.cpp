// Catalog rows that something else wrote into the file: they are read as rows or as errors.
#include "engines/sqlite/row_reader.hpp"
#include "engines/sqlite/schema.hpp"
#include "runtime/check.hpp"

#include <algorithm>
#include <fuzzer/FuzzedDataProvider.h>
#include <string>
#include <vector>

namespace {

using namespace cairn;

struct file {
    sqlite::database rows = sqlite::database::open(":memory:", sqlite::role::writer).value();
    sqlite::row_reader reader = made_reader();

    sqlite::row_reader made_reader() {
        CAIRN_CHECK(sqlite::prepare_schema(rows).has_value());
        CAIRN_CHECK(rows.execute("PRAGMA ignore_check_constraints=ON").has_value());
        return sqlite::row_reader::prepare(rows).value();
    }
    void empty() {
        CAIRN_CHECK(rows.execute("DELETE FROM blobs; DELETE FROM quarantine; DELETE FROM segments;"
                                 "DELETE FROM reclaim")
                        .has_value());
    }
};

// A row of anything that the columns' types let in; or nothing, when it is refused.
void insert(file& in, const char* sql, int columns, FuzzedDataProvider& input) {
    auto insertion = in.rows.prepare(sql);
    CAIRN_CHECK(insertion.has_value());
    std::vector<std::string> texts;
    texts.reserve(static_cast<std::size_t>(columns));
    for (int column = 1; column <= columns; ++column) {
        switch (input.ConsumeIntegralInRange(0, 2)) {
            case 0: insertion->bind_null(column); break;
            case 1: insertion->bind(column, input.ConsumeIntegral<std::int64_t>()); break;
            default:
                texts.push_back(input.ConsumeRandomLengthString(64));
                insertion->bind(column, as_bytes(texts.back()));
        }
    }
    static_cast<void>(insertion->run());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static file in;
    FuzzedDataProvider input(data, size);
    in.empty();
    blob_id id;
    const std::string digest = input.ConsumeBytesAsString(id.bytes.size());
    std::copy_n(as_bytes(digest).begin(), digest.size(), id.bytes.begin());
    while (input.remaining_bytes() > 0) {
        switch (input.ConsumeIntegralInRange(0, 3)) {
            case 0:
                insert(in, "INSERT INTO blobs VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)", 9, input);
                break;
            case 1: insert(in, "INSERT INTO segments VALUES(?1,?2,?3,?4,?5,?6)", 6, input); break;
            case 2: insert(in, "INSERT INTO reclaim VALUES(?1,?2,?3,?4,?5)", 5, input); break;
            default: insert(in, "INSERT INTO quarantine VALUES(?1,?2,?3,?4,'x',?5)", 5, input);
        }
    }
    const auto found = in.reader.find(id);
    if (found && *found) CAIRN_CHECK((*found)->id == id);
    const auto list = in.reader.list(std::nullopt, 100);
    if (list)
        CAIRN_CHECK(std::is_sorted(list->begin(), list->end(),
                                   [](const row& a, const row& b) { return a.id < b.id; }));
    static_cast<void>(in.reader.list(id, 100));
    static_cast<void>(in.reader.segments(0, 100, false));
    static_cast<void>(in.reader.reclaimable(100));
    static_cast<void>(in.reader.count());
    return 0;
}
