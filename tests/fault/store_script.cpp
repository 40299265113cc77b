#include "tests/fault/store_script.hpp"

#include "runtime/deadline.hpp"
#include "tests/fault/audit.hpp"
#include "tests/fault/quick_compaction.hpp"
#include "tests/support/bodies.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <type_traits>

namespace cairn::test {
namespace {

// A fault of the disk is no word about a blob, nor about the format of the store.
bool is_clear(const error_code& ec) {
    if (ec.category() != make_error_code(errc::malformed).category()) return true;
    return ec == errc::no_space || ec == errc::stopped || ec == errc::outcome_unknown ||
           ec == errc::closed || ec == errc::vanished;
}

const trouble no_trouble{[] { return false; }, [] { return true; }, {}};

bool says_bad(const error_code& ec) { return ec == errc::corrupt || ec == errc::quarantined; }

}  // namespace

struct script_context {
    store& in;
    expectations& now;
    const trouble& meanwhile;
    std::vector<std::string>& complaints;

    void complain(std::string_view step, actor which, const std::string& what) {
        complaints.push_back(std::string(step) + " of " + std::string(blob_of(which).name) + ": " +
                             what);
    }
};

// What a step may be answered, known before it begins.
struct outlook {
    bool stopped = false;
    bool undisturbed = false;
};

namespace {

// A failed sync stops the store, which may take a moment to get about.
awaitable<outlook> look_ahead(script_context& at) {
    outlook next;
    next.undisturbed = at.meanwhile.is_over();
    if (!at.meanwhile.sync_failed()) co_return next;
    for (int i = 0; i < 1000 && !next.stopped; ++i) {
        auto status = co_await at.in.status();
        next.stopped = status && !status->stopped.empty();
        if (!next.stopped) co_await sleep_for(std::chrono::milliseconds(2));
    }
    if (!next.stopped) at.complaints.push_back("a sync failed and the store goes on");
    co_return next;
}

template <class T>
void judge(script_context& at,
           std::string_view step,
           actor which,
           outlook before,
           const result<T>& answer) {
    if (before.stopped && (answer.has_value() || answer.error() != errc::stopped)) {
        at.complain(step, which, "answered after a failed sync");
    }
    if (answer.has_value()) return;
    const expected now = at.now[which];
    const bool may_be_bad = now == expected::bad || now == expected::bad_or_absent;
    if (may_be_bad && says_bad(answer.error())) return;
    if (!is_clear(answer.error())) {
        at.complain(step, which, "unclear: " + answer.error().message());
    } else if (before.undisturbed && answer.error() != errc::stopped) {
        at.complain(step, which, "still fails: " + answer.error().message());
    }
}

awaitable<void> put(script_context& at, actor which) {
    const outlook before = co_await look_ahead(at);
    const actor_blob& whom = blob_of(which);
    manner how;
    how.announces_size = whom.announces_size;
    piecewise_source from(whom.bytes, how);
    std::optional<blob_id> claim;
    if (whom.announces_size) claim = whom.id;
    const expected was = at.now[which];
    if (was == expected::absent) at.now[which] = expected::either;
    auto done = co_await at.in.put(from, claim);
    judge(at, "put", which, before, done);
    if (done) {
        // A hit reads nothing: what is bad and not known to be stays so.
        const bool stays_bad = was == expected::bad && !done->created;
        if (!stays_bad) at.now[which] = expected::present;
    } else if (done.error() != errc::outcome_unknown) {
        at.now[which] = was;
    }
}

awaitable<void> remove(script_context& at, actor which) {
    const outlook before = co_await look_ahead(at);
    const expected was = at.now[which];
    at.now[which] = was == expected::bad ? expected::bad_or_absent : expected::either;
    auto done = co_await at.in.remove(blob_of(which).id);
    judge(at, "remove", which, before, done);
    if (done) {
        if (!*done && was == expected::present) at.complain("remove", which, "was not there");
        at.now[which] = expected::absent;
    } else if (done.error() != errc::outcome_unknown) {
        at.now[which] = was;
    }
}

// What came of a range against what it should be.
void compare(script_context& at, actor which, byte_range range, const result<std::string>& read) {
    if (!read) return;
    const auto whole = blob_of(which).bytes.text();
    if (*read == whole.substr(range.offset, range.size_bytes)) return;
    at.complain("get", which, "WRONG BYTES");
}

awaitable<result<std::string>> read(script_context& at, actor which, byte_range range) {
    auto opened = co_await at.in.get(blob_of(which).id, range);
    if (!opened) co_return opened.error();
    if (!*opened) co_return error_code(errc::absent);
    const std::unique_ptr<source> from = std::move(*opened);
    co_return co_await read_all(*from);
}

awaitable<void> get_range(script_context& at, actor which, byte_range range) {
    const outlook before = co_await look_ahead(at);
    const auto answer = co_await read(at, which, range);
    compare(at, which, range, answer);
    const bool is_gone = !answer && answer.error() == errc::absent;
    const expected now = at.now[which];
    const bool may_be_gone = now != expected::present && now != expected::bad;
    if (is_gone && may_be_gone) co_return;
    judge(at, "get", which, before, answer);
}

awaitable<void> get(script_context& at, actor which) { return get_range(at, which, byte_range()); }

awaitable<void> hold(script_context& at, actor which) {
    const outlook before = co_await look_ahead(at);
    auto held = co_await at.in.hold(blob_of(which).id);
    judge(at, "hold", which, before, held);
    if (!held) co_return;
    if (!*held && at.now[which] == expected::present) at.complain("hold", which, "absent");
    if (*held && (*held)->size_bytes != blob_of(which).bytes.size()) {
        at.complain("hold", which, "of another size");
    }
}

awaitable<void> list(script_context& at) {
    const outlook before = co_await look_ahead(at);
    auto page = co_await at.in.list(std::nullopt, 100);
    judge(at, "list", actor::small, before, page);
    if (!page) co_return;
    for (std::size_t i = 0; i < actor_count; ++i) {
        const blob_id& id = blob_of(actor_at(i)).id;
        const auto is_it = [&id](const listed_blob& each) { return each.id == id; };
        const bool listed = std::any_of(page->begin(), page->end(), is_it);
        const expected now = at.now[actor_at(i)];
        if (now == expected::present && !listed) at.complain("list", actor_at(i), "missing");
        if (now == expected::absent && listed) at.complain("list", actor_at(i), "listed");
    }
}

// Until what was removed is given back, or for a moment: the disk may be failing.
awaitable<void> settle(script_context& at) {
    for (int i = 0; i < 20; ++i) {
        auto status = co_await at.in.status();
        if (!status || !status->stopped.empty() || status->reclaim_count == 0) co_return;
        co_await sleep_for(std::chrono::milliseconds(1));
    }
}

// A step that memory fails is over, and its outcome unknown; the next one is taken.
template <class... Words>
awaitable<void> attempt(script_context& at,
                        awaitable<void> (*step)(script_context&, Words...),
                        std::type_identity_t<Words>... words) {
    try {
        co_await step(at, words...);
    } catch (const std::bad_alloc&) {
        // The expectations say already that it may have happened.
    }
}

awaitable<void> do_nothing(script_context&) { co_return; }

awaitable<void> do_put(script_context& at) {
    co_await attempt(at, put, actor::new_small);
    co_await attempt(at, put, actor::new_shared);
    co_await attempt(at, put, actor::new_streamed);
    co_await attempt(at, put, actor::new_shared);
    co_await attempt(at, put, actor::new_small);
    co_await attempt(at, get, actor::new_small);
    co_await attempt(at, get, actor::new_shared);
    co_await attempt(at, get, actor::new_streamed);
}

awaitable<void> do_put_alone(script_context& at) {
    co_await attempt(at, put, actor::new_alone);
    co_await attempt(at, get, actor::new_alone);
}

awaitable<void> do_read(script_context& at) {
    const byte_range middle{10, 20};
    const byte_range spans{60'000, 80'000};
    const byte_range end{69'000, 5'000};
    for (const actor each : healthy_actors) co_await attempt(at, get, each);
    co_await attempt(at, get_range, actor::small, middle);
    co_await attempt(at, get_range, actor::wide, spans);
    co_await attempt(at, get_range, actor::streamed, end);
    co_await attempt(at, get, actor::new_small);
    for (const actor each : healthy_actors) co_await attempt(at, hold, each);
    co_await attempt(at, list);
}

awaitable<void> do_remove(script_context& at) {
    for (const actor each : healthy_actors) co_await attempt(at, remove, each);
    co_await attempt(at, remove, actor::rotten);
    co_await attempt(at, settle);
    co_await attempt(at, list);
    for (const actor each : healthy_actors) co_await attempt(at, get, each);
    co_await attempt(at, put, actor::shared);
    co_await attempt(at, get, actor::shared);
}

awaitable<void> do_heal(script_context& at) {
    for (const actor each : {actor::rotten, actor::rotten_value}) {
        co_await attempt(at, get, each);
        co_await attempt(at, get, each);
        co_await attempt(at, put, each);
        co_await attempt(at, get, each);
    }
    co_await attempt(at, settle);
    co_await attempt(at, list);
}

awaitable<void> compact(script_context& at) { return await_compaction(at.in); }

awaitable<void> do_compact(script_context& at) {
    for (const actor each : healthy_actors) co_await attempt(at, get, each);
    co_await attempt(at, compact);
    for (const actor each : healthy_actors) co_await attempt(at, get, each);
    co_await attempt(at, remove, actor::wide);
    co_await attempt(at, put, actor::new_shared);
    co_await attempt(at, list);
}

constexpr std::array all_scripts{
    script{"create", prepared::fresh, do_nothing},
    script{"put", prepared::full, do_put},
    script{"put alone", prepared::fresh, do_put_alone},
    script{"read", prepared::full, do_read},
    script{"remove", prepared::full, do_remove},
    script{"heal", prepared::full, do_heal},
    script{"recover", prepared::crashed, do_read},
    script{"compact", prepared::sparse, do_compact},
};

}  // namespace

std::span<const script> scripts() { return all_scripts; }

awaitable<std::vector<std::string>> run_script(runtime& threads,
                                               const script& which,
                                               store_options options,
                                               expectations& now,
                                               const trouble& meanwhile) {
    std::vector<std::string> complaints;
    if (which.on == prepared::sparse) options.compaction = quick_compaction();
    auto opened = co_await open_store(threads, std::move(options));
    if (!opened) {
        if (!is_clear(opened.error())) {
            complaints.push_back("open: unclear: " + opened.error().message());
        }
        co_return complaints;
    }
    const std::unique_ptr<store> in = std::move(*opened);
    script_context at{*in, now, meanwhile, complaints};
    if (meanwhile.sync_failed()) complaints.push_back("open: a sync failed, and it is open");
    if (meanwhile.opened) meanwhile.opened();
    std::exception_ptr thrown;
    try {
        co_await which.run(at);
    } catch (const std::exception&) {
        thrown = std::current_exception();
    }
    co_await in->close();
    if (thrown) std::rethrow_exception(thrown);
    co_return complaints;
}

namespace {

awaitable<void> compare_one(script_context& at, actor which) {
    const byte_range whole;
    const auto answer = co_await read(at, which, whole);
    compare(at, which, whole, answer);
    const bool absent = !answer && answer.error() == errc::absent;
    switch (at.now[which].load()) {
        case expected::absent:
            if (!absent) at.complain("reopened, get", which, "should be absent");
            break;
        case expected::present:
            if (!answer) at.complain("reopened, get", which, "LOST: " + answer.error().message());
            break;
        case expected::either:
            if (!answer && !absent) at.complain("reopened, get", which, answer.error().message());
            break;
        case expected::bad:
            if (!answer && !says_bad(answer.error())) {
                at.complain("reopened, get", which, answer.error().message());
            }
            break;
        case expected::bad_or_absent:
            if (!answer && !absent && !says_bad(answer.error())) {
                at.complain("reopened, get", which, answer.error().message());
            }
            break;
    }
}

}  // namespace

awaitable<std::vector<std::string>> complaints_about(runtime& threads,
                                                     store_options options,
                                                     expectations& now) {
    std::vector<std::string> complaints;
    const std::filesystem::path folder = options.data;
    auto opened = co_await open_store(threads, std::move(options));
    if (!opened) {
        complaints.push_back("it does not open any more: " + opened.error().message());
        co_return complaints;
    }
    const std::unique_ptr<store> in = std::move(*opened);
    script_context at{*in, now, no_trouble, complaints};
    for (std::size_t i = 0; i < actor_count; ++i) co_await compare_one(at, actor_at(i));
    co_await list(at);
    co_await put(at, actor::new_small);
    co_await put(at, actor::new_shared);
    co_await get(at, actor::new_shared);
    co_await settle(at);
    co_await in->close();
    for (std::string& each : unaccounted(folder)) complaints.push_back(std::move(each));
    co_return complaints;
}

}  // namespace cairn::test
