/*
 * dense.h - a sparse matrix with its zeros, for the vendor's dense products.
 */
#ifndef BASELINES_DENSE_H
#define BASELINES_DENSE_H

#include "ops/spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a dense contender cannot take the problem; NULL: it can. */
const char *dense_unsuited(const problem *p);

/* A new array *d_dense[rows * cols] on the device, row-major, of the plan's precision: A with its
 * zeros. Entries of the same place add up, in that precision. The caller frees it, on error too. */
cudaError_t dense_from_csr(const spmm_plan *plan, void **d_dense);

#ifdef __cplusplus
}
#endif
#endif
