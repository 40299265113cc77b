// What can go wrong, as values: one enum of cairn's own errors and one of decisions.
//
// Errors of the system (errno), of SQLite and of PostgreSQL keep their own categories, so that the
// code alone says what happened. Callers that must decide compare with `failure`, never with a
// foreign number.
#pragma once

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>
#include <type_traits>

namespace cairn {

using error_code = boost::system::error_code;

enum class errc {
    malformed = 1,    // input that does not parse: an id, a range, a record, a message
    digest_mismatch,  // bytes that do not hash to what their sender claimed
    corrupt,          // stored bytes that fail their check
    quarantined,      // the blob is known and its stored bytes are known to be bad
    absent,           // there is no such blob
    too_large,        // over a limit that a setting names
    no_space,         // the disk, or a quota, is full
    overloaded,       // a queue or a budget is full; try again
    timed_out,        // a deadline passed
    closed,           // the object was closed; nothing happened
    stopped,          // a sync failed before: the store answers nobody until it is reopened
    outcome_unknown,  // the sync under this very request failed: it may have happened
    vanished,         // the blob that this put relied on went away meanwhile; put it again
    out_of_range,     // a range that begins at or after the end
    already_locked,   // another process owns the store
    weak_storage,     // the storage cannot keep the promise (tmpfs, NFS, FUSE)
    incompatible,     // a store of another format, or not a store
    restored_copy,    // a catalog older than its folder: see `cairn rebuild`
    short_body,       // the sender ended the body before its announced length
    unsupported,      // this engine or build cannot do that
    unanswered,       // a step left an entry without a reply: a programmer's error made visible
    refused,          // a remote store answered with a refusal that has no closer name here
    unauthorized,     // a remote store asks for a token, or for another one
    unavailable,      // the database is away, and nothing was sent to it
    connection_lost,  // the database went away before it answered: it may have happened
};

// Decisions, compared with `ec == failure::retryable`.
enum class failure {
    retryable = 1,  // the same call may succeed later, and repeating it is safe
    missing,        // what was asked for is not there
    bad_input,      // the caller must change the request
    full,           // space must be made first
    stopped,        // the store must be reopened
};

const boost::system::error_category& cairn_category() noexcept;
const boost::system::error_category& failure_category() noexcept;

inline error_code make_error_code(errc e) noexcept {
    return error_code(static_cast<int>(e), cairn_category());
}

inline boost::system::error_condition make_error_condition(failure f) noexcept {
    return boost::system::error_condition(static_cast<int>(f), failure_category());
}

// The current errno as an error code of the system category.
error_code last_system_error() noexcept;

// An errno value, positive, as an error code: ENOSPC and EDQUOT become errc::no_space.
error_code system_error_from(int number) noexcept;

}  // namespace cairn

template <>
struct boost::system::is_error_code_enum<cairn::errc> : std::true_type {};
template <>
struct boost::system::is_error_condition_enum<cairn::failure> : std::true_type {};
