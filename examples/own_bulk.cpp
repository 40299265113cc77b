// A bulk engine of your own under a cairn store: here the plainest there is, a file for each blob.
//
// The catalog decides what exists; a bulk engine only keeps byte strings under locators that are
// never used twice. The contract is engines/bulk.hpp, and tests/contract/bulk_test.cpp says whether
// an engine holds it.
#include "engines/segments/record_checks.hpp"
#include "engines/segments/record_writer.hpp"
#include "engines/segments/scan.hpp"
#include "engines/segments/segment_name.hpp"
#include "engines/sqlite/sqlite_catalog.hpp"
#include "io/open_file_system.hpp"
#include "store/local_store.hpp"

#include <atomic>
#include <boost/system/errc.hpp>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

using namespace cairn;
namespace fs = std::filesystem;

class file_bulk final : public bulk {
public:
    // `boot` is the catalog's: it differs at each opening, so no number is ever used again.
    file_bulk(file_system& files, fail_stop& stop, fs::path folder, std::uint64_t boot)
        : files_(files), stop_(stop), folder_(std::move(folder)), boot_(boot), next_(boot << 32) {}

    std::string name() const override { return "a file for each blob"; }

    // The record_writer puts the checksums behind the body, as segments do.
    awaitable<result<std::unique_ptr<draft>>> write(intake& body) override {
        if (auto running = stop_.check(); !running) co_return running.error();
        const std::uint64_t number = ++next_;
        auto in = co_await files_.open(path_of(number), open_mode::create);
        if (!in) co_return in.error();
        record_writer writer(*in, number, 0);
        auto stored = co_await fill(writer, body);
        if (!stored) {
            auto removed = co_await files_.remove(path_of(number));
            static_cast<void>(removed);
            co_return stored.error();
        }
        auto synced = co_await (*in)->sync();
        if (synced) synced = co_await files_.sync_directory(folder_);
        if (!synced) {
            // After a failed sync nobody is answered, and the sync is not repeated.
            stop_.trip(synced.error(), "sync of " + path_of(number).string());
            co_return error_code(errc::outcome_unknown);
        }
        constexpr bool alone = true;
        co_return std::make_unique<draft>(*stored, alone);
    }

    awaitable<result<std::unique_ptr<source>>> read(extent stored, byte_range range) override {
        if (auto running = stop_.check(); !running) co_return running.error();
        auto in = co_await files_.open(path_of(stored.at.container), open_mode::read);
        if (!in && in.error() == boost::system::errc::no_such_file_or_directory) {
            co_return error_code(errc::absent);
        }
        if (!in) co_return in.error();
        auto checks = co_await record_checks::load(*in, stored);
        if (!checks) co_return checks.error();
        co_return read_range(std::move(*in), std::move(*checks), range);
    }

    awaitable<result<void>> erase(locator at) override {
        auto removed = co_await files_.remove(path_of(at.container));
        if (!removed) co_return removed.error();
        co_return co_await files_.sync_directory(folder_);
    }

    awaitable<result<std::vector<found_record>>> scan(locator after,
                                                      std::uint64_t last_container,
                                                      std::size_t limit) override {
        return scan_segments(files_, folder_, after, last_container, limit);
    }

    awaitable<void> close() override { co_return; }

    // What a crash, or a put that was given up, left without a row. Called before the store opens.
    awaitable<result<void>> sweep(catalog& rows) {
        const auto found = co_await scan(locator(), UINT64_MAX, SIZE_MAX);
        if (!found) co_return found.error();
        for (const found_record& each : *found) {
            const auto row = co_await rows.find(each.id);
            if (!row) co_return row.error();
            if (*row && (*row)->where == each.stored.at) continue;
            auto erased = co_await erase(each.stored.at);
            if (!erased) co_return erased.error();
        }
        co_return result<void>();
    }

private:
    fs::path path_of(std::uint64_t number) const { return folder_ / segment_name(number); }

    awaitable<result<extent>> fill(record_writer& writer, intake& body) {
        while (true) {
            auto window = co_await body.next();
            if (!window) co_return window.error();
            if (window->empty()) break;
            auto added = co_await writer.add(std::move(*window));
            if (!added) co_return added.error();
        }
        record_end end = writer.finish(body, boot_);
        auto written = co_await writer.in()->write_at(end.offset, std::move(end.bytes));
        if (!written) co_return written.error();
        co_return end.stored;
    }

    file_system& files_;
    fail_stop& stop_;
    const fs::path folder_;
    const std::uint64_t boot_;
    std::atomic<std::uint64_t> next_;
};

awaitable<std::unique_ptr<store>> open_with_file_bulk(runtime& threads, fs::path folder) {
    fs::create_directories(folder / "files");
    std::shared_ptr<file_system> files = open_file_system(threads, io_choice::automatic);
    local_store::parts parts;
    parts.stop = std::make_unique<fail_stop>();
    auto rows = co_await sqlite_catalog::open(threads, folder / "catalog.db", *parts.stop);
    parts.catalog = std::move(rows).value();
    auto bytes =
        std::make_unique<file_bulk>(*files, *parts.stop, folder / "files", parts.catalog->boot());
    (co_await bytes->sweep(*parts.catalog)).value();
    parts.bulk = std::move(bytes);
    parts.keeps.push_back(files);
    co_return co_await local_store::open(threads, std::move(parts));
}

awaitable<blob_id> put(store& to, std::string text) {
    buffer_source body(buffer::copy_of(as_bytes(text)));
    co_return (co_await to.put(body, std::nullopt)).value().id;
}

awaitable<std::string> get(store& from, blob_id id) {
    const byte_range whole;
    const auto opened = (co_await from.get(id, whole)).value();
    std::string text;
    for (bool more = opened != nullptr; more;) {
        const buffer window = (co_await opened->next()).value();
        text += window.text();
        more = !window.empty();
    }
    co_return text;
}

int main() {
    runtime threads;
    const std::string text(100'000, 'x');
    blob_id id;
    {
        const auto blobs = threads.run(open_with_file_bulk(threads, "blobs"));
        id = threads.run(put(*blobs, text));
        threads.run(blobs->close());
    }
    const auto blobs = threads.run(open_with_file_bulk(threads, "blobs"));
    const bool same = threads.run(get(*blobs, id)) == text;
    const std::string engine = threads.run(blobs->status()).value().bulk;
    const bool removed = threads.run(blobs->remove(id)).value();
    threads.run(blobs->close());
    std::printf("%s in %s\n", id.hex().c_str(), engine.c_str());
    return same && removed ? 0 : 1;
}
