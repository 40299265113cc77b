#include "tests/http/raw_vectors.hpp"

#include "http/head.hpp"

#include <string_view>
#include <utility>

namespace cairn::test {
namespace {

using namespace std::string_literals;

const std::string hello = "/blobs/2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const std::string host = "Host: localhost\r\n";
const std::string health = "GET /healthz HTTP/1.1\r\n" + host + "\r\n";
// Behind each attack hides a second request: whoever frames the first one differently than we do
// would have it answered.
const std::string hidden = "GET /healthz HTTP/1.1\r\n" + host + "X: \r\n\r\n";
const std::string hello_chunks = "5\r\nhello\r\n0\r\n\r\n";

std::string get(const std::string& target, const std::string& fields = "") {
    return "GET " + target + " HTTP/1.1\r\n" + host + fields + "\r\n";
}

std::string put(const std::string& fields, const std::string& body) {
    return "PUT " + hello + " HTTP/1.1\r\n" + host + fields + "\r\n" + body;
}

std::string put_chunks(const std::string& chunks) {
    return put("Transfer-Encoding: chunked\r\n", chunks);
}

using table = std::vector<raw_vector>;

// Two framings, or one that we do not know.
void add_smuggling(table& all) {
    for (const std::string& fields : {
             "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"s,
             "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"s,
             "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"s,
             "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"s,
             "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"s,
             "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n"s,
             "Transfer-Encoding: chunked\r\nX: y\r\ntransfer-encoding: chunked\r\n"s,
             "Transfer-Encoding: gzip, chunked\r\n"s,
             "Transfer-Encoding: chunked, gzip\r\n"s,
             "Transfer-Encoding: chunked, chunked\r\n"s,
             "Transfer-Encoding: chunked, identity\r\n"s,
             "Transfer-Encoding: identity, chunked\r\n"s,
             "Transfer-Encoding: gzip\r\n"s,
             "Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"s,
             "Transfer-Encoding: identity\r\n"s,
             "Transfer-Encoding: identity\r\nContent-Length: 5\r\n"s,
             "Transfer-Encoding: \r\nContent-Length: 5\r\n"s,
             "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n"s,
             "Transfer-Encoding: chunkedx\r\nContent-Length: 5\r\n"s,
             "Transfer-Encoding: \"chunked\"\r\nContent-Length: 5\r\n"s,
             "Transfer-Encoding: 'chunked'\r\n"s,
             "Transfer-Encoding: chunked;x=y\r\n"s,
             "Transfer-Encoding: ,chunked\r\n"s,
             "Transfer-Encoding: chunked,\r\n"s,
             "Transfer-Encoding: chunked \t, \r\n"s,
             "Transfer-Encoding:\x0b"
             "chunked\r\n"s,
             "Transfer-Encoding:\x0c"
             "chunked\r\n"s,
             "Transfer-Encoding:\xa0"
             "chunked\r\n"s,
             "Transfer-Encoding : chunked\r\nContent-Length: 5\r\n"s,
             "Transfer-Encoding\t: chunked\r\nContent-Length: 5\r\n"s,
             "Transfer-Encoding\r\n: chunked\r\nContent-Length: 5\r\n"s,
             " Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"s,
             "X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"s,
             "Transfer-Encoding:\r\n chunked\r\n"s,
             "Transfer-Encoding:\r\n\tchunked\r\n"s,
             "Transfer-Encoding: chunk\r\n ed\r\n"s,
             "X: y\rTransfer-Encoding: chunked\r\nContent-Length: 5\r\n"s,
             "X: y\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n"s,
             "X: y\0Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"s,
             "Transfer-Encoding: chunked\0\r\nContent-Length: 5\r\n"s,
             "Content-Length: 5\r\nContent-Length: 5\r\n"s,
             "Content-Length: 5\r\nContent-Length: 50\r\n"s,
             "Content-Length: 5\r\ncontent-length: 0\r\n"s,
             "Content-Length: 5, 5\r\n"s,
             "Content-Length: 5, 50\r\n"s,
             "Content-Length: 5,\r\n"s,
             "Content-Length: +5\r\n"s,
             "Content-Length: -5\r\n"s,
             "Content-Length: -0\r\n"s,
             "Content-Length: 0x5\r\n"s,
             "Content-Length: 5.0\r\n"s,
             "Content-Length: 5e0\r\n"s,
             "Content-Length: 5 0\r\n"s,
             "Content-Length: 5;\r\n"s,
             "Content-Length: \"5\"\r\n"s,
             "Content-Length: five\r\n"s,
             "Content-Length: \xd9\xa5\r\n"s,
             "Content-Length: \r\n"s,
             "Content-Length : 5\r\n"s,
             "Content-Length\t: 5\r\n"s,
             "Content-Length: 4294967301000000000000\r\n"s,
             "Content-Length: 18446744073709551621\r\n"s,
             "Content-Length: 00000000000000000005\r\n"s,
             "Content-Length: 5\r\n 0\r\n"s,
             "Content-Length:\r\n 5\r\n"s,
         }) {
        all.push_back(
            {"framing " + fields, put(fields, hello_chunks + hidden), {400}, ending::bad_head});
    }
    all.push_back(
        {"chunked on HTTP/1.0",
         "PUT " + hello + " HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + hello_chunks + hidden,
         {400},
         ending::bad_head});
}

void add_good_framings(table& all) {
    all.push_back({"a length", put("Content-Length: 5\r\n", "hello") + health, {200, 200}});
    all.push_back({"a length with zeros", put("Content-Length: 0005\r\n", "hello"), {200}});
    all.push_back({"a length amid space", put("Content-Length: \t 5 \t\r\n", "hello"), {200}});
    all.push_back({"a length in capitals", put("CONTENT-LENGTH:5\r\n", "hello"), {200}});
    all.push_back({"chunks", put_chunks(hello_chunks) + health, {200, 200}});
    all.push_back(
        {"chunked in capitals", put("transfer-ENCODING: CHUNKED\r\n", hello_chunks), {200}});
    all.push_back(
        {"chunked amid space", put("Transfer-Encoding:\t chunked \t\r\n", hello_chunks), {200}});
    all.push_back(
        {"a request in a body",
         put("Content-Length: " + std::to_string(hidden.size()) + "\r\n", hidden) + health,
         {400, 200}});
    all.push_back({"a body that GET does not want",
                   get("/healthz", "Content-Length: " + std::to_string(hidden.size()) + "\r\n") +
                       hidden + health,
                   {200, 200}});
    all.push_back({"chunks that GET does not want",
                   get("/healthz", "Transfer-Encoding: chunked\r\n") + hello_chunks + health,
                   {200, 200}});
    all.push_back({"no length is no body",
                   "PUT " + hello + " HTTP/1.1\r\n" + host + "\r\n" + health,
                   {400, 200}});
    all.push_back({"too long to read unwanted",
                   "PUT /blobs/x HTTP/1.1\r\n" + host + "Content-Length: 65537\r\n\r\nhello",
                   {400},
                   ending::closed});
}

void add_chunks(table& all) {
    const auto good = [&](const std::string& name, const std::string& chunks) {
        all.push_back({"chunks " + name, put_chunks(chunks) + health, {200, 200}});
    };
    good("of one byte", "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n0\r\n\r\n");
    good("with zeros", "00005\r\nhello\r\n000\r\n\r\n");
    good("with an extension", "5;a=b\r\nhello\r\n0;c\r\n\r\n");
    good("with a quoted extension", "5;a=\"\\\"0\"\r\nhello\r\n0\r\n\r\n");
    good("with trailers", "5\r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n");
    good("with trailers that look like framing",
         "5\r\nhello\r\n0\r\nContent-Length: 9\r\nTransfer-Encoding: gzip\r\n\r\n");
    good("with trailers that look like a head", "5\r\nhello\r\n0\r\nHost: evil\r\n\r\n");
    const auto bad = [&](const std::string& name, const std::string& chunks) {
        all.push_back({"chunks " + name, put_chunks(chunks) + hidden, {400}, ending::bad_chunk});
    };
    bad("of no digit", "g\r\nhello\r\n0\r\n\r\n");
    bad("without a size", "\r\nhello\r\n0\r\n\r\n");
    bad("with a minus", "-5\r\nhello\r\n0\r\n\r\n");
    bad("with a plus", "+5\r\nhello\r\n0\r\n\r\n");
    bad("with 0x", "0x5\r\nhello\r\n0\r\n\r\n");
    bad("with space before the size", " 5\r\nhello\r\n0\r\n\r\n");
    bad("with space behind the size", "5 \r\nhello\r\n0\r\n\r\n");
    bad("with a tab before the extension", "5\t;a\r\nhello\r\n0\r\n\r\n");
    bad("with a bare line feed behind the size", "5\nhello\r\n0\r\n\r\n");
    bad("with a bare carriage return in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n");
    bad("with a bare line feed in an extension", "5;a\nb\r\nhello\r\n0\r\n\r\n");
    bad("with a NUL in an extension", "5;a\0b\r\nhello\r\n0\r\n\r\n"s);
    bad("beyond 64 bits", "10000000000000005\r\nhello\r\n0\r\n\r\n");
    bad("of 17 digits", "fffffffffffffffff\r\nhello\r\n0\r\n\r\n");
    bad("shorter than their size", "5\r\nhell\r\n0\r\n\r\n");
    bad("longer than their size", "5\r\nhello!\r\n0\r\n\r\n");
    bad("with a bare line feed behind the data", "5\r\nhello\n0\r\n\r\n");
    bad("with a bare carriage return behind the data", "5\r\nhello\r0\r\n\r\n");
    bad("with nothing behind the data", "5\r\nhello0\r\n\r\n");
    bad("with a bare line feed at the end", "5\r\nhello\r\n0\r\n\n");
    bad("with a bare line feed in a trailer", "5\r\nhello\r\n0\r\nA: b\nC: d\r\n\r\n");
    bad("with a NUL in a trailer", "5\r\nhello\r\n0\r\nA: \0\r\n\r\n"s);
    bad("with an extension without end", "5;" + std::string(17'000, 'a'));
    bad("with zeros without end", std::string(17'000, '0'));
    std::string trailers;
    for (int i = 0; i < 900; ++i) trailers += "A: 0123456789abcde\r\n";
    bad("with trailers without end", "5\r\nhello\r\n0\r\n" + trailers);
}

void add_lines(table& all) {
    const auto bad = [&](const std::string& name, const std::string& bytes) {
        all.push_back({"lines: " + name, bytes + hidden, {400}, ending::bad_head});
    };
    const std::string line = "GET /healthz HTTP/1.1\r\n";
    bad("a folded field", line + host + "A: b\r\n c\r\n\r\n");
    bad("a field folded by a tab", line + host + "A: b\r\n\tc\r\n\r\n");
    bad("a folded first field", line + " " + host + "\r\n");
    bad("a bare line feed behind the request line", "GET /healthz HTTP/1.1\n" + host + "\r\n");
    bad("a bare line feed behind a field", line + "Host: localhost\nA: b\r\n\r\n");
    bad("bare line feeds throughout", "GET /healthz HTTP/1.1\nHost: localhost\n\n");
    bad("a bare line feed at the end", line + host + "\n");
    bad("a bare carriage return in a field", line + "Host: localhost\rA: b\r\n\r\n");
    bad("two carriage returns", line + "Host: localhost\r\r\n\r\n");
    bad("a bare carriage return in the request line", "GET /\r HTTP/1.1\r\n" + host + "\r\n");
    bad("a NUL in a value", line + host + "A: \0\r\n\r\n"s);
    bad("a NUL in a name", line + host + "A\0: b\r\n\r\n"s);
    bad("a NUL in the target", "GET /\0 HTTP/1.1\r\n"s + host + "\r\n");
    bad("a control byte in a value", line + host + "A: \x01\r\n\r\n");
    bad("DEL in a value", line + host + "A: \x7f\r\n\r\n");
    bad("a field without a colon", line + host + "A\r\n\r\n");
    bad("a field without a name", line + host + ": b\r\n\r\n");
    bad("a name with a space", line + host + "A b: c\r\n\r\n");
    bad("a name in parentheses", line + host + "(A): c\r\n\r\n");
    bad("a name beyond ASCII", line + host + "\xc3\xa4: c\r\n\r\n");
    bad("two empty lines first", "\r\n\r\n" + line + host + "\r\n");
    bad("a line feed first", "\n" + line + host + "\r\n");
    bad("nonsense", "nonsense\r\n\r\n");
    bad("no version", "GET /healthz\r\n\r\n");
    bad("no target", "GET HTTP/1.1\r\n\r\n");
    bad("two spaces", "GET  /healthz HTTP/1.1\r\n" + host + "\r\n");
    bad("a tab for a space", "GET\t/healthz HTTP/1.1\r\n" + host + "\r\n");
    bad("a space first", " GET /healthz HTTP/1.1\r\n" + host + "\r\n");
    bad("a space in the target", "GET /heal thz HTTP/1.1\r\n" + host + "\r\n");
    bad("a method that is no token", "G@T /healthz HTTP/1.1\r\n" + host + "\r\n");
    bad("a TLS hello", "\x16\x03\x01\x02\x01\x01\xfc\x03\x03"s);
    bad("an SSH banner", "SSH-2.0-OpenSSH_9.2\r\n\r\n");
    bad("a proxy's announcement", "PROXY TCP4 10.0.0.1 10.0.0.2 1 80\r\n" + line + host + "\r\n");
    all.push_back({"lines: one empty line first", "\r\n" + health + "\r\n" + health, {200, 200}});
    all.push_back(
        {"lines: empty and wide values", get("/healthz", "A:\r\nB: \t x \t\r\nC:\xff\r\n"), {200}});
}

void add_versions(table& all) {
    for (const char* version :
         {"HTTP/0.9", "HTTP/1.2", "HTTP/1.9", "HTTP/2.0", "HTTP/3.0", "HTTP/9.9"}) {
        all.push_back({"version "s + version,
                       "GET /healthz "s + version + "\r\n" + host + "\r\n" + hidden,
                       {505},
                       ending::bad_head});
    }
    for (const char* version : {"HTTP/11", "http/1.1", "HTTP/1.1 ", "HTTP/1.1x", "HTTP/1.10",
                                "HTTP/01.1", "HTTP/1,1", "HTTPS/1.1", "HTTP /1.1", "ICY/1.1"}) {
        all.push_back({"version "s + version,
                       "GET /healthz "s + version + "\r\n" + host + "\r\n" + hidden,
                       {400},
                       ending::bad_head});
    }
    all.push_back(
        {"HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {505}, ending::bad_head});
    all.push_back({"HTTP/1.0", "GET /healthz HTTP/1.0\r\n\r\n", {200}, ending::closed});
    all.push_back({"HTTP/1.0 has one answer",
                   "GET /healthz HTTP/1.0\r\n\r\n" + hidden,
                   {200},
                   ending::closed});
    all.push_back(
        {"HTTP/1.0 that keeps", "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", {200}});
    all.push_back({"HTTP/1.0 with a body",
                   "PUT " + hello + " HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello",
                   {200},
                   ending::closed});
    all.push_back({"HTTP/1.0 with a body, kept",
                   "PUT " + hello +
                       " HTTP/1.0\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello" +
                       health,
                   {200, 200}});
    all.push_back({"Upgrade is ignored",
                   get("/healthz", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"),
                   {200}});
    all.push_back({"close ends what follows",
                   get("/healthz", "Connection: close\r\n") + hidden,
                   {200},
                   ending::closed});
    all.push_back({"close beats keep-alive",
                   get("/healthz", "Connection: keep-alive\r\nConnection: x, CLOSE\r\n"),
                   {200},
                   ending::closed});
}

void add_sizes(table& all) {
    const auto long_target = [](std::size_t size) {
        return "GET /" + std::string(size - 1, 'a') + " HTTP/1.1\r\n" + host + "\r\n";
    };
    all.push_back({"the longest target", long_target(target_bytes_max), {404}});
    all.push_back(
        {"a target too long", long_target(target_bytes_max + 1), {414}, ending::bad_head});
    all.push_back(
        {"a target without end", "GET /" + std::string(9'000, 'a'), {414}, ending::bad_head});
    const auto long_head = [](std::size_t size) {
        const std::string begin = "GET /healthz HTTP/1.1\r\n" + host + "A: ";
        return begin + std::string(size - begin.size() - 4, 'a') + "\r\n\r\n";
    };
    all.push_back({"the largest head", long_head(head_bytes_max), {200}});
    all.push_back({"a head too large", long_head(head_bytes_max + 1), {431}, ending::bad_head});
    all.push_back({"a field without end",
                   get("/healthz").substr(0, 40) + std::string(17'000, 'a'),
                   {431},
                   ending::bad_head});
    const auto many_fields = [](std::size_t count) {
        std::string fields;
        for (std::size_t i = 1; i < count; ++i) fields += "A: b\r\n";
        return get("/healthz", fields);
    };
    all.push_back({"as many fields as may be", many_fields(head_fields_max), {200}});
    all.push_back({"a field too many", many_fields(head_fields_max + 1), {431}, ending::bad_head});
    all.push_back(
        {"a long method", std::string(1'000, 'A') + " / HTTP/1.1\r\n" + host + "\r\n", {404}});
}

void add_targets(table& all) {
    const auto answered = [&](const std::string& target, int status) {
        all.push_back({"target " + target, get(target) + health, {status, 200}});
    };
    answered("/healthz?x=y", 200);
    answered("/%68ealthz", 200);
    answered("http://localhost/healthz", 200);
    answered("HTTP://LOCALHOST:80/healthz", 200);
    answered("http://localhost", 404);
    answered("http://localhost?x", 404);
    answered("http://evil.example/healthz", 403);
    answered("http:///healthz", 403);
    answered("https://localhost/healthz", 400);
    answered("localhost:80", 400);
    answered("healthz", 400);
    answered("*", 404);
    answered("/", 404);
    answered("//healthz", 404);
    answered("/healthz/", 404);
    answered("/./healthz", 404);
    answered("/blobs/../healthz", 400);
    answered("/healthz#x", 400);
    answered("/%", 400);
    answered("/%6", 400);
    answered("/%zz", 400);
    answered("/%00", 400);
    answered("/blobs%2fstat", 400);
    answered("/blobs%2Fstat", 400);
    answered("/%252fhealthz", 404);
    answered("/blobs/%2e%2e", 400);
    answered("/\xc3\xa4", 404);
    answered("/%ff", 404);
    answered("/%0d%0aX:y", 404);
    answered("/blobs?limit=0", 400);
    answered("/blobs?limit=%31", 200);
    answered("/blobs/git-sha1:" + std::string(40, 'a'), 400);
}

void add_methods(table& all) {
    const auto answered = [&](const std::string& line, int status) {
        all.push_back({line, line + " HTTP/1.1\r\n" + host + "\r\n" + health, {status, 200}});
    };
    answered("get /healthz", 405);
    answered("BREW /healthz", 405);
    answered("TRACE /healthz", 405);
    answered("PATCH " + hello, 405);
    answered("CONNECT localhost:80", 400);
    answered("OPTIONS *", 204);
    answered("OPTIONS " + hello, 204);
    answered("PRI *", 404);
}

void add_hosts(table& all) {
    const auto refused = [&](const std::string& fields) {
        all.push_back({"host " + fields,
                       "GET /healthz HTTP/1.1\r\n" + fields + "\r\n" + hidden,
                       {400},
                       ending::bad_head});
    };
    refused("");
    refused("Host: localhost\r\nHost: localhost\r\n");
    refused("Host: localhost\r\nA: b\r\nhOST: evil\r\n");
    refused("Host : localhost\r\n");
    for (const char* text : {"a b", "a,b", "a/b", "user@localhost", "a?b", "a#b", "a\\b",
                             "http://localhost", "localhost:x", "localhost:80:80", "localhost:-1",
                             "localhost:123456", "[::1", "::1]", "[::1]x", "[]", "[x]", ":80"}) {
        refused("Host: "s + text + "\r\n");
    }
    const auto answered = [&](const std::string& text, int status) {
        all.push_back({"for host " + text,
                       "GET /healthz HTTP/1.1\r\nHost: " + text + "\r\n\r\n" + health,
                       {status, 200}});
    };
    answered("LocalHost", 200);
    answered("localhost:1", 200);
    answered("localhost:", 200);
    answered("[::1]:", 200);
    answered("127.0.0.1:65535", 200);
    answered("[::1]", 200);
    answered("[::1]:80", 200);
    answered("[::2]:80", 403);
    answered("evil.example", 403);
    answered("localhost.evil.example", 403);
    answered("", 403);
}

void add_expectations(table& all) {
    const std::string line = "PUT " + hello + " HTTP/1.1\r\n" + host;
    all.push_back(
        {"expect 100", put("Expect: 100-continue\r\nContent-Length: 5\r\n", "hello"), {200}});
    all.push_back({"expect 100 in capitals",
                   put("EXPECT: 100-CONTINUE\r\nContent-Length: 5\r\n", "hello"),
                   {200}});
    all.push_back({"expect 100 without a body",
                   get("/healthz", "Expect: 100-continue\r\n") + health,
                   {200, 200}});
    for (const std::string& fields :
         {"Expect: 200-ok\r\n"s, "Expect: 100-continue, x\r\n"s, "Expect:\r\n"s,
          "Expect: 100-continue\r\nExpect: x\r\n"s, "Expect: x\r\nExpect: 100-continue\r\n"s}) {
        all.push_back({"expectation " + fields, get("/healthz", fields) + health, {417, 200}});
    }
    all.push_back({"expectation on HTTP/1.0",
                   "PUT " + hello + " HTTP/1.0\r\nExpect: x\r\nContent-Length: 5\r\n\r\nhello",
                   {200},
                   ending::closed});
    all.push_back(
        {"a refusal instead of leave",
         "PUT /blobs/x HTTP/1.1\r\n" + host + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
         {400},
         ending::closed});
}

void add_pipelines(table& all) {
    all.push_back({"ten in a row",
                   health + get(hello) + put("Content-Length: 5\r\n", "hello") + health +
                       put_chunks(hello_chunks) + get("/nowhere") + get(hello) + health +
                       get("/blobs/x") + health,
                   {200, 200, 200, 200, 200, 404, 200, 200, 400, 200}});
    all.push_back({"nothing behind a bad head",
                   health + "GET / HTTP/1.1\r\n\r\n" + hidden,
                   {200, 400},
                   ending::bad_head});
    all.push_back({"nothing behind bad chunks",
                   health + put_chunks("5\r\nhello?") + hidden,
                   {200, 400},
                   ending::bad_chunk});
    all.push_back({"nothing behind nonsense",
                   health + "nonsense\r\n" + hidden,
                   {200, 400},
                   ending::bad_head});
    all.push_back(
        {"a body ends where it says", put("Content-Length: 4\r\n", "hello") + health, {400, 405}});
    all.push_back({"a fragment is no blob",
                   put("Content-Range: bytes 0-4/9\r\nContent-Length: 5\r\n", "hello") + health,
                   {400, 200}});
    all.push_back({"an encoding is not undone",
                   put("Content-Encoding: gzip\r\nContent-Length: 5\r\n", "hello") + health,
                   {415, 200}});
    all.push_back(
        {"another blob's bytes", put("Content-Length: 5\r\n", "HELLO") + health, {400, 200}});
    all.push_back({"a length over every limit",
                   put("Content-Length: 9223372036854775807\r\n", "h"),
                   {413},
                   ending::closed});
}

table make_table() {
    table all;
    add_smuggling(all);
    add_good_framings(all);
    add_chunks(all);
    add_lines(all);
    add_versions(all);
    add_sizes(all);
    add_targets(all);
    add_methods(all);
    add_hosts(all);
    add_expectations(all);
    add_pipelines(all);
    return all;
}

}  // namespace

const std::vector<raw_vector>& raw_vectors() {
    static const table all = make_table();
    return all;
}

}  // namespace cairn::test
