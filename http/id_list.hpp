// The list of ids in a request's body, read in pieces: a machine without I/O.
//
// JSON (`["<id>", ...]`, ids as in a path) or 32 bytes each as `application/vnd.cairn.ids`. Keeps
// the ids and never the text around them. An id needs no escape, so a string that holds one is no
// id.
#pragma once

#include "engines/blob_id.hpp"
#include "http/batch_limits.hpp"
#include "runtime/bytes.hpp"
#include "runtime/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn {

inline constexpr std::string_view binary_ids_type = "application/vnd.cairn.ids";

enum class id_list_form { json, binary };

// The longest body that can hold a list of that form: for JSON, with room for indentation.
constexpr std::uint64_t id_list_bytes_max(id_list_form form) noexcept {
    return form == id_list_form::json ? 1 << 20 : batch_entries_max * sizeof(sha256_digest);
}

class id_list_parser {
public:
    explicit id_list_parser(id_list_form form) : form_(form) {}

    // The next piece of the body, and its end. errc::malformed, or errc::too_large for more than
    // batch_entries_max ids; either ends the machine, and complaint() names the place.
    result<void> eat(byte_view piece);
    result<void> finish();

    const std::string& complaint() const noexcept { return complaint_; }

    // In the order of the list.
    std::vector<blob_id> take() noexcept { return std::move(ids_); }

private:
    enum class state {
        before,       // the list's bracket
        first,        // an id, or the end of an empty list
        string,       // inside an id
        after_value,  // a comma or the end
        value,        // an id
        done,
    };

    result<void> step(char c);
    std::optional<state> after(char c) const noexcept;
    std::string_view expected() const noexcept;
    result<void> step_in_string(char c);
    result<void> take_binary(std::byte b);
    result<void> add(const blob_id& id);
    result<void> fail(errc why, std::string complaint);

    const id_list_form form_;
    state state_ = state::before;
    std::string text_;  // of the id under way
    blob_id partial_;   // likewise, in binary
    std::size_t partial_size_ = 0;
    std::uint64_t offset_ = 0;
    std::vector<blob_id> ids_;
    std::string complaint_;
};

}  // namespace cairn
