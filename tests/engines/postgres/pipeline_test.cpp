// The protocol machine against scripts: exchanges as a server would make them, each event that
// could not come at each point of them, and thousands of random exchanges against a model of the
// server.
#include "engines/postgres/pipeline.hpp"

#include "engines/postgres/sql_error.hpp"
#include "tests/support/results.hpp"
#include "tests/support/run_coro.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/endian/conversion.hpp>
#include <cstring>
#include <deque>
#include <doctest/doctest.h>
#include <libpq-fe.h>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cairn::test {
namespace {

using namespace postgres;
using namespace std::chrono_literals;
using time_point = pipeline::time_point;
using shared_call = std::shared_ptr<postgres::call>;

constexpr statement first{"first", "SELECT 1"};
constexpr statement second{"second", "SELECT 2"};
constexpr statement unnamed{nullptr, "CREATE TABLE t()"};

// An answer of one row that holds a number, made by libpq itself.
rows a_row(std::int64_t number) {
    PGresult* const made = PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK);
    std::string name = "number";
    PGresAttDesc column{name.data(), 0, 0, 1, 20, 8, -1};
    PQsetResultAttrs(made, 1, &column);
    boost::endian::native_to_big_inplace(number);
    PQsetvalue(made, 0, 0, reinterpret_cast<char*>(&number), sizeof number);
    return rows(made);
}

std::vector<std::int64_t> numbers_of(const answers& got) {
    std::vector<std::int64_t> numbers;
    for (const rows& each : got) numbers.push_back(each.integer(0, 0));
    return numbers;
}

shared_call a_call(const segment& what) { return std::make_shared<postgres::call>(what); }

// What the call was answered; errc::unanswered when it was not.
result<answers> answer_of(const shared_call& of) {
    if (!of->is_answered()) return errc::unanswered;
    return run_coro(of->fetch());
}

error_code error_of(const shared_call& of) {
    const auto got = answer_of(of);
    return got ? error_code() : got.error();
}

std::vector<std::int64_t> values_of(const shared_call& of) {
    auto got = answer_of(of);
    REQUIRE(got.has_value());
    return numbers_of(*got);
}

// A machine and short words for what comes.
struct bench {
    explicit bench(pipeline_limits limits = {}) : machine(limits) {}

    shared_call send(const segment& what) {
        auto made = a_call(what);
        dispatched = machine.send(made, now);
        return made;
    }
    bench& row(std::int64_t number) {
        machine.came_rows(a_row(number));
        machine.came_end();
        return *this;
    }
    bench& error(std::string_view state) {
        machine.came_error(sql_error(state));
        machine.came_end();
        return *this;
    }
    bench& aborted() {
        machine.came_aborted();
        machine.came_end();
        return *this;
    }
    bench& sync() {
        machine.came_sync(now);
        return *this;
    }
    // A call whose statement is prepared by now.
    void prepare(const statement& what) {
        send(segment(what));
        row(0).sync().row(0).sync();
    }

    time_point now{};
    pipeline machine;
    pipeline::dispatch dispatched;
};

bench unprepared() {
    pipeline_limits limits;
    limits.prepare = false;
    return bench(limits);
}

segment two_steps() { return segment(first).add(second); }

}  // namespace

TEST_CASE("pipeline: a segment is answered at its Sync, with the rows of its statements in order") {
    bench on = unprepared();
    const auto asked = on.send(two_steps());
    on.row(1).row(2);
    CHECK(error_of(asked) == errc::unanswered);
    on.sync();
    CHECK(values_of(asked) == std::vector<std::int64_t>{1, 2});
    CHECK_FALSE(on.machine.is_waiting());
    CHECK_FALSE(on.machine.is_broken());
}

TEST_CASE("pipeline: segments are answered in the order in which they were sent") {
    bench on = unprepared();
    const auto one = on.send(segment(first));
    const auto two = on.send(segment(first));
    on.row(1).sync();
    CHECK(values_of(one) == std::vector<std::int64_t>{1});
    CHECK(error_of(two) == errc::unanswered);
    on.row(2).sync();
    CHECK(values_of(two) == std::vector<std::int64_t>{2});
}

TEST_CASE("pipeline: an empty segment is its Sync") {
    bench on;
    const auto asked = on.send(segment());
    CHECK(on.dispatched.parses.empty());
    on.sync();
    CHECK(values_of(asked).empty());
}

