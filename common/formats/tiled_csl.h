/*
 * tiled_csl.h - Tiled-CSL, a pruned matrix in which each nonzero carries its place in a tile: read as sparse, multiplied
 * as dense. Any 16-bit values, kept bit by bit; made from TCA-BME.
 *
 *     tile     64 x 64, a group of TCA-BME; tiles come row by row of tiles. In shared memory its rows are TILE_PITCH
 *              elements apart, 16 bytes more than they are long, so that ldmatrix meets no bank twice
 *     word     32 bits: the value in the high half, in the low half its place in that tile, row * TILE_PITCH + column
 *     order    rounds over the 32 banks of shared memory. A row of a tile has two neighbouring elements in each bank;
 *              in a round each bank gives the nonzeros of its next row that has any. So 32 neighbouring words go to
 *              different banks, or to the same 32 bits, as long as most banks have nonzeros left
 *
 * A tile begins at a multiple of 4 words (16 bytes, one asynchronous copy). What fills up the one before are zeros that go
 * beside the tile, behind the end of rows 0, 1 and 2. Bytes: 4 (tiles + 1) + 4 words.
 *
 * Elements that CSR names again are not here: they would go to one place. They stay with TCA-BME's repeats.
 *
 * H. Xia et al., "Flash-LLM: Enabling Cost-Effective and Highly-Efficient Large Generative Model Inference with Unstructured
 * Sparsity", VLDB 2023, sections 4.2 and 4.3: the format, and the reordering that avoids bank conflicts.
 */
#ifndef FORMATS_TILED_CSL_H
#define FORMATS_TILED_CSL_H

#include "device/exec_space.h"
#include "formats/tca_bme.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TILE_PITCH = GROUP_SIDE + 8, TILE_ALIGNMENT = 4 /* words */ };

/* All zero: none. */
typedef struct tiled_csl {
    enum exec_space where;
    int rows, cols;   /* of the matrix */
    int down, across; /* rows of tiles; tiles in each */
    int num_words;    /* with those that fill up tiles */
    int longest;      /* words of a tile at most: those of TCA-BME's longest group */
    int *offset;      /* down * across + 1: where a tile's words begin */
    uint32_t *word;   /* num_words */
} tiled_csl;

/* Returns the bytes of all arrays, exactly. */
static inline int64_t tiled_csl_bytes(const tiled_csl *m)
{
    return 4 * ((int64_t)m->down * m->across + 1) + 4 * (int64_t)m->num_words;
}

/* Makes it from the other format, in the space where that is: *m gets the same bits in both. On error *m is all zero.
 * New values of the same pattern need a new format. */
cudaError_t tiled_csl_build(enum exec_space where, const tca_bme *from, tiled_csl *m);

void tiled_csl_free(tiled_csl *m);

#ifdef __cplusplus
}
#endif
#endif
