// `cairn serve` with one promise broken: the data syncs of segments answer and do nothing.
//
//     unsynced_server serve --data DIR --listen 127.0.0.1:0
//
// The mutant that the power-cut test must catch: the catalog syncs its own file, so rows become
// durable before the bytes that they point at (SAFETY.md R1).
#include "tests/fault/serve.hpp"
#include "tests/support/forwarding_files.hpp"

#include <memory>
#include <utility>

namespace {

using namespace cairn;

// Segments alone are lied to: a folder whose marker is gone would be refused, which proves less.
class unsynced_segments final : public forwarding_file_system {
public:
    explicit unsynced_segments(std::unique_ptr<file_system> real)
        : forwarding_file_system(*real), real_(std::move(real)), lying_(*real_) {}

    awaitable<result<std::shared_ptr<file>>> open(std::filesystem::path path,
                                                  open_mode mode) override {
        if (path.parent_path().filename() == "segments") return lying_.open(std::move(path), mode);
        return forwarding_file_system::open(std::move(path), mode);
    }

private:
    const std::unique_ptr<file_system> real_;
    test::unsynced_files lying_;
};

std::unique_ptr<file_system> without_syncs(std::unique_ptr<file_system> real) {
    return std::make_unique<unsynced_segments>(std::move(real));
}

}  // namespace

int main(int count, char** words) {
    store_options options;
    options.wrap_files = without_syncs;
    return test::serve(count, words, std::move(options));
}
