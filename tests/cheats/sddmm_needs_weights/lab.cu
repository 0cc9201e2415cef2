/* Reads weights also where there are none. */
#include "sddmm.h"

#include "ops/sddmm.h"

static cudaError_t run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream)
{
    return sddmm_rows(plan, X, Y, D, stream, true, -1);
}

static sddmm_contender lab30 = {
    .base = {.lab = 30, .name = "sddmm", .summary = ""},
    .run = run,
};
SDDMM_REGISTER(lab30)
