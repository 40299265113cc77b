// The program on a disk that is full: what has no room is refused in clear words, everything else
// goes on, and when space returns so do puts, in the same process.
#include "engines/blob_id.hpp"
#include "tests/fault/audit.hpp"
#include "tests/fault/crash_counts.hpp"
#include "tests/fault/expect_nothing.hpp"
#include "tests/fault/ledger.hpp"
#include "tests/fault/workload.hpp"
#include "tests/support/http_client.hpp"
#include "tests/support/process.hpp"
#include "tests/support/small_disk.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <doctest/doctest.h>
#include <string>
#include <thread>
#include <vector>

namespace cairn::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t disk_bytes = 64 << 20;
constexpr std::array<std::uint32_t, 5> sizes{100, 4096, 20'000, 300'000, 5'000'000};

bool disks_are_missing() {
    const auto why = power_cuts_unavailable();
    if (!why) return false;
    if (is_set("CI", "true")) FAIL("no small disks here: " << *why);
    MESSAGE("skipped: no small disks here: " << *why);
    return true;
}

blob_id blob_of_text(const std::string& body) { return blob_id::of(as_bytes(body)); }

bool is_stored(const promised_blob& blob) { return blob.state == promise::stored; }

std::string target_of(const blob_id& id) { return "/blobs/" + id.hex(); }

// One server on one disk, and what it promised.
class filling {
public:
    filling(small_disk& disk, server_process& server) : disk_(disk), port_(server.port()) {}

    // A fresh blob; its index when it was stored.
    std::optional<std::size_t> put(std::uint32_t size_bytes, bool has_room) {
        promised_blob blob;
        blob.seed = ++last_seed_;
        blob.size_bytes = size_bytes;
        const std::string body = body_of(blob.seed, size_bytes);
        blob.id = blob_id::of(as_bytes(body));
        const std::size_t index = promises_.add(blob);
        const auto answer = client().put(target_of(blob.id), body);
        if (answer.status == 201) {
            promises_.set(index, promise::stored);
            return index;
        }
        const bool clear =
            answer.status == 507 && answer.body.find("no-space") != std::string::npos;
        if (!clear || has_room) complain("PUT of " + std::to_string(size_bytes), answer);
        if (clear) promises_.set(index, promise::removed);
        ++refused_;
        return std::nullopt;
    }

    void read(std::size_t index) {
        const promised_blob blob = promises_.at(index);
        const auto answer = client().get(target_of(blob.id));
        if (answer.status != 200 || answer.body != body_of(blob.seed, blob.size_bytes))
            complain("GET", answer);
        const auto head = client().head(target_of(blob.id));
        if (head.status != 200) complain("HEAD", head);
    }

    void remove(std::size_t index) {
        const auto answer = client().remove(target_of(promises_.at(index).id));
        if (answer.status != 204) return complain("DELETE", answer);
        promises_.set(index, promise::removed);
    }

    // Fills the disk to a level, then to the brim, and frees it again.
    void visit(std::uint64_t free_bytes) {
        level_ = std::to_string(free_bytes >> 10) + " KiB free: ";
        std::vector<std::size_t> stored;
        const auto put_all = [&](bool has_room) {
            for (const std::uint32_t size : sizes)
                if (const auto index = put(size, has_room)) stored.push_back(*index);
        };
        disk_.leave_free(free_bytes);
        put_all(false);
        disk_.fill_up();
        put_all(false);
        level_ += "then full: ";
        for (const std::size_t each : stored) read(each);
        read(first_);
        for (const std::size_t each : stored) remove(each);
        level_ += "then free: ";
        disk_.relieve();
        stored.clear();
        put_all(true);
        for (const std::size_t each : stored) read(each);
        for (std::size_t i = 1; i < stored.size(); ++i) remove(stored[i]);
    }

