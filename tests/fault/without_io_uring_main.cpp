// Runs a program where io_uring is refused, as containers and hardened kernels do.
//
//     without_io_uring EPERM|ENOSYS PROGRAM [ARGUMENT...]
//
// A seccomp filter, which the program and its children inherit, answers the three system calls of
// io_uring with that error. Exit status 2: usage; 125: the filter is refused here.
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

bool forbid_io_uring(unsigned error_number) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_register, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error_number),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter{.len = std::size(program), .filter = program};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) return 2;
    const std::string_view how = words[1];
    if (how != "EPERM" && how != "ENOSYS") return 2;
    if (!forbid_io_uring(how == "EPERM" ? EPERM : ENOSYS)) {
        std::perror("seccomp");
        return 125;
    }
    ::execvp(words[2], words + 2);
    std::perror(words[2]);
    return 126;
}
