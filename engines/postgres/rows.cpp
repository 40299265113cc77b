#include "engines/postgres/rows.hpp"

#include "runtime/check.hpp"

#include <boost/endian/conversion.hpp>
#include <charconv>
#include <cstring>
#include <libpq-fe.h>

namespace cairn::postgres {
namespace {

int index_of(std::size_t number, int end) noexcept {
    CAIRN_CHECK(number < static_cast<std::size_t>(end));
    return static_cast<int>(number);
}

struct place {
    place(const PGresult* of, std::size_t row_number, std::size_t column_number) noexcept
        : row(index_of(row_number, PQntuples(of))),
          column(index_of(column_number, PQnfields(of))) {}
    int row;
    int column;
};

template <class Integer>
std::int64_t big_endian(const std::byte* bytes) noexcept {
    return boost::endian::endian_load<Integer, sizeof(Integer), boost::endian::order::big>(
        reinterpret_cast<const unsigned char*>(bytes));
}

}  // namespace

void rows::clear::operator()(pg_result* answer) const noexcept { PQclear(answer); }

std::size_t rows::size() const noexcept {
    return static_cast<std::size_t>(PQntuples(answer_.get()));
}

bool rows::is_null(std::size_t row, std::size_t column) const noexcept {
    const place at(answer_.get(), row, column);
    return PQgetisnull(answer_.get(), at.row, at.column) != 0;
}

std::int64_t rows::integer(std::size_t row, std::size_t column) const noexcept {
    const byte_view value = bytes(row, column);
    if (value.size() == 8) return big_endian<std::int64_t>(value.data());
    if (value.size() == 4) return big_endian<std::int32_t>(value.data());
    CAIRN_CHECK(value.size() == 2);
    return big_endian<std::int16_t>(value.data());
}

bool rows::boolean(std::size_t row, std::size_t column) const noexcept {
    const byte_view value = bytes(row, column);
    CAIRN_CHECK(value.size() == 1);
    return value[0] != std::byte{0};
}

byte_view rows::bytes(std::size_t row, std::size_t column) const noexcept {
    const place at(answer_.get(), row, column);
    const char* data = PQgetvalue(answer_.get(), at.row, at.column);
    const int size = PQgetlength(answer_.get(), at.row, at.column);
    return {reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(size)};
}

std::string_view rows::text(std::size_t row, std::size_t column) const noexcept {
    return as_text(bytes(row, column));
}

std::uint64_t rows::affected() const noexcept {
    std::uint64_t count = 0;
    const char* digits = PQcmdTuples(answer_.get());
    std::from_chars(digits, digits + std::strlen(digits), count);
    return count;
}

}  // namespace cairn::postgres
