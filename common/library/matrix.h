/*
 * matrix.h - what a sparse_matrix is made of.
 */
#ifndef LIBRARY_MATRIX_H
#define LIBRARY_MATRIX_H

#include "formats/transposed_pattern.h"
#include "library/failure.h"
#include "matrix/stats.h"

/* The device arrays are its own, or those of `transposed`. */
struct sparse_matrix {
    csr_matrix host; /* the pattern alone */
    row_stats stats;
    int *d_row_ptr, *d_col_idx;
    transposed_pattern *transposed; /* NULL: it was made of the caller's arrays */
    int device;
};

/* SPARSE_INVALID where another device is current. */
enum sparse_status matrix_is_here(const sparse_matrix *A);

#endif
