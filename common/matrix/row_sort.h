/*
 * row_sort.h - ascending columns inside every row of a CSR matrix.
 */
#ifndef MATRIX_ROW_SORT_H
#define MATRIX_ROW_SORT_H

#include "matrix/csr.h"

/* Sorts the columns of every row, values along with them; stable, so that entries of the same
 * column keep their order. Rows in parallel, O(nnz), with scratch for the longest row that each
 * thread meets. The arrays must not be a mapping; offsets and columns must be valid. On
 * STATUS_MEMORY some rows are sorted and some are not. */
enum status csr_sort_rows(csr_matrix *A, error_text *error);

/* Sorts the columns, each below `cols`, of one row without values. scratch: room for n. */
void columns_sort(int32_t *columns, int64_t n, int64_t cols, int32_t *scratch);

#endif
