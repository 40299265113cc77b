#include "http/cairn/bench/rocksdb_rival.hpp"

#include "http/cairn/bench/slow_disk.hpp"

#include <dlfcn.h>
#include <stdexcept>

namespace cairn::bench {
namespace {

// Loaded once, for good.
rocksdb_puts_function* loaded() {
    static rocksdb_puts_function* const function = []() -> rocksdb_puts_function* {
        const auto self = std::filesystem::read_symlink("/proc/self/exe");
        const auto module = self.parent_path() / "cairn_rocksdb_rival.so";
        void* const handle = ::dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) return nullptr;
        return reinterpret_cast<rocksdb_puts_function*>(::dlsym(handle, rocksdb_puts_name));
    }();
    return function;
}

}  // namespace

bool has_rocksdb() { return loaded() != nullptr; }

std::unique_ptr<contender> rocksdb_puts(std::filesystem::path folder, put_load load) {
    if (!has_rocksdb()) throw std::runtime_error("this build has no RocksDB");
    return std::unique_ptr<contender>(loaded()(folder.c_str(), load, this_disk().delay()));
}

}  // namespace cairn::bench
