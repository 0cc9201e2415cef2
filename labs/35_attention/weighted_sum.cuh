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
constexpr int SUM_LOADS = 4;  /* rows of V on their way to a group */
constexpr int SUM_LONG = 256; /* nonzeros: a longer row gets all groups of its block */

/* Work of a group of lanes: its columns of V, and where they end. */
template <class T> struct summands {
    int d, column; /* the first of a lane's columns */
    const int *__restrict__ col_idx;
    const T *__restrict__ shares, *__restrict__ values;

    /* Adds every `step`-th batch of a row's nonzeros, from `begin` on. */
    template <int V>
    __device__ __forceinline__ void add(int begin, int end, int step, float (&sum)[V]) const
    {
        for (int z = begin; z < end; z += step) {
            T loaded[SUM_LOADS][V];
            float share[SUM_LOADS];
#pragma unroll
            for (int u = 0; u < SUM_LOADS; u++) {
                const int at = min(z + u, end - 1); /* beyond the end the last one again, unused */
                share[u] = widen(shares[at]);
                load_vector(loaded[u], values + (size_t)col_idx[at] * d + column);
            }
#pragma unroll
            for (int u = 0; u < SUM_LOADS; u++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    if (z + u < end) sum[v] += share[u] * widen(loaded[u][v]);
        }
    }
};

template <class T, int V> __device__ __forceinline__ void store_sum(T *to, const float (&sum)[V])
{
    T stored[V];
#pragma unroll
    for (int v = 0; v < V; v++)
        stored[v] = narrow<T>(sum[v]);
    store_vector(to, stored);
}

/* LANES lanes take a row of the pattern, and LANES * V columns of O at a time. Of a long row all groups of the block take
 * batches in turn, and their sums are added up in the order of the groups. */
template <class T, int LANES, int V>
static __global__ void __launch_bounds__(SUM_BLOCK)
    attention_weighted_sum_kernel(int rows, int d, const int *__restrict__ row_ptr,
                                  const int *__restrict__ col_idx, const T *__restrict__ shares,
                                  const T *__restrict__ values, T *__restrict__ O)
{
    constexpr int GROUPS = SUM_BLOCK / LANES;
    __shared__ float part[GROUPS][LANES * V];
    const int group = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const int first = blockIdx.x * GROUPS, column = (blockIdx.y * LANES + lane) * V;
    const summands<T> of = {d, column, col_idx, shares, values};
    const bool inside = column < d;
    if (first + group < rows && inside) {
        const int row = first + group, begin = row_ptr[row], end = row_ptr[row + 1];
        float sum[V] = {};
        if (end - begin <= SUM_LONG) {
            of.add(begin, end, SUM_LOADS, sum);
            store_sum(O + (size_t)row * d + column, sum);
        }
    }
    for (int row = first; row < min(first + GROUPS, rows); row++) {
        const int begin = row_ptr[row], end = row_ptr[row + 1];
        if (end - begin <= SUM_LONG) continue; /* alike for the whole block */
        float sum[V] = {};
        if (inside) of.add(begin + group * SUM_LOADS, end, GROUPS * SUM_LOADS, sum);
#pragma unroll
        for (int v = 0; v < V; v++)
            part[group][lane * V + v] = sum[v];
        __syncthreads();
        if (group == 0 && inside) {
            for (int g = 1; g < GROUPS; g++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    sum[v] += part[g][lane * V + v];
            store_sum(O + (size_t)row * d + column, sum);
        }
        __syncthreads(); /* before the next long row's sums */
    }
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
