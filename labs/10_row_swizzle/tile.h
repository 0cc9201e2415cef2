/*
 * tile.h - the product by tiles of B in shared memory: for matrices whose rows are so full that every
 * row of B in a tile is used many times by the rows of a block.
 *
 * Tile t has the rows t, t + T, t + 2 T ... of B, 32 columns of them: the columns of A are dealt out in
 * turns, so that every row has about the same number of nonzeros in every tile. A block has one tile,
 * and of A the segments of a chunk of neighbouring rows in it. With T > 1 a block leaves partial sums;
 * of the T blocks of a chunk the last one adds them up, in the order of the tiles.
 */
#ifndef LAB10_TILE_H
#define LAB10_TILE_H

#include "split.h"

constexpr int TILE_WIDTH = 32, TILE_ROW_BYTES = TILE_WIDTH * sizeof(float);

typedef struct tile_shape {
    int row_lanes; /* lanes that share a row: 32 or 8 */
    int threads;   /* of a block: 384 (two blocks an SM), 512, 768 (one) */
    int waves;     /* blocks of the launch, in units of what the GPU holds at a time */
} tile_shape;

/* Blocks of so many threads that an SM holds; what they hold of B is as much smaller. */
__host__ __device__ constexpr int tile_resident(int threads)
{
    return threads < 512 ? 2 : 1;
}

typedef struct tile_plan {
    tile_shape shape;
    row_split split;
    int tiles, chunks, slices;
    int shared_bytes; /* of a block */

    site where;       /* the arrays lie; ON_DEVICE once the plan is built */
    int64_t *d_place; /* of each segment: its first pair */
    int4 *d_segment;  /* in the order of work: row, nonzeros, first pair in units of 4 */
    int *d_first;     /* of block chunk * tiles + tile: its first segment; one more: their number */
    int *d_chunk_row; /* of each chunk: its first row; one more: rows */
    int2 *d_pairs;    /* (byte of B's row in the tile, bits of the value) */
    int64_t num_pairs;
    float *d_partial;    /* slice, tile, row, 32 columns; NULL if there is one tile */
    unsigned *d_arrived; /* blocks done, of each slice and chunk; 0 between runs */
} tile_plan;

/* The shape for which rows of these statistics should take the least time on an H200; returns that time
 * in microseconds. */
double tile_choose(const row_stats *stats, int N, tile_shape *shape);

/* Whether this device can: A's columns make no more than MAX_SEGMENTS tiles for blocks of so many
 * threads, and nothing that is counted by int gets too large. */
cudaError_t tile_possible(const spmm_matrix *A, int threads, bool *possible);

/* Only where it is possible. On error nothing is left allocated. */
cudaError_t tile_build(site where, const spmm_plan *plan, const tile_shape *shape, tile_plan *tile);
cudaError_t tile_update_values(const spmm_matrix *A, tile_plan *tile);
void tile_free(tile_plan *tile);

/* Lets the kernel have so much shared memory; once, before tile_run. */
cudaError_t tile_allow_shared(const tile_plan *tile, int N);

/* Enqueues C = A B. */
cudaError_t tile_run(const tile_plan *tile, const spmm_plan *plan, const float *B, float *C,
                     cudaStream_t stream);

/* The family, for lab 10's table; not registered as a lab of its own; and whether this device can run the
 * shape that it would choose for this matrix. */
bool tile_family_suits(const spmm_plan *plan);
extern const spmm_contender tile_family;

#endif
