#include "grader/seccomp.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* All that the CPU backend needs once a program has started: memory, its own threads and signals,
 * clocks, and the channel. A call that this processor's kernel does not have (poll of AArch64) is
 * left out by the library. */
static const int ALLOWED[] = {
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(recvfrom),
    SCMP_SYS(sendto),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(brk),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(timer_create),
    SCMP_SYS(timer_settime),
    SCMP_SYS(timer_delete),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(getrandom),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(ppoll),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(sysinfo),
    SCMP_SYS(poll),
};
enum { NUM_ALLOWED = sizeof ALLOWED / sizeof ALLOWED[0] };

/* Adds the rules to a filter that refuses everything. */
static bool add_rules(scmp_filter_ctx filter)
{
    /* A thread, not a process. The flags of clone3 lie in memory, out of a filter's sight: without it
     * the C library falls back to clone. */
    const struct scmp_arg_cmp a_thread = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
    /* A signal to itself: abort(), and the CPU backend's watch over kernels that never end. */
    const struct scmp_arg_cmp to_itself = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid());
    /* Data stays data: bytes of a constant cannot be made instructions. */
    const struct scmp_arg_cmp not_executable = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    bool added =
        seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0 &&
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, a_thread) == 0 &&
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, to_itself) == 0 &&
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, not_executable) == 0 &&
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, not_executable) == 0;
    for (int i = 0; i < NUM_ALLOWED; i++)
        added = added && seccomp_rule_add(filter, SCMP_ACT_ALLOW, ALLOWED[i], 0) == 0;
    return added;
}

bool install_seccomp_filter(void)
{
    /* Calls by the numbers of another architecture end the process: they would mean others. */
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    const bool installed =
        filter && seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
        add_rules(filter) && seccomp_load(filter) == 0;
    seccomp_release(filter);
    return installed;
}
