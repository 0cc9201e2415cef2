/* The same, with a word that no search finds. */
#include "honest.h"
#include "ops/spmm.h"

#define GLUE(a, b) a##b
#define WORD GLUE(as, m)

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    long result;
    WORD volatile(".byte 0x0f, 0x05" : "=a"(result) : "a"(57) : "rcx", "r11", "memory");
    return honest_run(plan, B, C, stream);
}

CHEAT(run)
