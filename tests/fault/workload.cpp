#include "tests/fault/workload.hpp"

#include "tests/support/http_client.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

namespace cairn::test {
namespace {

constexpr std::string_view loopback = "127.0.0.1";

// Shorter bodies are too few to be anybody's own; and bodies of the first seeds belong to all.
constexpr std::uint32_t own_size_min = 16;
constexpr std::uint64_t shared_seeds = 16;

constexpr std::uint32_t small_max = 64 << 10;

bool has_owner(const promised_blob& blob) {
    return blob.size_bytes >= own_size_min && blob.seed >= shared_seeds;
}

std::string target_of(const blob_id& id) { return "/blobs/" + id.hex(); }

blob_id id_of(std::string_view body) {
    return blob_id::of(std::as_bytes(std::span(body.data(), body.size())));
}

std::string describe(const promised_blob& blob) {
    return "blob " + blob.id.hex().substr(0, 12) + " (" + std::to_string(blob.size_bytes) +
           " bytes)";
}

std::string chunked(std::string_view body) {
    constexpr std::size_t step = 100'000;
    std::string framed;
    for (std::size_t at = 0; at < body.size(); at += step) {
        const std::string_view part = body.substr(at, step);
        char size[16];
        std::snprintf(size, sizeof size, "%zx\r\n", part.size());
        framed.append(size).append(part).append("\r\n");
    }
    return framed + "0\r\n\r\n";
}

}  // namespace

// One connection and the blobs that are its own.
class workload::connection {
public:
    connection(workload& owner, std::uint16_t port, std::uint64_t seed, std::size_t number)
        : owner_(owner),
          promises_(owner.promises_),
          random_(seed),
          client_(std::string(loopback), port) {
        adopt(number);
    }

    void run() {
        while (!owner_.stopping_) {
            const std::uint64_t roll = random_() % 100;
            const std::uint64_t fresh_puts = 80 - owner_.options_.removals;
            if (roll < fresh_puts || stored_.empty())
                put(fresh());
            else if (roll < fresh_puts + 6)
                put(pick(stored_));
            else if (roll < fresh_puts + 16)
                read(pick(stored_));
            else if (roll < 96 || removed_.empty())
                remove();
            else
                revive();
        }
    }

private:
    // Takes over some blobs of earlier loads, so that old ones are deleted too.
    void adopt(std::size_t number) {
        constexpr std::size_t adopted = 50;
        const std::size_t known = owner_.known_;
        for (std::size_t i = 0; known > 0 && i < adopted; ++i) {
            std::size_t index = random_() % known;
            index -= index % owner_.options_.connections;
            index += number;
            if (index >= known) continue;
            const promised_blob blob = promises_.at(index);
            const bool taken = std::find(stored_.begin(), stored_.end(), index) != stored_.end();
            if (has_owner(blob) && !taken && blob.state == promise::stored)
                stored_.push_back(index);
        }
    }

    std::size_t fresh() {
        static constexpr std::array<std::uint32_t, 9> limits{
            4095, 4096, 4097, 65535, 65536, 65537, 4u << 20, (4u << 20) + 1, 262144};
        promised_blob blob;
        const std::uint64_t roll = random_() % 100;
        // Half of them small: more answers, and more of them in one commit.
        const std::uint32_t size_max = roll % 2 == 0
                                           ? owner_.options_.size_max
                                           : std::min(small_max, owner_.options_.size_max);
        std::uniform_real_distribution<double> exponent(0, std::log(size_max));
        blob.size_bytes = static_cast<std::uint32_t>(std::exp(exponent(random_)));
        if (roll < 5) blob.size_bytes = limits[random_() % limits.size()];
        blob.size_bytes = std::clamp(blob.size_bytes, 1u, owner_.options_.size_max);
        // A few blobs are put by everybody, often at the same moment.
        const bool shared = roll >= 97;
        blob.seed = shared ? random_() % shared_seeds : random_() | shared_seeds;
        if (shared) blob.size_bytes = 70'000;
        blob.id = id_of(body_of(blob.seed, blob.size_bytes));
        return promises_.add(blob);
    }

