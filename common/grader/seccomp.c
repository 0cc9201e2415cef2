#include "grader/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the seccomp filter needs x86-64 or AArch64"
#endif

/* All that the CPU backend needs once a program has started: memory, its own threads and signals,
 * clocks, and the channel. */
static const int ALLOWED[] = {
    SYS_read,
    SYS_write,
    SYS_recvfrom,
    SYS_sendto,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_sched_yield,
    SYS_rt_sigaction,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_sigaltstack,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_timer_create,
    SYS_timer_settime,
    SYS_timer_delete,
    SYS_getpid,
    SYS_gettid,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_getrandom,
    SYS_sched_getaffinity,
    SYS_exit,
    SYS_exit_group,
    SYS_ppoll,
    SYS_restart_syscall,
    SYS_sysinfo,
#ifdef SYS_poll
    SYS_poll,
#endif
};
enum { NUM_ALLOWED = sizeof ALLOWED / sizeof ALLOWED[0] };

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, action)
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)
#define UNLESS_SET(bits, skipped) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, skipped)

bool install_seccomp_filter(void)
{
    struct sock_filter filter[32 + 2 * NUM_ALLOWED], *next = filter;
    const struct sock_filter begin[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0),
        ANSWER(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        /* The request to clone3 lies in memory, out of a filter's sight: the C library then falls
         * back to clone, whose first argument tells a thread from a process. */
        UNLESS(SYS_clone3, 1),
        ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
        UNLESS(SYS_clone, 4),
        LOAD(args[0]), /* the lower half, on a little-endian machine */
        UNLESS_SET(CLONE_THREAD, 1),
        ANSWER(SECCOMP_RET_ALLOW),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
        /* A signal to itself: abort(), and the CPU backend's watch over kernels that never end. */
        UNLESS(SYS_tgkill, 4),
        LOAD(args[0]),
        UNLESS((unsigned)getpid(), 1),
        ANSWER(SECCOMP_RET_ALLOW),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
        /* Keeps data as data: bytes of a constant cannot be made instructions. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
        UNLESS(SYS_mprotect, 4),
        LOAD(args[2]),
        UNLESS_SET(PROT_EXEC, 1),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
        ANSWER(SECCOMP_RET_ALLOW),
    };
    for (size_t i = 0; i < sizeof begin / sizeof begin[0]; i++)
        *next++ = begin[i];
    for (int i = 0; i < NUM_ALLOWED; i++) {
        *next++ = (struct sock_filter)UNLESS(ALLOWED[i], 1);
        *next++ = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
    }
    *next++ = (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | EPERM);
    const struct sock_fprog program = {.len = (unsigned short)(next - filter), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
