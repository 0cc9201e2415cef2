/*
 * tile.cuh - from a tile's words to a dense tile in shared memory, and from the sums of splits to C.
 */
#ifndef LAB23_TILE_CUH
#define LAB23_TILE_CUH

#include "device/dense_rows.cuh"
#include "device/half.cuh"
#include "device/mma.cuh"
#include "device/split_sums.cuh"
#include "device/warp.cuh"
#include "formats/tca_bme.cuh"
#include "formats/tiled_csl.h"

constexpr int BLOCK = STRIPS * WARP_SIZE;

/* A tile of A, with zeros. Its rows are longer than 64, for ldmatrix and for words that only fill up. */
struct dense_tile {
    uint16_t element[GROUP_SIDE][TILE_PITCH];
};

/* A block's copy of the rows of B for one tile; as many words as the longest tile has follow in memory. */
template <int TILE_N, class H> struct stage {
    H X[GROUP_SIDE][dense_pitch(TILE_N)];
};

template <int TILE_N, class H> static __device__ uint32_t *words_of(stage<TILE_N, H> &s)
{
    return reinterpret_cast<uint32_t *>(&s + 1);
}

/* Starts copying a tile's words. */
template <int TILE_N, class H>
static __device__ void copy_words(const tiled_csl &A, size_t tile, stage<TILE_N, H> &to)
{
    const int begin = A.offset[tile], count = A.offset[tile + 1] - begin;
    uint32_t *const words = words_of(to);
#pragma unroll 1
    for (int i = threadIdx.x * TILE_ALIGNMENT; i < count; i += BLOCK * TILE_ALIGNMENT)
        async_copy<4 * TILE_ALIGNMENT>(&words[i], &A.word[begin + i]);
}

/* Sets a tile to zero. */
static __device__ void clear(dense_tile &tile)
{
    uint4 *const to = reinterpret_cast<uint4 *>(&tile);
    /* BEGIN STUDENT: clear the tile, 16 bytes a store */
    for (unsigned i = threadIdx.x; i < sizeof tile / sizeof *to; i += BLOCK)
        to[i] = make_uint4(0, 0, 0, 0);
    /* END STUDENT */
}

/* Stores each of a tile's `count` values at its place. */
template <int TILE_N, class H>
static __device__ void spread(stage<TILE_N, H> &from, int count, dense_tile &tile)
{
    const uint32_t *const words = words_of(from);
    uint16_t *const to = &tile.element[0][0];
    /* BEGIN STUDENT: neighbouring lanes take neighbouring words, so that no bank is met twice */
    for (int i = threadIdx.x; i < count; i += BLOCK)
        to[words[i] & 0xffff] = (uint16_t)(words[i] >> 16);
    /* END STUDENT */
}

/* Adds up the splits of an element of C, a thread each, always in the same order, and rounds once. Elements that A names
 * again come first: repeats of TCA-BME. */
template <class H>
static __global__ void add_splits_kernel(const __grid_constant__ split_sums from,
                                         const __grid_constant__ tca_bme A,
                                         const __grid_constant__ dense_rows<H> B,
                                         const __grid_constant__ dense_result<H> out)
{
    const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    const size_t row = i / out.N, column = i % out.N;
    if (row >= (size_t)out.rows) return;
    float sum = repeated_products(A, B, (int)row, (int)column);
    for (int s = 0; s < from.splits; s++)
        sum += from.d_sum[(s * from.rows + row) * from.pitch + column];
    out.C[i] = narrow<H>(sum);
}

#endif
