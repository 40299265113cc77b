// Which statements one session has prepared, and under which names the server keeps them.
//
// A statement that became stale is prepared again under a new name: the old name may still be
// taken. One thread.
#pragma once

#include "engines/postgres/parameters.hpp"
#include "engines/postgres/statement.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cairn::postgres {

class prepared {
public:
    // The server's name for it, good until forget(); nullptr when it is not prepared. Types of
    // parameters that differ from those that it was prepared with are a programmer's error
    // (CHECKed).
    const char* find(const statement& what, const parameters& with) const;
    // Notes it as prepared, before it is known that the server agrees.
    const char* add(const statement& what, const parameters& with);
    void forget(std::string_view name);

private:
    struct entry {
        std::string server_name;
        std::vector<std::uint32_t> types;
    };
    struct hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    std::unordered_map<std::string, entry, hash, std::equal_to<>> entries_;
    std::size_t forgotten_ = 0;  // so far: makes new names differ from all before
};

}  // namespace cairn::postgres
