/*
 * row_order.h - an order of the rows in which those of like length are neighbours.
 */
#ifndef MATRIX_ROW_ORDER_H
#define MATRIX_ROW_ORDER_H

#include "matrix/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills order[0 .. A->rows - 1] with row numbers, each window of so many rows for itself: the rows of
 * the highest class first, and equals as they come. A row of `length` nonzeros is of class
 * min(ceil(length / unit), classes - 1). Rows stay within their window, because neighbours often
 * share columns, and keep finding what the other has loaded. A counting sort, in O(rows + classes *
 * windows). At most MAX_ROW_CLASSES classes. */
enum { MAX_ROW_CLASSES = 1024 };
void rows_by_length(const csr_matrix *A, int window, int unit, int classes, int *order);

#ifdef __cplusplus
}
#endif
#endif
