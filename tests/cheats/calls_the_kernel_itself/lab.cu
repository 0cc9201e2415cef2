/* System calls by hand. */
#include "honest.h"
#include "ops/spmm.h"

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(57) : "rcx", "r11", "memory");
    return honest_run(plan, B, C, stream);
}

CHEAT(run)
