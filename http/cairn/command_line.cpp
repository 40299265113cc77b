#include "http/cairn/command_line.hpp"

#include "http/endpoint.hpp"
#include "http/target.hpp"
#include "runtime/log.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace cairn::program {
namespace {

constexpr const char* about =
    "cairn keeps blobs under the SHA-256 of their bytes.\n"
    "\n"
    "  cairn serve --data ./blobs        serve a folder on http://127.0.0.1:7480\n"
    "  cairn serve --catalog postgresql://db/blobs    serve a PostgreSQL database\n"
    "  cairn put photo.jpg               store a file, print its id\n"
    "  cairn get ID -o photo.jpg         fetch it, verified\n"
    "  cairn ls                          list what is there\n"
    "\n"
    "Every option may also stand in a config file (`key = value`, named with --config) or in the\n"
    "environment (CAIRN_<NAME>): --max-blob-size is max-blob-size there and CAIRN_MAX_BLOB_SIZE\n"
    "here. Sizes read 64MiB, durations 15m or 2s.";

constexpr const char* exits =
    "Exit status: 0 done, 1 refused or not found, 2 usage, 3 trouble.\n"
    "`cairn VERB --help` tells what a verb can do.";

// --max-blob-size -> CAIRN_MAX_BLOB_SIZE
std::string environment_name(std::string flag) {
    flag = flag.substr(flag.rfind("--") + 2);
    std::string name = "CAIRN_";
    for (const char c : flag) {
        name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return name;
}

// Options that may come from the config file and the environment as well.
template <class Value>
CLI::Option* add(CLI::App& verb, const std::string& flags, Value& value, const std::string& help) {
    return verb.add_option(flags, value, help)->envname(environment_name(flags));
}

CLI::Option* add_flag(CLI::App& verb,
                      const std::string& flag,
                      bool& value,
                      const std::string& help) {
    return verb.add_flag(flag, value, help)->envname(environment_name(flag));
}

// An option whose text is read by one of our parsers.
template <class Value, class Parse>
CLI::Option* add_parsed(CLI::App& verb,
                        const std::string& flags,
                        Value& value,
                        Parse parse,
                        const std::string& form,
                        const std::string& help) {
    const auto read = [&value, parse, form](const std::string& text) {
        const auto parsed = parse(text);
        if (!parsed) throw CLI::ValidationError(text + " is not " + form);
        value = *parsed;
    };
    CLI::Option* option = verb.add_option_function<std::string>(flags, read, help);
    if (flags.find("--") != std::string::npos) option->envname(environment_name(flags));
    return option->type_name("");
}

CLI::Option* add_size(CLI::App& verb,
                      const std::string& flags,
                      std::uint64_t& value,
                      const std::string& help) {
    return add_parsed(verb, flags, value, parse_size, "a size, such as 64MiB", help)
        ->type_name("SIZE")
        ->default_str(format_size(value));
}

CLI::Option* add_time(CLI::App& verb,
                      const std::string& flags,
                      std::chrono::milliseconds& value,
                      const std::string& help) {
    return add_parsed(verb, flags, value, parse_duration, "a duration, such as 15m", help)
        ->type_name("TIME")
        ->default_str(value.count() % 3'600'000 == 0 ? fmt::format("{}h", value.count() / 3'600'000)
                                                     : fmt::format("{}s", value.count() / 1000));
}

// One of a few words.
template <class Value>
void add_choice(CLI::App& verb,
                const std::string& flag,
                Value& value,
                const std::map<std::string, Value>& words,
                const std::string& help) {
    const auto read = [&value, words](const std::string& text) { value = words.at(text); };
    const auto is_default = [&value](const auto& word) { return word.second == value; };
    verb.add_option_function<std::string>(flag, read, help)
        ->envname(environment_name(flag))
        ->check(CLI::IsMember(words))
        ->default_str(std::find_if(words.begin(), words.end(), is_default)->first);
}

void add_ids(CLI::App& verb, std::vector<blob_id>& ids) {
    const auto read = [&ids](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
            const auto id = parse_blob_name(text);
            if (!id) throw CLI::ValidationError(text + " is not an id: 64 lower-case hex digits");
            ids.push_back(*id);
        }
    };
    verb.add_option_function<std::vector<std::string>>("ID", read,
                                                       "ids, as `cairn put` prints them")
        ->required()
        ->type_name("");
}

void add_token_file(CLI::App& verb, std::string& file, const std::string& help) {
    add(verb, "--token-file", file, help)->type_name("FILE");
}

void add_location(CLI::App& verb, store_location& at) {
    CLI::Option* server = add(verb, "--server", at.server, "the server to ask")
                              ->type_name("URL")
                              ->default_str("http://127.0.0.1:7480");
    add_token_file(verb, at.token_file, "the file with the token that the server asks for");
    add(verb, "--data", at.data, "a folder to open in place, instead of asking a server")
        ->type_name("DIR")
        ->excludes(server);
    add(verb, "--catalog", at.catalog, "a PostgreSQL store to open in place: postgresql://...")
        ->type_name("URL")
        ->excludes(server)
        ->excludes("--data");
    add_flag(verb, "--allow-weak-storage", at.allow_weak_storage,
             "open it although its storage may lose what it acknowledged");
}

void add_json(CLI::App& verb, bool& json) {
    add_flag(verb, "--json", json, "print JSON, one object a line, for programs");
}

void add_serve(CLI::App& app, serve_options& to) {
    CLI::App& verb = *app.add_subcommand("serve", "serve a folder over HTTP until SIGTERM");
    add(verb, "--data", to.store.data, "the folder to keep blobs in; made when it is not there")
        ->type_name("DIR");
    add(verb, "--catalog", to.store.catalog,
        "or a PostgreSQL database, which many servers may share: postgresql://...")
        ->type_name("URL");
    add_choice(verb, "--bulk", to.store.bulk,
               {{"chunks", bulk_kind::chunks}, {"large_objects", bulk_kind::large_objects}},
               "where PostgreSQL keeps what is too large for a row");
    add_choice(verb, "--durability", to.store.promise,
               {{"full", durability::full}, {"replicated", durability::replicated}},
               "what a PUT's answer promises; replicated needs a synchronous standby");
    add(verb, "--listen", to.http.listen, "where to listen; port 0 picks a free one")
        ->type_name("HOST:PORT")
        ->capture_default_str();
    add_flag(verb, "--allow-anonymous", to.http.allow_anonymous,
             "listen beyond this machine although anybody may then read, write and remove");
    add_token_file(verb, to.token_file,
                   "ask every client for the token in this file, which only you may read");
    add_flag(verb, "--allow-weak-storage", to.store.allow_weak_storage,
             "accept storage that may lose what it acknowledged (tmpfs, NFS, FUSE)");
    add(verb, "--cors-origin", to.http.cors_origin,
        "whose web pages may use the API: an origin such as https://example.org, or *")
        ->type_name("ORIGIN");
    add_choice(verb, "--verify", to.store.verify,
               {{"first", verifying::first}, {"always", verifying::always}},
               "check stored bytes at the first read of a boot, or at each, which costs zero-copy");
    add_time(verb, "--backup-every", to.store.backup_every,
             "make a backup of a folder's catalog that often; 0s: only when asked");
    add(verb, "--threads", to.threads, "loop threads; 0 means one for each core")
        ->type_name("N")
        ->check(CLI::Range(0, 1024));
    add_size(verb, "--max-blob-size", to.http.blob_bytes_max, "refuse larger blobs");
    add_size(verb, "--body-memory", to.http.body_bytes,
             "memory for bodies on their way in; beyond it uploads are told to come again")
        ->check([](const std::string& text) {
            const auto size = parse_size(text);
            return size && *size < window_bytes ? std::string("less than one window of 64KiB")
                                                : std::string();
        });
    add_size(verb, "--cache-size", to.store.cache_bytes, "memory for rows and small blobs");
    add(verb, "--max-connections", to.http.connections_max, "one more is answered 503")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    add_time(verb, "--idle-time", to.http.idle_time, "close connections that are idle for so long");
    add_time(verb, "--head-time", to.http.head_time, "how long the head of a request may take");
    add_time(verb, "--body-time", to.http.body_period,
             "a body brings 1KiB a second, averaged over so long");
    add_time(verb, "--stall-time", to.http.stall_time,
             "close connections that take nothing of their answer for so long");
    add_time(verb, "--drain-time", to.drain_time,
             "after SIGTERM, how long requests may take to finish");
}

void add_put(CLI::App& app, put_options& to) {
    CLI::App& verb = *app.add_subcommand("put", "store files and print one id a line");
    verb.add_option("FILE", to.files, "files; - is standard input")->required()->type_name("");
    add_location(verb, to.at);
    add_json(verb, to.json);
}

void add_get(CLI::App& app, get_options& to) {
    CLI::App& verb = *app.add_subcommand("get", "write a blob to standard output or a file");
    add_parsed(verb, "ID", to.id, parse_blob_name, "an id: 64 lower-case hex digits",
               "the blob's id, as `cairn put` printed it")
        ->required();
    verb.add_option("-o,--output", to.output, "a file, which appears when it is complete")
        ->type_name("FILE");
    add_parsed(verb, "--range", to.range, parse_range, "a range, such as 0-99 or 100-",
               "only these bytes, counted from 0, both ends included")
        ->type_name("A-B");
    add_location(verb, to.at);
}

void add_stat(CLI::App& app, stat_options& to) {
    CLI::App& verb =
        *app.add_subcommand("stat", "tell the sizes of blobs, or that they are absent");
    add_ids(verb, to.ids);
    add_location(verb, to.at);
    add_json(verb, to.json);
}

void add_ls(CLI::App& app, ls_options& to) {
    CLI::App& verb = *app.add_subcommand("ls", "list ids and sizes, in the order of ids");
    add_parsed(verb, "--after", to.after, parse_blob_name, "an id: 64 lower-case hex digits",
               "begin behind this id")
        ->type_name("ID");
    add(verb, "--limit", to.limit, "at most so many")->type_name("N");
    add_location(verb, to.at);
    add_json(verb, to.json);
}

void add_rm(CLI::App& app, rm_options& to) {
    CLI::App& verb = *app.add_subcommand("rm", "remove blobs");
    add_ids(verb, to.ids);
    add_location(verb, to.at);
    add_json(verb, to.json);
}

void add_copy(CLI::App& app, copy_options& to) {
    CLI::App& verb = *app.add_subcommand(
        "copy", "copy what one store has and another lacks; again goes on where it ended");
    const auto add_place = [&verb](const char* flag, std::string& place, const char* help) {
        add(verb, flag, place, help)->type_name("DIR|URL")->required();
    };
    add_place("--from", to.from, "a folder, http://HOST:PORT or postgresql://...");
    add_place("--to", to.to, "likewise; a folder is made when it is not there");
    add_token_file(verb, to.token_file, "the file with the token that a server asks for");
    add(verb, "--in-flight", to.in_flight, "blobs on their way at once")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(1, 1024));
    add_flag(verb, "--allow-weak-storage", to.allow_weak_storage,
             "open them although their storage may lose what it acknowledged");
    add_json(verb, to.json);
}

