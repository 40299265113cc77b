// Opens the store that a client command talks to.
#pragma once

#include "http/cairn/verbs.hpp"
#include "store/store.hpp"

#include <functional>
#include <memory>
#include <string>

namespace cairn::program {

// Opens what `at` says, a server or a folder, and tells on standard error what went wrong; null
// then. The caller closes the store.
awaitable<std::unique_ptr<store>> open_location(runtime& threads, store_location at);

// Runs `work` on the store and closes it, whatever happens.
int with_store(runtime& threads,
               const store_location& at,
               const std::function<awaitable<int>(store&)>& work);

// "cairn: <what>: <reason>" on standard error.
void complain(const std::string& what, const error_code& reason);

// The exit status that an error of a store means.
int status_of(const error_code& reason) noexcept;

}  // namespace cairn::program
