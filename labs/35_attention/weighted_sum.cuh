/*
 * weighted_sum.cuh - O = P * V for shares that a kernel has just made: an SpMM that keeps no copy of its values.
 */
#ifndef LABS_35_WEIGHTED_SUM_CUH
#define LABS_35_WEIGHTED_SUM_CUH

#include "device/half.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "ops/device_csr.h"

constexpr int SUM_BLOCK = 256;
constexpr int SUM_LOADS = 4; /* rows of V on their way to a group */

/* LANES lanes take a row of the pattern, and LANES * V columns of O at a time. */
template <class T, int LANES, int V>
static __global__ void
attention_weighted_sum_kernel(int rows, int d, const int *__restrict__ row_ptr,
                              const int *__restrict__ col_idx, const T *__restrict__ shares,
                              const T *__restrict__ values, T *__restrict__ O)
{
    const int row = blockIdx.x * (SUM_BLOCK / LANES) + threadIdx.x / LANES;
    const int column = (blockIdx.y * LANES + threadIdx.x % LANES) * V;
    if (row >= rows || column >= d) return; /* lanes work alone */
    const int begin = row_ptr[row], end = row_ptr[row + 1];
    float sum[V] = {};
    for (int z = begin; z < end; z += SUM_LOADS) {
        T loaded[SUM_LOADS][V];
        float share[SUM_LOADS];
#pragma unroll
        for (int u = 0; u < SUM_LOADS; u++) {
            const int at = min(z + u, end - 1); /* the last one again, with a share of 0 */
            share[u] = z + u < end ? widen(shares[at]) : 0;
            load_vector(loaded[u], values + (size_t)col_idx[at] * d + column);
        }
#pragma unroll
        for (int u = 0; u < SUM_LOADS; u++)
#pragma unroll
            for (int v = 0; v < V; v++)
                if (z + u < end) sum[v] += share[u] * widen(loaded[u][v]);
    }
    T stored[V];
#pragma unroll
    for (int v = 0; v < V; v++)
        stored[v] = narrow<T>(sum[v]);
    store_vector(O + (size_t)row * d + column, stored);
}

/* ---- mode WEIGHTED ---------------------------------------------------------------------------- */

/* A value of A for each head, in the order of the pattern of all heads: a thread a value of that. */
template <class T>
static __global__ void attention_repeat_kernel(int rows, int heads, const int *__restrict__ row_ptr,
                                               const T *__restrict__ values, T *__restrict__ shares)
{
    const int row = blockIdx.x * (SUM_BLOCK / WARP_SIZE) + threadIdx.x / WARP_SIZE;
    if (row >= rows) return;
    const int first = row_ptr[row], n = row_ptr[row + 1] - first;
    for (int h = 0; h < heads; h++)
        for (int k = threadIdx.x % WARP_SIZE; k < n; k += WARP_SIZE)
            shares[(size_t)first * heads + (size_t)h * n + k] = values[first + k];
}

#endif
