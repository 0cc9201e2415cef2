/*
 * tile_lists.h - the pattern of a sparse matrix for kernels that make dense tiles of a result and store some
 * of its elements: for each chunk of 16 rows and 64 columns, which those are, and where they go.
 *
 * A nonzero of a chunk has a code of 16 bits: where its element lies in the chunk's 1,024 sums, as warps lay them
 * out in shared memory. Codes follow each other by strip of 64 columns, then by row, then by column; a code's index in
 * that order is its place.
 *
 * Nonzeros are numbered by row, and by column in a row: where columns ascend, as they stand in CSR. For any other
 * pattern a list says which nonzero each number is. A place and its number differ by the same, the shift, all along
 * a row of a chunk.
 *
 * That is 2 bytes for a nonzero, and 4 for a row of a chunk.
 */
#ifndef FORMATS_TILE_LISTS_H
#define FORMATS_TILE_LISTS_H

#include "ops/device_csr.h"

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tile has two strips. */
enum { CHUNK_ROWS = 16, STRIP_COLS = 64, TILE_COLS = 2 * STRIP_COLS };

/* The format. Its arrays lie on the device; kernels take it by value, and may not write it. Rows and strips are
 * counted up to whole tiles: those that the matrix does not have are empty. */
typedef struct tile_lists {
    int rows, strips;
    int tile_rows, num_tiles;
    int *
        d_tile; /* of each tile that holds a nonzero: row of tiles * (strips / 2) + pair of strips, ascending */
    uint16_t *d_code; /* of each place */
    int *
        d_start; /* of chunk strip * (rows / 16) + row / 16: its first place; one more: all of them */
    int *d_shift; /* of [strip][row]: what to add to a place for the nonzero's number */
    int *d_order; /* of each number: the place in CSR; NULL: the number is that place */
} tile_lists;

/* Why a matrix of this size has no such format, in half a sentence; NULL: it has. Limit: 2^31 elements, zeros
 * counted. */
const char *tile_lists_unsuited(int64_t rows, int64_t cols);

/* Builds the format of A's pattern on the device, for tiles of so many rows, a multiple of 16. The caller frees it.
 * cudaErrorNotSupported: tile_lists_unsuited says why. On error nothing is left allocated. */
cudaError_t tile_lists_build(const device_csr *A, int tile_rows, tile_lists *lists);

/* Bytes that a kernel reads of it, with so many nonzeros. */
size_t tile_lists_bytes(const tile_lists *lists, int64_t nnz);

/* Takes a zeroed struct, too. */
void tile_lists_free(tile_lists *lists);

#ifdef __cplusplus
}
#endif
#endif
