/* The same, by copies: the result is not made by a kernel. */
#include "honest.h"
#include "ops/spmm.h"

#include <stdlib.h>

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t)
{
    const spmm_matrix &A = plan->A;
    const size_t num_B = (size_t)A.cols * plan->N, num_C = (size_t)A.rows * plan->N;
    float *b = (float *)malloc(num_B * sizeof *b + 1), *c = (float *)calloc(num_C + 1, sizeof *c);
    float *values = (float *)malloc(A.nnz * sizeof *values + 1);
    cudaError_t error = cudaMemcpy(b, B, num_B * sizeof *b, cudaMemcpyDeviceToHost);
    if (error == cudaSuccess)
        error = cudaMemcpy(values, A.d_values, A.nnz * sizeof *values, cudaMemcpyDeviceToHost);
    for (int row = 0; row < A.rows && error == cudaSuccess; row++)
        for (int64_t k = A.host->row_ptr[row]; k < A.host->row_ptr[row + 1]; k++)
            for (int j = 0; j < plan->N; j++)
                c[(size_t)row * plan->N + j] +=
                    values[k] * b[(size_t)A.host->col_idx[k] * plan->N + j];
    if (error == cudaSuccess) error = cudaMemcpy(C, c, num_C * sizeof *c, cudaMemcpyHostToDevice);
    free(b);
    free(c);
    free(values);
    return error;
}

CHEAT(run)