TEST_CASE("pipeline: a statement is prepared at its first use, under a Sync of its own") {
    bench on;
    const auto one = on.send(segment(first).add(second).add(first));
    REQUIRE(on.dispatched.parses.size() == 2);
    CHECK(std::string(on.dispatched.parses[0].server_name) == "first");
    CHECK(std::string(on.dispatched.parses[1].server_name) == "second");
    on.row(0).row(0).sync();
    CHECK(error_of(one) == errc::unanswered);
    on.row(1).row(2).row(3).sync();
    CHECK(values_of(one) == std::vector<std::int64_t>{1, 2, 3});

    on.send(segment(second));
    CHECK(on.dispatched.parses.empty());
    CHECK(std::string(on.dispatched.server_names[0]) == "second");
}

TEST_CASE("pipeline: what has no name, or must not be prepared, is sent with its text") {
    bench on;
    on.send(segment(unnamed));
    CHECK(on.dispatched.parses.empty());
    CHECK(on.dispatched.server_names == std::vector<const char*>{nullptr});

    bench pooled = unprepared();
    pooled.send(segment(first));
    CHECK(pooled.dispatched.parses.empty());
    CHECK(pooled.dispatched.server_names == std::vector<const char*>{nullptr});
}

TEST_CASE("pipeline: an error fails its segment and no other") {
    bench on = unprepared();
    const auto before = on.send(segment(first));
    const auto bad = on.send(segment(first).add(second).add(first));
    const auto after = on.send(segment(first));
    on.row(1).sync();
    on.row(2).error("23505").aborted().sync();
    on.row(3).sync();
    CHECK(values_of(before) == std::vector<std::int64_t>{1});
    CHECK(error_of(bad) == sql_error("23505"));
    CHECK(values_of(after) == std::vector<std::int64_t>{3});
}

TEST_CASE("pipeline: a commit that fails fails its segment, though every statement succeeded") {
    bench on = unprepared();
    const auto asked = on.send(two_steps());
    on.row(1).row(2).error("40001").sync();
    CHECK(error_of(asked) == sql_error("40001"));
    CHECK_FALSE(on.machine.is_broken());
}

TEST_CASE("pipeline: a Parse that fails is the error of its segment, and is tried anew") {
    bench on;
    const auto bad = on.send(two_steps());
    const auto behind = on.send(segment(second));  // counts on the Parse in front
    on.error("42P01").aborted().sync().error("26000").aborted().sync();
    CHECK(error_of(bad) == sql_error("42P01"));
    on.error("26000").sync();
    CHECK(error_of(behind) == errc::unanswered);
    const auto* const again = on.machine.send_again(on.now);
    REQUIRE(again != nullptr);
    CHECK(again->parses.size() == 1);
    on.row(0).sync().row(7).sync();
    CHECK(values_of(behind) == std::vector<std::int64_t>{7});
}

TEST_CASE("pipeline: what a failed Parse left unprepared is prepared at its next use") {
    bench on;
    on.send(two_steps());
    on.row(0).error("42P01").sync().row(1).error("26000").sync();
    on.send(two_steps());
    REQUIRE(on.dispatched.parses.size() == 1);
    CHECK(on.dispatched.parses[0].step->what.name == second.name);

    bench skipped;
    skipped.send(two_steps());
    skipped.error("42P01").aborted().sync().error("26000").aborted().sync();
    skipped.send(two_steps());
    CHECK(skipped.dispatched.parses.size() == 2);
}

TEST_CASE("pipeline: a stale statement is prepared under a new name and sent again, once") {
    for (const std::string_view state : {"26000", "0A000"}) {
        CAPTURE(state);
        bench on;
        on.prepare(first);
        const auto asked = on.send(segment(first));
        on.error(state).sync();
        const auto* const again = on.machine.send_again(on.now);
        REQUIRE(again != nullptr);
        REQUIRE(again->parses.size() == 1);
        CHECK(std::string(again->parses[0].server_name) != "first");
        CHECK(again->server_names[0] == again->parses[0].server_name);
        CHECK(on.machine.send_again(on.now) == nullptr);
        on.row(0).sync().error(state).sync();
        CHECK(on.machine.send_again(on.now) == nullptr);
        CHECK(error_of(asked) == sql_error(state));
    }
}

TEST_CASE("pipeline: the end of the session breaks it, after the answer that said so") {
    for (const std::string_view state : {"57P01", "25006", "08006"}) {
        CAPTURE(state);
        bench on = unprepared();
        const auto told = on.send(segment(first));
        const auto behind = on.send(segment(first));
        on.error(state).sync();
        CHECK(error_of(told) == sql_error(state));
        CHECK(on.machine.broken() == sql_error(state));
        on.row(1).sync();
        CHECK(error_of(behind) == errc::unanswered);
        on.machine.lost();
        CHECK(error_of(behind) == errc::connection_lost);
    }
}

