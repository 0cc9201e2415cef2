/*
 * tile_lists.cuh - how the sums of a chunk (tile_lists.h) lie in shared memory.
 */
#ifndef FORMATS_TILE_LISTS_CUH
#define FORMATS_TILE_LISTS_CUH

#include "formats/tile_lists.h"

/* The index of an element's sum: rows of 64, and in them columns in another order. Lanes (g, t) of a warp store two
 * sums each, of row g and columns 2 t and 2 t + 1 of eight; so four rows at a time go to all banks. */
static inline __host__ __device__ int chunk_index(int row, int column)
{
    return row * STRIP_COLS + (column ^ row % 4 * 8);
}

/* The row of that index. */
static inline __host__ __device__ int chunk_row(int index)
{
    return index / STRIP_COLS;
}

#endif
