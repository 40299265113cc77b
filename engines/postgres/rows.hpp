// What one statement answered: rows of binary values, or the number of rows that it changed.
//
// Owns the memory of the answer: views into it are good while this lives, also when it is moved.
// Asking for a row or column that is not there is a programmer's error (CHECKed). Any thread, one
// at a time.
#pragma once

#include "runtime/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

struct pg_result;

namespace cairn::postgres {

class rows {
public:
    rows() = default;  // no rows
    explicit rows(pg_result* owned) noexcept : answer_(owned) {}

    std::size_t size() const noexcept;
    bool empty() const noexcept { return size() == 0; }

    bool is_null(std::size_t row, std::size_t column) const noexcept;
    std::int64_t integer(std::size_t row, std::size_t column) const noexcept;  // int8, int4, int2
    bool boolean(std::size_t row, std::size_t column) const noexcept;
    byte_view bytes(std::size_t row, std::size_t column) const noexcept;
    std::string_view text(std::size_t row, std::size_t column) const noexcept;

    // How many rows an INSERT, UPDATE, DELETE or SELECT touched.
    std::uint64_t affected() const noexcept;

private:
    struct clear {
        void operator()(pg_result* answer) const noexcept;
    };
    std::unique_ptr<pg_result, clear> answer_;
};

}  // namespace cairn::postgres
