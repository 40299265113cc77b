// The source lint: the house rules that neither compiler nor clang-tidy can see, as tests.
//
// Every rule reads one file and reports lines. A test case states the rule, shows that it finds a
// bad snippet and passes a good one, then applies it to the tree. `// tidy: reason` at the end of a
// line excuses that line from every rule.
#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path root = fs::absolute(__FILE__).parent_path().parent_path();

// From left to right: a folder may include only itself and what stands before it.
constexpr std::array<std::string_view, 6> folders{"runtime", "io",   "engines",
                                                  "store",   "http", "examples"};

struct source_file {
    std::string path;                // from the root
    std::vector<std::string> lines;  // as written
    std::vector<std::string> code;   // the same, with comments and the insides of literals blanked

    bool is_under(std::string_view folder) const {
        return path.starts_with(std::string(folder) + "/");
    }
    bool is_header() const { return path.ends_with(".hpp"); }
    bool is_product() const { return !is_under("tests") && !is_under("examples"); }
    std::string all_code() const {
        std::string text;
        for (const std::string& line : code) text += line + '\n';
        return text;
    }
};

std::vector<std::string> split_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// Replaces comments and the insides of literals by spaces, so that rules see code alone.
std::string blank(std::string text) {
    const auto hide = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < std::min(end, text.size()); ++i)
            if (text[i] != '\n') text[i] = ' ';
    };
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::string_view rest = std::string_view(text).substr(at);
        std::size_t end = at;
        if (rest.starts_with("//")) {
            end = std::min(text.find('\n', at), text.size());
            hide(at, end);
        } else if (rest.starts_with("/*")) {
            end = std::min(text.find("*/", at), text.size()) + 2;
            hide(at, end);
        } else if (rest.starts_with("R\"") && (at == 0 || !is_word(text[at - 1]))) {
            const std::size_t open = std::min(text.find('(', at), text.size());
            const std::string close = ")" + text.substr(at + 2, open - at - 2) + "\"";
            end = std::min(text.find(close, open), text.size()) + close.size();
            hide(at + 2, end - 1);
        } else if (text[at] == '"' || (text[at] == '\'' && (at == 0 || !is_word(text[at - 1])))) {
            end = at + 1;
            while (end < text.size() && text[end] != text[at] && text[end] != '\n')
                end += text[end] == '\\' ? 2 : 1;
            hide(at + 1, end);
            ++end;
        }
        if (end > at) at = end - 1;
    }
    return text;
}

source_file make_source(std::string path, const std::string& text) {
    return {std::move(path), split_lines(text), split_lines(blank(text))};
}

std::string read_file(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

const std::vector<source_file>& tree() {
    static const std::vector<source_file> sources = [] {
        std::vector<source_file> found;
        std::vector<std::string_view> places(folders.begin(), folders.end());
        places.emplace_back("tests");
        for (const std::string_view place : places) {
            if (!fs::exists(root / place)) continue;
            for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / place))
                if (entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp")
                    found.push_back(make_source(fs::relative(entry.path(), root).string(),
                                                read_file(entry.path())));
        }
        return found;
    }();
    return sources;
}

using line_numbers = std::vector<std::size_t>;  // from 0
using rule = std::function<line_numbers(const source_file&)>;

line_numbers findings(const rule& check, const source_file& file) {
    line_numbers lines = check(file);
    std::erase_if(lines, [&](std::size_t line) {
        static const std::regex excuse("// tidy: \\S+");
        return line < file.lines.size() && std::regex_search(file.lines[line], excuse);
    });
    return lines;
}

bool finds(const rule& check, const std::string& path, const std::string& text) {
    return !findings(check, make_source(path, text)).empty();
}

void check_tree(const rule& check) {
    for (const source_file& file : tree())
        for (const std::size_t line : findings(check, file)) {
            const std::string text = line < file.lines.size() ? file.lines[line] : std::string();
            FAIL_CHECK(file.path << ":" << line + 1 << ": " << text);
        }
}

