// cairn copy: makes one store hold what another holds, and proves it.
#include "store/copy.hpp"

#include "http/cairn/location.hpp"
#include "http/cairn/progress.hpp"
#include "http/cairn/units.hpp"
#include "http/cairn/verbs.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <functional>

namespace cairn::program {
namespace {

using clock = std::chrono::steady_clock;

// A store that is away is complained of that often, not once a blob.
constexpr auto complaint_interval = std::chrono::seconds(2);

std::string blobs_text(std::uint64_t count) {
    return fmt::format("{} blob{}", count, count == 1 ? "" : "s");
}

std::string text_of(const blob_count& of) {
    return fmt::format("{} ({})", blobs_text(of.blobs), format_size(of.bytes));
}

// As people may see it: without a URL's secrets.
std::string shown(const std::string& place) {
    const store_location at = location_of(place);
    return at.catalog.empty() ? place : place_of(at.data, at.catalog);
}

// Shows how a copy goes: a bar, what is left behind, and who is in trouble.
class copy_screen final : public copy_watcher {
public:
    copy_screen(const copy_options& options, const store_status& from)
        : options_(options),
          total_blobs_(from.blob_count),
          bar_([this] { return label(); }, from.blob_bytes, !options.json) {}

    void present(const listed_blob& blob) override {
        ++blobs_;
        bar_.skip(blob.size_bytes);
    }
    void moved(std::uint64_t bytes) override { bar_.add(bytes); }
    void copied(const listed_blob&) override { ++blobs_; }
    void left_behind(const listed_blob& blob, const error_code& why) override {
        if (options_.json) {
            boost::json::object row;
            row["id"] = blob.id.hex();
            row["left_behind"] = why.message();
            std::printf("%s\n", boost::json::serialize(row).c_str());
        }
        bar_.wipe();
        complain(blob.id.hex(), why);
    }
    void troubled(copy_side at, const error_code& why, bool tries_again) override {
        if (tries_again && clock::now() < next_complaint_) return;
        next_complaint_ = clock::now() + complaint_interval;
        bar_.wipe();
        const std::string& store = at == copy_side::from ? options_.from : options_.to;
        std::fprintf(stderr, "cairn: %s: %s%s\n", shown(store).c_str(), why.message().c_str(),
                     tries_again ? ", trying again" : "");
    }
    void wipe() { bar_.wipe(); }

private:
    std::string label() const { return fmt::format("copy  {} of {} blobs", blobs_, total_blobs_); }

    const copy_options& options_;
    const std::uint64_t total_blobs_;
    std::uint64_t blobs_ = 0;
    clock::time_point next_complaint_;
    progress bar_;
};

// All that a copy came to.
struct copy_result {
    copy_report done;
    comparison proof;
    std::uint64_t quarantined = 0;  // at the source

    bool is_complete() const noexcept {
        return done.left_behind == 0 && quarantined == 0 && proof.right_has_all();
    }
};

boost::json::object json_of(const blob_count& of) {
    boost::json::object fields;
    fields["blobs"] = of.blobs;
    fields["bytes"] = of.bytes;
    return fields;
}

void print_json(const copy_result& of) {
    boost::json::object all;
    all["copied"] = json_of(of.done.copied);
    all["present"] = json_of(of.done.present);
    all["left_behind"] = of.done.left_behind;
    all["vanished"] = of.done.vanished;
    all["quarantined"] = of.quarantined;
    all["proof"] = {{"both", json_of(of.proof.both)},
                    {"only_from", json_of(of.proof.only_left)},
                    {"only_to", json_of(of.proof.only_right)}};
    all["complete"] = of.is_complete();
    std::printf("%s\n", boost::json::serialize(all).c_str());
}

void print_text(const copy_result& of) {
    std::printf("copied       %s\n", text_of(of.done.copied).c_str());
    std::printf("there before %s\n", text_of(of.done.present).c_str());
    if (of.done.vanished > 0) {
        std::printf("vanished     %s, removed from the source meanwhile\n",
                    blobs_text(of.done.vanished).c_str());
    }
    std::printf("in both now  %s\n", text_of(of.proof.both).c_str());
    if (of.proof.only_right.blobs > 0) {
        std::printf("only there   %s\n", text_of(of.proof.only_right).c_str());
    }
}

void complain_of_rest(const copy_result& of) {
    if (of.quarantined > 0) {
        std::fprintf(stderr, "cairn: %s of the source: quarantined, not copied\n",
                     blobs_text(of.quarantined).c_str());
    }
    if (of.proof.right_has_all()) return;
    std::fprintf(stderr, "cairn: %s of the source: not at the destination:\n",
                 blobs_text(of.proof.only_left.blobs).c_str());
    for (const blob_id& id : of.proof.missing) std::fprintf(stderr, "  %s\n", id.hex().c_str());
    if (of.proof.only_left.blobs > of.done.left_behind) {
        std::fprintf(stderr, "cairn: hint: some came after the copy had passed them; copy again\n");
    }
}

awaitable<int> copy_blobs(store& from, store& to, const copy_options& options) {
    const auto begin = co_await from.status();
    if (!begin) {
        complain(shown(options.from), begin.error());
        co_return status_of(begin.error());
    }
    copy_screen screen(options, *begin);
    copy_limits limits;
    limits.in_flight = options.in_flight;
    const auto done = co_await cairn::copy(from, to, screen, limits);
    screen.wipe();
    if (!done) {
        std::fprintf(stderr, "cairn: hint: copy again to go on from here\n");
        co_return status_of(done.error());
    }
    const auto proof = co_await compare(from, to);
    const auto end = co_await from.status();
    if (!proof || !end) {
        const error_code why = proof ? end.error() : proof.error();
        complain("comparing the stores", why);
        co_return status_of(why);
    }
    const copy_result all{*done, *proof, end->quarantined_count};
    options.json ? print_json(all) : print_text(all);
    complain_of_rest(all);
    co_return all.is_complete() ? exit_done : exit_refused;
}

// A source is not made by asking for it.
bool is_there(const store_location& from) {
    return from.data.empty() || std::filesystem::exists(from.data + "/catalog.db");
}

bool is_same_place(const store_location& a, const store_location& b) {
    namespace fs = std::filesystem;
    if (a.data.empty() != b.data.empty()) return false;
    if (!a.data.empty()) return fs::weakly_canonical(a.data) == fs::weakly_canonical(b.data);
    return a.server == b.server && a.catalog == b.catalog;
}

}  // namespace

int copy(runtime& threads, const copy_options& options) {
    store_location from = location_of(options.from);
    store_location to = location_of(options.to);
    from.allow_weak_storage = to.allow_weak_storage = options.allow_weak_storage;
    from.token_file = to.token_file = options.token_file;
    if (is_same_place(from, to)) throw usage_error("--from and --to are the same store");
    if (!is_there(from)) {
        std::fprintf(stderr, "cairn: %s: no store is there\n", options.from.c_str());
        return exit_refused;
    }
    const auto work = [&](store& source_store) -> awaitable<int> {
        const std::function<awaitable<int>(store&)> onward = [&](store& target) {
            return copy_blobs(source_store, target, options);
        };
        co_return co_await run_on_store(threads, to, onward);
    };
    return with_store(threads, from, work);
}

}  // namespace cairn::program
