// `cairn serve` as far as crash tests need it, for stores that no option of the program makes:
//
//     NAME serve --data DIR --listen 127.0.0.1:0
#pragma once

#include "http/server.hpp"
#include "store/open_store.hpp"

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstring>
#include <iostream>
#include <utility>

namespace cairn::test {

inline void wait_for_sigterm() {
    boost::asio::io_context context;
    boost::asio::signal_set signals(context, SIGTERM);
    signals.async_wait([](const boost::system::error_code&, int) {});
    std::cout.flush();
    context.run();
}

// Serves a store of those options in the folder that the command line names, until SIGTERM. Returns
// the exit status.
inline int serve(int count, char** words, store_options options) {
    if (count < 4 || std::strcmp(words[2], "--data") != 0) {
        std::cerr << "usage: serve --data DIR\n";
        return 2;
    }
    options.data = words[3];
    runtime threads;
    auto opened = threads.run(open_store(threads, std::move(options)));
    store& store = *opened.value();
    http_settings settings;
    settings.listen = "127.0.0.1:0";
    http_server server(threads, std::move(settings));
    server.start();
    threads.run(server.attach(store)).value();
    std::cout << "listening on " << server.url() << '\n';
    wait_for_sigterm();
    threads.run(server.drain(std::chrono::seconds(5)));
    threads.run(store.close());
    return 0;
}

}  // namespace cairn::test
