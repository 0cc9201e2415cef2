/*
 * pattern.h - matrices whose columns follow from the row's number: meshes, arrows, blocks.
 *
 * A shape answers what columns a row has. The matrix is filled from it, or from a random part of it.
 * So a matrix of a kind can also have a stated number of nonzeros.
 */
#ifndef MATRIX_PATTERN_H
#define MATRIX_PATTERN_H

#include "matrix/csr.h"

typedef struct row_pattern {
    const void *shape;
    /* Writes the columns of row `row`, ascending, to columns[] and returns how many there are;
     * with columns == NULL it only counts them. */
    int64_t (*columns_of)(const void *shape, int64_t row, int32_t *columns);
    int64_t rows, cols;
} row_pattern;

/* The nonzeros of the whole pattern, by asking each row. */
int64_t pattern_count(const row_pattern *p);

/* Makes the matrix of `nnz` of the pattern's `places` (pattern_count) entries, each choice of them
 * equally likely and decided by `seed`. The caller frees it. Scratch: the longest row. Fails with
 * STATUS_MEMORY, and as csr_alloc does. */
enum status pattern_fill(const row_pattern *p, int64_t places, int64_t nnz, uint64_t seed,
                         csr_matrix *A, error_text *error);

#endif