std::size_t line_of(const std::string& text, std::size_t offset) {
    return static_cast<std::size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

// The rule that no line of code matches `pattern`, in the files that `applies` selects.
rule never(const std::string& pattern, std::function<bool(const source_file&)> applies) {
    return
        [expression = std::regex(pattern), applies = std::move(applies)](const source_file& file) {
            line_numbers lines;
            if (!applies(file)) return lines;
            for (std::size_t i = 0; i < file.code.size(); ++i)
                if (std::regex_search(file.code[i], expression)) lines.push_back(i);
            return lines;
        };
}

struct include {
    std::size_t line;
    bool quoted;
    std::string path;
};

std::vector<include> includes_of(const source_file& file) {
    static const std::regex form(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
    std::vector<include> found;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        std::smatch match;
        if (std::regex_search(file.lines[i], match, form))
            found.push_back({i, match[1] == "\"", match[2]});
    }
    return found;
}

std::optional<std::size_t> rank(std::string_view path) {
    const auto folder = std::find(folders.begin(), folders.end(), path.substr(0, path.find('/')));
    if (folder == folders.end()) return std::nullopt;
    return static_cast<std::size_t>(folder - folders.begin());
}

line_numbers includes_to_the_right(const source_file& file) {
    line_numbers lines;
    const auto own = rank(file.path);
    if (!own) return lines;
    for (const include& entry : includes_of(file)) {
        if (!entry.quoted) continue;
        const auto other = rank(entry.path);
        const bool into_program =
            entry.path.starts_with("http/cairn/") && !file.is_under("http/cairn");
        if (!other || *other > *own || into_program) lines.push_back(entry.line);
    }
    return lines;
}

line_numbers breached_fences(const source_file& file) {
    struct fence {
        std::string_view header;
        std::string_view folder;
    };
    static constexpr std::array<fence, 5> fences{{{"liburing", "io"},
                                                  {"rocksdb", "http/cairn/bench/rocksdb"},
                                                  {"sqlite3", "engines/sqlite"},
                                                  {"libpq", "engines/postgres"},
                                                  {"boost/beast", "http"}}};
    line_numbers lines;
    if (!file.is_product()) return lines;
    for (const include& entry : includes_of(file))
        for (const fence& each : fences) {
            // The bench holds the rivals, for which the same libraries are used otherwise.
            const bool is_rival = file.is_under("http/cairn/bench") && each.header != "rocksdb";
            if (entry.path.starts_with(each.header) && !file.is_under(each.folder) && !is_rival)
                lines.push_back(entry.line);
        }
    return lines;
}

line_numbers misplaced_includes(const source_file& file) {
    line_numbers lines;
    const std::vector<include> all = includes_of(file);
    bool seen_angle = false;
    for (const include& entry : all) {
        if (entry.quoted && seen_angle) lines.push_back(entry.line);
        seen_angle = seen_angle || !entry.quoted;
    }
    const std::string own = fs::path(file.path).replace_extension(".hpp").string();
    const auto reads_own =
        std::find_if(all.begin(), all.end(), [&](const include& i) { return i.path == own; });
    if (reads_own != all.end() && reads_own != all.begin()) lines.push_back(reads_own->line);
    return lines;
}

line_numbers missing_pragma_once(const source_file& file) {
    const bool present = std::any_of(file.code.begin(), file.code.end(), [](const auto& line) {
        return line.starts_with("#pragma once");
    });
    return file.is_header() && !present ? line_numbers{0} : line_numbers{};
}

std::size_t columns(std::string_view line) {
    return static_cast<std::size_t>(
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

line_numbers ragged_lines(const source_file& file) {
    line_numbers lines;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        const std::string& line = file.lines[i];
        const bool trailing = !line.empty() && (line.back() == ' ' || line.back() == '\r');
        if (columns(line) > 100 || trailing || line.find('\t') != std::string::npos)
            lines.push_back(i);
    }
    return lines;
}

line_numbers unfinished_marks(const source_file& file) {
    static const std::regex mark(
        "\\b(TO"
        "DO|FIX"
        "ME|XX"
        "X|HA"
        "CK)\\b");
    line_numbers lines;
    for (std::size_t i = 0; i < file.lines.size(); ++i)
        if (std::regex_search(file.lines[i], mark)) lines.push_back(i);
    return lines;
}

// What g++ 12 destroys twice, and what reads badly: within one `co_await` expression a brace, a
// lambda, a conditional or a second `co_await`; and a `co_return aggregate{co_await ...}`.
line_numbers risky_awaits(const source_file& file) {
    line_numbers lines;
    const std::string text = file.all_code();
    static const std::regex word("\\bco_await\\b");
    static const std::regex into_aggregate("co_return\\s+[\\w:<>, ]+\\{[^;{}]*co_await");
    for (std::sregex_iterator each(text.begin(), text.end(), word), none; each != none; ++each) {
        const auto begin = static_cast<std::size_t>(each->position());
        int depth = 0;
        for (std::size_t at = begin + 8; at < text.size(); ++at) {
            const char c = text[at];
            if (c == ';' && depth == 0) break;
            if (c == '(' || c == '[') ++depth;
            if (c == ')' || c == ']') --depth;
            if (depth < 0 || c == '}') break;
            const bool again = text.compare(at, 8, "co_await") == 0;
            if (c == '{' || c == '?' || again) {
                lines.push_back(line_of(text, begin));
                break;
            }
        }
    }
    for (std::sregex_iterator each(text.begin(), text.end(), into_aggregate), none; each != none;
         ++each)
        lines.push_back(line_of(text, static_cast<std::size_t>(each->position())));
    return lines;
}

// A mutex may not be held where another thread can resume the coroutine: no `co_await` before the
// end of the block that declares a lock.
line_numbers locks_across_awaits(const source_file& file) {
    line_numbers lines;
    static const std::regex lock("\\b(lock_guard|scoped_lock|unique_lock|shared_lock)\\b");
    for (std::size_t i = 0; i < file.code.size(); ++i) {
        std::smatch match;
        if (!std::regex_search(file.code[i], match, lock)) continue;
        int depth = 0;
        std::string rest = match.suffix();
        for (std::size_t j = i; depth >= 0 && j < file.code.size(); ++j) {
            if (j > i) rest = file.code[j];
            if (rest.find("co_await") != std::string::npos) lines.push_back(j);
            for (const char c : rest) {
                depth += c == '{' ? 1 : c == '}' ? -1 : 0;
                if (depth < 0) break;
            }
        }
    }
    return lines;
}

// A handler of everything passes on what it caught, or it would swallow cancellation.
line_numbers swallowed_exceptions(const source_file& file) {
    line_numbers lines;
    const std::string text = file.all_code();
    static const std::regex handler("catch\\s*\\(\\s*\\.\\.\\.\\s*\\)");
    static const std::regex passed_on(
        "\\bthrow\\s*;|current_exception|exception_ptr|terminate|abort\\(");
    for (std::sregex_iterator each(text.begin(), text.end(), handler), none; each != none; ++each) {
        const auto begin = static_cast<std::size_t>(each->position());
        int depth = 0;
        std::size_t end = text.find('{', begin);
        while (end < text.size()) {
            depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
            ++end;
            if (depth == 0) break;
        }
        if (!std::regex_search(text.substr(begin, end - begin), passed_on))
            lines.push_back(line_of(text, begin));
    }
    return lines;
}

// What may stop a loop thread. The program's own start-up code (http/cairn) runs before any loop.
line_numbers blocking_calls(const source_file& file) {
    static const std::regex anywhere(
        "\\b(PQexec\\w*|PQconnectdb|lo_read|lo_write|getaddrinfo|this_thread::sleep_\\w+|usleep|"
        "nanosleep|popen)\\s*\\(");
    static const std::regex above_engines(
        "\\bstd::filesystem::(?!path\\b)|\\b(i|o)?fstream\\b|"
        "\\b(fopen|fsync|fdatasync|sync_file_range|pread|pwrite|sqlite3_\\w+)\\s*\\(");
    line_numbers lines;
    if (!file.is_product() || file.is_under("http/cairn")) return lines;
    const bool high = file.is_under("store") || file.is_under("http");
    for (std::size_t i = 0; i < file.code.size(); ++i)
        if (std::regex_search(file.code[i], anywhere) ||
            (high && std::regex_search(file.code[i], above_engines)))
            lines.push_back(i);
    return lines;
}

bool everywhere(const source_file&) { return true; }

}  // namespace

TEST_CASE("blanking leaves code and hides comments and literals") {
    CHECK(blank("a // b\nc") == "a     \nc");
    CHECK(blank("f(\"x // \\\" y\"); g('\"');") == "f(\"         \"); g(' ');");
    CHECK(blank("x /* {\n} */ y") == "x     \n     y");
    CHECK(blank("auto s = R\"-(a \" b)-\";") == "auto s = R\"         \";");
    CHECK(blank("n = 1'000'000; m") == "n = 1'000'000; m");
}

TEST_CASE("an excuse needs a reason, and covers its line alone") {
    const rule check = never("\\bbad\\b", everywhere);
    CHECK(finds(check, "io/a.cpp", "bad;"));
    CHECK(finds(check, "io/a.cpp", "bad;  // tidy: "));
    CHECK_FALSE(finds(check, "io/a.cpp", "bad;  // tidy: shown to work"));
    CHECK(finds(check, "io/a.cpp", "bad;  // tidy: shown to work\nbad;"));
}

TEST_CASE("a folder includes only itself and the folders to its left") {
    CHECK(finds(includes_to_the_right, "io/a.cpp", "#include \"store/store.hpp\""));
    CHECK(finds(includes_to_the_right, "io/a.cpp", "#include \"sibling.hpp\""));
    CHECK(finds(includes_to_the_right, "http/server.cpp", "#include \"http/cairn/options.hpp\""));
    CHECK_FALSE(finds(includes_to_the_right, "store/a.cpp", "#include \"io/file.hpp\""));
    CHECK_FALSE(finds(includes_to_the_right, "tests/io/a.cpp", "#include \"http/server.hpp\""));
    check_tree(includes_to_the_right);
}

TEST_CASE("third-party libraries stay behind their fences") {
    CHECK(finds(breached_fences, "store/a.cpp", "#include <sqlite3.h>"));
    CHECK(finds(breached_fences, "engines/segments/a.cpp", "#include <liburing.h>"));
    CHECK(finds(breached_fences, "engines/sqlite/a.cpp", "#include <libpq-fe.h>"));
    CHECK(finds(breached_fences, "store/a.cpp", "#include <boost/beast/http.hpp>"));
    CHECK_FALSE(finds(breached_fences, "engines/sqlite/a.cpp", "#include <sqlite3.h>"));
    CHECK_FALSE(finds(breached_fences, "tests/store/a.cpp", "#include <sqlite3.h>"));
    CHECK_FALSE(finds(breached_fences, "http/cairn/bench/a.cpp", "#include <sqlite3.h>"));
    CHECK(finds(breached_fences, "http/cairn/bench/a.cpp", "#include <rocksdb/db.h>"));
    check_tree(breached_fences);
}

TEST_CASE("a source reads its own header first, then the project's, then the others'") {
    CHECK(finds(misplaced_includes, "io/a.cpp", "#include <vector>\n#include \"io/b.hpp\""));
    CHECK(finds(misplaced_includes, "io/a.cpp", "#include \"io/b.hpp\"\n#include \"io/a.hpp\""));
    CHECK_FALSE(finds(misplaced_includes, "io/a.cpp",
                      "#include \"io/a.hpp\"\n#include \"io/b.hpp\"\n#include <vector>"));
    check_tree(misplaced_includes);
}

TEST_CASE("a header has #pragma once") {
    CHECK(finds(missing_pragma_once, "io/a.hpp", "int x;"));
    CHECK(finds(missing_pragma_once, "io/a.hpp", "// #pragma once"));
    CHECK_FALSE(finds(missing_pragma_once, "io/a.hpp", "// A.\n#pragma once"));
    check_tree(missing_pragma_once);
}

TEST_CASE("a line has at most 100 columns, no tab and no space at its end") {
    CHECK(finds(ragged_lines, "io/a.cpp", std::string(101, 'x')));
    CHECK_FALSE(finds(ragged_lines, "io/a.cpp", std::string(100, 'x')));
    CHECK_FALSE(finds(ragged_lines, "io/a.cpp", std::string(98, 'x') + "é"));
    CHECK(finds(ragged_lines, "io/a.cpp", "\tx;"));
    CHECK(finds(ragged_lines, "io/a.cpp", "x; "));
    check_tree(ragged_lines);
}

TEST_CASE("nothing is marked as unfinished") {
    CHECK(finds(unfinished_marks, "io/a.cpp",
                "// TO"
                "DO: more"));
    CHECK(finds(unfinished_marks, "io/a.cpp",
                "// FIX"
                "ME"));
    CHECK_FALSE(finds(unfinished_marks, "io/a.cpp", "// nothing left to do"));
    check_tree(unfinished_marks);
}

TEST_CASE("a co_await has no braces, no lambda, no conditional and no second co_await beside it") {
    CHECK(finds(risky_awaits, "io/a.cpp", "co_await f({.n = s});"));
    CHECK(finds(risky_awaits, "io/a.cpp", "auto x = co_await f(opts{1});"));
    CHECK(finds(risky_awaits, "io/a.cpp", "co_await pool.run([s] { return s; });"));
    CHECK(finds(risky_awaits, "io/a.cpp", "co_await f(a ? b : c);"));
    CHECK(finds(risky_awaits, "io/a.cpp", "co_await f(co_await g());"));
    CHECK(finds(risky_awaits, "io/a.cpp", "co_await f(\n    a,\n    {});"));
    CHECK(finds(risky_awaits, "io/a.cpp", "co_return reply{1, co_await g()};"));
    CHECK_FALSE(finds(risky_awaits, "io/a.cpp", "if (co_await f(x[1])) { g({}); }"));
    CHECK_FALSE(finds(risky_awaits, "io/a.cpp", "auto r = co_await f(s); h(a ? b : c);"));
    CHECK_FALSE(finds(risky_awaits, "io/a.cpp", "// co_await f({})"));
    check_tree(risky_awaits);
}

TEST_CASE("no lock is held across a co_await") {
    CHECK(finds(locks_across_awaits, "io/a.cpp", "{ std::scoped_lock l(m);\n co_await f(); }"));
    CHECK(finds(locks_across_awaits, "io/a.cpp",
                "std::unique_lock l(m);\nif (x) {\n co_await f();\n}"));
    CHECK_FALSE(
        finds(locks_across_awaits, "io/a.cpp", "{\n std::scoped_lock l(m);\n}\nco_await f();"));
    check_tree(locks_across_awaits);
}

TEST_CASE("a coroutine has an owner: detached stands in runtime/ alone") {
    const rule check =
        never("\\bdetached\\b", [](const source_file& file) { return !file.is_under("runtime"); });
    CHECK(finds(check, "http/a.cpp", "co_spawn(ex, f(), asio::detached);"));
    CHECK_FALSE(finds(check, "http/a.cpp", "// detached"));
    CHECK_FALSE(finds(check, "runtime/a.cpp", "co_spawn(ex, f(), asio::detached);"));
    check_tree(check);
}

TEST_CASE("co_spawn takes a called coroutine, never a lambda that captures") {
    const rule check = never("\\bco_spawn\\s*\\([^\\[;]*\\[[^\\]]",
                             [](const source_file& file) { return file.is_product(); });
    CHECK(finds(check, "http/a.cpp", "co_spawn(ex, [this]() -> awaitable<void> {"));
    CHECK_FALSE(finds(check, "http/a.cpp", "co_spawn(ex, session(s), token);"));
    check_tree(check);
}

TEST_CASE("an awaitable is awaited where it is made, never kept in an object") {
    const rule check =
        never("^\\s*(mutable\\s+)?[\\w:]*\\bawaitable<.*>\\s+\\w+_\\s*(;|=|\\{)", everywhere);
    CHECK(finds(check, "store/a.hpp", "    asio::awaitable<void> pending_;"));
    CHECK_FALSE(finds(check, "store/a.hpp", "    asio::awaitable<void> close();"));
    check_tree(check);
}

TEST_CASE("catch (...) passes on what it caught") {
    CHECK(finds(swallowed_exceptions, "io/a.cpp", "try { f(); } catch (...) { log(); }"));
    CHECK_FALSE(finds(swallowed_exceptions, "io/a.cpp", "catch (...) { if (x) { g(); } throw; }"));
    CHECK_FALSE(
        finds(swallowed_exceptions, "io/a.cpp", "catch (...) { e = std::current_exception(); }"));
    check_tree(swallowed_exceptions);
}

TEST_CASE("nothing that runs on a loop thread blocks it") {
    CHECK(finds(blocking_calls, "engines/postgres/a.cpp", "PQexec(c, \"select 1\");"));
    CHECK(finds(blocking_calls, "store/a.cpp", "std::filesystem::remove(p);"));
    CHECK(finds(blocking_calls, "http/a.cpp", "::fsync(fd);"));
    CHECK(finds(blocking_calls, "runtime/a.cpp", "std::this_thread::sleep_for(1s);"));
    CHECK_FALSE(finds(blocking_calls, "io/a.cpp", "::fsync(fd);"));
    CHECK_FALSE(finds(blocking_calls, "http/cairn/a.cpp", "std::filesystem::exists(p);"));
    CHECK_FALSE(finds(blocking_calls, "tests/io/a.cpp", "std::this_thread::sleep_for(1s);"));
    check_tree(blocking_calls);
}

namespace {

std::string words(const std::set<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += name + " ";
    return text;
}

// The folders that a README's picture names: lines that begin with `name/`.
std::string folders_in_picture(const std::string& readme) {
    static const std::regex form("^\\s*([a-z_]+)/(\\s|$)");
    std::set<std::string> names;
    for (const std::string& line : split_lines(readme)) {
        std::smatch match;
        if (std::regex_search(line, match, form)) names.insert(match[1]);
    }
    return words(names);
}

std::set<std::string> folders_in_tree() {
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
        const std::string name = entry.path().filename().string();
        // What .gitignore excludes is no part of the tree.
        if (entry.is_directory() && name.front() != '.' && name != "build" && name != "data")
            names.insert(name);
    }
    return names;
}

}  // namespace

TEST_CASE("README.md shows the folders that are there, and each has a README.md of its own") {
    CHECK(folders_in_picture("    io/    files\n`x`\nengines/  rows\nsee store/ here") ==
          "engines io ");
    CHECK(folders_in_picture(read_file(root / "README.md")) == words(folders_in_tree()));
    for (const std::string& name : folders_in_tree()) {
        CAPTURE(name);
        CHECK(fs::exists(root / name / "README.md"));
    }
}
