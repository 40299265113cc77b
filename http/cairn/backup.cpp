// cairn backup: makes a backup of a store's catalog.
#include "http/cairn/location.hpp"
#include "http/cairn/units.hpp"
#include "http/cairn/verbs.hpp"

#include <cinttypes>
#include <cstdio>

namespace cairn::program {
namespace {

awaitable<int> make_backup(store& of, const backup_options& options) {
    const auto made = co_await of.back_up();
    if (!made) {
        complain("backup", made.error());
        if (made.error() == errc::unsupported) {
            std::fprintf(stderr,
                         "cairn: hint: PostgreSQL has backups of its own: pg_basebackup, WAL "
                         "archiving, pg_dump\n");
        }
        co_return status_of(made.error());
    }
    if (options.json) {
        std::printf("{\"name\":\"%s\",\"size\":%" PRIu64 "}\n", made->name.c_str(),
                    made->size_bytes);
    } else {
        std::printf("backups/%s  %s\n", made->name.c_str(), format_size(made->size_bytes).c_str());
    }
    co_return exit_done;
}

}  // namespace

int backup(runtime& threads, const backup_options& options) {
    expect_store(options.at.data);
    const auto work = [&](store& of) { return make_backup(of, options); };
    return with_store(threads, options.at, work);
}

}  // namespace cairn::program
