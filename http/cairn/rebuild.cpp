// cairn rebuild: makes a folder's catalog anew from a backup and the segments.
#include "store/rebuild.hpp"

#include "http/cairn/location.hpp"
#include "http/cairn/progress.hpp"
#include "http/cairn/units.hpp"
#include "http/cairn/verbs.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>

namespace cairn::program {
namespace {

class rebuild_screen final : public rebuild_watcher {
public:
    explicit rebuild_screen(bool json)
        : bar_([this] { return fmt::format("rebuild  {} blobs recovered", blobs_); },
               std::nullopt,
               !json) {}

    void scanned(std::uint64_t bytes) override { bar_.add(bytes); }
    void recovered(const listed_blob&) override { ++blobs_; }
    void wipe() { bar_.wipe(); }

private:
    std::uint64_t blobs_ = 0;
    progress bar_;
};

std::string text_of(const blob_count& of) {
    return fmt::format("{} blobs ({})", of.blobs, format_size(of.bytes));
}

std::string time_of(std::int64_t us) {
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time_t(us / 1'000'000)));
}

void print_json(const rebuild_report& of) {
    boost::json::object all;
    all["from"] = of.from.string();
    if (of.taken_at_us) all["taken_at_us"] = *of.taken_at_us;
    all["kept"] = of.kept.blobs;
    all["recovered"] = of.recovered.blobs;
    all["lost"] = of.lost.blobs;
    all["bad_records"] = of.bad_records;
    all["unreadable_bytes"] = of.unreadable_bytes;
    all["old_catalog"] = of.old_catalog.string();
    std::printf("%s\n", boost::json::serialize(all).c_str());
}

void print_text(const rebuild_report& of) {
    const std::string from = of.from.empty() ? "nothing: there is no backup" : of.from.string();
    const std::string taken = of.taken_at_us ? ", taken " + time_of(*of.taken_at_us) : "";
    std::printf("began with   %s%s\n", from.c_str(), taken.c_str());
    std::printf("kept         %s\n", text_of(of.kept).c_str());
    std::printf("recovered    %s, found in segments\n", text_of(of.recovered).c_str());
    std::printf("gone         %s, whose segments are not there any more\n",
                text_of(of.lost).c_str());
    std::printf("bad          %zu records, whose bytes do not hash to their ids\n",
                static_cast<std::size_t>(of.bad_records));
    if (of.unreadable_bytes > 0) {
        std::printf("unreadable   %s of segments, which the disk cannot read\n",
                    format_size(of.unreadable_bytes).c_str());
    }
    if (!of.old_catalog.empty()) std::printf("old catalog  %s\n", of.old_catalog.c_str());
    const std::string since = of.taken_at_us ? " after " + time_of(*of.taken_at_us) : "";
    std::printf(
        "\n"
        "Not back: blobs of at most 4 KiB that were put%s; put them again.\n"
        "Maybe back: blobs that were removed%s; `cairn rm` them again.\n"
        "`cairn verify` reads all that is there.\n",
        since.c_str(), since.c_str());
}

}  // namespace

int rebuild(runtime& threads, const rebuild_verb_options& options) {
    expect_store(options.data);
    cairn::rebuild_options what;
    what.data = options.data;
    what.from = options.from;
    what.force = options.force;
    what.allow_weak_storage = options.allow_weak_storage;
    if (!what.from.empty() && !std::filesystem::exists(what.from)) {
        throw usage_error("--from " + options.from + ": there is no such file");
    }
    rebuild_screen screen(options.json);
    const auto done = threads.run(cairn::rebuild(threads, what, screen));
    screen.wipe();
    if (!done) {
        complain(options.data, done.error());
        return status_of(done.error());
    }
    if (done->needless) {
        std::fprintf(stderr,
                     "cairn: %s: its catalog is sound, so nothing was done; a rebuild would lose "
                     "what only the catalog holds since its last backup\n"
                     "cairn: hint: --force rebuilds it all the same\n",
                     options.data.c_str());
        return exit_refused;
    }
    options.json ? print_json(*done) : print_text(*done);
    return exit_done;
}

}  // namespace cairn::program
