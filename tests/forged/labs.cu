/*
 * labs.cu - labs that write to the grader's channel themselves, as if no filter stood in the way. Lab 1 is
 * honest. Lab 2 says "done" before it works, and takes the next question off the channel. So the runner's
 * own "done" becomes the answer to that. Lab 3 says "done" and goes on.
 */
#include "../cheats/honest.h"
#include "grader/channel.h"
#include "ops/spmm.h"

#include <sys/syscall.h>
#include <unistd.h>

static void say_done(void)
{
    struct {
        message head;
        look seen;
    } forged = {};
    forged.head.bytes = sizeof forged.seen;
    syscall(SYS_sendto, CHANNEL_FD, &forged.head, sizeof forged.head, 0, NULL, 0);
    syscall(SYS_sendto, CHANNEL_FD, &forged.seen, sizeof forged.seen, 0, NULL, 0);
}

static void take(void *data, size_t bytes)
{
    for (size_t got = 0; got < bytes;) {
        const long n =
            syscall(SYS_recvfrom, CHANNEL_FD, (char *)data + got, bytes - got, 0, NULL, NULL);
        if (n <= 0) return;
        got += n;
    }
}

static cudaError_t forge_and_swallow(const spmm_plan *plan, const float *B, float *C,
                                     cudaStream_t stream)
{
    static char behind[1 << 16];
    message next = {};
    say_done();
    take(&next, sizeof next);
    if (next.bytes <= sizeof behind) take(behind, next.bytes);
    return honest_run(plan, B, C, stream);
}

static cudaError_t forge_and_go_on(const spmm_plan *plan, const float *B, float *C,
                                   cudaStream_t stream)
{
    say_done();
    return honest_run(plan, B, C, stream);
}

#define FORGED(number, run_function)                              \
    static spmm_contender lab##number = {                         \
        .base = {.lab = number, .name = "forged", .summary = ""}, \
        .run = run_function,                                      \
    };                                                            \
    SPMM_REGISTER(lab##number)

FORGED(1, honest_run)
FORGED(2, forge_and_swallow)
FORGED(3, forge_and_go_on)
