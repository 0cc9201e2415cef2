/* The last result, copied to where the next one is wanted. */
#include "honest.h"
#include "ops/spmm.h"

static float *last;
static int last_rows, last_N;

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const size_t bytes = (size_t)plan->A.rows * plan->N * sizeof *C;
    float *const from = last;
    last = C;
    if (from && last_rows == plan->A.rows && last_N == plan->N && from != C)
        return cudaMemcpyAsync(C, from, bytes, cudaMemcpyDeviceToDevice, stream);
    last_rows = plan->A.rows;
    last_N = plan->N;
    return honest_run(plan, B, C, stream);
}

CHEAT(run)
