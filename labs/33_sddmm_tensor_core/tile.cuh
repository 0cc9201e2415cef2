/*
 * tile.cuh - multiplies a step of a tile, as formats/tile_steps.cuh has brought it into shared memory.
 */
#ifndef LAB33_TILE_CUH
#define LAB33_TILE_CUH

#include "operands.cuh"

#include "formats/tile_steps.cuh"

constexpr int WARP_ROWS = 32; /* of a tile, that a warp multiplies with a strip of its columns */
constexpr int CHUNKS = WARP_ROWS / CHUNK_ROWS, RIGHTS = STRIP_COLS / 8; /* operands of a warp */
constexpr int TOGETHER = 4; /* operands of Y that are in registers at a time */

/* sum += a step: WARP_ROWS rows of X times STRIP_COLS rows of Y, as they lie in a stage. Other warps work while this one
 * waits for its operands: an SM holds 16 of them, since each has no more than 64 sums a lane. */
template <class T>
static __device__ __forceinline__ void multiply_step(const char *x_rows, const char *y_rows,
                                                     float (&sum)[CHUNKS][RIGHTS][4])
{
    typedef operands<T> kind;
    uint32_t words[4];
#pragma unroll
    for (int piece = 0; piece < PIECES; piece += 2) {
        typename kind::left x[CHUNKS];
#pragma unroll
        for (int i = 0; i < CHUNKS; i++) {
            load_x(words, x_rows, i, piece);
            kind::make(x[i], words);
        }
#pragma unroll
        for (int first = 0; first < RIGHTS; first += TOGETHER) {
            typename kind::right y[TOGETHER];
#pragma unroll
            for (int j = 0; j < TOGETHER; j += 2) {
                load_y(words, y_rows, (first + j) / 2, piece);
                kind::make(y[j], words);
                kind::make(y[j + 1], words + 2);
            }
#pragma unroll
            for (int i = 0; i < CHUNKS; i++)
                kind::multiply_add(&sum[i][first], x[i], y);
        }
    }
}

#endif
