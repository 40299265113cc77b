// cairn verify: reads everything a store holds and hashes it.
#include "engines/sqlite/schema.hpp"
#include "http/cairn/location.hpp"
#include "http/cairn/progress.hpp"
#include "http/cairn/units.hpp"
#include "http/cairn/verbs.hpp"
#include "store/verification.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>

namespace cairn::program {
namespace {

// Shows how it goes: a bar, and each bad blob.
class verify_screen final : public verify_watcher {
public:
    verify_screen(const verify_options& options, const store_status& of)
        : json_(options.json),
          total_blobs_(of.blob_count),
          bar_([this] { return label(); }, of.blob_bytes, !options.json) {}

    void read(std::uint64_t bytes) override { bar_.add(bytes); }
    void good(const listed_blob&) override { ++blobs_; }
    void bad(const listed_blob& blob, const error_code& why) override {
        ++blobs_;
        bar_.wipe();
        if (json_) std::printf("{\"bad\":\"%s\"}\n", blob.id.hex().c_str());
        complain(blob.id.hex(), why);
    }
    void wipe() { bar_.wipe(); }

private:
    std::string label() const {
        return fmt::format("verify  {} of {} blobs", blobs_, total_blobs_);
    }

    const bool json_;
    const std::uint64_t total_blobs_;
    std::uint64_t blobs_ = 0;
    progress bar_;
};

void print_json(const verify_report& of, std::uint64_t quarantined) {
    boost::json::object all;
    all["good"] = of.good.blobs;
    all["good_bytes"] = of.good.bytes;
    all["bad"] = of.bad.blobs;
    all["quarantined"] = quarantined;
    std::printf("%s\n", boost::json::serialize(all).c_str());
}

void print_text(const verify_report& of, std::uint64_t quarantined) {
    std::printf("good         %" PRIu64 " blobs (%s)\n", of.good.blobs,
                format_size(of.good.bytes).c_str());
    std::printf("bad          %" PRIu64 " blobs\n", of.bad.blobs);
    std::printf("quarantined  %" PRIu64 " blobs\n", quarantined);
    if (quarantined > 0) {
        std::fprintf(stderr,
                     "cairn: hint: put a quarantined blob again to heal it, or `cairn rm` it\n");
    }
}

// What a folder's catalog file itself has to say; a damaged one may hide blobs from the list.
awaitable<bool> catalog_is_sound(runtime& threads, const std::string& data) {
    if (data.empty()) co_return true;
    const std::string path = (std::filesystem::path(data) / "catalog.db").string();
    auto look = [&path]() -> result<std::vector<std::string>> {
        auto opened = sqlite::database::open(path, sqlite::role::reader);
        if (!opened) return opened.error();
        return sqlite::integrity_complaints(*opened);
    };
    const auto complaints = co_await threads.pool().run(std::move(look));
    if (!complaints) complain(path, complaints.error());
    if (complaints && complaints->empty()) co_return true;
    if (complaints) {
        for (const std::string& each : *complaints) {
            std::fprintf(stderr, "cairn: %s: %s\n", path.c_str(), each.c_str());
        }
    }
    std::fprintf(stderr, "cairn: hint: `cairn rebuild --data %s` makes the catalog anew\n",
                 data.c_str());
    co_return false;
}

awaitable<int> verify_blobs(runtime& threads, store& of, const verify_options& options) {
    const bool sound = co_await catalog_is_sound(threads, options.at.data);
    const auto begin = co_await of.status();
    if (!begin) {
        complain("status", begin.error());
        co_return status_of(begin.error());
    }
    verify_screen screen(options, *begin);
    const auto done = co_await cairn::verify(of, screen);
    screen.wipe();
    const auto end = co_await of.status();
    if (!done || !end) {
        const error_code why = done ? end.error() : done.error();
        complain("verify", why);
        co_return status_of(why);
    }
    const std::uint64_t quarantined = end->quarantined_count;
    options.json ? print_json(*done, quarantined) : print_text(*done, quarantined);
    const bool all_good = sound && done->bad.blobs == 0 && quarantined == 0;
    co_return all_good ? exit_done : exit_refused;
}

}  // namespace

int verify(runtime& threads, const verify_options& options) {
    expect_store(options.at.data);
    const auto work = [&](store& of) { return verify_blobs(threads, of, options); };
    return with_store(threads, options.at, work);
}

}  // namespace cairn::program
