// Errors of the server as error codes: the five characters of an SQLSTATE, packed in base 36.
//
// The server's text does not travel: it is logged once, where it was seen, with the name of its
// statement. Who decides compares with `failure`, or asks the questions below.
#pragma once

#include "runtime/result.hpp"

#include <string>
#include <string_view>

namespace cairn::postgres {

const boost::system::error_category& category() noexcept;

// Of an SQLSTATE such as "23505"; "XX000" for what is none. A full disk (53100) is errc::no_space.
error_code sql_error(std::string_view sqlstate) noexcept;

// The five characters; empty for an error of another category.
std::string sqlstate_of(const error_code& ec);

// A serialization failure or a deadlock (40001, 40P01): nothing happened, and the same transaction
// may succeed when it runs again as a whole.
bool is_retry_whole(const error_code& ec) noexcept;

// The session is of no more use: it ends (08*, 57P01 to 57P05), or its server became a standby
// (25006). Nothing of the segment happened.
bool is_connection_gone(const error_code& ec) noexcept;

// One of the requests that were sent together may be at fault: alone, the others may succeed.
bool is_of_the_data(const error_code& ec) noexcept;

// Of a statement that reads: the server cannot read what it stores (XX001, XX002), or a large
// object is gone (42704).
bool is_damage(const error_code& ec) noexcept;

// 53300: the server has no room for another connection.
bool is_too_many_connections(const error_code& ec) noexcept;

// The server lost a prepared statement (26000: a restart behind a pooler) or may not use it any
// more (0A000: the type of its result changed).
bool is_stale_statement(const error_code& ec) noexcept;

}  // namespace cairn::postgres
