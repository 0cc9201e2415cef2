/* No cheat: gets every point, so that nothing else is what the others lose theirs for. */
#include "sddmm.h"

#include "ops/sddmm.h"

static cudaError_t run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream)
{
    return sddmm_rows(plan, X, Y, D, stream, plan->W.d_values, -1);
}

static sddmm_contender lab30 = {
    .base = {.lab = 30, .name = "sddmm", .summary = ""},
    .run = run,
};
SDDMM_REGISTER(lab30)
