/*
 * long_rows.cuh - how the sums of a row that is too long for a subwarp come together and are stored.
 */
#ifndef LAB8_LONG_ROWS_CUH
#define LAB8_LONG_ROWS_CUH

#include "device/epilogue.cuh"
#include "device/half.cuh"
#include "device/warp.cuh"
#include "long_rows.h"

/* Adds up, in a block of WARPS warps, the sums that its subwarps have of a segment. It stores the total in the
 * segment's row of out, which has N columns. If the row has several segments, the total stays in fp32 in `sums`.
 * Then the last block to arrive adds the totals up, always in the same order. The epilogue sees totals alone. */
template <int WARPS, int C, int WIDTH, class H>
static __device__ void store_segment(const segment &own, float *sums, unsigned *arrived, int N,
                                     float (&sum)[C], const row_epilogue &epilogue, H *out)
{
    constexpr int COLUMNS = WIDTH * C;
    __shared__ float warp_sum[WARPS][COLUMNS];
    __shared__ bool is_last;
    const int t = threadIdx.x, lane = t % WARP_SIZE, column = blockIdx.y * COLUMNS + t;
    const bool active = t < COLUMNS && column < N;
#pragma unroll
    for (int distance = WIDTH; distance < WARP_SIZE; distance *= 2)
#pragma unroll
        for (int c = 0; c < C; c++)
            sum[c] += __shfl_xor_sync(FULL_MASK, sum[c], distance);
    if (lane < WIDTH)
#pragma unroll
        for (int c = 0; c < C; c++)
            warp_sum[t / WARP_SIZE][lane * C + c] = sum[c];
    __syncthreads();
    float total = 0;
    for (int warp = 0; active && warp < WARPS; warp++)
        total += warp_sum[warp][t];
    if (own.count > 1) {
        if (active) sums[(size_t)blockIdx.x * N + column] = total;
        __syncthreads();
        if (t == 0) {
            __threadfence(); /* the sums are there before the ticket says so */
            unsigned *const ticket = &arrived[(size_t)own.first * gridDim.y + blockIdx.y];
            is_last = atomicInc(ticket, own.count - 1) == (unsigned)own.count - 1;
            __threadfence();
        }
        __syncthreads();
        if (!is_last) return;
        total = 0;
        for (int i = 0; active && i < own.count; i++)
            total += __ldcg(&sums[(size_t)(own.first + i) * N + column]);
    }
    float c[] = {total};
    apply_epilogue(epilogue, own.row, c);
    if (active) out[(size_t)own.row * N + column] = narrow<H>(c[0]);
}

#endif