TEST_CASE("pipeline: a commit that the standbys may not have is as good as a lost connection") {
    bench on = unprepared();
    const auto asked = on.send(segment(first));
    on.row(1);
    on.machine.came_standby_warning();
    on.sync();
    CHECK(error_of(asked) == errc::connection_lost);
    CHECK(on.machine.is_broken());
}

TEST_CASE("pipeline: what was sent is lost with the connection, at every point") {
    bench on;
    const auto done = on.send(segment(first));
    on.row(0).sync().row(1).sync();
    const auto stale = on.send(segment(first));
    const auto half = on.send(two_steps());
    const auto whole = on.send(segment(first));
    on.error("26000").sync();  // waits to be sent again
    on.row(0).sync().row(1);
    on.machine.lost();
    CHECK(values_of(done) == std::vector<std::int64_t>{1});
    for (const auto& each : {stale, half, whole}) CHECK(error_of(each) == errc::connection_lost);
    CHECK_FALSE(on.machine.is_waiting());
    CHECK(on.machine.unanswered_bytes() == 0);
}

TEST_CASE("pipeline: bytes and segments without an answer are bounded; a large one goes alone") {
    pipeline_limits limits;
    limits.prepare = false;
    limits.unanswered_bytes = 1000;
    limits.unanswered_segments = 3;
    bench on(limits);
    CHECK(on.machine.has_room(5000));
    const std::size_t size = segment(first).size_bytes();
    on.send(segment(first));
    CHECK(on.machine.unanswered_bytes() == size);
    CHECK(on.machine.has_room(1000 - size));
    CHECK_FALSE(on.machine.has_room(1001 - size));
    on.send(segment(first));
    on.send(segment(first));
    CHECK_FALSE(on.machine.has_room(0));
    on.row(1).sync();
    CHECK(on.machine.has_room(0));
}

TEST_CASE("pipeline: the clock of a segment runs from when the server could begin with it") {
    bench on = unprepared();
    CHECK_FALSE(on.machine.expires());
    const auto start = on.now;
    on.send(segment(first));
    on.send(segment(first));
    CHECK(on.machine.expires() == start + 15s);
    on.now += 10s;
    CHECK(on.machine.expires() == start + 15s);
    on.row(1).sync();
    CHECK(on.machine.expires() == start + 25s);
    on.row(1).sync();
    CHECK_FALSE(on.machine.expires());
}

TEST_CASE("pipeline: the answer of a call that was left is read and dropped") {
    bench on;
    on.prepare(first);
    const auto left = on.send(segment(first));
    const auto next = on.send(segment(first));
    left->leave();
    on.error("26000").sync();
    CHECK(on.machine.send_again(on.now) == nullptr);
    CHECK(left->is_answered());
    on.row(2).sync();
    CHECK(values_of(next) == std::vector<std::int64_t>{2});
}

TEST_CASE("pipeline: logs can name the statement that is answered next") {
    bench on;
    CHECK(on.machine.statement_name() == nullptr);
    on.send(two_steps());
    CHECK(std::string(on.machine.statement_name()) == "first");
    on.row(0).row(0).sync();
    CHECK(std::string(on.machine.statement_name()) == "first");
    on.row(0);
    CHECK(std::string(on.machine.statement_name()) == "second");
    on.row(0);
    CHECK(std::string(on.machine.statement_name()) == "commit");
}

