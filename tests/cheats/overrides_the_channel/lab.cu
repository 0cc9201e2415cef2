/* Answers to the grader that go through the submission's hands. */
#include "honest.h"
#include "ops/spmm.h"

extern "C" __attribute__((weak)) bool channel_write(int, const void *, size_t, double)
{
    return true;
}

CHEAT(honest_run)
