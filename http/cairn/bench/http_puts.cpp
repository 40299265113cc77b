#include "http/cairn/bench/callers.hpp"
#include "http/cairn/bench/child_server.hpp"
#include "http/cairn/bench/fresh_blob.hpp"
#include "http/cairn/bench/http_caller.hpp"
#include "http/cairn/bench/one_core.hpp"
#include "http/cairn/bench/puts.hpp"

#include <algorithm>
#include <utility>

namespace cairn::bench {
namespace {

// One keep-alive connection a caller.
class puts : public contender {
public:
    puts(std::string what, child_server server, put_load load)
        : what_(std::move(what)), server_(std::move(server)) {
        for (std::size_t i = 0; i < load.callers; ++i) {
            callers_.push_back(std::make_unique<http_caller>(server_.port()));
            bodies_.emplace_back(load.size_bytes);
        }
    }
    std::string what() const override { return what_; }
    terms runs_under() const override {
        terms under;
        under.does = work::fresh_puts;
        under.durability = durability_;
        under.checks = "SHA-256, XXH3 of each window";
        return under;
    }
    sample run(run_time time) override {
        const auto put = [this](std::size_t caller, latencies& times) {
            fresh_blob& body = bodies_[caller];
            const std::string target = "/blobs/" + body.next();
            const auto began = std::chrono::steady_clock::now();
            callers_[caller]->put(target, body.bytes(), 201);
            times.add(std::chrono::steady_clock::now() - began);
            note(caller, target);
        };
        const sample result = drive(callers_.size(), time, put);
        durability_ = callers_.front()->field("cairn-durability");
        return result;
    }

protected:
    virtual void note(std::size_t, const std::string&) {}

    const std::string what_;
    const child_server server_;
    std::vector<std::unique_ptr<http_caller>> callers_;

private:
    std::vector<fresh_blob> bodies_;
    std::string durability_;
};

// For each second of the server's processor time: its clients take as much of another core as it
// takes of its own, so on two cores the clock would count them.
class puts_by_processor : public puts {
public:
    using puts::puts;

    sample run(run_time time) override {
        const double cpu_before = server_.cpu_seconds();
        const auto began = std::chrono::steady_clock::now();
        sample result = puts::run(time);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        result.value *= took.count() / (server_.cpu_seconds() - cpu_before);
        return result;
    }
};

// Into memory, which is given back between the runs.
class passing_puts final : public puts_by_processor {
public:
    passing_puts(std::string what, child_server server, put_load load)
        : puts_by_processor(std::move(what), std::move(server), load), there_(load.callers) {}

    sample run(run_time time) override {
        const sample result = puts_by_processor::run(std::min(time, longest));
        for (std::size_t i = 0; i < there_.size(); ++i) {
            for (const std::string& target : there_[i]) callers_[i]->remove(target);
            there_[i].clear();
        }
        return result;
    }

private:
    void note(std::size_t caller, const std::string& target) override {
        there_[caller].push_back(target);
    }

    // A gigabyte a second is not given back before the run's end.
    static constexpr run_time longest = std::chrono::seconds(2);

    std::vector<std::vector<std::string>> there_;
};

}  // namespace

std::unique_ptr<contender> http_puts(std::filesystem::path folder, put_load load) {
    return std::make_unique<puts>("cairn serve, a connection for each caller",
                                  child_server::cairn(folder, 0), load);
}

std::unique_ptr<contender> one_core_puts(std::filesystem::path folder, put_load load) {
    const one_core here;
    return std::make_unique<puts_by_processor>("cairn serve on one core",
                                               child_server::cairn(folder, 1), load);
}

std::unique_ptr<contender> one_core_memory_puts(put_load load) {
    const one_core here;
    return std::make_unique<passing_puts>("the server on one core, bytes in memory",
                                          child_server::cairn_in_memory(), load);
}

}  // namespace cairn::bench
