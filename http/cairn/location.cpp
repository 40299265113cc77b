#include "http/cairn/location.hpp"

#include "engines/postgres/server_url.hpp"
#include "http/bearer_token.hpp"
#include "http/endpoint.hpp"
#include "http/remote_store.hpp"

#include <boost/system/errc.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace cairn::program {

awaitable<int> run_on_store(runtime& threads,
                            store_location at,
                            const std::function<awaitable<int>(store&)>& work) {
    const std::unique_ptr<store> opened = co_await open_location(threads, at);
    if (opened == nullptr) co_return exit_trouble;
    int result = exit_trouble;
    std::exception_ptr failure;
    try {
        result = co_await work(*opened);
    } catch (...) {
        failure = std::current_exception();
    }
    co_await opened->close();
    if (failure) std::rethrow_exception(failure);
    co_return result;
}

store_location location_of(const std::string& text) {
    store_location at;
    const auto has_scheme = [&text](const char* scheme) { return text.starts_with(scheme); };
    const bool is_url = text.find("://") != std::string::npos;
    const bool is_host_port = text.find(':') != std::string::npos && parse_server_url(text);
    const bool is_catalog = has_scheme("postgresql://") || has_scheme("postgres://");
    if (is_url && !is_host_port && !is_catalog) {
        throw usage_error(text + ": neither http://HOST:PORT nor postgresql://...");
    }
    if (is_catalog) {
        at.catalog = text;
    } else if (is_url || (is_host_port && !std::filesystem::exists(text))) {
        at.server = text;
    } else {
        at.data = text;
    }
    return at;
}

std::string place_of(const std::string& data, const std::string& catalog) {
    if (catalog.empty()) return data;
    const auto url = postgres::server_url::parse(catalog);
    return url ? url->redacted() : "--catalog";
}

namespace {

std::string token_in(const std::string& file) {
    if (file.empty()) return {};
    try {
        return read_token_file(file);
    } catch (const std::invalid_argument& e) {
        throw usage_error(e.what());
    }
}

}  // namespace

awaitable<std::unique_ptr<store>> open_location(runtime& threads, store_location at) {
    if (!at.data.empty() || !at.catalog.empty()) {
        store_options options;
        options.data = at.data;
        options.catalog = at.catalog;
        options.allow_weak_storage = at.allow_weak_storage;
        auto opened = co_await open_store(threads, std::move(options));
        if (opened) co_return std::move(*opened);
        complain(place_of(at.data, at.catalog), opened.error());
        co_return nullptr;
    }
    const auto server = parse_server_url(at.server);
    if (!server) throw usage_error("--server " + at.server + ": not HOST:PORT or http://HOST:PORT");
    const std::string token = token_in(at.token_file);
    auto remote = std::make_unique<remote_store>(*server, client_settings(), token);
    // Asked once here, so that a server that is not there is told as such and not once for each
    // file.
    const auto status = co_await remote->status_json();
    if (status) co_return remote;
    complain(at.server, status.error());
    if (status.error() == boost::system::errc::connection_refused) {
        std::fprintf(stderr, "cairn: hint: is `cairn serve` running there?\n");
    }
    if (status.error() == errc::unauthorized) {
        std::fprintf(stderr, "cairn: hint: %s\n",
                     token.empty() ? "--token-file FILE names a file that holds it"
                                   : "the token file holds another one");
    }
    co_await remote->close();
    co_return nullptr;
}

int with_store(runtime& threads,
               const store_location& at,
               const std::function<awaitable<int>(store&)>& work) {
    return threads.run(run_on_store(threads, at, work));
}

void expect_store(const std::string& data) {
    namespace fs = std::filesystem;
    const bool is_store = data.empty() || fs::exists(data + "/catalog.db") ||
                          fs::exists(data + "/folder") || fs::exists(data + "/segments");
    if (!is_store) throw usage_error("--data " + data + ": no store is there");
}

void complain(const std::string& what, const error_code& reason) {
    std::fprintf(stderr, "cairn: %s: %s\n", what.c_str(), reason.message().c_str());
}

int status_of(const error_code& reason) noexcept {
    const bool refused = reason == failure::missing || reason == failure::bad_input ||
                         reason == failure::full || reason == errc::refused ||
                         reason == errc::unauthorized;
    return refused ? exit_refused : exit_trouble;
}

}  // namespace cairn::program