void add_status_verb(CLI::App& app, status_options& to) {
    CLI::App& verb = *app.add_subcommand("status", "show what a store holds and how it is doing");
    add_location(verb, to.at);
    add_json(verb, to.json);
}

void add_verify(CLI::App& app, verify_options& to) {
    CLI::App& verb = *app.add_subcommand(
        "verify", "read every blob and hash it; in place, check the catalog's file too");
    add_location(verb, to.at);
    add_json(verb, to.json);
}

void add_backup(CLI::App& app, backup_options& to) {
    CLI::App& verb =
        *app.add_subcommand("backup", "make a backup of the catalog in DIR/backups, now");
    add_location(verb, to.at);
    add_json(verb, to.json);
}

void add_rebuild(CLI::App& app, rebuild_verb_options& to) {
    CLI::App& verb = *app.add_subcommand(
        "rebuild", "make a folder's catalog anew, from a backup and what the segments hold");
    add(verb, "--data", to.data, "the folder; no server may have it open")
        ->type_name("DIR")
        ->required();
    verb.add_option("--from", to.from, "the backup to begin with; default: the newest")
        ->type_name("FILE");
    verb.add_flag("--force", to.force, "also when the catalog in place is sound");
    add_flag(verb, "--allow-weak-storage", to.allow_weak_storage,
             "open it although its storage may lose what it acknowledged");
    add_json(verb, to.json);
}