namespace {

// Events as letters: Row, error (X), Aborted, End, Sync.
using script = std::string;
constexpr std::string_view all_events = "RXAES";

// All that a server may say to `size` statements and their Sync.
std::set<script> exchanges(std::size_t size) {
    std::set<script> all;
    for (std::size_t good = 0; good <= size; ++good) {
        script said;
        for (std::size_t i = 0; i < good; ++i) said += "RE";
        if (good < size) said += "XE";
        for (std::size_t i = good + 1; i < size; ++i) said += "AE";
        all.insert(said + "S");
        all.insert(said + "XES");  // the commit fails, or the session's end is announced
    }
    return all;
}

std::set<script> one_after_the_other(const std::set<script>& before,
                                     const std::set<script>& after) {
    std::set<script> all;
    for (const script& head : before)
        for (const script& tail : after) all.insert(head + tail);
    return all;
}

void play(pipeline& machine, char event) {
    switch (event) {
        case 'R': return machine.came_rows(a_row(1));
        case 'X': return machine.came_error(sql_error("23505"));
        case 'A': return machine.came_aborted();
        case 'E': return machine.came_end();
        case 'S': return machine.came_sync({});
    }
}

bool may_follow(const std::set<script>& legal, const script& said) {
    const auto at = legal.lower_bound(said);
    return at != legal.end() && at->starts_with(said);
}

// Plays every beginning of every legal script, then each event; those that cannot follow must break
// the machine, and nobody is told of a success by them.
void play_all(const std::set<script>& legal, const segment& what, bool prepare) {
    pipeline_limits limits;
    limits.prepare = prepare;
    for (const script& whole : legal)
        for (std::size_t size = 0; size <= whole.size(); ++size)
            for (const char next : all_events) {
                const script said = whole.substr(0, size);
                CAPTURE(said);
                CAPTURE(next);
                bench on(limits);
                const auto asked = on.send(what);
                for (const char each : said) play(on.machine, each);
                REQUIRE_FALSE(on.machine.is_broken());
                REQUIRE(asked->is_answered() == (size == whole.size()));
                play(on.machine, next);
                CHECK(on.machine.is_broken() == !may_follow(legal, said + next));
                if (!on.machine.is_broken() || size == whole.size()) continue;
                CHECK_FALSE(asked->is_answered());
                on.machine.lost();
                CHECK(error_of(asked) == errc::connection_lost);
            }
}

}  // namespace

TEST_CASE("pipeline: what cannot come at a point of an exchange breaks it, and delivers nothing") {
    play_all(exchanges(0), segment(), false);
    play_all(exchanges(1), segment(first), false);
    play_all(exchanges(3), segment(first).add(second).add(first), false);
}

TEST_CASE("pipeline: the same where statements are prepared in front") {
    play_all(one_after_the_other(exchanges(1), exchanges(1)), segment(first), true);
    play_all(one_after_the_other(exchanges(2), exchanges(2)), two_steps(), true);
}

namespace {

// A server that runs what it is sent, in order, and says what a server says. A step's parameter is
// the number that it answers; some numbers are errors.
class model_server {
public:
    struct event {
        char kind;
        std::int64_t number = 0;
        error_code why;
    };
    struct told {
        std::vector<std::int64_t> numbers;
        error_code why;
    };

    explicit model_server(std::mt19937& random) : random_(random) {}

    void run(const pipeline::dispatch& what) {
        if (!what.parses.empty()) run_parses(what);
        run_steps(what);
    }
    // As a server behind a pooler that was restarted.
    void forget_statements() { prepared_.clear(); }

    std::deque<event> said;
    std::deque<told> outcomes;  // one for each segment that was run, in order

private:
    bool by_chance(unsigned percent) { return random_() % 100 < percent; }

    void run_parses(const pipeline::dispatch& what) {
        error_code failed;
        for (const auto& each : what.parses) {
            const bool is_refused = by_chance(5);
            if (failed) {
                say('A');
            } else if (is_refused) {
                say('X', 0, failed = sql_error("42P01"));
            } else {
                say('R');
                prepared_.insert(each.server_name);
            }
            say('E');
        }
        say('S');
        parse_failure_ = failed;
    }

    void run_steps(const pipeline::dispatch& what) {
        told outcome;
        error_code failed;
        for (std::size_t i = 0; i < what.server_names.size(); ++i) {
            const std::int64_t number = number_of(what.what->steps()[i]);
            if (failed) {
                say('A');
            } else if (failed = failure_of(what.server_names[i], number); failed) {
                say('X', 0, failed);
            } else {
                say('R', number);
                outcome.numbers.push_back(number);
            }
            say('E');
        }
        if (!failed && by_chance(3)) {
            say('X', 0, failed = sql_error("40001"));
            say('E');
        }
        say('S', 1);
        const error_code parse_failure = std::exchange(parse_failure_, {});
        outcome.why = parse_failure ? parse_failure : failed;
        outcomes.push_back(outcome);
    }

    static std::int64_t number_of(const segment::step& of) {
        std::int64_t number = 0;
        std::memcpy(&number, of.with.bytes(0).data(), sizeof number);
        return boost::endian::big_to_native(number);
    }

    error_code failure_of(const char* server_name, std::int64_t number) const {
        if (server_name != nullptr && !prepared_.contains(server_name)) return sql_error("26000");
        return number % 11 == 0 ? sql_error("23505") : error_code();
    }

    void say(char kind, std::int64_t number = 0, error_code why = {}) {
        said.push_back({kind, number, why});
    }

