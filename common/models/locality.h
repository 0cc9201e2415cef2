/*
 * locality.h - how near to each other the columns of a row are: row lengths cannot tell that.
 */
#ifndef MODELS_LOCALITY_H
#define MODELS_LOCALITY_H

#include "ops/spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For blocks of 2^(LOCALITY_FIRST + i) columns: how often a row enters another block than that of
 * the nonzero before. Where rows are sorted that is the number of (row, block) pairs with a
 * nonzero. */
enum { LOCALITY_FIRST = 9, LOCALITY_SIZES = 14 };
typedef struct locality {
    int64_t entered[LOCALITY_SIZES];
} locality;

/* Counts on the GPU or on the host, with the same result: reads all columns once, 4 bytes a
 * nonzero. */
cudaError_t locality_measure(const spmm_matrix *A, bool on_host, locality *l);

/* Interpolates between two of these sizes, for blocks of `cols` columns. */
double locality_entered(const locality *l, double cols);

#ifdef __cplusplus
}
#endif
#endif
