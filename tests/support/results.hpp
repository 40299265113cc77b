// Lets doctest print a result: its error, or that there is a value.
#pragma once

#include "runtime/result.hpp"

#include <doctest/doctest.h>

namespace doctest {

template <class T>
struct StringMaker<cairn::result<T>> {
    static String convert(const cairn::result<T>& of) {
        if (of.has_value()) return "a value";
        return ("error " + of.error().message()).c_str();
    }
};

}  // namespace doctest