// Milliseconds, several of them with commas between.
void add_sync_delays(CLI::App& verb, std::vector<std::chrono::milliseconds>& delays) {
    const auto read = [&delays](const std::vector<unsigned>& counts) {
        delays.clear();
        for (const unsigned count : counts) delays.emplace_back(count);
    };
    verb.add_option_function<std::vector<unsigned>>(
            "--sync-delay", read, "make each sync of both sides slower, and measure for each")
        ->delimiter(',')
        ->type_name("MS[,MS...]")
        ->check(CLI::Range(0, 1000));
}

void add_bench(CLI::App& app, bench_options& to) {
    CLI::App& verb = *app.add_subcommand(
        "bench",
        "measure cairn beside what you would use instead, on this machine's disk; a server that is "
        "measured is a process of its own, its clients are this one");
    add(verb, "--data", to.data, "a folder on the disk to measure; scratch files come and go in it")
        ->type_name("DIR")
        ->capture_default_str();
    verb.add_option("--rows", to.rows, "only what has a name that matches this regular expression")
        ->type_name("REGEX");
    add_time(verb, "--time", to.time, "how long one run takes");
    verb.add_option("--repeat", to.repeat, "runs of each side, in turn; medians are shown")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    add_sync_delays(verb, to.sync_delays);
    verb.add_option("--svg", to.svg, "also measure with 1 to 1,024 callers, and draw charts")
        ->type_name("FILE");
    verb.add_flag("--growth", to.growth, "also measure by callers, by blobs there, and by size");
    verb.add_option("--blobs", to.blobs, "the most that --growth puts there: 1.5 KB each, twice")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1000}, std::size_t{1'000'000'000}));
    verb.add_flag("--short", to.brief, "all of it for a moment: figures mean nothing");
    add_json(verb, to.json);
    verb.add_flag("--serve-memory", to.serve_memory)->group("");
}

