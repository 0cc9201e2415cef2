/* An array that the linker puts among the functions, and a call of it. */
#include "honest.h"
#include "ops/spmm.h"

extern const unsigned char code[];
__attribute__((section(".text.code"))) const unsigned char code[] = {0x0f, 0x05, 0xc3};

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const unsigned char *volatile at = code;
    ((void (*)(void))at)();
    return honest_run(plan, B, C, stream);
}

CHEAT(run)
