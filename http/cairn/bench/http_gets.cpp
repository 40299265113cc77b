#include "http/cairn/bench/http_gets.hpp"

#include "http/cairn/bench/callers.hpp"
#include "http/cairn/bench/child_server.hpp"
#include "http/cairn/bench/http_caller.hpp"
#include "runtime/bytes.hpp"
#include "runtime/hash.hpp"

#include <fstream>
#include <stdexcept>
#include <utility>

namespace cairn::bench {
namespace {

class gets final : public contender {
public:
    gets(std::string what,
         std::string checks,
         child_server server,
         std::string target,
         get_load load)
        : what_(std::move(what)),
          checks_(std::move(checks)),
          server_(std::move(server)),
          target_(std::move(target)),
          load_(load) {
        for (std::size_t i = 0; i < load.connections; ++i) {
            callers_.push_back(std::make_unique<http_caller>(server_.port()));
            callers_.back()->get(target_);
        }
    }
    std::string what() const override { return what_; }
    terms runs_under() const override {
        terms under;
        under.head_bytes = callers_.front()->head_bytes();
        under.checks = checks_;
        return under;
    }
    sample run(run_time time) override {
        const double before = server_.cpu_seconds();
        sample result =
            drive(load_.connections, time, [this](std::size_t caller, latencies& times) {
                const auto began = std::chrono::steady_clock::now();
                if (callers_[caller]->get(target_) != load_.size_bytes) {
                    throw std::runtime_error("a body of another size");
                }
                times.add(std::chrono::steady_clock::now() - began);
            });
        const double seconds = std::chrono::duration<double>(time).count();
        const double used = server_.cpu_seconds() - before;
        result.value = used * 1e6 / (result.value * seconds);
        return result;
    }

private:
    const std::string what_;
    const std::string checks_;
    const child_server server_;
    const std::string target_;
    const get_load load_;
    std::vector<std::unique_ptr<http_caller>> callers_;
};

std::vector<std::byte> some_body(std::size_t size_bytes) {
    std::vector<std::byte> body(size_bytes);
    fresh_bytes().fill(body.data(), size_bytes);
    return body;
}

}  // namespace

std::unique_ptr<contender> cairn_gets(std::filesystem::path folder, get_load load) {
    child_server server = child_server::cairn(folder, 1);
    const auto body = some_body(load.size_bytes);
    const std::string target = "/blobs/" + to_hex(sha256::of(body));
    http_caller(server.port()).put(target, body, 201);
    return std::make_unique<gets>("cairn serve, one thread", "XXH3 at the first read",
                                  std::move(server), target, load);
}

std::unique_ptr<contender> nginx_gets(std::filesystem::path folder, get_load load) {
    std::filesystem::create_directories(folder);
    const auto body = some_body(load.size_bytes);
    // A name as long as an id, so that requests are alike.
    const std::string name = to_hex(sha256::of(body));
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(body.data()),
               static_cast<std::streamsize>(body.size()));
    return std::make_unique<gets>("nginx, one worker, sendfile, cached descriptors", "none",
                                  child_server::nginx(folder), "/" + name, load);
}

}  // namespace cairn::bench
