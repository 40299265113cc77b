// A client that behaves: small GETs and PUTs at a steady pace, each timed.
//
// Runs on a thread of its own from begin() to end().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace cairn::test {

class http_client;

// The 99th of a hundred of each kind took so long.
struct honest_times {
    double get_ms = 0;    // on a connection that is kept
    double put_ms = 0;    // likewise, of new bytes
    double fresh_ms = 0;  // connect, GET, close
    std::size_t requests = 0;
    std::vector<std::string> complaints;  // answers that were wrong or did not come
};

class honest_client {
public:
    // Stores a blob to read.
    explicit honest_client(std::uint16_t port);
    ~honest_client();

    void begin();
    honest_times end();

private:
    void run();
    void ask(http_client& kept);

    const std::uint16_t port_;
    std::uint64_t number_ = 0;
    std::string target_;
    std::atomic<bool> over_{false};
    std::thread thread_;
    std::vector<double> gets_;
    std::vector<double> puts_;
    std::vector<double> fresh_;
    std::vector<std::string> complaints_;
};

}  // namespace cairn::test
