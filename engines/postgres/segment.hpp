// Statements that are one transaction: sent together, ended by one Sync, all or nothing.
//
// PostgreSQL runs all statements up to a Sync as one implicit transaction: no BEGIN and no COMMIT
// stands in one. The first error undoes all of them, and those behind it do not run.
#pragma once

#include "engines/postgres/parameters.hpp"
#include "engines/postgres/rows.hpp"
#include "engines/postgres/statement.hpp"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace cairn::postgres {

// One for each statement of a segment, in its order.
using answers = std::vector<rows>;

class segment {
public:
    struct step {
        step(const statement& run, parameters given) : what(run), with(std::move(given)) {}
        statement what;
        parameters with;
    };

    segment() = default;
    explicit segment(const statement& what, parameters with = {}) { add(what, std::move(with)); }

    segment& add(const statement& what, parameters with = {}) {
        size_bytes_ += statement_bytes + with.size_bytes();
        steps_.emplace_back(what, std::move(with));
        return *this;
    }

    std::span<const step> steps() const noexcept { return steps_; }
    std::size_t size() const noexcept { return steps_.size(); }
    bool empty() const noexcept { return steps_.empty(); }
    // What it takes on the wire, about.
    std::size_t size_bytes() const noexcept { return size_bytes_; }

private:
    // The frames of Bind, Describe and Execute around the parameters.
    static constexpr std::size_t statement_bytes = 64;

    std::vector<step> steps_;
    std::size_t size_bytes_ = 0;
};

}  // namespace cairn::postgres
