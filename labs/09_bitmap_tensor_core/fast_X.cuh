/*
 * fast_X.cuh - B in the order in which the fast kernel multiplies it: quads of 64 rows; in each two
 * halves of 32; in each tiles of eight columns; in each 16 bytes for every lane. Lane (g, t) has the
 * eight rows from 8 t on of column g: that is what it needs of two fragments, with the columns of A in
 * the order of lane_major_layout.cuh. A step's part of it is one piece of memory.
 *
 * Zeros stand where B has no row or column, and in rows that no element of A looks at: those may hold
 * NaN or infinities, and all of A's zeros are multiplied.
 */
#ifndef LAB9_FAST_X_CUH
#define LAB9_FAST_X_CUH

#include "device/half.cuh"
#include "device/overlap.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "lane_major_layout.cuh"

constexpr int X_THREADS = 128;

template <class H> struct x_order {
    const H *B;
    const uint64_t *used; /* bits: rows of B that count */
    int rows, N, column;  /* of B; the first column that is wanted */
    uint4 *X;
    int quads; /* of B's rows, up to a multiple of the ways */
    int tiles;
};

/* A thread 16 bytes: a lane's of a tile of half a quad; halves are numbered through. */
template <class H>
static __global__ void __launch_bounds__(X_THREADS)
    spmm_order_X_kernel(const __grid_constant__ x_order<H> p)
{
    others_may_start();
    const int64_t i = (int64_t)blockIdx.x * X_THREADS + threadIdx.x;
    if (i >= (int64_t)p.quads * 2 * p.tiles * WARP_SIZE) return;
    const int lane = (int)(i % WARP_SIZE), part = (int)(i / WARP_SIZE);
    const int half = part / p.tiles, tile = part % p.tiles;
    const int first = half * 32 + lane % 4 * 8, column = p.column + 8 * tile + lane / 4;
    H x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const bool inside = first + k < p.rows && column < p.N;
        x[k] = inside ? p.B[(size_t)(first + k) * p.N + column] : narrow<H>(0.0f);
    }
    /* Loaded at the same time, not one after the other. */
    const uint64_t used = p.used[half / 2] >> first % 64;
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (!(used >> k & 1)) x[k] = narrow<H>(0.0f);
    store_vector((H *)&p.X[i], x);
}

#endif
