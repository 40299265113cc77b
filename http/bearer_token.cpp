#include "http/bearer_token.hpp"

#include "http/grammar.hpp"
#include "runtime/bytes.hpp"
#include "runtime/error.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw std::invalid_argument(fmt::format("token file {}: {}", path, why));
}

class open_descriptor {
public:
    explicit open_descriptor(const std::string& path)
        : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    open_descriptor(const open_descriptor&) = delete;
    open_descriptor& operator=(const open_descriptor&) = delete;
    ~open_descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    int number() const noexcept { return number_; }

private:
    const int number_;
};

// Up to its end, or so much that it can be no token.
std::string read_up_to(const std::string& path, int file, std::size_t bytes_max) {
    std::string text(bytes_max, '\0');
    std::size_t filled = 0;
    while (filled < text.size()) {
        const ssize_t got = ::read(file, text.data() + filled, text.size() - filled);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) refuse(path, "cannot be read: " + last_system_error().message());
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
    }
    text.resize(filled);
    return text;
}

bool is_token_byte(char c) noexcept {
    return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
           std::string_view("-._~+/").find(c) != std::string_view::npos;
}

}  // namespace

bool is_bearer_token(std::string_view text) noexcept {
    if (text.size() < token_bytes_min || text.size() > token_bytes_max) return false;
    const std::size_t last = text.find_last_not_of('=');
    if (last == std::string_view::npos) return false;
    text = text.substr(0, last + 1);
    return std::all_of(text.begin(), text.end(), is_token_byte);
}

std::string read_token_file(const std::string& path) {
    const open_descriptor file(path);
    if (file.number() < 0) refuse(path, "cannot be read: " + last_system_error().message());
    struct stat about {};
    if (::fstat(file.number(), &about) != 0) {
        refuse(path, "cannot be read: " + last_system_error().message());
    }
    if ((about.st_mode & 077) != 0) {
        refuse(path, fmt::format("others may read it (mode {:04o}); chmod 600 keeps it to you",
                                 about.st_mode & 07777));
    }
    std::string text = read_up_to(path, file.number(), token_bytes_max + 3);
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    constexpr std::string_view remedy = "`openssl rand -hex 32` makes a token";
    if (text.empty()) refuse(path, fmt::format("is empty; {}", remedy));
    if (text.size() < token_bytes_min) {
        refuse(path, fmt::format("{} characters are too few to be hard to guess, {} are needed; {}",
                                 text.size(), token_bytes_min, remedy));
    }
    if (text.size() > token_bytes_max) {
        refuse(path, fmt::format("holds over {} characters; {}", token_bytes_max, remedy));
    }
    if (!is_bearer_token(text)) {
        refuse(path, fmt::format("a token is one line of letters, digits and -._~+/, with = at its "
                                 "end only; {}",
                                 remedy));
    }
    return text;
}

token_check::token_check(std::string_view token) : digest_(sha256::of(as_bytes(token))) {}

bool token_check::accepts(std::string_view token) const {
    const sha256_digest sent = sha256::of(as_bytes(token));
    return ::CRYPTO_memcmp(sent.data(), digest_.data(), digest_.size()) == 0;
}

}  // namespace cairn
