// What is chosen where io_uring works, and where it is refused: a seccomp filter on one thread
// stands for the container that does so.
#include "io/open_file_system.hpp"

#include "tests/io/backends.hpp"

#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstddef>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>

namespace cairn::test {
namespace {

// From now on one system call of this thread fails with EPERM.
bool forbid(int call) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter{.len = std::size(program), .filter = program};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

struct choice_made {
    bool forbidden = false;
    std::string refusal;
    std::string automatic;
    bool ring_threw = false;
};

choice_made choose_without(int call) {
    choice_made made;
    runtime on(two_threads());
    std::thread([&made, &on, call] {
        made.forbidden = forbid(call);
        made.refusal = ring::refusal();
        made.automatic = open_file_system(on)->name();
        try {
            open_file_system(on, io_choice::ring);
        } catch (const boost::system::system_error&) {
            made.ring_threw = true;
        }
    }).join();
    return made;
}

TEST_CASE("open_file_system: io_uring where it works") {
    if (!ring_available()) return;
    runtime on(two_threads());
    CHECK(open_file_system(on)->name() == "io_uring");
    CHECK(open_file_system(on, io_choice::ring)->name() == "io_uring");
}

TEST_CASE("open_file_system: the thread pool when asked for it") {
    runtime on(two_threads());
    CHECK(open_file_system(on, io_choice::pool)->name() == "thread pool");
}

TEST_CASE(
    "open_file_system: the thread pool where io_uring is refused, and the reason has a name") {
    const auto made = choose_without(SYS_io_uring_setup);
    if (!made.forbidden) {
        MESSAGE("skipped, seccomp filters are refused here");
        return;
    }
    CHECK(made.automatic == "thread pool");
    CHECK(made.ring_threw);
    CHECK(made.refusal.find("io_uring_setup: Operation not permitted") != std::string::npos);
}

TEST_CASE("open_file_system: a sandbox that admits the set-up and refuses the rest is noticed") {
    if (!ring_available()) return;
    for (const int call : {SYS_io_uring_register, SYS_io_uring_enter}) {
        const auto made = choose_without(call);
        if (!made.forbidden) continue;
        CHECK(made.automatic == "thread pool");
        CHECK(made.ring_threw);
    }
}

}  // namespace
}  // namespace cairn::test
