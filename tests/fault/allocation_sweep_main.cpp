// Runs a store script once for each allocation that may fail in it, each time in a child process.
//
//     allocation_sweep FOLDER SCRIPT FIRST STRIDE once|for-good
//
// Prints a line for each complaint, and at last `runs N ended M`: how many of the children ended
// themselves because they could not go on. That is no complaint as long as nothing is lost.
#include "runtime/log.hpp"
#include "tests/fault/scarce_memory.hpp"
#include "tests/fault/store_script.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

constexpr unsigned patience_seconds = 20;

// What the children tell, and what becomes of it when they die.
struct shared_page {
    expectations now;
    std::atomic<bool> failed{false};
    std::atomic<int> complaints{0};
};

struct sweep_options {
    fs::path folder;
    const script* which = nullptr;
    std::uint64_t first = 1;
    std::uint64_t stride = 1;
    bool for_good = false;
};

store_options options_for(const fs::path& place) {
    store_options with;
    with.data = place;
    with.io = io_choice::pool;
    return with;
}

void report(shared_page& page, std::uint64_t nth, const std::string& what) {
    ++page.complaints;
    std::printf("allocation %llu: %s\n", static_cast<unsigned long long>(nth), what.c_str());
    std::fflush(stdout);
}

// How a child ended: by itself, or by which signal.
template <class Work>
int in_child(Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(patience_seconds);
        work();
        std::fflush(stdout);
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void run_and_fail(const sweep_options& what, std::uint64_t nth, shared_page& page) {
    runtime threads({.threads = 1, .blocking_threads = 2});
    trouble meanwhile;
    meanwhile.sync_failed = [] { return false; };
    meanwhile.is_over = [&what] { return !what.for_good && scarce_memory::failed_any(); };
    // Opening takes thousands of allocations: two scripts are about that, the others are not.
    const bool at_once = what.which->name == "create" || what.which->name == "recover";
    const auto begin = [&] { scarce_memory::fail(nth, what.for_good); };
    if (at_once) begin();
    if (!at_once) meanwhile.opened = begin;
    std::vector<std::string> complaints;
    try {
        complaints = threads.run(run_script(threads, *what.which, options_for(what.folder / "run"),
                                            page.now, meanwhile));
    } catch (const std::bad_alloc&) {
        // As good an answer as any.
    }
    scarce_memory::relieve();
    page.failed = scarce_memory::failed_any();
    for (const std::string& each : complaints) report(page, nth, each);
}

void look_afterwards(const sweep_options& what, std::uint64_t nth, shared_page& page) {
    runtime threads({.threads = 1, .blocking_threads = 2});
    const auto complaints =
        threads.run(complaints_about(threads, options_for(what.folder / "run"), page.now));
    for (const std::string& each : complaints) report(page, nth, "afterwards: " + each);
}

// Whether the allocation was reached.
bool run_one(const sweep_options& what, std::uint64_t nth, shared_page& page, int& ended) {
    const fs::path place = what.folder / "run";
    copy_prepared(what.folder, what.which->on, place, page.now);
    page.failed = false;
    const int signal = in_child([&] { run_and_fail(what, nth, page); });
    if (signal == SIGABRT) ++ended;
    if (signal == SIGALRM) report(page, nth, "hangs");
    if (signal != 0 && signal != SIGABRT && signal != SIGALRM) {
        report(page, nth, "crashes with signal " + std::to_string(signal));
    }
    const int after = in_child([&] { look_afterwards(what, nth, page); });
    if (after != 0) report(page, nth, "cannot be opened afterwards");
    fs::remove_all(place);
    return page.failed || signal != 0;
}

int sweep(const sweep_options& what) {
    void* const memory = ::mmap(nullptr, sizeof(shared_page), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 3;
    auto& page = *new (memory) shared_page;
    int runs = 0;
    int ended = 0;
    for (std::uint64_t nth = what.first; run_one(what, nth, page, ended); nth += what.stride) {
        ++runs;
    }
    std::printf("runs %d ended %d\n", runs, ended);
    return page.complaints == 0 ? 0 : 1;
}

sweep_options parse(char** words) {
    sweep_options what;
    what.folder = words[1];
    for (const script& each : scripts())
        if (each.name == words[2]) what.which = &each;
    what.first = std::stoull(words[3]);
    what.stride = std::stoull(words[4]);
    what.for_good = words[5] == std::string_view("for-good");
    return what;
}

}  // namespace
}  // namespace cairn::test

int main(int count, char** words) {
    if (count != 6) return 2;
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    cairn::set_log_level(cairn::log_level::off);
    cairn::test::scarce_memory::install();
    return cairn::test::sweep(cairn::test::parse(words));
}
