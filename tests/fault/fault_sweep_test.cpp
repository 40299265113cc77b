// Every call that a store makes to its disk fails once, in every way, and so do all calls from it
// on: an answer is right or an error, what was acknowledged is there afterwards, and a failed sync
// stops everything (SAFETY.md R6).
#include "io/fault_plan.hpp"
#include "runtime/log.hpp"
#include "tests/fault/crash_counts.hpp"
#include "tests/fault/expect_nothing.hpp"
#include "tests/fault/store_script.hpp"
#include "tests/support/faulty_calls.hpp"
#include "tests/support/faulty_files.hpp"
#include "tests/support/temp_dir.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <future>
#include <string>

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

constexpr auto patience = std::chrono::seconds(20);

const char* name_of(fault_kind kind) {
    switch (kind) {
        case fault_kind::io_error: return "EIO";
        case fault_kind::no_space: return "ENOSPC";
        case fault_kind::interrupted: return "EINTR";
        case fault_kind::again: return "EAGAIN";
        case fault_kind::short_transfer: return "short";
    }
    return "?";
}

class sweep {
public:
    sweep() { prepare_stores(threads_, folder_.path()); }

    // One run under the fault, and a clean opening after it. Returns how many calls were failed.
    std::uint64_t run(const script& which, fault planned) {
        const fs::path place = folder_ / "run";
        expectations now;
        copy_prepared(folder_.path(), which.on, place, now);
        running_ = describe(which, planned) + "hangs";
        fault_plan plan;
        plan.add(planned);
        std::vector<std::string> complaints;
        {
            const faulty_calls disk(plan);
            const trouble meanwhile = trouble_of(plan, planned);
            complaints = finish(run_script(threads_, which, options(place, plan), now, meanwhile));
        }
        fault_plan healthy;
        const faulty_calls disk(healthy);
        for (auto& each : finish(complaints_about(threads_, options(place, healthy), now))) {
            complaints.push_back("afterwards: " + std::move(each));
        }
        fs::remove_all(place);
        for (const auto& each : complaints) complaints_.push_back(describe(which, planned) + each);
        ++runs_;
        return plan.faults();
    }

    const std::vector<std::string>& complaints() const { return complaints_; }
    std::size_t runs() const { return runs_; }

private:
    static trouble trouble_of(const fault_plan& plan, const fault& planned) {
        trouble meanwhile;
        // A sync has nothing to be short of.
        const bool hurts_syncs = planned.kind != fault_kind::short_transfer;
        meanwhile.sync_failed = [&plan, hurts_syncs] {
            return hurts_syncs &&
                   plan.faults(file_call::sync) + plan.faults(file_call::sync_directory) > 0;
        };
        meanwhile.is_over = [&plan, sticky = planned.sticky] {
            return !sticky && plan.faults() > 0;
        };
        return meanwhile;
    }

    store_options options(const fs::path& place, fault_plan& plan) {
        store_options with;
        with.data = place;
        with.io = io_choice::pool;
        with.wrap_files = [this, &plan](std::unique_ptr<file_system>) {
            return std::make_unique<faulty_files>(threads_, plan);
        };
        return with;
    }

    // A run that hangs cannot be ended, only shown.
    template <class T>
    T finish(awaitable<T> work) {
        auto ends =
            asio::co_spawn(threads_.next().get_executor(), std::move(work), asio::use_future);
        if (ends.wait_for(patience) == std::future_status::ready) return ends.get();
        std::fprintf(stderr, "%s\n", running_.c_str());
        std::abort();
    }

    static std::string describe(const script& which, const fault& planned) {
        return std::string(which.name) + ", call " + std::to_string(planned.nth) + " " +
               name_of(planned.kind) + (planned.sticky ? " for good: " : ": ");
    }

    temp_dir folder_;
    runtime threads_{{.threads = 1, .blocking_threads = 2}};
    std::string running_;
    std::vector<std::string> complaints_;
    std::size_t runs_ = 0;
};

// Of its ten ways to fail, each call meets all with CAIRN_LONG=1, and usually one of them.
void fail_every_call(sweep& all, const script& which) {
    const std::uint64_t stride = crash_stride(10);
    std::uint64_t way = crash_seed();
    for (const auto kind : {fault_kind::io_error, fault_kind::no_space, fault_kind::interrupted,
                            fault_kind::again, fault_kind::short_transfer}) {
        for (const bool sticky : {false, true}) {
            const std::uint64_t first = 1 + way++ % stride;
            fault planned{.kind = kind, .call = {}, .nth = first, .sticky = sticky};
            while (all.run(which, planned) > 0) planned.nth += stride;
        }
    }
}

}  // namespace

TEST_CASE("fault sweep: whichever call fails, no answer is wrong, nothing acknowledged is lost") {
    set_log_level(log_level::off);
    sweep all;
    for (const script& each : scripts()) fail_every_call(all, each);
    set_log_level(log_level::info);
    MESSAGE(all.runs() << " runs");
    expect_nothing(all.complaints());
}

}  // namespace cairn::test
