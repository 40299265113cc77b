// postgresql:// URLs, as people type them: a password that is in one is in nothing that we show.
#include "engines/postgres/server_url.hpp"

#include "runtime/check.hpp"

#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto url = cairn::postgres::server_url::parse(text);
    if (!url) return 0;
    CAIRN_CHECK(!url->places().empty());
    const auto password = url->settings().find("password");
    if (password == url->settings().end() || password->second.size() < 8) return 0;
    const std::string said = "cannot reach " + password->second;
    CAIRN_CHECK(url->without_secrets(said).find(password->second) == std::string::npos);
    return 0;
}
