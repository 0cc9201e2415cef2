/*
 * shapes.h - the awkward matrices: small, and each one a trap of its own for a kernel. The kernel tests
 * and the grader try every lab on all of them.
 */
#ifndef MATRIX_SHAPES_H
#define MATRIX_SHAPES_H

#include "matrix/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One of them: `make` fills A, which the caller frees. The matrix is the same on every call; values are
 * left out where the harness should give its own. */
typedef struct shape {
    const char *name; /* "empty rows": for messages */
    enum status (*make)(csr_matrix *A, error_text *error);
} shape;

/* The list has an order, by which the grader numbers them. */
extern const shape SHAPES[];
extern const int NUM_SHAPES;

/* Makes one matrix that holds most of the trouble at once, for tests that want a single problem. It has
 * empty, short, tile-sized and huge rows, unused and repeated columns, and a ragged number of rows. */
enum status make_everything(csr_matrix *A, error_text *error);

/* One with rows of 5,000, 10,000 and 40,000 nonzeros. */
enum status make_long_rows(csr_matrix *A, error_text *error);

/* One of 33 x 1000 whose rows have nonzeros in neighbouring columns, which that has not. */
enum status make_neighbours(csr_matrix *A, error_text *error);

/* One of 13 x 21, as the layout of a few blocks: lists of up to ten of them, some empty. */
enum status make_few_blocks(csr_matrix *A, error_text *error);

/* One of 13 x 48, as a layout of blocks of 64: four columns of all blocks, then one block a row and four columns. */
enum status make_uneven_blocks(csr_matrix *A, error_text *error);

/* One of 50 x 60 with values of its own, some of them zeros and subnormals. */
enum status make_explicit_zeros(csr_matrix *A, error_text *error);

#ifdef __cplusplus
}
#endif
#endif
