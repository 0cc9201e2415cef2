/*
 * block_layout.h - which blocks of a block-sparse matrix exist, and their numbers.
 *
 * A layout has CB block rows of input features and KB block columns of output features. A CSR pattern says
 * which blocks exist: its nonzero (c, k) is a block. So every reader, generator and awkward shape of a matrix
 * is a layout, too, and the block's side alone is new: csr_matrix.block.
 */
#ifndef MATRIX_BLOCK_LAYOUT_H
#define MATRIX_BLOCK_LAYOUT_H

#include "matrix/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sides that a block may have: 8, 16, 32 and 64. Blocks are square. */
bool block_side_is_known(int64_t side);

/* Blocks have numbers 0 .. blocks - 1 in z-order: the bits of row and column alternate in what they are sorted by. So
 * blocks near each other in both directions lie near in memory. */
typedef struct block_layout {
    int rows, cols; /* CB and KB */
    int blocks;
    int *row, *col; /* of each block, by number */
    /* Place of each block's first entry among A's nonzeros: where its value is, if A has any. */
    int *entry;
    int *row_ptr, *of_row; /* numbers of the blocks of a row, by ascending column */
    int *col_ptr, *of_col; /* numbers of the blocks of a column, by ascending row */
} block_layout;

/* Makes the layout of A's pattern, which has fewer than 2^31 nonzeros; an entry that is there twice is one block. The
 * caller frees it. STATUS_MEMORY. On failure *layout is all zero. */
enum status block_layout_make(const csr_matrix *A, block_layout *layout, error_text *error);

void block_layout_free(block_layout *layout);

/* The place of (row, col) in z-order. */
uint64_t block_z_order(uint32_t row, uint32_t col);

/* W[blocks][side][side] becomes (a part of) the identity times `scale`: element (i, j) of block (c, k) is `scale` where
 * i == j and c mod KB == k mod CB, else 0. Source: block-sparse networks begin with it, as openai/blocksparse does. */
void block_identity(const block_layout *layout, int side, float scale, float *W);

/* Copies W[blocks][side][side] into a row-major matrix of CB * side rows and KB * side columns whose other elements
 * become 0, and back. */
void block_to_dense(const block_layout *layout, int side, const float *W, float *dense);
void block_from_dense(const block_layout *layout, int side, const float *dense, float *W);

#ifdef __cplusplus
}
#endif
#endif
