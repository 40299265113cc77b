#include "store/folder.hpp"

#include "runtime/log.hpp"

#include <boost/json.hpp>
#include <boost/system/errc.hpp>
#include <cerrno>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

namespace cairn {
namespace {

namespace json = boost::json;

constexpr std::uint64_t format = 1;

// What holds a locked folder between the pool thread that locked it and its owner.
struct locked {
    int descriptor = -1;
    bool weak = false;
};

// Not in <linux/magic.h>.
constexpr std::int64_t cifs_magic = 0xff534d42;
constexpr std::int64_t fuse_magic = 0x65735546;

const char* weak_file_system(const std::filesystem::path& path) {
    struct statfs about {};
    if (statfs(path.c_str(), &about) != 0) return nullptr;
    switch (static_cast<std::int64_t>(about.f_type)) {
        case TMPFS_MAGIC: return "tmpfs";
        case RAMFS_MAGIC: return "ramfs";
        case NFS_SUPER_MAGIC: return "NFS";
        case SMB_SUPER_MAGIC:
        case SMB2_SUPER_MAGIC:
        case cifs_magic: return "SMB";
        case V9FS_MAGIC: return "9p";
        case fuse_magic: return "FUSE";
        default: return nullptr;
    }
}

error_code said(error_code why, const char* what, const std::filesystem::path& path) {
    log_error("store", "cannot {} {}: {}", what, path.string(), why.message());
    return why;
}

// A folder whose name is not durable would take everything in it along.
result<void> sync_parent(const std::filesystem::path& path) {
    auto clean = std::filesystem::absolute(path).lexically_normal();  // tidy: on the pool
    if (!clean.has_filename()) clean = clean.parent_path();           // "store/"
    const auto parent = clean.parent_path();
    const int descriptor = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return said(last_system_error(), "open", parent);
    const bool synced = ::fsync(descriptor) == 0;  // tidy: on the pool
    const error_code why = last_system_error();
    ::close(descriptor);
    if (!synced) return said(why, "sync", parent);
    return {};
}

result<void> make_folder(const std::filesystem::path& path) {
    if (::mkdir(path.c_str(), 0700) == 0) return sync_parent(path);
    if (errno == EEXIST) return {};
    return said(last_system_error(), "make", path);
}

result<locked> lock_folder(const std::filesystem::path& path, bool allow_weak_storage) {
    if (auto made = make_folder(path); !made) return made.error();
    const char* const weak = weak_file_system(path);
    if (weak != nullptr && !allow_weak_storage) {
        log_error("store",
                  "{} is on {}, which cannot keep blobs through a crash; use a local disk, or "
                  "--allow-weak-storage to go on without that promise",
                  path.string(), weak);
        return errc::weak_storage;
    }
    const auto lock_path = path / "lock";
    const int descriptor =
        ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) {
        return said(last_system_error(), "open", lock_path);
    }
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        const bool taken = errno == EWOULDBLOCK;
        const error_code why = taken ? error_code(errc::already_locked) : last_system_error();
        ::close(descriptor);
        return said(why, "lock", lock_path);
    }
    return locked{descriptor, weak != nullptr};
}

constexpr const char* marker_name = "folder";

}  // namespace

struct folder::marker {
    std::string incarnation;
    std::uint64_t boot = 0;
};

std::string folder::encode(const marker& mark) {
    json::object fields;
    fields["format"] = format;
    fields["catalog"] = mark.incarnation;
    fields["boot"] = mark.boot;
    return json::serialize(fields) + "\n";
}

result<folder::marker> folder::decode(std::string_view text) {
    boost::system::error_code ec;
    const json::value parsed = json::parse({text.data(), text.size()}, ec);
    if (ec || !parsed.is_object()) return errc::incompatible;
    const json::object& fields = parsed.get_object();
    const json::value* const version = fields.if_contains("format");
    const json::value* const incarnation = fields.if_contains("catalog");
    const json::value* const boot = fields.if_contains("boot");
    const bool complete = version != nullptr && incarnation != nullptr && boot != nullptr &&
                          incarnation->is_string() && boot->is_int64() &&
                          *version == json::value(format);
    if (!complete) return errc::incompatible;
    return marker{std::string(incarnation->get_string()),
                  static_cast<std::uint64_t>(boot->get_int64())};
}

