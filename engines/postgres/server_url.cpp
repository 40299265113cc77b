#include "engines/postgres/server_url.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <utility>

namespace cairn::postgres {
namespace {

constexpr std::size_t connections_max = 64;
constexpr std::string_view default_port = "5432";
constexpr std::string_view own_prefix = "cairn.";

using pairs = std::map<std::string, std::string>;

struct free_options {
    void operator()(PQconninfoOption* all) const noexcept { PQconninfoFree(all); }
};
using option_list = std::unique_ptr<PQconninfoOption, free_options>;

pairs values_of(const option_list& options) {
    pairs values;
    for (const PQconninfoOption* each = options.get(); each && each->keyword; ++each) {
        if (each->val != nullptr) values[each->keyword] = each->val;
    }
    return values;
}

std::vector<std::string> split(std::string_view text, char at) {
    std::vector<std::string> parts;
    while (true) {
        const auto end = std::min(text.find(at), text.size());
        parts.emplace_back(text.substr(0, end));
        if (end == text.size()) return parts;
        text.remove_prefix(end + 1);
    }
}

// The URL without our own settings, which go into `own`.
std::string take_out_own(std::string_view text, pairs& own) {
    const auto question = text.find('?');
    std::string rest(text.substr(0, question));
    if (question == text.npos) return rest;
    char before = '?';
    for (const std::string& each : split(text.substr(question + 1), '&')) {
        const auto equals = std::min(each.find('='), each.size());
        if (each.starts_with(own_prefix)) {
            own[each.substr(0, equals)] = each.substr(std::min(equals + 1, each.size()));
        } else {
            rest += std::exchange(before, '&') + each;
        }
    }
    return rest;
}

std::optional<bool> flag(const std::string& text) {
    if (text == "true" || text == "on" || text == "1") return true;
    if (text == "false" || text == "off" || text == "0") return false;
    return std::nullopt;
}

std::optional<std::size_t> count(const std::string& text) {
    std::size_t value = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
    if (value == 0 || value > connections_max) return std::nullopt;
    return value;
}

// What the URL leaves out, the environment may say: PGHOST and its like.
std::string take(pairs& settings, const pairs& defaults, const std::string& key) {
    const auto given = settings.extract(key);
    if (!given.empty()) return given.mapped();
    const auto found = defaults.find(key);
    return found == defaults.end() ? std::string() : found->second;
}

// libpq's lists of hosts, addresses and ports; nothing when their lengths do not fit.
std::optional<std::vector<server_place>> places_of(pairs& settings) {
    const pairs defaults = values_of(option_list(PQconndefaults()));
    const bool is_given = settings.contains("host") || settings.contains("hostaddr");
    const auto hosts = split(take(settings, is_given ? pairs() : defaults, "host"), ',');
    const auto addresses = split(take(settings, is_given ? pairs() : defaults, "hostaddr"), ',');
    const auto ports = split(take(settings, defaults, "port"), ',');
    const std::size_t size = std::max(hosts.size(), addresses.size());
    const auto fits = [size](const auto& list) { return list.size() == 1 || list.size() == size; };
    if (!fits(hosts) || !fits(addresses) || !fits(ports)) return std::nullopt;

    std::vector<server_place> places(size);
    for (std::size_t i = 0; i < size; ++i) {
        if (i < hosts.size()) places[i].host = hosts[i];
        if (i < addresses.size()) places[i].address = addresses[i];
        if (places[i].host.empty()) places[i].host = places[i].address;
        places[i].port = ports.size() == 1 ? ports[0] : ports[i];
        if (places[i].port.empty()) places[i].port = default_port;
    }
    return places;
}

void set_defaults(pairs& settings) {
    settings.try_emplace("target_session_attrs", "read-write");
    settings.try_emplace("fallback_application_name", "cairn");
    settings.try_emplace("tcp_user_timeout", "15000");
    settings.try_emplace("keepalives_idle", "10");
    settings.try_emplace("keepalives_interval", "5");
    settings.try_emplace("keepalives_count", "3");
    settings["client_encoding"] = "UTF8";
}

void blank_out(std::string& text, const std::string& secret) {
    static constexpr std::string_view blank = "***";
    if (secret.empty()) return;
    std::size_t at = 0;
    while ((at = text.find(secret, at)) != text.npos) {
        text.replace(at, secret.size(), blank);
        at += blank.size();
    }
}

}  // namespace

result<server_url> server_url::parse(std::string_view text) {
    if (!text.starts_with("postgresql://") && !text.starts_with("postgres://")) {
        return errc::malformed;
    }
    server_url made;
    pairs own;
    const std::string foreign = take_out_own(text, own);
    if (!made.read_own(own)) return errc::malformed;

    // Its message is not shown: it may quote a part of the password.
    const option_list parsed(PQconninfoParse(foreign.c_str(), nullptr));
    if (!parsed) return errc::malformed;
    made.settings_ = values_of(parsed);
    auto places = places_of(made.settings_);
    if (!places) return errc::malformed;
    made.places_ = std::move(*places);
    set_defaults(made.settings_);
    return made;
}

bool server_url::read_own(const std::map<std::string, std::string>& own) {
    for (const auto& [key, value] : own) {
        if (key == "cairn.prepare" && flag(value)) {
            prepare_ = *flag(value);
        } else if (key == "cairn.read_connections" && count(value)) {
            read_connections_ = *count(value);
        } else if (key == "cairn.write_connections" && count(value)) {
            write_connections_ = *count(value);
        } else {
            return false;
        }
    }
    return true;
}

std::string server_url::redacted() const {
    std::string text;
    for (const server_place& each : places_) text += (text.empty() ? "" : ",") + each.name();
    const auto database = settings_.find("dbname");
    const std::string name = database == settings_.end() ? std::string() : database->second;
    return fmt::format("postgresql://{}/{}", text, name);
}

std::string server_url::without_secrets(std::string text) const {
    for (const char* key : {"password", "sslpassword"}) {
        const auto found = settings_.find(key);
        if (found != settings_.end()) blank_out(text, found->second);
    }
    return text;
}

std::string server_place::name() const {
    const bool has_colons = host.find(':') != host.npos;
    return fmt::format("{}{}{}:{}", has_colons ? "[" : "", host, has_colons ? "]" : "", port);
}

}  // namespace cairn::postgres
