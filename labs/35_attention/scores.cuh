/*
 * scores.cuh - scores that are no dot product: those of GAT and GATv2, on the pattern of all heads.
 *
 * An item is a nonzero of that pattern: row i * H + h names a row of el and of Q, column j * H + h a row of er and of V.
 */
#ifndef LABS_35_SCORES_CUH
#define LABS_35_SCORES_CUH

#include "device/half.cuh"
#include "device/warp.cuh"
#include "ops/attention.h"

constexpr int SCORE_BLOCK = 256;
constexpr int SCORE_LANES = 8; /* for an item: 8 floats are a sector */

__device__ __forceinline__ float leaky(float x)
{
    return x < 0 ? x * ATTENTION_SLOPE : x;
}

/* The row of a nonzero: the last one that begins at it or before. */
__device__ __forceinline__ int row_of(const int *__restrict__ row_ptr, int rows, int item)
{
    int low = 0, high = rows; /* row_ptr[low] <= item < row_ptr[high] */
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (row_ptr[middle] <= item)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A thread an item. */
template <class T>
static __global__ void
attention_gat_scores_kernel(int rows, int items, const int *__restrict__ row_ptr,
                            const int *__restrict__ col_idx, const float *__restrict__ el,
                            const float *__restrict__ er, T *__restrict__ S)
{
    const int item = blockIdx.x * SCORE_BLOCK + threadIdx.x;
    if (item >= items) return;
    S[item] = narrow<T>(leaky(el[row_of(row_ptr, rows, item)] + er[col_idx[item]]));
}

/* A group of lanes an item, a feature a lane. */
template <class T>
static __global__ void
attention_gatv2_scores_kernel(int rows, int items, int heads, int d,
                              const int *__restrict__ row_ptr, const int *__restrict__ col_idx,
                              const T *__restrict__ Q, const T *__restrict__ V,
                              const float *__restrict__ a, T *__restrict__ S)
{
    const int item = blockIdx.x * (SCORE_BLOCK / SCORE_LANES) + threadIdx.x / SCORE_LANES;
    const int lane = threadIdx.x % SCORE_LANES;
    if (item >= items) return; /* alike for all lanes of the group */
    const int row = row_of(row_ptr, rows, item);
    const T *const q = Q + (size_t)row * d, *const v = V + (size_t)col_idx[item] * d;
    const float *const of_head = a + (size_t)(row % heads) * d;
    float sum = 0;
    for (int c = lane; c < d; c += SCORE_LANES)
        sum += of_head[c] * leaky(widen(q[c]) + widen(v[c]));
    sum = subwarp_sum<SCORE_LANES>(sum);
    if (lane == 0) S[item] = narrow<T>(sum);
}

#endif
