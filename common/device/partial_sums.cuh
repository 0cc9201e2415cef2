/*
 * partial_sums.cuh - sums that several blocks have parts of, added up in one order: the same bits in every run.
 *
 * Each block leaves its part in the memory of partial_sums.h. The one that comes last adds up all parts, from the first to
 * the last, whoever made them. A thread has COUNT times four sums, and in each part the same ones.
 */
#ifndef DEVICE_PARTIAL_SUMS_CUH
#define DEVICE_PARTIAL_SUMS_CUH

#include "device/last_block.cuh"
#include "device/partial_sums.h"
#include "device/vec.cuh"

/* The place of a thread's four sums number i in a part: THREADS apart, so that a warp moves 512 bytes at once. */
template <int THREADS, int COUNT>
static __device__ __forceinline__ float *part_place(float *parts, size_t part, int i)
{
    return parts + ((part * COUNT + i) * THREADS + threadIdx.x) * 4;
}

/* Leaves a block's sums as part `own` of first .. end - 1. Returns true in the block that comes last: its sums are then those
 * of all parts. number(part): the part's number among those of all results. arrived: this result's counter. */
template <int THREADS, int COUNT, class F>
static __device__ __forceinline__ bool add_parts(float *parts, unsigned *arrived, int own,
                                                 int first, int end, const F &number,
                                                 float (&sum)[COUNT][4])
{
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        store_vector(part_place<THREADS, COUNT>(parts, number(own), i), sum[i]);
    if (!comes_last(arrived, end - first)) return false;
    /* Asks for eight fours of a part before it adds one: else each load would wait for the one before, and more
     * would not find registers. */
    constexpr int AT_ONCE = COUNT < 8 ? COUNT : 8;
    static_assert(COUNT % AT_ONCE == 0, "whole groups");
#pragma unroll
    for (int i = 0; i < COUNT; i += AT_ONCE)
        for (int part = first; part < end; part++) {
            float x[AT_ONCE][4];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                load_vector_l2(x[k], part_place<THREADS, COUNT>(parts, number(part), i + k));
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sum[i + k][j] = part == first ? x[k][j] : sum[i + k][j] + x[k][j];
        }
    return true;
}

#endif
