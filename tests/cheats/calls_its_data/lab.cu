/* A system call in an array, and a call of that. */
#include "honest.h"
#include "ops/spmm.h"

static unsigned char code[] = {0x0f, 0x05, 0xc3};

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    unsigned char *volatile at = code;
    ((void (*)(void))at)();
    return honest_run(plan, B, C, stream);
}

CHEAT(run)
