// Serves a cached_disk as the one file `disk` of a FUSE mount, for a loop device to stand on.
//
//     power_cut_disk MOUNT_POINT IMAGE_FOLDER SIZE_BYTES
//
// Prints `ready` once mounted. Then, on standard input, `cut SEED PATH` writes an image of what a
// power cut would leave and answers `cut UNFLUSHED KEPT TORN`; the end of the input ends the
// program. The seed decides on which moment the cut falls: this one, the next flush that the kernel
// asks for, when the most is at stake, or one of the next writes. One thread serves both sides, so
// that is always between two requests of the kernel. Its flush arrives here as fsync: the loop
// device turns one into the other.
#define FUSE_USE_VERSION 35

#include "tests/support/cached_disk.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fuse_lowlevel.h>
#include <iostream>
#include <linux/falloc.h>
#include <optional>
#include <poll.h>
#include <sstream>
#include <string>
#include <sys/prctl.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace {

using cairn::test::cached_disk;

constexpr fuse_ino_t disk_inode = 2;
constexpr double for_ever = 1e9;     // seconds for which the kernel may keep names and attributes
constexpr int cut_patience_ms = 50;  // a cut waits that long for its moment

struct ordered_cut {
    std::uint64_t seed = 0;
    std::string image;
    std::uint64_t writes_before = 0;  // 0: the next flush
};

struct served_disk {
    cached_disk disk;
    std::optional<ordered_cut> waiting;

    ordered_cut* next_cut() { return waiting ? &*waiting : nullptr; }
    void cut() {
        const cached_disk::cut_report report = disk.cut(waiting->image, waiting->seed);
        waiting.reset();
        std::cout << "cut " << report.unflushed << ' ' << report.kept << ' ' << report.torn
                  << std::endl;
    }
};

served_disk& served(fuse_req_t request) {
    return *static_cast<served_disk*>(fuse_req_userdata(request));
}

cached_disk& disk_of(fuse_req_t request) { return served(request).disk; }

struct stat attributes(const cached_disk& disk, fuse_ino_t inode) {
    struct stat all {};
    all.st_ino = inode;
    all.st_mode = inode == disk_inode ? S_IFREG | 0600 : S_IFDIR | 0700;
    all.st_nlink = inode == disk_inode ? 1 : 2;
    all.st_size = inode == disk_inode ? static_cast<off_t>(disk.size_bytes()) : 0;
    return all;
}

// Runs the work of one request; what it throws becomes an I/O error of the disk.
template <class Work>
void guarded(fuse_req_t request, Work work) {
    try {
        work();
    } catch (const std::exception& failure) {
        std::cerr << "power_cut_disk: " << failure.what() << '\n';
        fuse_reply_err(request, EIO);
    }
}

void do_lookup(fuse_req_t request, fuse_ino_t, const char* name) {
    if (std::strcmp(name, "disk") != 0) {
        fuse_reply_err(request, ENOENT);
        return;
    }
    fuse_entry_param entry{};
    entry.ino = disk_inode;
    entry.attr = attributes(disk_of(request), disk_inode);
    entry.attr_timeout = entry.entry_timeout = for_ever;
    fuse_reply_entry(request, &entry);
}

void do_getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
    const struct stat all = attributes(disk_of(request), inode);
    fuse_reply_attr(request, &all, for_ever);
}

void do_open(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
    info->direct_io = 1;  // no cache between the loop device and the disk: its cache is the model
    fuse_reply_open(request, info);
}

void do_read(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info*) {
    guarded(request, [&] {
        std::vector<std::byte> bytes(size);
        const std::size_t got = disk_of(request).read(static_cast<std::uint64_t>(offset), bytes);
        fuse_reply_buf(request, reinterpret_cast<const char*>(bytes.data()), got);
    });
}

