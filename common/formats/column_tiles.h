/*
 * column_tiles.h - the pattern of a sparse matrix, its nonzeros in the order of ranges of columns. A kernel
 * keeps the rows of a dense operand that belong to a range in shared memory. Blocks of threads get equal shares
 * of the nonzeros.
 *
 * The columns are cut into tiles of equal width. A row's nonzeros in a tile are a segment. Segments follow each
 * other by tile, then by row, and each begins and ends at a multiple of eight places. What it does not fill holds
 * NO_TILE_COLUMN.
 *
 * Nonzeros are numbered by row, and by column in a row: where columns ascend, as they stand in CSR. For any other
 * pattern a list says which nonzero each number is. A nonzero's place and its number differ by the same all along a
 * segment, by a multiple of eight. So eight lanes that take eight places store to one sector.
 *
 * Work is dealt out in places, of which beginning a segment counts as SEGMENT_COST.
 */
#ifndef FORMATS_COLUMN_TILES_H
#define FORMATS_COLUMN_TILES_H

#include "ops/device_csr.h"

#include <cuda_runtime_api.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix of more tiles is one whose nonzeros meet too seldom in any of them. The widest leaves a number of 16
 * bits for NO_TILE_COLUMN. */
enum { MAX_COLUMN_TILES = 64, MAX_TILE_COLS = 65535, NO_TILE_COLUMN = 65535 };

/* Places in a row that a group of lanes takes at a time, and the cost of a row of X for a new segment. */
enum { GROUP_PLACES = 8, SEGMENT_COST = 16 };

/* The work of a block, from `first` to `end`, counted from the tile's beginning: multiples of eight. */
typedef struct tile_share {
    int tile, first, end;
} tile_share;

/* The format. Its arrays lie on the device; kernels take it by value, and may not write it. */
typedef struct column_tiles {
    int rows, tiles, tile_cols;
    int places;         /* in all */
    int blocks;         /* shares; 0: there is no nonzero */
    uint16_t *d_column; /* of each place: counted from the first of its tile; or NO_TILE_COLUMN */
    int *d_place;       /* of segment tile * rows + row: its first place; two more: all of them */
    int *d_shift;       /* of each segment: what to add to a place for the nonzero's number */
    int *d_order;       /* of each number: the place in CSR; NULL: the number is that place */
    tile_share *d_share;
} column_tiles;

/* Why a matrix of this size cannot be cut into tiles of at most `tile_cols` columns, in half a sentence; NULL:
 * it can. */
const char *column_tiles_unsuited(int64_t rows, int64_t cols, int64_t nnz, int tile_cols);

/* Cuts the pattern of A on the device into as few tiles of at most `tile_cols` columns as it takes, with shares
 * for `blocks` blocks: fewer where there are few nonzeros, more where there are more tiles. The caller frees
 * the format. cudaErrorNotSupported: column_tiles_unsuited says why. On error nothing is left allocated. */
cudaError_t column_tiles_build(const device_csr *A, int tile_cols, int blocks, column_tiles *tiles);

/* Bytes that a kernel reads of it for each slice of the dense operand, with so many nonzeros. */
size_t column_tiles_bytes(const column_tiles *tiles, int64_t nnz);

/* Takes a zeroed struct, too. */
void column_tiles_free(column_tiles *tiles);

#ifdef __cplusplus
}
#endif
#endif
