// The program's surface: its verbs, their flags, and where else a flag may come from.
#pragma once

#include "http/cairn/verbs.hpp"

#include <string>
#include <variant>

namespace cairn::program {

using command = std::variant<serve_options,
                             put_options,
                             get_options,
                             stat_options,
                             ls_options,
                             rm_options,
                             copy_options,
                             status_options,
                             verify_options,
                             backup_options,
                             rebuild_verb_options,
                             bench_options>;

// What to print instead of running anything, and the exit status that goes with it.
struct printed {
    std::string text;
    int status = exit_done;
};

// Reads the command line, then the config file and the environment for what it does not say. Sets
// the log level.
std::variant<command, printed> parse_command_line(int argc, char** argv);

}  // namespace cairn::program
