/*
 * bundle.h - an order of the rows in which those of like length are neighbours.
 */
#ifndef LABS_BUNDLE_H
#define LABS_BUNDLE_H

#include "ops/spmm.h"

/* The longest rows first within each window of some thousand rows, as A->rows row numbers on the
 * device, made on the host. Rows stay within their window: neighbours often share columns, and keep
 * finding what the other has loaded. The caller frees *d_order with cudaFree; on error it is NULL. */
cudaError_t bundle_rows(const spmm_matrix *A, int **d_order);

#endif
