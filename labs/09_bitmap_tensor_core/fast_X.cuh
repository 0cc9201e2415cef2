/*
 * fast_X.cuh - a step's rows of B, in the order in which they are multiplied: a warp of each block brings
 * them into shared memory. Quad by quad of 64 rows; in each two halves of 32; in each tiles of eight columns;
 * in each 32 rows of 16 bytes. ldmatrix.trans gives lane (g, t) of the 8 x 8 numbers in rows 8 m to 8 m + 7
 * the two in rows 2t and 2t + 1 of column g, and what lane (g, t) needs of A's columns are rows 8t to 8t + 7
 * (lane_major_layout.cuh): so B's row 8t + 2m + i lies in row 8m + 2t + i.
 *
 * Zeros stand where B has no row or column, and in rows that no element of A looks at: those may hold
 * NaN or infinities, and all of A's zeros are multiplied.
 */
#ifndef LAB9_FAST_X_CUH
#define LAB9_FAST_X_CUH

#include "fast_fetch.cuh"

#include "device/half.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"

/* Rows that a lane asks for at once: memory takes most of a microsecond to answer. */
constexpr int X_BATCH = 8;

/* The row of 32 that a lane brings. */
static __device__ __forceinline__ int x_row(int lane)
{
    return lane % 8 / 2 * 8 + lane / 8 * 2 + lane % 2;
}

/* Eight numbers of a row of B, from `column` on. */
template <class H>
static __device__ __forceinline__ void load_X(const fast_product &p, int row, int column, H (&x)[8])
{
    const H *const from = (const H *)p.B + (size_t)row * p.N + column;
    const bool inside = row < p.A.cols;
    if (p.N % 8 == 0) {
        for (int k = 0; k < 8; k++)
            x[k] = narrow<H>(0.0f);
        if (inside && column < p.N) load_vector(x, from);
    } else {
        for (int k = 0; k < 8; k++)
            x[k] = inside && column + k < p.N ? from[k] : narrow<H>(0.0f);
    }
    /* Loaded at the same time, not before. */
    if (inside && p.used[row / QUAD_COLUMNS] >> row % QUAD_COLUMNS & 1) return;
    for (int k = 0; k < 8; k++)
        x[k] = narrow<H>(0.0f);
}

/* All of the block's steps, each as soon as its stage is free. One warp. */
template <int TILES, class H>
static __device__ void keep_bringing_X(const fast_product &p, const fast_layout &at,
                                       unsigned char *shared)
{
    stage_turn turn = {0, 1};
#pragma unroll 1
    for (step_cursor step(p.A, blockIdx.x); step.left > 0; step.advance()) {
        unsigned char *const stage = shared + at.stages + turn.number * at.stage_bytes;
        uint4 *const X = (uint4 *)(stage + at.x) + lane_id();
        const int parts = step.count() * 2 * TILES; /* half a quad and a tile each */
        mbarrier_wait((mbarrier *)(shared + at.empty) + turn.number, turn.parity);
#pragma unroll 1
        for (int first = 0; first < parts; first += X_BATCH) {
            H x[X_BATCH][8];
#pragma unroll
            for (int i = 0; i < X_BATCH; i++) {
                const int part = min(first + i, parts - 1);
                const int row = (step.place * 2 + part / TILES) * 32 + x_row(lane_id());
                load_X(p, row, p.column + 8 * (part % TILES), x[i]);
            }
#pragma unroll
            for (int i = 0; i < X_BATCH; i++)
                if (first + i < parts) store_vector((H *)&X[(first + i) * WARP_SIZE], x[i]);
        }
        __syncwarp();
        if (lane_id() == 0) mbarrier_arrive((mbarrier *)(shared + at.full) + turn.number);
        turn.advance(p.stages);
    }
}

#endif
