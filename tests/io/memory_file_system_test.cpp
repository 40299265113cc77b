// What only the twin in memory does: power cuts, and faults on demand.
#include "io/memory_file_system.hpp"

#include "io/memory_image.hpp"
#include "tests/io/backends.hpp"

#include <boost/system/errc.hpp>
#include <functional>
#include <random>
#include <set>

namespace cairn::test {
namespace {

namespace posix = boost::system::errc;
using shared_file = std::shared_ptr<file>;

// The calls of one test, one after another, each on a context of its own.
class disk {
public:
    shared_file create(const char* path) {
        return run_coro(files.open(path, open_mode::create)).value();
    }
    result<shared_file> open(const char* path) {
        return run_coro(files.open(path, open_mode::read_write));
    }
    shared_file create_durably(const char* path, buffer bytes) {
        shared_file made = create(path);
        CHECK(write(made, 0, std::move(bytes)));
        CHECK(sync(made));
        CHECK(sync_folder("/"));
        return made;
    }
    result<void> write(const shared_file& to, std::uint64_t offset, buffer bytes) {
        return run_coro(to->write_at(offset, std::move(bytes)));
    }
    result<void> sync(const shared_file& f) { return run_coro(f->sync()); }
    result<void> sync_folder(const char* path) { return run_coro(files.sync_directory(path)); }
    std::string bytes(const shared_file& of) {
        return std::string(run_coro(of->read_at(0, 1 << 20)).value().text());
    }
    std::vector<std::string> names(const char* path = "/") {
        return run_coro(files.list(path)).value();
    }
    void plan(fault_kind kind, file_call call, std::uint64_t nth = 1, bool sticky = false) {
        files.plan().add({.kind = kind, .call = call, .nth = nth, .sticky = sticky});
    }

