#include "engines/postgres/parameters.hpp"

#include <algorithm>
#include <boost/endian/conversion.hpp>

namespace cairn::postgres {
namespace {

// Numbers of the built-in types, fixed since they exist (pg_type.dat).
constexpr std::uint32_t type_boolean = 16;
constexpr std::uint32_t type_bytea = 17;
constexpr std::uint32_t type_bigint = 20;
constexpr std::uint32_t type_text = 25;
constexpr std::uint32_t type_bytea_array = 1001;
constexpr std::uint32_t type_bigint_array = 1016;

constexpr std::uint32_t null_element = UINT32_MAX;  // in the place of an element's length

std::uint32_t length_of(std::size_t size_bytes) noexcept {
    return static_cast<std::uint32_t>(size_bytes);
}

template <class T>
bool any_null(std::span<const std::optional<T>> values) noexcept {
    return std::any_of(values.begin(), values.end(), [](const auto& each) { return !each; });
}

}  // namespace

parameters& parameters::add(std::int64_t value) {
    const std::size_t begin = copied_.size();
    append_u64(static_cast<std::uint64_t>(value));
    return note(type_bigint, begin);
}

parameters& parameters::add_bool(bool value) {
    const std::size_t begin = copied_.size();
    copied_.push_back(std::byte{value});
    return note(type_boolean, begin);
}

parameters& parameters::add(byte_view value) {
    const std::size_t begin = copied_.size();
    append(value);
    return note(type_bytea, begin);
}

parameters& parameters::add(std::string_view value) {
    const std::size_t begin = copied_.size();
    append(as_bytes(value));
    return note(type_text, begin);
}

parameters& parameters::add(buffer value) {
    wire_bytes_ += sizeof(std::uint32_t) + value.size();
    items_.push_back({type_bytea, true, shared_.size(), value.size()});
    shared_.push_back(std::move(value));
    return *this;
}

parameters& parameters::add_null() { return note(0, copied_.size()); }

parameters& parameters::add(std::span<const std::int64_t> values) {
    const std::size_t begin = copied_.size();
    begin_array(type_bigint, values.size(), false);
    for (const std::int64_t each : values) {
        append_u32(sizeof each);
        append_u64(static_cast<std::uint64_t>(each));
    }
    return note(type_bigint_array, begin);
}

parameters& parameters::add(std::span<const std::optional<std::int64_t>> values) {
    const std::size_t begin = copied_.size();
    begin_array(type_bigint, values.size(), any_null(values));
    for (const auto& each : values) {
        append_u32(each ? length_of(sizeof *each) : null_element);
        if (each) append_u64(static_cast<std::uint64_t>(*each));
    }
    return note(type_bigint_array, begin);
}

parameters& parameters::add(std::span<const std::optional<byte_view>> values) {
    const std::size_t begin = copied_.size();
    begin_array(type_bytea, values.size(), any_null(values));
    for (const auto& each : values) {
        append_u32(each ? length_of(each->size()) : null_element);
        if (each) append(*each);
    }
    return note(type_bytea_array, begin);
}

byte_view parameters::bytes(std::size_t index) const noexcept {
    const item& at = items_[index];
    if (at.is_shared) return shared_[at.offset].view();
    return byte_view(copied_).subspan(at.offset, at.size_bytes);
}

parameters& parameters::note(std::uint32_t type, std::size_t begin_offset) {
    const std::size_t size_bytes = copied_.size() - begin_offset;
    wire_bytes_ += sizeof(std::uint32_t) + size_bytes;
    items_.push_back({type, false, begin_offset, size_bytes});
    return *this;
}

// An array on the wire (array_recv): {dimensions u32, has_null u32, element_type u32}, then for its
// one dimension {count u32, lower_bound u32}, then the elements, each {size u32, bytes}. An empty
// array has no dimension.
void parameters::begin_array(std::uint32_t element_type, std::size_t count, bool has_null) {
    append_u32(count > 0 ? 1 : 0);
    append_u32(has_null ? 1 : 0);
    append_u32(element_type);
    if (count == 0) return;
    append_u32(length_of(count));
    append_u32(1);
}

void parameters::append(byte_view bytes) {
    copied_.insert(copied_.end(), bytes.begin(), bytes.end());
}

void parameters::append_u32(std::uint32_t number) {
    boost::endian::native_to_big_inplace(number);
    append(std::as_bytes(std::span(&number, 1)));
}

void parameters::append_u64(std::uint64_t number) {
    boost::endian::native_to_big_inplace(number);
    append(std::as_bytes(std::span(&number, 1)));
}

}  // namespace cairn::postgres
