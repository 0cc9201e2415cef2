/*
 * lane_groups.cuh - groups of LANES lanes that share a warp, a group for each row or a share of one. A lane
 * has K vectors of V columns of a sum. Lab 20's gather kernel is made of the same groups.
 */
#ifndef LAB10_LANE_GROUPS_CUH
#define LAB10_LANE_GROUPS_CUH

#include "device/warp.cuh"

/* sum += the value with these bits times b. */
template <int K, int V>
static __device__ __forceinline__ void multiply_add(float (&sum)[K][V], int value_bits,
                                                    const float (&b)[K][V])
{
    const float value = __int_as_float(value_bits);
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
        for (int v = 0; v < V; v++)
            sum[k][v] += value * b[k][v];
}

/* Pairs of a row, segment or part of `count` that each of `groups` groups takes: whole rounds. */
template <int LANES> static __device__ __forceinline__ int share_of(int count, int groups)
{
    const int rounds = (count + LANES - 1) / LANES;
    return (rounds + groups - 1) / groups * LANES;
}

/* The sum over the groups of the warp, in every group. */
template <int LANES, int V, int K>
static __device__ __forceinline__ void add_groups(float (&sum)[K][V])
{
#pragma unroll
    for (int distance = LANES; distance < WARP_SIZE; distance *= 2)
#pragma unroll
        for (int k = 0; k < K; k++)
#pragma unroll
            for (int v = 0; v < V; v++)
                sum[k][v] += __shfl_xor_sync(FULL_MASK, sum[k][v], distance);
}

#endif
