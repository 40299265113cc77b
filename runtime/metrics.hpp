// Counts that programs and people watch, in Prometheus' text format.
//
// Adding is one relaxed add on a stripe of the calling thread's own; stripes are summed when
// somebody asks. Names begin with `cairn_` and carry their unit. Objects live as long as their
// registry.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cairn {

// A sum that only grows. Any thread.
class counter {
public:
    void add(std::uint64_t amount = 1) noexcept;
    std::uint64_t value() const noexcept;

private:
    struct alignas(64) stripe {
        std::atomic<std::uint64_t> value{0};
    };
    std::array<stripe, 16> stripes_;
};

// How often which duration occurred: 40 buckets, each sqrt(2) wider, from 1 us to about a second.
// Any thread.
class histogram {
public:
    static constexpr std::size_t bucket_count = 40;

    void observe(std::chrono::nanoseconds time) noexcept;

    std::array<std::uint64_t, bucket_count + 1> counts() const noexcept;  // last: longer than all
    static std::chrono::nanoseconds upper_bound(std::size_t bucket) noexcept;
    std::uint64_t total_us() const noexcept { return total_us_.value(); }
    // The bound of the bucket that holds the given share of all, such as 0.99; zero when empty.
    std::chrono::nanoseconds quantile(double share) const noexcept;

private:
    std::array<std::atomic<std::uint64_t>, bucket_count + 1> buckets_{};
    counter total_us_;
};

using metric_labels = std::map<std::string, std::string>;

class metrics {
public:
    metrics();
    ~metrics();

    // The metric of that name and labels, made at the first call. Any thread.
    counter& get_counter(const std::string& name,
                         const std::string& help,
                         const metric_labels& labels = {});
    histogram& get_histogram(const std::string& name,
                             const std::string& help,
                             const metric_labels& labels = {});
    // A value that is asked for at each scrape, on the scraping thread, and must not block. It is
    // asked until the returned handle goes.
    using gauge_handle = std::shared_ptr<const std::function<double()>>;
    [[nodiscard]] gauge_handle add_gauge(const std::string& name,
                                         const std::string& help,
                                         std::function<double()> value,
                                         const metric_labels& labels = {});

    // Everything in text exposition format 0.0.4.
    std::string expose() const;

private:
    struct family;
    family& family_of(const std::string& name, const std::string& help);

    mutable std::mutex mutex_;
    std::map<std::string, std::unique_ptr<family>> families_;
};

}  // namespace cairn
