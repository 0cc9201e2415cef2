/*
 * bit_tiles.h - the pattern of a sparse matrix for kernels that make dense tiles of a result and store some
 * of its elements: a bit for each element of each tile.
 *
 * The columns are cut into strips of 128. A row of a strip has 128 bits, in four words, and the number of its
 * first element. The number of another one is that and the bits below its own. Tiles of any number of rows read the
 * same arrays.
 *
 * Elements are numbered by row, and by column in a row: where columns ascend, as their nonzeros stand in CSR. Any
 * other pattern is sorted, and a list says which nonzeros each element has: one, or several that name it again.
 *
 * This takes 20 bytes a row and strip, whatever is stored there: 4 bytes of columns would take as much for
 * five nonzeros, 4 % of them.
 */
#ifndef FORMATS_BIT_TILES_H
#define FORMATS_BIT_TILES_H

#include "ops/device_csr.h"

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { STRIP_COLS = 128, STRIP_WORDS = STRIP_COLS / 32 };

/* The format. Its arrays lie on the device; kernels take it by value, and may not write it. */
typedef struct bit_tiles {
    int rows, strips;
    int tile_rows, num_tiles;
    int *d_tile; /* of each tile that holds an element: row of tiles * strips + strip, ascending */
    uint32_t *d_bits; /* [strip][row][word]: bit c % 32 of word c / 32 is column c of the strip */
    int *d_first;     /* [strip][row]: a number; where no bit is set it says nothing */
    /* NULL where a number is the place of the nonzero in CSR. Else the nonzeros of element n are d_order[d_begin[n]] to
     * d_order[d_begin[n + 1] - 1]. */
    int *d_begin, *d_order;
} bit_tiles;

/* Why a matrix of this size has no such format, in half a sentence; NULL: it has. Limit: 2^31 elements, zeros
 * counted, so that it takes no more than 320 MiB. */
const char *bit_tiles_unsuited(int64_t rows, int64_t cols);

/* Builds the format of A's pattern on the device, with tiles of so many rows and a strip. The caller frees it.
 * cudaErrorNotSupported: bit_tiles_unsuited says why. On error nothing is left allocated. */
cudaError_t bit_tiles_build(const device_csr *A, int tile_rows, bit_tiles *tiles);

/* Bytes that a kernel reads of it, with so many nonzeros. */
size_t bit_tiles_bytes(const bit_tiles *tiles, int64_t nnz);

/* Takes a zeroed struct, too. */
void bit_tiles_free(bit_tiles *tiles);

#ifdef __cplusplus
}
#endif
#endif
