// cairn status: what a store holds and how it is doing.
#include "http/cairn/location.hpp"
#include "http/cairn/verbs.hpp"
#include "http/status_json.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <variant>

namespace cairn::program {
namespace {

void print(const store_status& status) {
    const int width = status.details.empty() ? 12 : 24;  // engines have longer names
    const auto line = [width](const char* name, const std::string& value) {
        std::printf("%-*s %s\n", width, name, value.c_str());
    };
    line("catalog", status.catalog);
    line("bulk", status.bulk);
    line("durability", std::string(to_string(status.kept)));
    line("blobs", fmt::format("{} ({})", status.blob_count, format_size(status.blob_bytes)));
    line("bulk space",
         fmt::format("{} live, {} dead, in {} segments", format_size(status.bulk_live_bytes),
                     format_size(status.bulk_dead_bytes), status.segment_count));
    line("to reclaim", fmt::format("{}", status.reclaim_count));
    line("quarantined", fmt::format("{}", status.quarantined_count));
    line("boot", fmt::format("{}", status.boot));
    for (const status_detail& each : status.details) {
        std::visit([&](const auto& value) { line(each.name.c_str(), fmt::format("{}", value)); },
                   each.value);
    }
    if (!status.stopped.empty()) line("STOPPED", status.stopped);
}

awaitable<int> show_status(store& of, const status_options& options) {
    const auto status = co_await of.status();
    if (!status) {
        complain("status", status.error());
        co_return exit_trouble;
    }
    if (options.json) {
        std::printf("%s\n", status_json(*status).c_str());
    } else {
        print(*status);
    }
    co_return status->stopped.empty() ? exit_done : exit_trouble;
}

}  // namespace

int status(runtime& threads, const status_options& options) {
    const auto work = [&](store& of) { return show_status(of, options); };
    return with_store(threads, options.at, work);
}

}  // namespace cairn::program
