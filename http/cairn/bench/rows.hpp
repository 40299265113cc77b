// The rows of the table in README.md: which load, which rival, which ratio is wanted.
#pragma once

#include "http/cairn/bench/comparison.hpp"

#include <string>
#include <vector>

namespace cairn::bench {

enum class effort {
    whole,
    brief,  // so few blobs that a run of all rows takes seconds: its figures mean nothing
};

// Every row that can be measured here and now: those whose rival is there and, on a slow disk,
// whose both sides can be slowed.
std::vector<comparison> all_rows(effort how);
// The rows that cannot, in a line for people each.
std::vector<std::string> left_out();

// "64 KiB"; "8 callers".
std::string size_text(std::size_t size_bytes);
std::string caller_text(std::size_t callers);

// Their parts.
void add_put_rows(std::vector<comparison>& to);
void add_read_rows(std::vector<comparison>& to, effort how);
void add_http_rows(std::vector<comparison>& to);
void add_postgres_rows(std::vector<comparison>& to, effort how);

}  // namespace cairn::bench