void do_write(
    fuse_req_t request, fuse_ino_t, const char* bytes, size_t size, off_t offset, fuse_file_info*) {
    guarded(request, [&] {
        disk_of(request).write(static_cast<std::uint64_t>(offset),
                               std::as_bytes(std::span(bytes, size)));
        if (ordered_cut* const next = served(request).next_cut(); next && next->writes_before > 0)
            if (--next->writes_before == 0) served(request).cut();
        fuse_reply_write(request, size);
    });
}

void do_fsync(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) {
    guarded(request, [&] {
        if (ordered_cut* const next = served(request).next_cut(); next && next->writes_before == 0)
            served(request).cut();
        disk_of(request).flush();
        fuse_reply_err(request, 0);
    });
}

void do_fallocate(
    fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length, fuse_file_info*) {
    const bool zeroes = (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0;
    if (!zeroes) {
        fuse_reply_err(request, EOPNOTSUPP);
        return;
    }
    guarded(request, [&] {
        disk_of(request).discard(static_cast<std::uint64_t>(offset),
                                 static_cast<std::uint64_t>(length));
        fuse_reply_err(request, 0);
    });
}

// One line of standard input.
void obey(served_disk& served, const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    ordered_cut order;
    words >> verb >> order.seed >> order.image;
    if (verb != "cut" || order.image.empty()) throw std::runtime_error("not a command: " + line);
    const std::uint64_t moment = order.seed % 3;
    constexpr std::uint64_t writes_ahead = 32;
    if (moment == 2) order.writes_before = 1 + order.seed / 3 % writes_ahead;
    served.waiting = std::move(order);
    if (moment == 0) served.cut();
}

// Requests of the kernel and commands of the test, in turn, until either side ends.
void serve(fuse_session* session, served_disk& served) {
    std::string pending;
    fuse_buf request{};
    while (!fuse_session_exited(session)) {
        pollfd waiting[2]{{fuse_session_fd(session), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        const int ready = ::poll(waiting, 2, served.waiting ? cut_patience_ms : -1);
        if (ready == 0) served.cut();
        if (ready <= 0) continue;
        if (waiting[0].revents != 0) {
            const int got = fuse_session_receive_buf(session, &request);
            if (got > 0) fuse_session_process_buf(session, &request);
            if (got <= 0 && got != -EINTR) break;
        }
        if (waiting[1].revents != 0) {
            char window[4096];
            const ssize_t got = ::read(STDIN_FILENO, window, sizeof window);
            if (got <= 0) break;
            pending.append(window, static_cast<std::size_t>(got));
            for (std::size_t end; (end = pending.find('\n')) != std::string::npos;) {
                obey(served, pending.substr(0, end));
                pending.erase(0, end + 1);
            }
        }
    }
    std::free(request.mem);
}

}  // namespace

int main(int count, char** words) try {
    if (count != 4) throw std::runtime_error("usage: MOUNT_POINT IMAGE_FOLDER SIZE_BYTES");
    // Memory pressure must not make this process write to the disk that it is.
    ::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
    served_disk served{cached_disk(words[2], std::stoull(words[3])), std::nullopt};

    fuse_lowlevel_ops operations{};
    operations.lookup = do_lookup;
    operations.getattr = do_getattr;
    operations.open = do_open;
    operations.read = do_read;
    operations.write = do_write;
    operations.fsync = do_fsync;
    operations.fallocate = do_fallocate;
    fuse_args arguments = FUSE_ARGS_INIT(1, words);
    fuse_session* session = fuse_session_new(&arguments, &operations, sizeof operations, &served);
    if (!session || fuse_session_mount(session, words[1]) != 0)
        throw std::runtime_error(std::string("cannot mount FUSE at ") + words[1]);
    std::cout << "ready" << std::endl;
    serve(session, served);
    fuse_session_unmount(session);
    fuse_session_destroy(session);
    return 0;
} catch (const std::exception& failure) {
    std::cerr << "power_cut_disk: " << failure.what() << '\n';
    return 1;
}
