/*
 * device_pattern.h - patterns with ascending columns, on the host and on the device, for tests of formats.
 */
#ifndef TESTS_UNIT_DEVICE_PATTERN_H
#define TESTS_UNIT_DEVICE_PATTERN_H

#include "ops/device_csr.h"

#include "on_device.h"

/* The elements of a rows x cols matrix that `keep` keeps, with ascending columns. */
static inline csr_matrix dense_part(int64_t rows, int64_t cols, bool keep(int64_t row, int64_t col))
{
    csr_matrix A;
    error_text error;
    assert_int_equal(csr_alloc(&A, rows, cols, rows * cols, false, &error), STATUS_OK);
    int64_t at = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++)
            if (keep(i, j)) A.col_idx[at++] = (int32_t)j;
        A.row_ptr[i + 1] = at;
    }
    A.nnz = at;
    return A;
}

/* The pattern of A on the device, to be freed by pattern_free. */
static inline device_csr pattern_on_device(const csr_matrix *A)
{
    int *row_ptr = malloc((A->rows + 1) * sizeof *row_ptr);
    assert_non_null(row_ptr);
    for (int64_t i = 0; i <= A->rows; i++)
        row_ptr[i] = (int)A->row_ptr[i];
    device_csr d = {.rows = (int)A->rows,
                    .cols = (int)A->cols,
                    .nnz = (int)A->nnz,
                    .d_row_ptr = to_device(row_ptr, (A->rows + 1) * sizeof *row_ptr),
                    .d_col_idx = to_device(A->col_idx, A->nnz * sizeof *A->col_idx),
                    .host = A};
    free(row_ptr);
    return d;
}

static inline void pattern_free(device_csr *d)
{
    cudaFree((void *)d->d_row_ptr);
    cudaFree((void *)d->d_col_idx);
}

/* Selects the elements to keep. */
static inline bool scattered(int64_t row, int64_t col)
{
    return (row * 7 + col * 13) % 11 == 3;
}
static inline bool all(int64_t row, int64_t col)
{
    (void)row;
    (void)col;
    return true;
}
static inline bool block_diagonal(int64_t row, int64_t col)
{
    return row / 100 == col / 100 && row != 105;
}

#endif
