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
#include "formats/tile_lists.cuh"

constexpr int STEP_BYTES = 128, PIECE = 16, PIECES = STEP_BYTES / PIECE;
constexpr int WARP_ROWS = 64; /* of a tile, that a warp multiplies with a strip of its columns */
constexpr int LEFTS = WARP_ROWS / CHUNK_ROWS, RIGHTS = STRIP_COLS / 8; /* operands of a warp */
template <class T> constexpr int STEP = STEP_BYTES / sizeof(T);        /* features of a step */

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

/* sum += a step: WARP_ROWS rows of X times STRIP_COLS rows of Y, as they lie in a stage. What is multiplied next is
 * loaded before what is multiplied now. */
template <class T>
static __device__ __forceinline__ void multiply_step(const char *x_rows, const char *y_rows,
                                                     float (&sum)[LEFTS][RIGHTS][4])
{
    typedef operands<T> kind;
    uint32_t x_words[4], y_words[RIGHTS / 2][4];
    load_x(x_words, x_rows, 0, 0);
#pragma unroll
    for (int j = 0; j < RIGHTS / 2; j++)
        load_y(y_words[j], y_rows, j, 0);
#pragma unroll
    for (int piece = 0; piece < PIECES; piece += 2) {
        typename kind::right y[RIGHTS];
#pragma unroll
        for (int j = 0; j < RIGHTS; j++)
            kind::make(y[j], &y_words[j / 2][j % 2 * 2]);
#pragma unroll
        for (int i = 0; i < LEFTS; i++) {
            typename kind::left x;
            kind::make(x, x_words);
            const int next = i + 1 < LEFTS ? piece : piece + 2;
            if (next < PIECES) load_x(x_words, x_rows, (i + 1) % LEFTS, next);
            if (i == LEFTS / 2 && piece + 2 < PIECES)
#pragma unroll
                for (int j = 0; j < RIGHTS / 2; j++)
                    load_y(y_words[j], y_rows, j, piece + 2);
            kind::multiply_add(sum[i], x, y);
        }
    }
}

#endif
