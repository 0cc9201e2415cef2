/*
 * tile_steps.cuh - tiles of tile_lists.h step by step: 128 bytes of each of a tile's rows of X and Y in shared memory.
 *
 * A stage holds a step of a tile: its rows of X, then its rows of Y, 128 bytes of each, in pieces of 16 bytes as swizzle.cuh
 * places them.
 */
#ifndef FORMATS_TILE_STEPS_CUH
#define FORMATS_TILE_STEPS_CUH

#include "device/async_copy.cuh"
#include "device/half.cuh"
#include "device/mma.cuh"
#include "device/swizzle.cuh"
#include "device/warp.cuh"
#include "formats/tile_lists.cuh"

constexpr int STEP_BYTES = 128, PIECE = 16, PIECES = STEP_BYTES / PIECE;
template <class T> constexpr int STEP = STEP_BYTES / sizeof(T); /* features of a step */

/* Where in a stage a piece of a row lies. */
static __device__ __forceinline__ int place_of(int row, int piece)
{
    return row * STEP_BYTES + swizzled_piece<STEP_BYTES>(row, piece) * PIECE;
}

/* X or Y, and the first row that a tile takes of it. */
template <class T> struct dense_rows {
    const T *from;
    int rows, first;
};

/* Starts copying the features from `feature` on of ROWS rows, COPY features at a time, which divide K. Rows and
 * features that are not there become zero. */
template <int COPY, int ROWS, int THREADS, class T>
static __device__ __forceinline__ void copy_rows(const dense_rows<T> &source, int K, int feature,
                                                 char *to)
{
    constexpr int BYTES = COPY * sizeof(T), COPIES = STEP_BYTES / BYTES; /* of a row */
    constexpr int APART = THREADS / COPIES;                              /* rows of a thread */
    const int copy = threadIdx.x % COPIES, row = threadIdx.x / COPIES, k = feature + copy * COPY;
    const int left = k < K ? source.rows - source.first - row : 0; /* rows from its first one on */
    const T *const from = source.from + (left > 0 ? (size_t)(source.first + row) * K + k : 0);
    const int piece = copy * BYTES / PIECE, rest = copy * BYTES % PIECE;
#pragma unroll
    for (int i = 0; i < ROWS / APART; i++) {
        const bool inside = i * APART < left;
        const T *const source_row = inside ? from + (size_t)(i * APART) * K : from;
        char *const place = to + place_of(row + i * APART, piece) + rest;
        if constexpr (BYTES > 2)
            async_copy_zfill<BYTES>(place, source_row, inside ? BYTES : 0);
        else /* which is too little for an asynchronous copy */
            *reinterpret_cast<T *>(place) = inside ? *source_row : narrow<T>(0);
    }
}

/* The words of operand i of X, and of operands 2 i and 2 i + 1 of Y, in two pieces from `piece` on: four quarters each.
 * Lane 8 q + r passes row r of quarter q. */
static __device__ __forceinline__ void load_x(uint32_t (&words)[4], const char *x_rows, int i,
                                              int piece)
{
    const int lane = threadIdx.x % WARP_SIZE;
    ldmatrix_x4(words, x_rows + place_of(16 * i + lane % 16, piece + lane / 16));
}
static __device__ __forceinline__ void load_y(uint32_t (&words)[4], const char *y_rows, int i,
                                              int piece)
{
    const int lane = threadIdx.x % WARP_SIZE;
    ldmatrix_x4(words, y_rows + place_of(16 * i + lane / 16 * 8 + lane % 8, piece + lane / 8 % 2));
}

/* Where a block is in its tiles: a step of one of them. */
struct tile_cursor {
    int tile, step;
    int row, strip; /* the tile's corner */

    /* The tiles of the block are this one, and every gridDim.x-th from there. */
    __device__ __forceinline__ tile_cursor(const tile_lists &pattern, int tile)
        : tile(tile), step(0), row(0), strip(0)
    {
        find_corner(pattern);
    }
    __device__ __forceinline__ void find_corner(const tile_lists &pattern)
    {
        if (tile >= pattern.num_tiles) return;
        const int number = pattern.d_tile[tile];
        row = number / (pattern.strips / 2) * pattern.tile_rows;
        strip = number % (pattern.strips / 2) * 2;
    }
    __device__ __forceinline__ void advance(const tile_lists &pattern, int steps)
    {
        if (++step < steps) return;
        step = 0;
        tile += gridDim.x;
        find_corner(pattern);
    }
};

#endif
