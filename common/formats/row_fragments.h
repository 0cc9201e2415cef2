/*
 * row_fragments.h - A for products on tensor cores: the nonzeros of panels of rows, in the order in which
 * the lanes of a warp want them. In fp32, fp16 and bf16.
 *
 * A is cut into panels of rows. A panel's columns that hold any nonzero are numbered through and taken a
 * chunk at a time. A warp multiplies a strip of 16 rows by one fragment of those columns at once: two right
 * operands of an mma. The format stores words: a float, or the 16-bit numbers of two neighbours among those
 * columns, of which one may be zero. Words of a chunk that are not zero follow each other in the order in
 * which lanes want them; a bit says whether a lane's word is there.
 *
 * Products multiply the zeros between nonzeros. So an Inf or NaN in a row of B spoils all rows of a
 * panel if one of them refers to that row. It spoils no others.
 */
#ifndef FORMATS_ROW_FRAGMENTS_H
#define FORMATS_ROW_FRAGMENTS_H

#include "ops/spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Words of a row of A in a chunk. */
enum { CHUNK_WORDS = 128 };

/* The part of a product that a block computes: the rows of a panel, columns of C, and one share of the
 * panel's chunks. */
typedef struct row_fragments_shape {
    int panel_rows; /* 16, 32, 64 or 128 */
    int width;      /* 32 or 64 columns of C */
    int splits;     /* 1, 2, 4 or 8 shares */
} row_fragments_shape;

/* The format; row_fragments.cuh has its arrays. */
typedef struct row_fragments row_fragments;

/* Returns why products of N columns cannot take a matrix of this size, in half a sentence; NULL: they can.
 * Limits: compute capability 8.0; a bit for every column of every panel takes no more than 1 GB; N is even
 * in 16 bits. */
const char *row_fragments_unsuited(int64_t rows, int64_t cols, int N, enum precision precision);

/* Builds the panels of A on the device, rows taken in the order d_row_order (borrowed during the call; NULL:
 * as they come). The caller frees *fragments. A panel has no more shares than A's columns make chunks; the
 * arrays' shape says how many. cudaErrorNotSupported: 16-bit values, and columns of a row that do not
 * ascend; two entries of one column would have to be added, and rounded. On error *fragments is NULL and
 * nothing is left allocated. */
cudaError_t row_fragments_build(const spmm_matrix *A, enum precision precision,
                                const int *d_row_order, const row_fragments_shape *shape,
                                row_fragments **fragments);

/* Gives the format A's new values; its pattern is the one of the build. No list says which value lies
 * where: the arrays are built anew, at other addresses. On error *fragments is as it was. */
cudaError_t row_fragments_update_values(const spmm_matrix *A, row_fragments *fragments);

/* Bytes of the format, of which a product reads each once for each slice of `width` columns of C. */
size_t row_fragments_bytes(const row_fragments *fragments);

void row_fragments_free(row_fragments *fragments);

#ifdef __cplusplus
}
#endif
#endif
