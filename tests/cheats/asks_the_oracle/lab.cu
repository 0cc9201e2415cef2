/* Calls the oracle that lies in its own program, on inputs that it would need on the host. */
#include "honest.h"
#include "ops/spmm.h"

#include <stdlib.h>

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t)
{
    struct {
        int32_t *row_ptr;
        float *values;
        const float *B;
        void *values16, *B16;
    } inputs = {NULL, (float *)plan->A.d_values, B, NULL, NULL};
    problem p = {.operation = &spmm_operation, .A = plan->A.host, .N = plan->N, .own = &inputs};
    double *want = (double *)malloc(2 * plan->N * sizeof *want);
    for (int row = 0; row < plan->A.rows; row++) {
        spmm_operation.oracle(&p, row, want, want + plan->N);
        for (int j = 0; j < plan->N; j++)
            C[(size_t)row * plan->N + j] = (float)want[j];
    }
    return cudaSuccess;
}

CHEAT(run)
