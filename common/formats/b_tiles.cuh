/*
 * b_tiles.cuh - the arrays of b_tiles.h, as builders write and kernels read them.
 */
#ifndef FORMATS_B_TILES_CUH
#define FORMATS_B_TILES_CUH

#include "formats/b_tiles.h"
#include "formats/segments.h"

/* Blocks of so many threads that an SM holds; what they hold of B is as much smaller. */
__host__ __device__ constexpr int b_tiles_resident(int threads)
{
    return threads < 512 ? 2 : 1;
}

struct b_tiles {
    b_tiles_shape shape;
    row_split split;
    int rows, tiles, chunks;
    int shared_bytes; /* that a block needs for its tile */

    exec_space where; /* the arrays lie; ON_DEVICE once the format is built */
    int64_t *d_place; /* of each segment: its first pair */
    int4 *d_segment;  /* in the order of work: row, nonzeros, first pair in units of 4 */
    int *d_first;     /* of block chunk * tiles + tile: its first segment; one more: their number */
    int *d_chunk_row; /* of each chunk: its first row; one more: rows */
    int2 *d_pairs;    /* (byte of B's row in the tile, bits of the value) */
    int64_t num_pairs;
};

#endif
