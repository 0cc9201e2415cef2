/*
 * pieces.cuh - how the sums of a row that is too long for a subwarp come together and are stored.
 */
#ifndef LAB8_PIECES_CUH
#define LAB8_PIECES_CUH

#include "device/half.cuh"
#include "device/warp.cuh"
#include "pieces.h"

/* One block of WARPS warps: adds up what its subwarps have of a piece, and stores it in its row of
 * out, which has N columns; or, if the row has several pieces, leaves it in fp32 in `sums`, and the
 * last block to arrive adds them up, always in the same order. */
template <int WARPS, int C, int WIDTH, class H>
static __device__ void store_piece(const piece &own, float *sums, unsigned *arrived, int N,
                                   float (&sum)[C], H *out)
{
    constexpr int COLUMNS = WIDTH * C;
    __shared__ float part[WARPS][COLUMNS];
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
            part[t / WARP_SIZE][lane * C + c] = sum[c];
    __syncthreads();
    float total = 0;
    for (int warp = 0; active && warp < WARPS; warp++)
        total += part[warp][t];
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
    if (active) out[(size_t)own.row * N + column] = narrow<H>(total);
}

#endif
