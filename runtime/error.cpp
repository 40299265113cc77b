#include "runtime/error.hpp"

#include <boost/system/errc.hpp>
#include <cerrno>
#include <string>

namespace cairn {
namespace {

const char* text_of(errc e) noexcept {
    switch (e) {
        case errc::malformed: return "malformed input";
        case errc::digest_mismatch: return "the bytes do not hash to the claimed id";
        case errc::corrupt: return "stored bytes fail their check";
        case errc::quarantined: return "the blob is quarantined: its stored bytes are bad";
        case errc::absent: return "no such blob";
        case errc::too_large: return "over the size limit";
        case errc::no_space: return "no space left";
        case errc::overloaded: return "overloaded, try again";
        case errc::timed_out: return "timed out";
        case errc::closed: return "closed";
        case errc::stopped: return "stopped after a failed sync, reopen the store";
        case errc::outcome_unknown: return "the sync failed, the outcome is unknown";
        case errc::vanished: return "the blob was removed meanwhile, put it again";
        case errc::out_of_range: return "range begins past the end";
        case errc::already_locked: return "another process owns the store";
        case errc::weak_storage: return "the storage cannot keep the durability promise";
        case errc::incompatible: return "not a store of a format that this build reads";
        case errc::restored_copy: return "the catalog is an older copy than its folder";
        case errc::short_body: return "the body ended before its announced length";
        case errc::unsupported: return "not supported by this engine";
        case errc::unanswered: return "a request was left without a reply";
        case errc::refused: return "refused by the remote store";
        case errc::unauthorized: return "the server asks for a token that it was not given";
        case errc::unavailable: return "the database is not available";
        case errc::connection_lost: return "the connection to the database was lost";
    }
    return "unknown cairn error";
}

class cairn_category_type final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "cairn"; }
    std::string message(int value) const override { return text_of(static_cast<errc>(value)); }
};

bool is_retryable(const error_code& ec) noexcept {
    return ec == errc::overloaded || ec == errc::timed_out || ec == errc::vanished ||
           ec == errc::unavailable || ec == errc::connection_lost ||
           ec == boost::system::errc::resource_unavailable_try_again;
}

bool is_bad_input(const error_code& ec) noexcept {
    return ec == errc::malformed || ec == errc::digest_mismatch || ec == errc::too_large ||
           ec == errc::out_of_range || ec == errc::short_body;
}

class failure_category_type final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "cairn failure"; }

    std::string message(int value) const override {
        switch (static_cast<failure>(value)) {
            case failure::retryable: return "retryable";
            case failure::missing: return "missing";
            case failure::bad_input: return "bad input";
            case failure::full: return "full";
            case failure::stopped: return "stopped";
        }
        return "unknown failure";
    }

    bool equivalent(const error_code& ec, int value) const noexcept override {
        switch (static_cast<failure>(value)) {
            case failure::retryable: return is_retryable(ec);
            case failure::missing: return ec == errc::absent || ec == errc::quarantined;
            case failure::bad_input: return is_bad_input(ec);
            case failure::full:
                return ec == errc::no_space || ec == boost::system::errc::no_space_on_device;
            case failure::stopped: return ec == errc::stopped || ec == errc::outcome_unknown;
        }
        return false;
    }
};

}  // namespace

const boost::system::error_category& cairn_category() noexcept {
    static const cairn_category_type category;
    return category;
}

const boost::system::error_category& failure_category() noexcept {
    static const failure_category_type category;
    return category;
}

error_code last_system_error() noexcept { return system_error_from(errno); }

error_code system_error_from(int number) noexcept {
    if (number == ENOSPC || number == EDQUOT) return errc::no_space;
    return error_code(number, boost::system::system_category());
}

}  // namespace cairn
