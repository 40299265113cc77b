// The `cairn` program.
#include "http/cairn/command_line.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <variant>

namespace cairn::program {
namespace {

// Client commands need one thread: they do one thing at a time.
runtime_options client_threads() {
    runtime_options options;
    options.threads = 1;
    return options;
}

struct runner {
    int operator()(const serve_options& options) const { return serve(options); }
    int operator()(const put_options& options) const { return with_runtime(put, options); }
    int operator()(const get_options& options) const { return with_runtime(get, options); }
    int operator()(const stat_options& options) const { return with_runtime(stat, options); }
    int operator()(const ls_options& options) const { return with_runtime(ls, options); }
    int operator()(const rm_options& options) const { return with_runtime(rm, options); }
    int operator()(const copy_options& options) const { return with_runtime(copy, options); }
    int operator()(const status_options& options) const { return with_runtime(status, options); }
    int operator()(const verify_options& options) const { return with_runtime(verify, options); }
    int operator()(const backup_options& options) const { return with_runtime(backup, options); }
    int operator()(const rebuild_verb_options& options) const {
        return with_runtime(rebuild, options);
    }

    int operator()(const bench_options& options) const { return bench(options); }

    template <class Options>
    static int with_runtime(int (*verb)(runtime&, const Options&), const Options& options) {
        runtime threads(client_threads());
        return verb(threads, options);
    }
};

int run(int argc, char** argv) {
    const auto parsed = parse_command_line(argc, argv);
    if (const auto* text = std::get_if<printed>(&parsed)) {
        std::fputs(text->text.c_str(), text->status == exit_done ? stdout : stderr);
        return text->status;
    }
    const int status = std::visit(runner(), std::get<command>(parsed));
    // Output that did not reach its reader is trouble, not success.
    if (std::fflush(stdout) != 0 && status == exit_done) return exit_trouble;
    return status;
}

}  // namespace
}  // namespace cairn::program

int main(int argc, char** argv) {
    using namespace cairn::program;
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return run(argc, argv);
    } catch (const usage_error& e) {
        std::fprintf(stderr, "cairn: %s\n", e.what());
        return exit_usage;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "cairn: %s\n", e.what());
        return exit_trouble;
    }
}
