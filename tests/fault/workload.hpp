// Load on a server: many connections that put, put again, read and delete, and write down in a
// ledger what they were answered.
//
// Sizes are spread evenly over the orders of magnitude from one byte to `size_max`, with the limits
// between the ways of storing a blob visited on purpose. A blob is deleted only by the connection
// that put it; blobs that several connections may put are never deleted. Every answer that is
// neither the expected one nor "try again" is a complaint.
#pragma once

#include "tests/fault/ledger.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace cairn::test {

class http_client;

struct workload_options {
    std::size_t connections = 8;
    std::uint32_t size_max = 5u << 20;
    std::uint64_t removals = 10;  // of 100 requests; they take from the puts of what is new
};

// Owned by one thread; its connections are threads of its own.
class workload {
public:
    workload(ledger& promises,
             std::uint16_t port,
             std::uint64_t seed,
             workload_options options = {});
    // As stop().
    ~workload();

    // Lets every connection end its request, and waits for that. A connection whose server died has
    // ended by itself, its last request unanswered.
    void stop();

    // After stop(): what went wrong, and how many connections were lost.
    const std::vector<std::string>& complaints() const { return complaints_; }
    std::size_t lost_connections() const { return lost_; }

private:
    class connection;

    ledger& promises_;
    const std::size_t known_;  // blobs of earlier loads
    const workload_options options_;
    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    std::vector<std::string> complaints_;
    std::size_t lost_ = 0;
    std::vector<std::thread> threads_;
};

// Puts `count` blobs of at most 1 KiB as fast as the server takes them.
void fill(ledger& promises, std::uint16_t port, std::size_t count, std::uint64_t seed);

// Reads back each of `blobs`: what is stored must be there and hash to its id, what is removed must
// be absent, and what nobody promised may be either, but never wrong. Returns what is not so.
std::vector<std::string> broken_promises(std::uint16_t port,
                                         const std::vector<promised_blob>& blobs);

// Compares GET /blobs with the whole ledger: each stored blob is listed, and each listed one was
// put and not removed.
std::vector<std::string> broken_listing(std::uint16_t port,
                                        const std::vector<promised_blob>& blobs);

}  // namespace cairn::test
