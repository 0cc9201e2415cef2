/*
 * b_tiles.h - A for products that keep tiles of B in shared memory: its rows cut at the columns of the
 * tiles, and dealt out to blocks of threads.
 *
 * Tile t of B has the rows t, t + T, t + 2 T ... of B, TILE_WIDTH columns of them. The columns of A are
 * dealt out in turns, so that a row has about as many nonzeros in every tile. A row's nonzeros in a tile
 * are a segment. A block of threads gets one tile, and in it the segments of a chunk of neighbouring rows,
 * the longest first. All chunks have the same work.
 */
#ifndef FORMATS_B_TILES_H
#define FORMATS_B_TILES_H

#include "device/exec_space.h"
#include "ops/spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of B in a tile, and bytes of one of its rows. */
enum { TILE_WIDTH = 32, TILE_ROW_BYTES = TILE_WIDTH * 4 };

typedef struct b_tiles_shape {
    int row_lanes; /* lanes that share a row: 32 or 8 */
    int threads;   /* of a block: 384 (an SM holds two), 512 or 768 (it holds one) */
    int waves;     /* blocks of a launch, in units of what the device holds at a time */
} b_tiles_shape;

/* The format; b_tiles.cuh has its arrays. */
typedef struct b_tiles b_tiles;

/* Returns why blocks of so many threads cannot take a matrix of this size, in half a sentence; NULL: they
 * can. Limits: MAX_SEGMENTS tiles for the columns, and segments and nonzeros that an int counts. */
const char *b_tiles_unsuited(int64_t rows, int64_t cols, int64_t nnz, int threads);

/* Cuts A, in the given space, for products of N columns; the arrays of *tiles lie on the device, whatever
 * the space, and are equal to the bit. The caller frees *tiles. cudaErrorNotSupported: b_tiles_unsuited
 * says why. On error *tiles is NULL and nothing is left allocated. */
cudaError_t b_tiles_build(enum exec_space where, const spmm_matrix *A, int N,
                          const b_tiles_shape *shape, b_tiles **tiles);

/* Copies A's new values; its pattern is the one of the build. Enqueued on stream 0. */
cudaError_t b_tiles_update_values(const spmm_matrix *A, b_tiles *tiles);

/* Says where it copies them to: see spmm_value_slots. */
cudaError_t b_tiles_value_slots(const spmm_matrix *A, const b_tiles *tiles, int *d_slot,
                                float **d_copies);

/* Bytes that one product reads of the format, for each TILE_WIDTH columns of C. */
size_t b_tiles_bytes(const b_tiles *tiles);

void b_tiles_free(b_tiles *tiles);

#ifdef __cplusplus
}
#endif
#endif