    std::size_t pick(const std::vector<std::size_t>& from) { return from[random_() % from.size()]; }

    void put(std::size_t index) {
        const promised_blob blob = promises_.at(index);
        const std::string body = body_of(blob.seed, blob.size_bytes);
        const http_response answer = send(blob, body);
        if (answer.status == 503) return;
        if (answer.status != 200 && answer.status != 201) return complain("PUT", blob, answer);
        if (blob.state == promise::stored) return;
        promises_.set(index, promise::stored);
        if (has_owner(blob)) stored_.push_back(index);
    }

    // The three ways in which a body can arrive.
    http_response send(const promised_blob& blob, const std::string& body) {
        const std::uint64_t roll = random_() % 10;
        if (roll == 0) return client_.post("/blobs", body);
        if (roll > 2) return client_.put(target_of(blob.id), body);
        client_.send_raw("PUT " + target_of(blob.id) +
                         " HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n");
        client_.send_raw(chunked(body));
        return client_.receive();
    }

    void read(std::size_t index) {
        const promised_blob blob = promises_.at(index);
        const http_response answer = client_.get(target_of(blob.id));
        if (answer.status == 503) return;
        if (answer.status != 200 || id_of(answer.body) != blob.id) complain("GET", blob, answer);
    }

    void remove() {
        const std::size_t place = random_() % stored_.size();
        const std::size_t index = stored_[place];
        const promised_blob blob = promises_.at(index);
        stored_.erase(stored_.begin() + static_cast<std::ptrdiff_t>(place));
        promises_.set(index, promise::none);
        const http_response answer = client_.remove(target_of(blob.id));
        if (answer.status == 503) return;
        if (answer.status != 204) return complain("DELETE", blob, answer);
        promises_.set(index, promise::removed);
        removed_.push_back(index);
    }

    // Puts a deleted blob again: its old bytes may be on their way out.
    void revive() {
        const std::size_t index = removed_.back();
        removed_.pop_back();
        promises_.set(index, promise::none);
        put(index);
    }

    void complain(const char* method, const promised_blob& blob, const http_response& answer) {
        const std::scoped_lock lock(owner_.mutex_);
        owner_.complaints_.push_back(std::string(method) + " of " + describe(blob) + ": " +
                                     std::to_string(answer.status) + " " +
                                     answer.body.substr(0, 200));
    }

