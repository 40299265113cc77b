// cairn put: stores files and prints their ids.
#include "http/cairn/file_source.hpp"
#include "http/cairn/location.hpp"
#include "http/cairn/verbs.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>

namespace cairn::program {
namespace {

void print(const std::string& file, const receipt& stored, bool json) {
    const std::string id = stored.id.hex();
    if (json) {
        boost::json::object row;
        row["file"] = file;
        row["id"] = id;
        row["size"] = stored.size_bytes;
        row["created"] = stored.created;
        row["durability"] = to_string(stored.kept);
        std::printf("%s\n", boost::json::serialize(row).c_str());
    } else {
        std::printf("%s\n", id.c_str());
    }
    // One line at a time: who reads us may act on each id as it is stored.
    std::fflush(stdout);
}

awaitable<int> put_files(runtime& threads, store& to, const put_options& options) {
    int worst = exit_done;
    for (const std::string& file : options.files) {
        try {
            file_source body(threads, file, !options.json);
            const auto stored = co_await to.put(body, std::nullopt);
            if (stored) {
                print(file, *stored, options.json);
            } else {
                complain(file, stored.error());
                worst = std::max(worst, status_of(stored.error()));
            }
        } catch (const std::system_error& e) {
            // A file that cannot be read does not keep the others from being stored.
            std::fprintf(stderr, "cairn: %s\n", e.what());
            worst = exit_trouble;
        }
    }
    co_return worst;
}

}  // namespace

int put(runtime& threads, const put_options& options) {
    const auto work = [&](store& to) { return put_files(threads, to, options); };
    return with_store(threads, options.at, work);
}

}  // namespace cairn::program
