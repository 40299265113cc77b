#include "http/cairn/bench/terms.hpp"

#include <doctest/doctest.h>

namespace cairn::bench {

using namespace std::chrono_literals;

namespace {

terms durable_puts() {
    terms under;
    under.does = work::fresh_puts;
    under.durability = "full";
    return under;
}

}  // namespace

TEST_CASE("terms: sides that ran under the same have a ratio, whatever they check") {
    terms ours = durable_puts();
    ours.checks = "SHA-256";
    CHECK(unequal(ours, durable_puts()) == "");
}

TEST_CASE("terms: another durability, sync delay, head or kind of bytes is no ratio, and says so") {
    terms other = durable_puts();
    other.durability = "none";
    CHECK(unequal(durable_puts(), other) == "durability full against none");
    other = durable_puts();
    other.sync_delay = 8ms;
    CHECK(unequal(durable_puts(), other) == "a sync delay of 0 ms against 8 ms");
    other = durable_puts();
    other.does = work::replays;
    CHECK(unequal(durable_puts(), other) == "fresh bytes against others");
    terms head;
    head.head_bytes = 368;
    CHECK(unequal(terms(), head) == "heads of 0 bytes against 368");
}

TEST_CASE("terms: reads promise nothing, and the speed of hashing is no store's") {
    terms reads;
    reads.durability = "full";
    reads.sync_delay = 8ms;
    CHECK(unequal(reads, terms()) == "");
    terms hashing;
    hashing.does = work::yardstick;
    CHECK(unequal(durable_puts(), hashing) == "");
}

}  // namespace cairn::bench
