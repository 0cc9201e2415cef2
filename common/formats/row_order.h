/*
 * row_order.h - the row swizzle: an order of the rows in which long ones come first and rows of
 * similar length lie side by side.
 */
#ifndef FORMATS_ROW_ORDER_H
#define FORMATS_ROW_ORDER_H

#include "ops/spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills d_order, a device array of A->rows ints, with the row numbers: longest first, rows of equal
 * length as they come. window > 0: the same inside each window of so many neighbouring rows, and
 * the windows as they come, for matrices whose neighbouring rows use the same columns. */
cudaError_t row_order_by_length(const spmm_matrix *A, int window, int *d_order);

/* The same in a new array, which the caller gives to cudaFree; NULL on error. */
cudaError_t row_order_make(const spmm_matrix *A, int window, int **d_order);

enum row_order_kind { ROWS_AS_THEY_COME, ROWS_BY_LENGTH, ROWS_BY_FIRST_COLUMN };

/* A new array, too: rows as they come, for which it is NULL; by length; or by the column of the first nonzero in each, rows of
 * equal ones as they come and rows without any last. */
cudaError_t row_order_make_of(const spmm_matrix *A, enum row_order_kind kind, int **d_order);

#ifdef __cplusplus
}
#endif
#endif
