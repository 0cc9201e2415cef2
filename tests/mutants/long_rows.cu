/*
 * long_rows.cu - faults that are small beside a long sum: a lost or doubled product, operands or products of
 * fewer bits. A bound that grows with the square of a row's length forgives them all.
 */
#include "mutant.h"

#include <cuda_fp16.h>

enum bug {
    LONG_HEALTHY,
    ONE_LOST,
    ONE_COUNTED_TWICE,
    VALUES_IN_FP16,
    PRODUCTS_OF_TF32,
    SUMS_OF_PARTS_IN_FP16
};

constexpr int BLOCK = 128, LONG = 1024;

/* x with the 10 bits of tf32 behind the first one. */
static __device__ float to_tf32(float x)
{
    return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u);
}

/* Adds up a row in four parts, as a kernel does that splits long rows. */
template <bug BUG>
static __global__ void long_rows_kernel(spmm_matrix A, const float *__restrict__ B, float *C, int N)
{
    const int row = blockIdx.x, j = blockIdx.y * BLOCK + threadIdx.x;
    if (j >= N) return;
    const int start = A.d_row_ptr[row], count = A.d_row_ptr[row + 1] - start;
    float part[4] = {};
    for (int k = 0; k < count; k++) {
        float a = A.d_values[start + k], b = B[(size_t)A.d_col_idx[start + k] * N + j];
        if (count > LONG) {
            if (BUG == ONE_LOST && k == count - 1) continue;
            if (BUG == ONE_COUNTED_TWICE && k == 7) part[0] += a * b;
            if (BUG == VALUES_IN_FP16) a = __half2float(__float2half(a));
            if (BUG == PRODUCTS_OF_TF32) a = to_tf32(a), b = to_tf32(b);
        }
        part[k % 4] += a * b;
    }
    for (int i = 0; i < 4; i++)
        if (BUG == SUMS_OF_PARTS_IN_FP16 && count > LONG)
            part[i] = __half2float(__float2half(part[i]));
    C[(size_t)row * N + j] = part[0] + part[1] + part[2] + part[3];
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const dim3 grid(plan->A.rows, (plan->N + BLOCK - 1) / BLOCK);
    long_rows_kernel<BUG><<<grid, BLOCK, 0, stream>>>(plan->A, B, C, plan->N);
    return cudaGetLastError();
}

#define LONG_ROWS_MUTANT(bug, diagnosis)                                         \
    static spmm_contender mutant_##bug = {                                       \
        .base = {.lab = SHOWS_ON_LONG_ROWS, .name = #bug, .summary = diagnosis}, \
        .run = run<bug>,                                                         \
    };                                                                           \
    SPMM_REGISTER(mutant_##bug)

LONG_ROWS_MUTANT(LONG_HEALTHY, NULL)
LONG_ROWS_MUTANT(ONE_LOST, "wrong values: only rows longer than 2 nonzeros")
LONG_ROWS_MUTANT(ONE_COUNTED_TWICE, "wrong values: only rows longer than 2 nonzeros")
LONG_ROWS_MUTANT(VALUES_IN_FP16, "wrong values: only rows longer than 2 nonzeros")
LONG_ROWS_MUTANT(PRODUCTS_OF_TF32, "wrong values: only rows longer than 2 nonzeros")
LONG_ROWS_MUTANT(SUMS_OF_PARTS_IN_FP16, "wrong values: only rows longer than 2 nonzeros")
