// Fixed scripts of what a store is asked for, run while its disk or its memory fails, and what it
// must have kept afterwards.
//
// Each script runs on a copy of a prepared store. What the store answered decides what a clean
// reopening must show: what it acknowledged is there, byte for byte; what it refused did not
// happen; only errc::outcome_unknown (and an exception) leaves both open. An error that blames the
// blob or the store's format for what the disk did is a complaint, and so is one that comes when
// the fault is over, unless a failed sync stopped the store (SAFETY.md R6).
#pragma once

#include "runtime/runtime.hpp"
#include "store/open_store.hpp"
#include "tests/fault/prepared_store.hpp"
#include "tests/fault/store_actors.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::test {

struct script_context;

struct script {
    std::string_view name;
    prepared on;
    awaitable<void> (*run)(script_context&);
};

std::span<const script> scripts();

// What goes wrong meanwhile, asked before each step.
struct trouble {
    std::function<bool()> sync_failed;  // then the store must stop
    std::function<bool()> is_over;      // then every step must succeed
    std::function<void()> opened = {};  // called before the first step
};

// Runs the script and returns the complaints.
awaitable<std::vector<std::string>> run_script(runtime& threads,
                                               const script& which,
                                               store_options options,
                                               expectations& now,
                                               const trouble& meanwhile);

// Opens the folder when all is well again, compares it with what is expected, closes it and audits
// it. Returns the complaints.
awaitable<std::vector<std::string>> complaints_about(runtime& threads,
                                                     store_options options,
                                                     expectations& now);

}  // namespace cairn::test
