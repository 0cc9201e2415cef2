/*
 * dense.h - a sparse matrix with its zeros, for the vendor's dense products.
 */
#ifndef BASELINES_DENSE_H
#define BASELINES_DENSE_H

#include "ops/spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Part of the name of a contender whose B is column-major; its name ends on " (dense)", as of all. */
#define DENSE_COLUMNS " column-major B"

/* Why a dense contender cannot take the problem; NULL: it can. */
const char *dense_unsuited(const problem *p);

/* A new array *d_dense[rows * cols] on the device, row-major, of the plan's precision: A with its
 * zeros. Entries of the same place add up, in that precision. The caller frees it, on error too. */
cudaError_t dense_from_csr(const spmm_plan *plan, void **d_dense);

/* Copies B, A.cols x N and row-major, of the plan's precision, to *d_columns[N * A.cols], column after column:
 * enqueued on stream 0. Allocates the array where *d_columns is NULL. The caller frees it, on error too. */
cudaError_t dense_by_columns(const spmm_plan *plan, const void *B, void **d_columns);

/* Whether a contender multiplies such a copy: who would keep B so brings none into the run. */
static inline bool dense_wants_columns(const spmm_plan *plan)
{
    return plan->contender->rebind != NULL;
}

#ifdef __cplusplus
}
#endif
#endif
