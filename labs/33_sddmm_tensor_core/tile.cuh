/*
 * tile.cuh - brings 128 bytes of each row of a tile into shared memory, and multiplies them there.
 *
 * A stage holds a step of a tile: its rows of X, then its rows of Y, 128 bytes of each. Piece j of row r, 16
 * bytes, lies at place j ^ (r % 8) of the row, so that the eight rows of which ldmatrix takes piece j lie in
 * different banks.
 */
#ifndef LAB33_TILE_CUH
#define LAB33_TILE_CUH

#include "operands.cuh"

#include "device/async_copy.cuh"
#include "device/half.cuh"
#include "device/warp.cuh"
#include "formats/bit_tiles.h"

constexpr int STEP_BYTES = 128, PIECE = 16, PIECES = STEP_BYTES / PIECE;
constexpr int WARP_ROWS = 64; /* of a tile, that a warp multiplies with some of its columns */
template <class T> constexpr int STEP = STEP_BYTES / sizeof(T); /* features of a step */

/* Where in a stage a piece of a row lies. */
static __device__ __forceinline__ int place_of(int row, int piece)
{
    return row * STEP_BYTES + (piece ^ row % PIECES) * PIECE;
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
    const int copy = threadIdx.x % COPIES, k = feature + copy * COPY;
    const int piece = copy * BYTES / PIECE, rest = copy * BYTES % PIECE;
#pragma unroll
    for (int i = 0; i < ROWS * COPIES / THREADS; i++) {
        const int row = i * (THREADS / COPIES) + (int)threadIdx.x / COPIES;
        const bool inside = k < K && source.first + row < source.rows;
        const T *const from = source.from + (inside ? (size_t)(source.first + row) * K + k : 0);
        char *const place = to + place_of(row, piece) + rest;
        if constexpr (BYTES > 2)
            async_copy_zfill<BYTES>(place, from, inside ? BYTES : 0);
        else /* which is too little for an asynchronous copy */
            *reinterpret_cast<T *>(place) = inside ? *from : narrow<T>(0);
    }
}

/* sum += a step: WARP_ROWS rows of X times COLS rows of Y, as they lie in a stage. */
template <class T, int COLS>
static __device__ __forceinline__ void multiply_step(const char *x_rows, const char *y_rows,
                                                     float (&sum)[WARP_ROWS / 16][COLS / 8][4])
{
    typedef operands<T> kind;
    const int lane = threadIdx.x % WARP_SIZE;
#pragma unroll
    for (int piece = 0; piece < PIECES; piece += 2) {
        /* BEGIN STUDENT: load both operands by ldmatrix, four quarters at a time; multiply */
        /* Lane 8 i + r passes row r of quarter i. */
        typename kind::right y[COLS / 8];
#pragma unroll
        for (int j = 0; j < COLS / 8; j += 2) {
            uint32_t words[4];
            ldmatrix_x4(words,
                        y_rows + place_of(8 * j + lane / 16 * 8 + lane % 8, piece + lane / 8 % 2));
            kind::make(y[j], &words[0]);
            kind::make(y[j + 1], &words[2]);
        }
#pragma unroll
        for (int i = 0; i < WARP_ROWS / 16; i++) {
            uint32_t words[4];
            typename kind::left x;
            ldmatrix_x4(words, x_rows + place_of(16 * i + lane % 16, piece + lane / 16));
            kind::make(x, words);
            kind::multiply_add(sum[i], x, y);
        }
        /* END STUDENT */
    }
}

#endif
