/*
 * pattern.h - which blocks of scores exist: a causal band, and every so many-th block column.
 *
 * A block row is `block` queries, a block column as many keys. With length / block = 8, band = 2 and stride = 4:
 *
 *     1 . . . . . . .
 *     1 1 . . . . . .
 *     . 1 1 . . . . .
 *     . . 1 1 . . . .
 *     . . . 1 1 . . .         column 3 is the last of the first four
 *     . . . 1 1 1 . .
 *     . . . 1 . 1 1 .
 *     . . . 1 . . 1 1
 *
 * Source: the fixed pattern of R. Child and others, Generating Long Sequences with Sparse Transformers, 2019, in blocks.
 */
#ifndef BLOCK_ATTENTION_PATTERN_H
#define BLOCK_ATTENTION_PATTERN_H

#include "matrix/csr.h"

/* band: block columns up to the diagonal that all block rows have, at least 1. stride: of the block columns that all later
 * rows have, the last of each stride; 0: none. */
typedef struct block_pattern {
    int length, block, band, stride; /* length: tokens, a multiple of block */
} block_pattern;

/* Block rows of a head, and block columns. */
static inline int pattern_side(const block_pattern *p)
{
    return p->length / p->block;
}

/* Whether a block exists. */
static inline bool pattern_has(const block_pattern *p, int row, int col)
{
    if (col > row) return false;
    return row - col < p->band || (p->stride && col % p->stride == p->stride - 1);
}

/* Whether a query attends to a key: their block exists, and the key is not behind the query. */
static inline bool pattern_attends(const block_pattern *p, int query, int key)
{
    return key <= query && pattern_has(p, query / p->block, key / p->block);
}

/* The same pattern with all blocks up to the diagonal. */
static inline block_pattern pattern_dense(const block_pattern *p)
{
    return (block_pattern){p->length, p->block, pattern_side(p), 0};
}

/* Counts the blocks of a head. */
int64_t pattern_blocks(const block_pattern *p);

/* Makes the layout of `heads` heads, squares along the diagonal: head h begins at block row and column h * pattern_side(p).
 * Columns ascend. The caller frees A. */
enum status pattern_make(const block_pattern *p, int heads, csr_matrix *A, error_text *error);

#endif