    void begin() { first_ = put(20'000, true).value(); }
    std::size_t refused() const { return refused_; }
    const std::vector<std::string>& complaints() const { return complaints_; }
    std::vector<promised_blob> promises() const { return promises_.copy(); }

private:
    void complain(const std::string& what, const http_response& answer) {
        complaints_.push_back(level_ + what + ": " + std::to_string(answer.status) + " " +
                              answer.body.substr(0, 200));
    }

    // A connection for each request: a body that was refused takes its own along.
    http_client client() const { return {"127.0.0.1", port_}; }

    small_disk& disk_;
    const std::uint16_t port_;
    ledger promises_;
    std::uint64_t last_seed_ = 0;
    std::size_t first_ = 0;
    std::size_t refused_ = 0;
    std::string level_;
    std::vector<std::string> complaints_;
};

}  // namespace

TEST_CASE("disk full: at every level a put is stored or refused, the rest goes on") {
    if (disks_are_missing()) return;
    small_disk disk(disk_bytes);
    const std::string data = disk.path() / "data";
    std::vector<promised_blob> promises;
    {
        server_process server(program_under_test(), data);
        filling store(disk, server);
        store.begin();
        const std::uint64_t stride = is_set("CAIRN_LONG", "1") ? 1 : 4;
        for (std::uint64_t k = 0; k < 64; k += stride) store.visit(k * k * (8 << 10));
        MESSAGE(store.refused() << " puts refused");
        CHECK(store.refused() > 0);
        expect_nothing(store.complaints());
        promises = store.promises();
        CHECK(server.stop().status == 0);
    }
    server_process again(program_under_test(), data);
    expect_nothing(broken_promises(again.port(), promises));
    expect_nothing(broken_listing(again.port(), promises));
    CHECK(again.stop().status == 0);
    expect_nothing(unaccounted(data));
}

TEST_CASE("disk full of half-dead segments: removals make room for puts, which never stop asking") {
    if (disks_are_missing()) return;
    constexpr std::uint32_t size_bytes = 40'000;
    small_disk disk(disk_bytes);
    const std::string data = disk.path() / "data";
    std::vector<promised_blob> promises;
    {
        server_process server(program_under_test(), data);
        filling store(disk, server);
        std::vector<std::size_t> stored;
        while (store.refused() < 20)
            if (const auto index = store.put(size_bytes, false)) stored.push_back(*index);
        for (std::size_t i = 0; i < stored.size(); i += 2) store.remove(stored[i]);
        std::size_t again = 0;
        const auto until = std::chrono::steady_clock::now() + 60s;
        while (again < stored.size() / 4 && std::chrono::steady_clock::now() < until)
            if (store.put(size_bytes, false)) ++again;
        MESSAGE(stored.size() << " blobs filled the disk, half were removed, " << again << " put");
        CHECK(again >= stored.size() / 4);
        expect_nothing(store.complaints());
        promises = store.promises();
        CHECK(server.stop().status == 0);
    }
    server_process again(program_under_test(), data);
    expect_nothing(broken_promises(again.port(), promises));
    CHECK(again.stop().status == 0);
    expect_nothing(unaccounted(data));
}

TEST_CASE("read-only under load: writes fail in clear words, and nothing acknowledged is lost") {
    if (disks_are_missing()) return;
    small_disk disk(disk_bytes);
    const std::string data = disk.path() / "data";
    ledger promises;
    {
        server_process server(program_under_test(), data);
        workload load(promises, server.port(), crash_seed(),
                      {.connections = 4, .size_max = 50'000});
        std::this_thread::sleep_for(500ms);
        disk.break_down();
        std::this_thread::sleep_for(500ms);
        load.stop();  // what it complains of is that nothing can be written
        http_client client("127.0.0.1", server.port());
        const std::string body = body_of(1, 20'000);
        const auto answer = client.put(target_of(blob_of_text(body)), body);
        CHECK(answer.status >= 500);
        CHECK(answer.body.find("\"type\":") != std::string::npos);
        server.kill_hard();
    }
    disk.mount_again();
    server_process again(program_under_test(), data);
    const std::vector<promised_blob> all = promises.copy();
    CHECK(std::count_if(all.begin(), all.end(), is_stored) > 10);
    expect_nothing(broken_promises(again.port(), all));
    expect_nothing(broken_listing(again.port(), all));
    CHECK(again.stop().status == 0);
    expect_nothing(unaccounted(data));
}

}  // namespace cairn::test