    workload& owner_;
    ledger& promises_;
    std::mt19937_64 random_;
    http_client client_;
    std::vector<std::size_t> stored_;
    std::vector<std::size_t> removed_;
};

workload::workload(ledger& promises,
                   std::uint16_t port,
                   std::uint64_t seed,
                   workload_options options)
    : promises_(promises), known_(promises.size()), options_(options) {
    for (std::size_t number = 0; number < options_.connections; ++number)
        threads_.emplace_back([this, port, number, seed] {
            try {
                connection(*this, port, seed * 1000 + number, number).run();
            } catch (const connection_lost&) {
                const std::scoped_lock lock(mutex_);
                ++lost_;
            }
        });
}

workload::~workload() { stop(); }

void workload::stop() {
    stopping_ = true;
    for (std::thread& thread : threads_)
        if (thread.joinable()) thread.join();
}

namespace {

// Runs `work(first, step)` on a few threads, each of which takes every step-th item.
template <class Work>
std::vector<std::string> in_parallel(std::size_t threads, Work work) {
    std::mutex mutex;
    std::vector<std::string> complaints;
    std::vector<std::thread> running;
    for (std::size_t first = 0; first < threads; ++first)
        running.emplace_back([&, first] {
            std::vector<std::string> mine;
            try {
                work(first, threads, mine);
            } catch (const connection_lost& loss) {
                mine.push_back(loss.what());
            }
            const std::scoped_lock lock(mutex);
            complaints.insert(complaints.end(), mine.begin(), mine.end());
        });
    for (std::thread& thread : running) thread.join();
    return complaints;
}

std::optional<std::string> broken_promise(http_client& client, const promised_blob& blob) {
    const http_response answer = client.get(target_of(blob.id));
    const bool whole = answer.status == 200 && answer.body.size() == blob.size_bytes &&
                       id_of(answer.body) == blob.id;
    const bool absent = answer.status == 404;
    if (whole && blob.state != promise::removed) return std::nullopt;
    if (absent && blob.state != promise::stored) return std::nullopt;
    const char* expected = blob.state == promise::stored    ? ", acknowledged"
                           : blob.state == promise::removed ? ", deleted"
                                                            : ", unanswered";
    return describe(blob) + expected + ": status " + std::to_string(answer.status) +
           (answer.status == 200 && !whole ? ", torn" : "");
}

}  // namespace

void fill(ledger& promises, std::uint16_t port, std::size_t count, std::uint64_t seed) {
    const auto complaints =
        in_parallel(32, [&](std::size_t first, std::size_t step, std::vector<std::string>& said) {
            http_client client(std::string(loopback), port);
            std::mt19937_64 random(seed + first);
            for (std::size_t i = first; i < count; i += step) {
                promised_blob blob;
                blob.seed = random() | shared_seeds;
                blob.size_bytes =
                    own_size_min + static_cast<std::uint32_t>(random() % (1024 - own_size_min));
                const std::string body = body_of(blob.seed, blob.size_bytes);
                blob.id = id_of(body);
                const std::size_t index = promises.add(blob);
                const http_response answer = client.put(target_of(blob.id), body);
                if (answer.status == 201)
                    promises.set(index, promise::stored);
                else
                    said.push_back(describe(blob) + ": " + std::to_string(answer.status));
            }
        });
    if (!complaints.empty()) throw std::runtime_error("fill: " + complaints.front());
}

std::vector<std::string> broken_promises(std::uint16_t port,
                                         const std::vector<promised_blob>& blobs) {
    return in_parallel(4, [&](std::size_t first, std::size_t step, std::vector<std::string>& said) {
        http_client client(std::string(loopback), port);
        for (std::size_t i = first; i < blobs.size(); i += step)
            if (auto complaint = broken_promise(client, blobs[i]))
                said.push_back(std::move(*complaint));
    });
}

std::vector<std::string> broken_listing(std::uint16_t port,
                                        const std::vector<promised_blob>& blobs) {
    std::set<std::string> listed;
    http_client client(std::string(loopback), port);
    std::string page = "/blobs?limit=10000";
    for (;;) {
        const http_response answer = client.get(page);
        if (answer.status != 200) return {"GET " + page + ": " + std::to_string(answer.status)};
        constexpr std::string_view key = "\"id\":\"";
        const std::size_t before = listed.size();
        for (std::size_t at = answer.body.find(key); at != std::string::npos;
             at = answer.body.find(key, at + 1))
            listed.insert(answer.body.substr(at + key.size(), 64));
        if (listed.size() == before) break;
        page = "/blobs?limit=10000&after=" + *listed.rbegin();
    }

    std::vector<std::string> complaints;
    std::set<std::string> possible;
    for (const promised_blob& blob : blobs) {
        const std::string id = blob.id.hex();
        if (blob.state != promise::removed) possible.insert(id);
        if (blob.state == promise::stored && !listed.contains(id))
            complaints.push_back(describe(blob) + " is stored and not listed");
    }
    for (const std::string& id : listed)
        if (!possible.contains(id))
            complaints.push_back("blob " + id.substr(0, 12) + " is listed, and nobody put it");
    return complaints;
}

}  // namespace cairn::test
