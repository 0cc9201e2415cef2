/* A system call and a return in a number, which is jumped into. */
#include "honest.h"
#include "ops/spmm.h"

static volatile int number;

static void set_number(void)
{
    number = 0x90c3050f;
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    void (*volatile const set)(void) = set_number;
    ((void (*)(void))((char *)set + 6))();
    return honest_run(plan, B, C, stream);
}

CHEAT(run)
