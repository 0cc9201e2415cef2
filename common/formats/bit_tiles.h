/*
 * bit_tiles.h - the pattern of a sparse matrix for kernels that make dense tiles of a result and store some
 * of its elements: a bit for each element of each tile.
 *
 * The columns are cut into strips of 128. A row of a strip has 128 bits, in four words, and the place of its
 * first nonzero in CSR order. The place of another one is that place and the number of bits below its own: in
 * a row columns ascend, each named once. Tiles of any number of rows read the same arrays.
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
    int *d_tile; /* of each tile that holds a nonzero: row of tiles * strips + strip, ascending */
    uint32_t *d_bits; /* [strip][row][word]: bit c % 32 of word c / 32 is column c of the strip */
    int *d_first;     /* [strip][row]; where no bit is set it says nothing */
} bit_tiles;

/* Why a matrix of this size has no such format, in half a sentence; NULL: it has. Limit: 2^31 elements, zeros
 * counted, so that it takes no more than 320 MiB. */
const char *bit_tiles_unsuited(int64_t rows, int64_t cols);

/* Builds the format of A's pattern on the device, with tiles of so many rows and a strip. The caller frees it.
 * cudaErrorNotSupported: bit_tiles_unsuited says why, or columns of a row do not ascend. On error nothing is
 * left allocated. */
cudaError_t bit_tiles_build(const device_csr *A, int tile_rows, bit_tiles *tiles);

/* Bytes that a kernel reads of it. */
size_t bit_tiles_bytes(const bit_tiles *tiles);

/* Takes a zeroed struct, too. */
void bit_tiles_free(bit_tiles *tiles);

#ifdef __cplusplus
}
#endif
#endif