// A config file is one list of keys for all verbs: each verb takes those that it knows, and a key
// that none knows is an error, not a typo that goes unseen.
class shared_config final : public CLI::ConfigBase {
public:
    explicit shared_config(const CLI::App& app) : app_(app) {}

    std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
        std::vector<CLI::ConfigItem> entries = CLI::ConfigBase::from_config(input);
        const auto chosen = app_.get_subcommands();
        std::vector<CLI::ConfigItem> taken;
        for (CLI::ConfigItem& item : entries) {
            const std::string flag = "--" + item.name;
            const auto& verbs = app_.get_subcommands([](const CLI::App*) { return true; });
            const bool known = std::any_of(verbs.begin(), verbs.end(), [&](const CLI::App* verb) {
                return verb->get_option_no_throw(flag) != nullptr;
            });
            if (!known || !item.parents.empty()) {
                throw CLI::ConfigError("config file: no option is called " + item.fullname());
            }
            if (chosen.empty() || chosen.front()->get_option_no_throw(flag) == nullptr) continue;
            item.parents = {chosen.front()->get_name()};
            taken.push_back(std::move(item));
        }
        return taken;
    }

private:
    const CLI::App& app_;
};

// CLI11 itself would only say that a subcommand is missing.
bool is_verb(const CLI::App& app, std::string_view word) {
    const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
    return std::any_of(verbs.begin(), verbs.end(),
                       [word](const CLI::App* verb) { return verb->get_name() == word; });
}

// All verbs' options while they are filled in.
struct all_options {
    serve_options serve;
    put_options put;
    get_options get;
    stat_options stat;
    ls_options ls;
    rm_options rm;
    copy_options copy;
    status_options status;
    verify_options verify;
    backup_options backup;
    rebuild_verb_options rebuild;
    bench_options bench;
};

void set_default_server(store_location& at) {
    if (at.server.empty()) at.server = "http://127.0.0.1:" + std::to_string(cairn_port);
}

