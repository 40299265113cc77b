// One SQL statement by name: a constant of the program, declared once and used for its whole life.
//
//     constexpr statement find_rows{"find_rows", "SELECT ... WHERE id = ANY($1)"};
//
// `name` is unique to its text: it is what the server keeps the prepared statement under, and what
// logs call it. A statement without a name (nullptr) is never prepared: for what runs once.
// A connection prepares a statement at its first use there, with the types of the parameters that
// it is given then: always give it the same types. For a parameter that may be null at that first
// use the server takes the type from the text, so such a parameter is cast there: `$3::bytea`.
#pragma once

namespace cairn::postgres {

struct statement {
    const char* name;
    const char* sql;
};

}  // namespace cairn::postgres
