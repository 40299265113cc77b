#include "io/memory_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <random>
#include <set>
#include <string_view>
#include <utility>

namespace cairn {
namespace {

std::string folder_of(std::string_view path) {
    const auto slash = path.rfind('/');
    return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

std::string name_in_folder(std::string_view path) {
    return std::string(path.substr(path.rfind('/') + 1));
}

std::uint64_t length_of(const image_change& change) noexcept {
    return change.what == image_change::kind::write ? change.bytes.size() : change.size_bytes;
}

// The part of a write or clear that lies in [begin, end); maybe nothing.
std::optional<image_change> part_of(const image_change& change,
                                    std::uint64_t begin,
                                    std::uint64_t end) {
    begin = std::max(begin, change.offset);
    end = std::min(end, change.offset + length_of(change));
    if (begin >= end) return std::nullopt;
    image_change part = change;
    part.offset = begin;
    if (change.what == image_change::kind::write)
        part.bytes = change.bytes.slice(begin - change.offset, end - begin);
    else
        part.size_bytes = end - begin;
    return part;
}

// No more than was promised, byte by byte; but a new size takes all with it.
void make_durable(inode& node, byte_range written) {
    const std::uint64_t to_end = byte_range::to_end;
    const bool reaches_end = written.size_bytes > to_end - written.offset;
    const std::uint64_t end = reaches_end ? to_end : written.offset + written.size_bytes;
    const auto is_resize = [](const auto& each) { return each.what == image_change::kind::resize; };
    const bool everything = std::any_of(node.unsynced.begin(), node.unsynced.end(), is_resize);
    std::vector<image_change> left;
    for (const image_change& each : node.unsynced) {
        const std::optional<image_change> inside =
            everything ? each : part_of(each, written.offset, end);
        if (inside) apply(*inside, node.synced);
        if (everything) continue;
        if (auto before = part_of(each, 0, written.offset)) left.push_back(std::move(*before));
        if (auto behind = part_of(each, end, to_end)) left.push_back(std::move(*behind));
    }
    node.unsynced = std::move(left);
}

}  // namespace

void apply(const image_change& change, memory_image& to) {
    switch (change.what) {
        case image_change::kind::write: to.write(change.offset, change.bytes.view()); break;
        case image_change::kind::resize: to.resize(change.size_bytes); break;
        case image_change::kind::clear: to.clear(change.offset, change.size_bytes); break;
    }
}

memory_disk::memory_disk(std::size_t piece_bytes) : piece_bytes_(piece_bytes) {
    auto root = std::make_shared<inode>();
    root->is_folder = true;
    names_["/"] = root;
    synced_names_["/"] = root;
}

int memory_disk::make_next_call(const inode_handle& of, operation& work) {
    static constexpr file_call calls[] = {file_call::read, file_call::write, file_call::sync};
    const auto due = plan_.next(calls[static_cast<std::size_t>(work.what())]);
    std::size_t piece = std::min<std::size_t>(work.size(), piece_bytes_);
    if (due == fault_kind::short_transfer) piece = std::max<std::size_t>(piece / 2, 1);

    std::lock_guard lock(mutex_);
    if (of.boot != boot_) return -EIO;
    inode& node = *of.node;
    if (due && *due != fault_kind::short_transfer) {
        // The kernel reports a failed write-back once and forgets that the pages were dirty.
        if (work.what() == operation::kind::sync) node.unsynced.clear();
        return -error_number_of(*due);
    }
    switch (work.what()) {
        case operation::kind::read:
            return static_cast<int>(node.written.read(work.offset(), {work.data(), piece}));
        case operation::kind::write: {
            if (!of.writable) return -EBADF;
            image_change written;
            written.offset = work.offset();
            written.bytes = buffer::copy_of({work.data(), piece});
            cairn::apply(written, node.written);
            node.unsynced.push_back(std::move(written));
            return static_cast<int>(piece);
        }
        case operation::kind::sync: make_durable(node, work.range()); return 0;
    }
    return -EINVAL;
}

result<void> memory_disk::change(const inode_handle& of, file_call call, image_change wanted) {
    if (auto admitted = plan_.admit(call); !admitted) return admitted;
    std::lock_guard lock(mutex_);
    if (of.boot != boot_) return system_error_from(EIO);
    if (!of.writable) return system_error_from(EBADF);
    inode& node = *of.node;
    if (call == file_call::preallocate && wanted.size_bytes <= node.written.size()) return {};
    cairn::apply(wanted, node.written);
    node.unsynced.push_back(std::move(wanted));
    return {};
}

result<std::uint64_t> memory_disk::size(const inode_handle& of) {
    if (auto admitted = plan_.admit(file_call::size); !admitted) return admitted.error();
    std::lock_guard lock(mutex_);
    if (of.boot != boot_) return system_error_from(EIO);
    return of.node->written.size();
}

bool memory_disk::cached(const inode_handle& of) {
    if (plan_.next(file_call::try_read)) return false;
    std::lock_guard lock(mutex_);
    return of.boot == boot_;
}

result<inode_handle> memory_disk::open(const std::string& path, open_mode mode) {
    if (auto admitted = plan_.admit(file_call::open); !admitted) return admitted.error();
    std::lock_guard lock(mutex_);
    if (!has_folder(folder_of(path))) return system_error_from(ENOENT);
    auto found = find(path);
    if (mode == open_mode::create) {
        if (found) return system_error_from(EEXIST);
        found = std::make_shared<inode>();
        ++calls_;
        set_name(path, found);
    }
    if (!found) return system_error_from(ENOENT);
    if (found->is_folder) return system_error_from(EISDIR);
    inode_handle opened;
    opened.node = std::move(found);
    opened.boot = boot_;
    opened.writable = mode != open_mode::read;
    return opened;
}

result<void> memory_disk::remove(const std::string& path) {
    if (auto admitted = plan_.admit(file_call::remove); !admitted) return admitted;
    std::lock_guard lock(mutex_);
    const auto found = find(path);
    if (!found) return {};
    if (found->is_folder) return system_error_from(EISDIR);
    ++calls_;
    set_name(path, nullptr);
    return {};
}

result<void> memory_disk::rename(const std::string& from, const std::string& to) {
    if (auto admitted = plan_.admit(file_call::rename); !admitted) return admitted;
    std::lock_guard lock(mutex_);
    const auto moved = find(from);
    const auto replaced = find(to);
    if (!moved || !has_folder(folder_of(to))) return system_error_from(ENOENT);
    if (moved->is_folder || (replaced && replaced->is_folder)) return system_error_from(EISDIR);
    if (moved == replaced) return {};
    ++calls_;
    set_name(from, nullptr);
    set_name(to, moved);
    return {};
}

result<void> memory_disk::make_folder(const std::string& path) {
    if (auto admitted = plan_.admit(file_call::make_directory); !admitted) return admitted;
    std::lock_guard lock(mutex_);
    if (has_folder(path)) return {};
    if (find(path)) return system_error_from(EEXIST);
    if (!has_folder(folder_of(path))) return system_error_from(ENOENT);
    auto made = std::make_shared<inode>();
    made->is_folder = true;
    ++calls_;
    set_name(path, std::move(made));
    return {};
}

result<void> memory_disk::sync_folder(const std::string& path) {
    const auto admitted = plan_.admit(file_call::sync_directory);
    std::lock_guard lock(mutex_);
    if (!has_folder(path)) return system_error_from(ENOENT);
    const auto is_inside = [&path](const name_change& each) {
        return folder_of(each.path) == path;
    };
    if (admitted) {
        for (const auto& each : unsynced_names_) {
            if (is_inside(each)) apply(each, synced_names_);
        }
    }
    std::erase_if(unsynced_names_, is_inside);  // a failed sync loses them, as with bytes
    return admitted;
}

result<std::vector<std::string>> memory_disk::list(const std::string& path) {
    if (auto admitted = plan_.admit(file_call::list); !admitted) return admitted.error();
    std::lock_guard lock(mutex_);
    if (!has_folder(path)) return system_error_from(ENOENT);
    std::vector<std::string> found;
    for (const auto& [each, node] : names_) {
        if (!node->is_folder && folder_of(each) == path) found.push_back(name_in_folder(each));
    }
    return found;
}

result<disk_space> memory_disk::space() {
    if (auto admitted = plan_.admit(file_call::space); !admitted) return admitted.error();
    std::lock_guard lock(mutex_);
    return space_;
}

void memory_disk::set_space(disk_space bytes) {
    std::lock_guard lock(mutex_);
    space_ = bytes;
}

void memory_disk::crash(std::optional<std::uint64_t> seed) {
    std::lock_guard lock(mutex_);
    std::mt19937_64 random(seed.value_or(0));
    const auto kept = [&seed, &random] { return seed && (random() >> 63) != 0; };
    ++boot_;

    // What one call changed, such as both names of a rename, stays or goes together.
    std::set<std::uint64_t> dropped;
    std::uint64_t judged = 0;
    for (const auto& each : unsynced_names_) {
        if (std::exchange(judged, each.call) != each.call && !kept()) dropped.insert(each.call);
        if (!dropped.contains(each.call)) apply(each, synced_names_);
    }
    unsynced_names_.clear();

    names_.clear();
    for (const auto& [path, node] : synced_names_) {
        if (path != "/" && !has_folder(folder_of(path))) continue;  // its folder did not survive
        names_[path] = node;
        for (const auto& each : node->unsynced) {
            if (kept()) cairn::apply(each, node->synced);
        }
        node->unsynced.clear();
        node->written = node->synced;
    }
    synced_names_ = names_;
}

std::shared_ptr<inode> memory_disk::find(const std::string& path) const {
    const auto found = names_.find(path);
    return found == names_.end() ? nullptr : found->second;
}

bool memory_disk::has_folder(const std::string& path) const {
    const auto found = find(path);
    return found && found->is_folder;
}

void memory_disk::set_name(const std::string& path, std::shared_ptr<inode> node) {
    unsynced_names_.push_back({.call = calls_, .path = path, .node = std::move(node)});
    apply(unsynced_names_.back(), names_);
}

void memory_disk::apply(const name_change& change, name_map& to) {
    if (change.node)
        to[change.path] = change.node;
    else
        to.erase(change.path);
}

}  // namespace cairn
