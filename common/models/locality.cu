/*
 * locality.cu - counts how often rows go from one block of columns into another, for all sizes at
 * once: two columns lie in different blocks of 2^s columns if they differ in bit s or above.
 */
#include "models/locality.h"

#include "device/exec_space.cuh"
#include "device/warp.cuh"

#include <math.h>

constexpr int WARPS = 8, BLOCK = WARPS * WARP_SIZE;
constexpr int ROWS = 16; /* of a warp: all warps add to the same few counters in the end */

/* The smallest s such that both columns lie in one block of 2^s columns. */
static __host__ __device__ int level_apart(int a, int b)
{
#ifdef __CUDA_ARCH__
    return 32 - __clz(a ^ b);
#else
    return a == b ? 0 : 32 - __builtin_clz((unsigned)(a ^ b));
#endif
}

/* Sizes that see the step from column a to column b as entering another block. */
static __host__ __device__ int sizes_entered(int a, int b)
{
    const int sizes = level_apart(a, b) - LOCALITY_FIRST;
    return sizes < 0 ? 0 : sizes > LOCALITY_SIZES ? LOCALITY_SIZES : sizes;
}

/* steps[s]: nonzeros that enter another block for the s smallest sizes, and no others. */
static __global__ void count_steps_kernel(int rows, const int *__restrict__ row_ptr,
                                          const int *__restrict__ col_idx,
                                          unsigned long long *steps)
{
    /* A warp has its own, and does not wait for those with longer rows. */
    __shared__ unsigned counts[WARPS][LOCALITY_SIZES + 1];
    unsigned *const count = counts[warp_id()];
    if (lane_id() <= LOCALITY_SIZES) count[lane_id()] = 0;
    __syncwarp();
    const int first_row = (blockIdx.x * WARPS + warp_id()) * ROWS;
    for (int row = first_row; row < min(first_row + ROWS, rows); row++) {
        const int first = row_ptr[row], end = row_ptr[row + 1];
#pragma unroll 4
        for (int k = first + lane_id(); k < end; k += WARP_SIZE) {
            const int sizes =
                k == first ? LOCALITY_SIZES : sizes_entered(col_idx[k - 1], col_idx[k]);
            if (sizes > 0) atomicAdd(&count[sizes], 1u);
        }
    }
    __syncwarp();
    if (lane_id() <= LOCALITY_SIZES && count[lane_id()] > 0)
        atomicAdd(&steps[lane_id()], (unsigned long long)count[lane_id()]);
}

static void count_on_host(const csr_matrix *A, unsigned long long *steps)
{
    for (int64_t row = 0; row < A->rows; row++)
        for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++)
            steps[k == A->row_ptr[row] ? LOCALITY_SIZES
                                       : sizes_entered(A->col_idx[k - 1], A->col_idx[k])]++;
}

cudaError_t locality_measure(const spmm_matrix *A, bool on_host, locality *l)
{
    unsigned long long steps[LOCALITY_SIZES + 1] = {}, *d_steps = NULL;
    cudaError_t error = cudaSuccess;
    *l = {};
    if (A->rows == 0) return cudaSuccess;
    if (on_host) {
        count_on_host(A->host, steps);
    } else {
        CUDA_TRY(allocate(ON_DEVICE, &d_steps, LOCALITY_SIZES + 1));
        count_steps_kernel<<<(A->rows - 1) / (WARPS * ROWS) + 1, BLOCK>>>(A->rows, A->d_row_ptr,
                                                                          A->d_col_idx, d_steps);
        error = cudaGetLastError();
        if (error == cudaSuccess)
            error = cudaMemcpy(steps, d_steps, sizeof steps, cudaMemcpyDeviceToHost);
        cudaFree(d_steps);
    }
    /* Size i sees the steps that the s smallest sizes see, for all s above i. */
    for (int i = 0; i < LOCALITY_SIZES; i++)
        for (int s = i + 1; s <= LOCALITY_SIZES; s++)
            l->entered[i] += (int64_t)steps[s];
    return error;
}

double locality_entered(const locality *l, double cols)
{
    const double at = log2(cols > 1 ? cols : 1) - (int)LOCALITY_FIRST;
    if (at <= 0) return (double)l->entered[0];
    if (at >= LOCALITY_SIZES - 1) return (double)l->entered[LOCALITY_SIZES - 1];
    const int i = (int)at;
    return l->entered[i] + (at - i) * (double)(l->entered[i + 1] - l->entered[i]);
}