// What --help cannot say of one option alone.
void check_store(const store_options& store) {
    const bool has_folder = !store.data.empty();
    const bool has_catalog = !store.catalog.empty();
    if (has_folder == has_catalog) {
        throw CLI::ValidationError("serve",
                                   "needs a store: --data DIR, or --catalog "
                                   "postgresql://..., and not both");
    }
    if (has_folder && store.promise == durability::replicated) {
        throw CLI::ValidationError("--durability",
                                   "replicated needs --catalog postgresql://...: "
                                   "a folder has no standby");
    }
    if (has_folder && store.bulk == bulk_kind::large_objects) {
        throw CLI::ValidationError("--bulk",
                                   "large_objects needs --catalog postgresql://...: a "
                                   "folder keeps its bytes in segments");
    }
}

command chosen_command(const std::string& verb, all_options& all) {
    for (store_location* at : {&all.put.at, &all.get.at, &all.stat.at, &all.ls.at, &all.rm.at,
                               &all.status.at, &all.verify.at, &all.backup.at}) {
        set_default_server(*at);
    }
    all.serve.store.max_blob_bytes = all.serve.http.blob_bytes_max;
    if (verb == "serve") return std::move(all.serve);
    if (verb == "put") return std::move(all.put);
    if (verb == "get") return std::move(all.get);
    if (verb == "stat") return std::move(all.stat);
    if (verb == "ls") return std::move(all.ls);
    if (verb == "rm") return std::move(all.rm);
    if (verb == "copy") return std::move(all.copy);
    if (verb == "verify") return std::move(all.verify);
    if (verb == "backup") return std::move(all.backup);
    if (verb == "rebuild") return std::move(all.rebuild);
    if (verb == "bench") return std::move(all.bench);
    return std::move(all.status);
}

}  // namespace

std::variant<command, printed> parse_command_line(int argc, char** argv) {
    CLI::App app(about, "cairn");
    app.set_version_flag("--version", "cairn " CAIRN_VERSION);
    app.footer(exits);
    app.require_subcommand(1);
    app.fallthrough();
    app.set_config("--config", "", "a file with options, one `key = value` a line")
        ->type_name("FILE");
    app.config_formatter(std::make_shared<shared_config>(app));
    std::string level = "info";
    app.add_option("--log-level", level, "debug, info, warn or error")
        ->envname("CAIRN_LOG_LEVEL")
        ->capture_default_str()
        ->check(CLI::IsMember({"debug", "info", "warn", "error"}));

    all_options all;
    add_serve(app, all.serve);
    add_put(app, all.put);
    add_get(app, all.get);
    add_stat(app, all.stat);
    add_ls(app, all.ls);
    add_rm(app, all.rm);
    add_copy(app, all.copy);
    add_status_verb(app, all.status);
    add_verify(app, all.verify);
    add_backup(app, all.backup);
    add_rebuild(app, all.rebuild);
    add_bench(app, all.bench);
    if (argc > 1 && argv[1][0] != '-' && !is_verb(app, argv[1])) {
        return printed{
            fmt::format("cairn: there is no verb `{}`\ncairn: hint: see `cairn --help`\n",
                        printable(argv[1])),
            exit_usage};
    }
    try {
        app.parse(argc, argv);
        if (app.got_subcommand("serve")) check_store(all.serve.store);
    } catch (const CLI::CallForHelp&) {
        const auto verbs = app.get_subcommands();
        return printed{verbs.empty() ? app.help() : verbs.front()->help(), exit_done};
    } catch (const CLI::CallForVersion& e) {
        return printed{std::string(e.what()) + "\n", exit_done};
    } catch (const CLI::ParseError& e) {
        std::string what = e.what();
        const bool unknown_verb = app.get_subcommands().empty() && argc > 1 && *argv[1] != '-';
        if (unknown_verb) what = fmt::format("no verb is called {}", argv[1]);
        return printed{fmt::format("cairn: {}\ncairn: hint: see `cairn --help`\n", what),
                       exit_usage};
    }
    const std::map<std::string, log_level> levels{{"debug", log_level::debug},
                                                  {"info", log_level::info},
                                                  {"warn", log_level::warn},
                                                  {"error", log_level::error}};
    set_log_level(levels.at(level));
    return chosen_command(app.get_subcommands().front()->get_name(), all);
}

}  // namespace cairn::program
