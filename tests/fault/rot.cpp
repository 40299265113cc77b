#include "tests/fault/rot.hpp"

#include <algorithm>
#include <fcntl.h>
#include <stdexcept>
#include <unistd.h>
#include <vector>

namespace cairn::test {
namespace {

class rotting_file {
public:
    explicit rotting_file(const std::filesystem::path& path)
        : number_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
        if (number_ < 0) throw std::runtime_error("cannot open " + path.string());
        const off_t hole = ::lseek(number_, 0, SEEK_HOLE);
        size_ = hole > 0 ? static_cast<std::uint64_t>(hole) : 0;
    }
    ~rotting_file() { ::close(number_); }
    rotting_file(const rotting_file&) = delete;
    rotting_file& operator=(const rotting_file&) = delete;

    std::uint64_t size() const { return size_; }
    std::vector<char> read(std::uint64_t at, std::size_t count) const {
        std::vector<char> bytes(count);
        const ssize_t got = ::pread(number_, bytes.data(), count, static_cast<off_t>(at));
        bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return bytes;
    }
    void write(std::uint64_t at, const std::vector<char>& bytes) const {
        const ssize_t done = ::pwrite(number_, bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (done != static_cast<ssize_t>(bytes.size())) throw std::runtime_error("cannot rot");
    }
    void cut(std::uint64_t size) const {
        if (::ftruncate(number_, static_cast<off_t>(size)) != 0)
            throw std::runtime_error("cannot cut");
    }
    std::uint64_t end() const { return static_cast<std::uint64_t>(::lseek(number_, 0, SEEK_END)); }

private:
    const int number_;
    std::uint64_t size_ = 0;
};

damage change_byte(const rotting_file& in, std::mt19937_64& random, bool one_bit) {
    const std::uint64_t at = random() % in.size();
    auto byte = in.read(at, 1);
    const auto value = static_cast<char>(one_bit ? byte[0] ^ (1 << random() % 8) : random());
    byte[0] = value;
    in.write(at, byte);
    return {(one_bit ? "bit at " : "byte at ") + std::to_string(at), at, at + 1};
}

damage zero_block(const rotting_file& in, std::mt19937_64& random, std::uint64_t block) {
    const std::uint64_t at = random() % in.size() / block * block;
    const std::uint64_t end = std::min(at + block, in.size());
    in.write(at, std::vector<char>(end - at));
    return {std::to_string(end - at) + " zeros at " + std::to_string(at), at, end};
}

damage copy_block(const rotting_file& in, std::mt19937_64& random) {
    constexpr std::uint64_t block = 4096;
    const std::uint64_t from = random() % in.size() / block * block;
    const std::uint64_t to = random() % in.size() / block * block;
    const auto bytes = in.read(from, std::min(block, in.size() - std::max(from, to)));
    in.write(to, bytes);
    return {"block of " + std::to_string(from) + " at " + std::to_string(to), to,
            to + bytes.size()};
}

damage cut_off(const rotting_file& in, std::mt19937_64& random) {
    const std::uint64_t at = random() % in.size();
    in.cut(at);
    return {"cut at " + std::to_string(at), at, UINT64_MAX};
}

damage add_garbage(const rotting_file& in, std::mt19937_64& random) {
    std::vector<char> garbage(1 + random() % 8192);
    for (char& each : garbage) each = static_cast<char>(random());
    const std::uint64_t at = in.end();
    in.write(at, garbage);
    return {std::to_string(garbage.size()) + " bytes more", at, at + garbage.size()};
}

}  // namespace

damage rot(const std::filesystem::path& file, std::mt19937_64& random) {
    const rotting_file in(file);
    if (in.size() == 0) return add_garbage(in, random);
    switch (random() % 8) {
        case 0:
        case 1: return change_byte(in, random, true);
        case 2: return change_byte(in, random, false);
        case 3: return zero_block(in, random, 512);
        case 4: return zero_block(in, random, 4096);
        case 5: return copy_block(in, random);
        case 6: return cut_off(in, random);
        default: return add_garbage(in, random);
    }
}

}  // namespace cairn::test
