#include "tests/fault/prepared_store.hpp"

#include "runtime/deadline.hpp"
#include "store/open_store.hpp"
#include "tests/support/bodies.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <sqlite3.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* folder_of(prepared which) {
    switch (which) {
        case prepared::fresh: return "fresh";
        case prepared::full: return "full";
        case prepared::sparse: return "sparse";
        case prepared::crashed: return "crashed";
    }
    return "fresh";
}

void flip_bit_of_record(const fs::path& folder, const buffer& of) {
    for (const auto& entry : fs::directory_iterator(folder / "segments")) {
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string stored{std::istreambuf_iterator<char>(in), {}};
        const std::size_t at = stored.find(of.text().substr(0, 64));
        if (at == std::string::npos) continue;
        std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(at + 1000));
        file.put(static_cast<char>(stored[at + 1000] ^ 1));
        return;
    }
    throw std::runtime_error("the blob is in no segment");
}

void flip_bit_of_value(const fs::path& folder, const blob_id& of) {
    sqlite3* catalog = nullptr;
    sqlite3_open((folder / "catalog.db").c_str(), &catalog);
    const std::string sql =
        "UPDATE blobs SET value = cast(substr(value, 1, 99) || x'00' ||"
        " substr(value, 101) AS BLOB) WHERE id = x'" +
        of.hex() + "'";
    const int failed = sqlite3_exec(catalog, sql.c_str(), nullptr, nullptr, nullptr);
    sqlite3_close(catalog);
    if (failed != SQLITE_OK) throw std::runtime_error("cannot spoil an inline value");
}

std::unique_ptr<store> open_cleanly(runtime& threads, const fs::path& folder) {
    store_options options;
    options.data = folder;
    options.io = io_choice::pool;
    return threads.run(open_store(threads, options)).value();
}

void put_all(runtime& threads, store& in, std::span<const actor> which) {
    for (const actor each : which) {
        const actor_blob& whom = blob_of(each);
        manner how;
        how.announces_size = whom.announces_size;
        piecewise_source from(whom.bytes, how);
        threads.run(in.put(from, std::nullopt)).value();
    }
}

void remove_all(runtime& threads, store& from, std::span<const actor> which) {
    for (const actor each : which) threads.run(from.remove(blob_of(each).id)).value();
    const auto is_left = [&] { return threads.run(from.status()).value().reclaim_count > 0; };
    while (is_left()) threads.run(sleep_for(std::chrono::milliseconds(1)));
}

// Which quarantines it.
void read_in_vain(runtime& threads, store& in, actor which) {
    auto opened = threads.run(in.get(blob_of(which).id, byte_range())).value();
    while (threads.run(opened->next())) {
    }
}

// Data alone, so that the preallocated rest of a segment costs nothing.
void copy_data(int from, int to, off_t size) {
    std::vector<char> piece(1 << 16);
    off_t at = ::lseek(from, 0, SEEK_DATA);
    while (at >= 0 && at < size) {
        const off_t end = ::lseek(from, at, SEEK_HOLE);
        while (at < end) {
            const auto count = std::min<std::size_t>(piece.size(), std::size_t(end - at));
            const ssize_t got = ::pread(from, piece.data(), count, at);
            if (got <= 0 || ::pwrite(to, piece.data(), std::size_t(got), at) != got)
                throw std::runtime_error("cannot copy a file");
            at += got;
        }
        at = ::lseek(from, at, SEEK_DATA);
    }
}

void copy_sparsely(const fs::path& from, const fs::path& to) {
    const int in = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
    const int out = ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (in < 0 || out < 0) throw std::runtime_error("cannot copy " + from.string());
    const auto size = static_cast<off_t>(fs::file_size(from));
    copy_data(in, out, size);
    const bool cut = ::ftruncate(out, size) == 0;
    ::close(in);
    ::close(out);
    if (!cut) throw std::runtime_error("cannot size " + to.string());
}

void copy_folder(const fs::path& from, const fs::path& to) {
    fs::create_directories(to);
    for (const auto& entry : fs::directory_iterator(from)) {
        const fs::path target = to / entry.path().filename();
        if (entry.is_directory()) {
            copy_folder(entry.path(), target);
        } else if (entry.path().extension() != ".db-shm") {
            copy_sparsely(entry.path(), target);
        }
    }
}

void make_full(runtime& threads, const fs::path& at) {
    constexpr std::array rotting{actor::rotten, actor::rotten_value};
    const auto made = open_cleanly(threads, at);
    put_all(threads, *made, healthy_actors);
    put_all(threads, *made, rotting);
    threads.run(made->close());
    flip_bit_of_record(at, blob_of(actor::rotten).bytes);
    flip_bit_of_value(at, blob_of(actor::rotten_value).id);
}

void make_sparse(runtime& threads, const fs::path& at) {
    const auto made = open_cleanly(threads, at);
    std::vector<blob_id> removed;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        piecewise_source from(random_body(50'000, seed));
        removed.push_back(threads.run(made->put(from, std::nullopt)).value().id);
    }
    put_all(threads, *made, healthy_actors);
    for (const blob_id& each : removed) threads.run(made->remove(each)).value();
    threads.run(made->close());
}

// A copy of a living one is what a kill would leave.
void make_crashed(runtime& threads, const fs::path& at) {
    constexpr std::array removed{actor::new_shared, actor::new_streamed};
    constexpr std::array rotting{actor::rotten};
    const fs::path living = at.parent_path() / "living";
    const auto made = open_cleanly(threads, living);
    put_all(threads, *made, healthy_actors);
    put_all(threads, *made, removed);
    remove_all(threads, *made, removed);
    put_all(threads, *made, rotting);
    flip_bit_of_record(living, blob_of(actor::rotten).bytes);
    read_in_vain(threads, *made, actor::rotten);
    copy_folder(living, at);
    threads.run(made->close());
}

}  // namespace

void prepare_stores(runtime& threads, const fs::path& base) {
    fs::create_directories(base / folder_of(prepared::fresh));
    make_full(threads, base / folder_of(prepared::full));
    make_sparse(threads, base / folder_of(prepared::sparse));
    make_crashed(threads, base / folder_of(prepared::crashed));
}

void copy_prepared(const fs::path& base, prepared which, const fs::path& to, expectations& now) {
    copy_folder(base / folder_of(which), to);
    for (auto& each : now.of) each = expected::absent;
    if (which == prepared::fresh) return;
    for (const actor each : healthy_actors) now[each] = expected::present;
    if (which == prepared::sparse) return;
    now[actor::rotten] = expected::bad;
    if (which == prepared::full) now[actor::rotten_value] = expected::bad;
}

}  // namespace cairn::test