    std::mt19937& random_;
    std::set<std::string> prepared_;
    error_code parse_failure_;
};

// Callers, a machine and the model, in a random order of everything that may happen.
class random_exchange {
public:
    explicit random_exchange(unsigned seed) : random_(seed), server_(random_) {}

    void run() {
        const auto turns = 50 + random_() % 200;
        for (auto i = turns; i > 0 && !is_lost_; --i) turn();
        if (by_chance(50)) lose();
        while (!is_lost_ && !server_.said.empty()) hear();
        for (const auto& [asked, must_be] : asked_) check(asked, must_be);
    }

private:
    struct expected {
        bool is_known = false;
        bool is_second = false;
        bool is_left = false;  // some of its rows were dropped
        model_server::told told;
    };

    bool by_chance(unsigned percent) { return random_() % 100 < percent; }

    void turn() {
        const auto what = random_() % 100;
        if (what < 30) {
            ask();
        } else if (what < 93) {
            hear();
        } else if (what < 97) {
            leave();
        } else if (what < 99) {
            server_.forget_statements();
        } else if (by_chance(20)) {
            lose();
        }
    }

    void ask() {
        static constexpr std::array all{statement{"a", "A"}, statement{"b", "B"},
                                        statement{"c", "C"}, statement{nullptr, "D"}};
        segment what;
        for (auto i = random_() % 5; i > 0; --i) {
            what.add(all[random_() % all.size()], parameters().add(next_number_++));
        }
        if (!machine_.has_room(what.size_bytes())) return;
        const auto made = a_call(what);
        asked_.emplace_back(made, expected());
        sent_.push_back(asked_.size() - 1);
        server_.run(machine_.send(made, {}));
    }

    void hear() {
        if (server_.said.empty()) return;
        const auto event = server_.said.front();
        server_.said.pop_front();
        switch (event.kind) {
            case 'R': machine_.came_rows(a_row(event.number)); break;
            case 'X': machine_.came_error(event.why); break;
            case 'A': machine_.came_aborted(); break;
            case 'E': machine_.came_end(); break;
            case 'S':
                if (event.number == 1) note_outcome();
                machine_.came_sync({});
                send_again();
        }
        REQUIRE_FALSE(machine_.is_broken());
    }

    // Before the machine hears of the Sync: what it must answer then.
    void note_outcome() {
        expected& of = asked_[sent_.front()].second;
        of.told = server_.outcomes.front();
        const bool is_left = asked_[sent_.front()].first->is_left();
        const bool is_again = is_stale_statement(of.told.why) && !of.is_second && !is_left;
        of.is_known = !is_again;
        if (is_again) again_.push_back(sent_.front());
        sent_.pop_front();
        server_.outcomes.pop_front();
    }

    void send_again() {
        while (const auto* const what = machine_.send_again({})) {
            REQUIRE_FALSE(again_.empty());
            asked_[again_.front()].second.is_second = true;
            sent_.push_back(again_.front());
            again_.pop_front();
            server_.run(*what);
        }
        CHECK(again_.empty());
    }

    void leave() {
        if (asked_.empty()) return;
        auto& [asked, must_be] = asked_[random_() % asked_.size()];
        asked->leave();
        must_be.is_left = must_be.is_left || asked->is_left();
    }

    void lose() {
        is_lost_ = true;
        machine_.lost();
    }

    static void check(const shared_call& asked, const expected& must_be) {
        REQUIRE(asked->is_answered());
        auto got = run_coro(asked->fetch());
        if (!must_be.is_known) {
            CHECK(got.error() == errc::connection_lost);
        } else if (must_be.told.why) {
            CHECK(got.error() == must_be.told.why);
        } else if (!must_be.is_left) {
            REQUIRE(got.has_value());
            CHECK(numbers_of(*got) == must_be.told.numbers);
        }
    }

    std::mt19937 random_;
    model_server server_;
    pipeline machine_{pipeline_limits{.unanswered_segments = 20}};
    std::vector<std::pair<shared_call, expected>> asked_;
    std::deque<std::size_t> sent_;   // indices of asked_, as the server runs them
    std::deque<std::size_t> again_;  // those that the machine must send once more
    std::int64_t next_number_ = 1;
    bool is_lost_ = false;
};

}  // namespace

TEST_CASE("pipeline: random exchanges end as the model of the server says") {
    for (unsigned seed = 1; seed <= 5000; ++seed) {
        CAPTURE(seed);
        random_exchange(seed).run();
    }
}

}  // namespace cairn::test
