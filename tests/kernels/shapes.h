/*
 * shapes.h - the matrices of the kernel tests: small, and each one awkward in its own way.
 */
#ifndef TESTS_KERNELS_SHAPES_H
#define TESTS_KERNELS_SHAPES_H

#include "matrix/csr.h"

typedef struct shape {
    const char *name;
    enum status (*make)(csr_matrix *A, error_text *error);
} shape;

extern const shape SHAPES[];
extern const int NUM_SHAPES;

/* One matrix that holds most of the trouble at once (empty, short, tile-sized and huge rows, unused
 * and repeated columns, a ragged number of rows), for tests that want a single problem. */
enum status make_everything(csr_matrix *A, error_text *error);

/* One of 33 x 1000 whose rows have nonzeros in neighbouring columns, which that has not. */
enum status make_neighbours(csr_matrix *A, error_text *error);

#endif
