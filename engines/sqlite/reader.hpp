// One reader thread of a SQLite catalog: look-ups that gather while it works are answered together,
// inside one read transaction (LIMITS.md B: 2 times the rate of one transaction each).
//
// The snapshot of a batch is opened after its last look-up was taken from the queue, so a look-up
// sees every change that was answered before it was asked (read your writes).
#pragma once

#include "engines/sqlite/database.hpp"
#include "engines/sqlite/gate.hpp"
#include "engines/sqlite/row_reader.hpp"
#include "runtime/group_commit.hpp"
#include "runtime/runtime.hpp"

#include <filesystem>
#include <functional>
#include <memory>

namespace cairn::sqlite {

class reader {
public:
    // Called on the reader's thread; what it refers to lives in the frame that awaits run().
    using look_up = std::function<void(row_reader&)>;

    // `writer_gate` and `stop` outlive it. Blocks, for the time of opening a file.
    static result<std::unique_ptr<reader>> open(const std::filesystem::path& path,
                                                gate& writer_gate,
                                                fail_stop& stop);

    // Any executor. An error means that `call` may not have run; its own errors are its own
    // business. Cancelled before its batch: throws, `call` does not run.
    awaitable<result<void>> run(look_up call);

    awaitable<void> close();

private:
    using queue = group_commit<look_up, std::monostate>;

    reader(database connection, gate& writer_gate, fail_stop& stop);
    awaitable<outcome> step(std::span<queue::entry> batch);
    result<void> answer(std::span<queue::entry> batch);
    result<void> look_up_all(std::span<queue::entry> batch);

    database connection_;
    gate& gate_;
    row_reader rows_;
    statement begin_;
    statement end_;
    loop_thread thread_{"cairn-reader"};
    queue queue_;
};

}  // namespace cairn::sqlite
