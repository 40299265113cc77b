// The values of a statement's parameters, $1 first, in PostgreSQL's binary form.
//
// Owns what it holds: bytes are copied, but for a `buffer`, which is shared. A value; one thread at
// a time.
#pragma once

#include "runtime/bytes.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cairn::postgres {

class parameters {
public:
    parameters& add(std::int64_t value);      // bigint
    parameters& add(byte_view value);         // bytea
    parameters& add(buffer value);            // bytea, shared
    parameters& add(std::string_view value);  // text
    // boolean. Of exactly this type, or a `const char*` would be one.
    parameters& add(std::same_as<bool> auto value) { return add_bool(value); }
    parameters& add_null();  // of the type that the statement's text says

    parameters& add(std::span<const std::int64_t> values);                 // bigint[]
    parameters& add(std::span<const std::optional<std::int64_t>> values);  // bigint[] with nulls
    parameters& add(std::span<const std::optional<byte_view>> values);     // bytea[] with nulls

    std::size_t size() const noexcept { return items_.size(); }
    // What they take on the wire.
    std::size_t size_bytes() const noexcept { return wire_bytes_; }

    // The type's number in the server's catalog (pg_type.oid); 0 for a null.
    std::uint32_t type(std::size_t index) const noexcept { return items_[index].type; }
    bool is_null(std::size_t index) const noexcept { return items_[index].type == 0; }
    // Until the next add(), and while this lives.
    byte_view bytes(std::size_t index) const noexcept;

private:
    struct item {
        std::uint32_t type = 0;
        bool is_shared = false;  // of shared_[offset], else of copied_
        std::size_t offset = 0;
        std::size_t size_bytes = 0;
    };

    parameters& add_bool(bool value);
    parameters& note(std::uint32_t type, std::size_t begin_offset);
    void begin_array(std::uint32_t element_type, std::size_t count, bool has_null);
    void append(byte_view bytes);
    void append_u32(std::uint32_t number);
    void append_u64(std::uint64_t number);

    std::vector<item> items_;
    std::vector<std::byte> copied_;
    std::vector<buffer> shared_;
    std::size_t wire_bytes_ = 0;
};

}  // namespace cairn::postgres
