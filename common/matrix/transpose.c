/*
 * transpose.c - T = A transposed: a counting sort of A's entries by column. It is stable, so each
 * row of T comes out with ascending columns (A's row numbers) without a sort.
 */
#include "matrix/bucket.h"
#include "matrix/csr.h"

/* The row that holds entry k, where k may be nnz: the first whose end lies beyond k. */
static int64_t first_row_ending_after(const csr_matrix *A, int64_t k)
{
    int64_t low = 0, high = A->rows;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (A->row_ptr[middle + 1] <= k)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum status csr_transpose(const csr_matrix *A, csr_matrix *T, error_text *error)
{
    bucket_plan plan = {0};
    enum status status = csr_alloc(T, A->cols, A->rows, A->nnz, A->values != NULL, error);
    if (status != STATUS_OK) goto cleanup;
    status = bucket_plan_make(&plan, A->col_idx, A->nnz, A->cols, T->row_ptr, error);
    if (status != STATUS_OK) goto cleanup;

#pragma omp parallel for
    for (int chunk = 0; chunk < plan.chunks; chunk++) {
        int64_t end = bucket_begin(&plan, chunk + 1);
        int64_t k = bucket_begin(&plan, chunk);
        for (int64_t row = first_row_ending_after(A, k); k < end; row++) {
            int64_t row_end = A->row_ptr[row + 1] < end ? A->row_ptr[row + 1] : end;
            for (; k < row_end; k++) {
                int64_t place = bucket_place(&plan, chunk, A->col_idx[k]);
                T->col_idx[place] = (int32_t)row;
                if (A->values) T->values[place] = A->values[k];
            }
        }
    }

cleanup:
    bucket_plan_free(&plan);
    if (status != STATUS_OK) csr_free(T);
    return status;
}
