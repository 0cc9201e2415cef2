/*
 * dense.h - a sparse matrix with its zeros, for the vendor's dense products.
 */
#ifndef BASELINES_DENSE_H
#define BASELINES_DENSE_H

#include "ops/spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills d_dense[rows * cols], row-major, with A: entries of the same place add up. */
cudaError_t dense_from_csr(const spmm_matrix *A, float *d_dense);

#ifdef __cplusplus
}
#endif
#endif