    memory_file_system files;
};

using name_list = std::vector<std::string>;

TEST_CASE("crash: keeps what was synced, file and folder") {
    disk d;
    d.create_durably("/f", pattern(10000));
    d.files.crash();
    CHECK(d.names() == name_list{"f"});
    CHECK(d.bytes(d.open("/f").value()) == pattern(10000).text());
}

TEST_CASE("crash: bytes that were not synced are gone") {
    disk d;
    const auto f = d.create_durably("/f", pattern(100));
    CHECK(d.write(f, 0, pattern(200, 1)));
    CHECK(run_coro(f->preallocate(1 << 20)));
    d.files.crash();
    CHECK(d.bytes(d.open("/f").value()) == pattern(100).text());
}

TEST_CASE("crash: a sync of a range keeps its bytes and not one more") {
    disk d;
    const auto f = d.create_durably("/f", buffer::copy_of(as_bytes("..........")));
    CHECK(d.write(f, 0, buffer::copy_of(as_bytes("aaaaaa"))));
    CHECK(d.write(f, 4, buffer::copy_of(as_bytes("bbbbbb"))));
    CHECK(run_coro(f->sync({3, 4})));
    d.files.crash();
    CHECK(d.bytes(d.open("/f").value()) == "...abbb...");
}

TEST_CASE(
    "crash: what a sync of a range left out is kept by the next, in the order it was written") {
    disk d;
    const auto f = d.create_durably("/f", buffer::copy_of(as_bytes("..........")));
    CHECK(d.write(f, 0, buffer::copy_of(as_bytes("aaaaaa"))));
    CHECK(d.write(f, 4, buffer::copy_of(as_bytes("bbbbbb"))));
    CHECK(run_coro(f->sync({8, 1})));
    CHECK(d.sync(f));
    d.files.crash();
    CHECK(d.bytes(d.open("/f").value()) == "aaaabbbbbb");
}

TEST_CASE("crash: a file whose folder was not synced is gone, synced or not") {
    disk d;
    const auto f = d.create("/f");
    CHECK(d.write(f, 0, pattern(100)));
    CHECK(d.sync(f));
    d.files.crash();
    CHECK(d.names().empty());
}

TEST_CASE("crash: a name is durable before its bytes are, and the file is empty then") {
    disk d;
    const auto f = d.create("/f");
    CHECK(d.write(f, 0, pattern(100)));
    CHECK(d.sync_folder("/"));
    d.files.crash();
    CHECK(d.names() == name_list{"f"});
    CHECK(d.bytes(d.open("/f").value()).empty());
}

TEST_CASE("crash: a removal that was not synced comes back") {
    disk d;
    d.create_durably("/f", pattern(100));
    CHECK(run_coro(d.files.remove("/f")));
    CHECK(d.names().empty());
    d.files.crash();
    CHECK(d.bytes(d.open("/f").value()) == pattern(100).text());
}

TEST_CASE("crash: a new folder lives only when its parent was synced") {
    for (const bool parent_synced : {false, true}) {
        disk d;
        CHECK(run_coro(d.files.make_directory("/a")));
        d.create("/a/f");
        CHECK(d.sync_folder("/a"));
        if (parent_synced) CHECK(d.sync_folder("/"));
        d.files.crash();
        const auto found = run_coro(d.files.list("/a"));
        CHECK(found.has_value() == parent_synced);
        // A folder that is made again is empty, whatever was synced in the one before it.
        CHECK(run_coro(d.files.make_directory("/a")));
        CHECK(d.names("/a") == (parent_synced ? name_list{"f"} : name_list()));
    }
}

TEST_CASE("crash: files that were open before answer an error") {
    disk d;
    const auto f = d.create_durably("/f", pattern(100));
    d.files.crash();
    CHECK(!d.write(f, 0, pattern(1)));
    CHECK(!d.sync(f));
    CHECK(!run_coro(f->read_at(0, 1)));
    CHECK(!f->try_read_at(0, 1));
    CHECK(d.bytes(d.open("/f").value()) == pattern(100).text());
}

TEST_CASE("crash: with a seed, any mixture of unsynced pieces may survive, synced ones always do") {
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 64; ++seed) {
        disk d;
        const auto f = d.create_durably("/f", buffer::copy_of(as_bytes("....")));
        for (std::uint64_t i = 0; i < 3; ++i) CHECK(d.write(f, i, buffer::copy_of(as_bytes("x"))));
        d.files.crash(seed);
        const std::string left = d.bytes(d.open("/f").value());
        CHECK(left.size() == 4);
        CHECK(left[3] == '.');
        seen.insert(left);
    }
    CHECK(seen.size() == 8);
}

TEST_CASE("crash: a seed decides alone") {
    const auto leave = [](std::uint64_t seed) {
        disk d;
        const auto f = d.create_durably("/f", pattern(1));
        CHECK(d.write(f, 0, pattern(100'000, 7)));
        d.files.crash(seed);
        return d.bytes(d.open("/f").value());
    };
    CHECK(leave(5) == leave(5));
}

TEST_CASE("crash: a rename happened or did not, never half") {
    std::set<name_list> seen;
    for (std::uint64_t seed = 0; seed < 32; ++seed) {
        disk d;
        d.create_durably("/a", pattern(100));
        CHECK(run_coro(d.files.rename("/a", "/b")));
        d.files.crash(seed);
        seen.insert(d.names());
    }
    CHECK(seen == std::set<name_list>{{"a"}, {"b"}});
}

TEST_CASE("fault: an interrupted or short transfer moves all its bytes all the same") {
    for (const auto kind :
         {fault_kind::interrupted, fault_kind::again, fault_kind::short_transfer}) {
        for (std::uint64_t nth = 1; nth <= 4; ++nth) {
            disk d;
            const auto f = d.create("/f");
            d.plan(kind, file_call::write, nth);
            d.plan(kind, file_call::read, nth);
            CHECK(d.write(f, 0, pattern(10000)));
            CHECK(d.bytes(f) == pattern(10000).text());
        }
    }
}

TEST_CASE("fault: every call short, a transfer still ends") {
    disk d;
    const auto f = d.create("/f");
    d.plan(fault_kind::short_transfer, file_call::write, 1, true);
    CHECK(d.write(f, 0, pattern(10000)));
    CHECK(d.bytes(f) == pattern(10000).text());
    CHECK(d.files.plan().calls(file_call::write) > 5);
}

TEST_CASE("fault: a write that runs out of space says so and may have written a part") {
    disk d;
    const auto f = d.create("/f");
    d.plan(fault_kind::no_space, file_call::write, 2);
    const auto written = d.write(f, 0, pattern(10000));
    REQUIRE(!written);
    CHECK(written.error() == failure::full);
    CHECK(d.bytes(f) == pattern(4093).text());
}

TEST_CASE("fault: a failed sync loses what it should have kept, and the next one cannot tell") {
    disk d;
    const auto f = d.create_durably("/f", pattern(100));
    CHECK(d.write(f, 0, pattern(100, 1)));
    d.plan(fault_kind::io_error, file_call::sync);
    const auto failed = d.sync(f);
    REQUIRE(!failed);
    CHECK(failed.error() == posix::io_error);
    CHECK(d.bytes(f) == pattern(100, 1).text());
    CHECK(d.sync(f));
    d.files.crash();
    CHECK(d.bytes(d.open("/f").value()) == pattern(100).text());
}

TEST_CASE("fault: an interrupted sync is not called again") {
    disk d;
    const auto f = d.create("/f");
    d.plan(fault_kind::interrupted, file_call::sync);
    CHECK(!d.sync(f));
    CHECK(d.files.plan().calls(file_call::sync) == 1);
}

TEST_CASE("fault: every kind of call can fail") {
    using call = std::function<bool(disk&, const shared_file&)>;
    const std::pair<file_call, call> calls[] = {
        {file_call::open, [](disk& d, auto&) { return d.open("/f").has_value(); }},
        {file_call::read, [](disk&, auto& f) { return run_coro(f->read_at(0, 1)).has_value(); }},
        {file_call::try_read, [](disk&, auto& f) { return f->try_read_at(0, 1).has_value(); }},
        {file_call::write, [](disk& d, auto& f) { return d.write(f, 0, pattern(1)).has_value(); }},
        {file_call::sync, [](disk& d, auto& f) { return d.sync(f).has_value(); }},
        {file_call::preallocate,
         [](disk&, auto& f) { return run_coro(f->preallocate(1)).has_value(); }},
        {file_call::punch, [](disk&, auto& f) { return run_coro(f->punch(0, 1)).has_value(); }},
        {file_call::truncate, [](disk&, auto& f) { return run_coro(f->truncate(1)).has_value(); }},
        {file_call::size, [](disk&, auto& f) { return run_coro(f->size()).has_value(); }},
        {file_call::remove,
         [](disk& d, auto&) { return run_coro(d.files.remove("/none")).has_value(); }},
        {file_call::rename,
         [](disk& d, auto&) { return run_coro(d.files.rename("/f", "/f")).has_value(); }},
        {file_call::make_directory,
         [](disk& d, auto&) { return run_coro(d.files.make_directory("/")).has_value(); }},
        {file_call::sync_directory, [](disk& d, auto&) { return d.sync_folder("/").has_value(); }},
        {file_call::list, [](disk& d, auto&) { return run_coro(d.files.list("/")).has_value(); }},
        {file_call::space, [](disk& d, auto&) { return run_coro(d.files.space("/")).has_value(); }},
    };
    CHECK(std::size(calls) == file_call_count);
    for (const auto& [kind, make] : calls) {
        CAPTURE(static_cast<int>(kind));
        disk d;
        const auto f = d.create("/f");
        d.plan(fault_kind::io_error, kind);
        CHECK(!make(d, f));
        CHECK(make(d, f));
        CHECK(d.files.plan().calls(kind) >= 2);
    }
}

TEST_CASE("fault_plan: the n-th of a kind, once or from then on, or of any kind") {
    fault_plan plan;
    plan.add({.kind = fault_kind::io_error, .call = file_call::write, .nth = 2});
    CHECK(!plan.next(file_call::write));
    CHECK(!plan.next(file_call::read));
    CHECK(plan.next(file_call::write) == fault_kind::io_error);
    CHECK(!plan.next(file_call::write));
    plan.add({.kind = fault_kind::no_space, .call = {}, .nth = 3, .sticky = true});
    CHECK(!plan.next(file_call::list));
    CHECK(!plan.next(file_call::read));
    CHECK(plan.next(file_call::sync) == fault_kind::no_space);
    CHECK(plan.next(file_call::open) == fault_kind::no_space);
    plan.clear();
    CHECK(!plan.next(file_call::open));
    CHECK(plan.calls(file_call::write) == 3);
    CHECK(plan.calls() == 9);
}

TEST_CASE("memory_image: agrees with a plain string under random changes") {
    std::mt19937_64 random(1);
    memory_image image;
    std::string model;
    for (int step = 0; step < 3000; ++step) {
        const std::size_t offset = random() % 30000;
        const std::size_t size = random() % 5 == 0 ? 0 : random() % 9000;
        switch (random() % 3) {
            case 0: {
                const buffer bytes = pattern(size, static_cast<unsigned>(random()));
                image.write(offset, bytes.view());
                if (size > 0 && model.size() < offset + size) model.resize(offset + size, '\0');
                model.replace(std::min(offset, model.size()), size, bytes.text());
                break;
            }
            case 1:
                image.resize(offset);
                model.resize(offset, '\0');
                break;
            case 2:
                image.clear(offset, size);
                for (std::size_t i = offset; i < std::min(offset + size, model.size()); ++i) {
                    model[i] = '\0';
                }
                break;
        }
        buffer out = buffer::allocate(40000);
        out.truncate(image.read(0, out.mutable_view()));
        REQUIRE(out.text() == model);
    }
}

}  // namespace
}  // namespace cairn::test
