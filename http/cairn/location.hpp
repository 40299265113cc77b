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

// A store's place as people may see it: the folder, or the catalog's URL without its secrets.
std::string place_of(const std::string& data, const std::string& catalog);

// What --from and --to mean: a postgresql:// URL, an http:// URL or HOST:PORT, else a folder.
store_location location_of(const std::string& text);

// Runs `work` on the store and closes it, whatever happens; exit_trouble when it does not open.
// `work` outlives the call.
awaitable<int> run_on_store(runtime& threads,
                            store_location at,
                            const std::function<awaitable<int>(store&)>& work);
int with_store(runtime& threads,
               const store_location& at,
               const std::function<awaitable<int>(store&)>& work);

// Throws usage_error when `data` names a folder that holds no store: these verbs make none. Empty
// is fine.
void expect_store(const std::string& data);

// "cairn: <what>: <reason>" on standard error.
void complain(const std::string& what, const error_code& reason);

// The exit status that an error of a store means.
int status_of(const error_code& reason) noexcept;

}  // namespace cairn::program
