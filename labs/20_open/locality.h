/*
 * locality.h - how near to each other the columns of a row are: what row lengths cannot tell.
 */
#ifndef LAB20_LOCALITY_H
#define LAB20_LOCALITY_H

#include "device/site.cuh"
#include "ops/spmm.h"

/* For blocks of 2^(LOCALITY_FIRST + i) columns: how often a row enters another block than that of the
 * nonzero before. Where rows are sorted that is the number of (row, block) pairs with a nonzero. */
constexpr int LOCALITY_FIRST = 9, LOCALITY_SIZES = 14;
typedef struct locality {
    int64_t entered[LOCALITY_SIZES];
} locality;

/* One pass over the columns: 4 bytes a nonzero. */
cudaError_t locality_measure(site where, const spmm_matrix *A, locality *l);

/* The same between two of these sizes, by interpolation: blocks of `cols` columns. */
double locality_entered(const locality *l, double cols);

#endif