folder::folder(file_system& files, std::filesystem::path path, int lock_descriptor, bool weak)
    : files_(files), path_(std::move(path)), lock_descriptor_(lock_descriptor), weak_(weak) {}

folder::~folder() { ::close(lock_descriptor_); }

awaitable<result<std::unique_ptr<folder>>> folder::open(runtime& threads,
                                                        file_system& files,
                                                        std::filesystem::path path,
                                                        bool allow_weak_storage) {
    auto lock = [&path, allow_weak_storage] { return lock_folder(path, allow_weak_storage); };
    auto held = co_await threads.pool().run(std::move(lock));
    if (!held) co_return held.error();
    co_return std::unique_ptr<folder>(
        new folder(files, std::move(path), held->descriptor, held->weak));
}

awaitable<result<void>> folder::join_catalog(std::string incarnation, std::uint64_t boot) {
    auto fits = co_await expect_catalog(incarnation, boot);
    if (!fits) co_return fits.error();
    co_return co_await take_catalog(std::move(incarnation), boot);
}

awaitable<result<void>> folder::take_catalog(std::string incarnation, std::uint64_t boot) {
    const marker fresh{std::move(incarnation), boot};
    co_return co_await write_marker(encode(fresh));
}

awaitable<result<void>> folder::expect_catalog(std::string incarnation, std::uint64_t boot) {
    const auto known = co_await read_marker();
    if (!known) co_return known.error();
    if (!*known) co_return result<void>();
    if ((*known)->incarnation != incarnation) co_return not_ours();
    if (boot <= (*known)->boot) {
        log_error(
            "store",
            "the catalog is at boot {} and its folder {} at {}: it is an older copy, and "
            "opening it would lose what came after; put the newer catalog back, or let `cairn "
            "rebuild` make one from it",
            boot, path_.string(), (*known)->boot);
        co_return errc::restored_copy;
    }
    co_return result<void>();
}

awaitable<result<std::uint64_t>> folder::last_boot() {
    const auto known = co_await read_marker();
    if (!known) co_return known.error();
    co_return *known ? (*known)->boot : 0;
}

// Nothing when no catalog joined yet.
awaitable<result<std::optional<folder::marker>>> folder::read_marker() {
    auto in = co_await files_.open(path_ / marker_name, open_mode::read);
    if (!in && in.error() == boost::system::errc::no_such_file_or_directory) {
        co_return std::optional<marker>();
    }
    if (!in) co_return in.error();
    const auto text = co_await (*in)->read_at(0, 4096);
    if (!text) co_return text.error();
    auto known = decode(text->text());
    if (!known) co_return not_ours();
    co_return std::move(*known);
}

error_code folder::not_ours() const {
    log_error("store", "{} does not belong to this catalog or is of another format",
              (path_ / marker_name).string());
    return errc::incompatible;
}

// Written beside, synced, then renamed over: after a crash it is the old or the new one.
awaitable<result<void>> folder::write_marker(std::string text) {
    const auto fresh_path = path_ / "folder.new";
    auto removed = co_await files_.remove(fresh_path);
    if (!removed) co_return removed.error();
    auto fresh = co_await files_.open(fresh_path, open_mode::create);
    if (!fresh) co_return fresh.error();
    auto written = co_await (*fresh)->write_at(0, buffer::copy_of(as_bytes(text)));
    if (!written) co_return written.error();
    auto synced = co_await (*fresh)->sync();
    if (!synced) co_return synced.error();
    auto renamed = co_await files_.rename(fresh_path, path_ / "folder");
    if (!renamed) co_return renamed.error();
    co_return co_await files_.sync_directory(path_);
}

}  // namespace cairn
