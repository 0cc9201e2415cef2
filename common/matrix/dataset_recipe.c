#include "matrix/dataset_recipe.h"

#include "matrix/row_sort.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void replace(csr_matrix *A, csr_matrix *by)
{
    csr_free(A);
    *A = *by;
    *by = (csr_matrix){0};
}

/* A rows x cols matrix with A's entries, in memory of its own: a file may have been mapped, and
 * mappings are read-only. */
static enum status copy_as(csr_matrix *A, int64_t rows, int64_t cols, error_text *error)
{
    csr_matrix B;
    enum status status = csr_alloc(&B, rows, cols, A->nnz, A->values != NULL, error);
    if (status != STATUS_OK) return status;
    for (int64_t i = 0; i <= rows; i++)
        B.row_ptr[i] = i < A->rows ? A->row_ptr[i] : A->nnz;
    if (A->nnz > 0) memcpy(B.col_idx, A->col_idx, (size_t)A->nnz * sizeof *B.col_idx);
    if (A->values) memcpy(B.values, A->values, (size_t)A->nnz * sizeof *B.values);
    replace(A, &B);
    return STATUS_OK;
}

static enum status make_square(csr_matrix *A, int64_t n, error_text *error)
{
    if (A->rows > n || A->cols > n)
        return fail(error, STATUS_DATASET,
                    "%" PRId64 " x %" PRId64 " does not fit into %" PRId64 " rows and columns",
                    A->rows, A->cols, n);
    if (A->rows == n && A->cols == n) return STATUS_OK;
    return copy_as(A, n, n, error);
}

static enum status transpose(csr_matrix *A, error_text *error)
{
    csr_matrix T;
    enum status status = csr_transpose(A, &T, error);
    if (status == STATUS_OK) replace(A, &T);
    return status;
}

/* Copies row i of A to *next in B, and moves *next on. */
static void append_row(const csr_matrix *A, int64_t i, csr_matrix *B, int64_t *next)
{
    int64_t begin = A->row_ptr[i], n = A->row_ptr[i + 1] - begin;
    memcpy(B->col_idx + *next, A->col_idx + begin, (size_t)n * sizeof *A->col_idx);
    if (A->values) memcpy(B->values + *next, A->values + begin, (size_t)n * sizeof *A->values);
    *next += n;
}

static enum status add_reverse(csr_matrix *A, error_text *error)
{
    csr_matrix T = {0}, B = {0};
    enum status status = csr_transpose(A, &T, error);
    if (status != STATUS_OK) goto cleanup;
    status = csr_alloc(&B, A->rows, A->cols, 2 * A->nnz, A->values != NULL, error);
    if (status != STATUS_OK) goto cleanup;
    for (int64_t i = 0, next = 0; i < A->rows; i++) {
        append_row(A, i, &B, &next);
        append_row(&T, i, &B, &next);
        B.row_ptr[i + 1] = next;
    }
    replace(A, &B);

cleanup:
    csr_free(&T);
    csr_free(&B);
    return status;
}

/* Removes entries in place; a row's columns are ascending, so repeated ones are neighbours. */
static void compact(csr_matrix *A, bool drop_diagonal, bool merge_repeated)
{
    int64_t next = 0, begin = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        int64_t row_begin = next, end = A->row_ptr[i + 1];
        for (int64_t k = begin; k < end; k++) {
            int32_t col = A->col_idx[k];
            if (drop_diagonal && col == i) continue;
            if (merge_repeated && next > row_begin && A->col_idx[next - 1] == col) {
                if (A->values) A->values[next - 1] += A->values[k];
                continue;
            }
            A->col_idx[next] = col;
            if (A->values) A->values[next] = A->values[k];
            next++;
        }
        begin = end;
        A->row_ptr[i + 1] = next;
    }
    A->nnz = next;
}

enum status dataset_recipe_apply(const dataset_recipe *recipe, csr_matrix *A, error_text *error)
{
    enum status status = STATUS_OK;
    bool rewrite = recipe->add_reverse || recipe->drop_self_loops || recipe->coalesce;
    if (A->mapping && (rewrite || recipe->pattern)) status = copy_as(A, A->rows, A->cols, error);
    if (status != STATUS_OK) return status;
    if (recipe->pattern) {
        free(A->values);
        A->values = NULL;
    }
    if (recipe->rows > 0) status = make_square(A, recipe->rows, error);
    if (status == STATUS_OK && recipe->transpose) status = transpose(A, error);
    if (status != STATUS_OK || !rewrite) return status;

    if (A->rows != A->cols)
        return fail(error, STATUS_DATASET,
                    "%" PRId64 " x %" PRId64
                    " is not square, so it has neither reverse edges nor self loops (--rows N "
                    "makes it N x N)",
                    A->rows, A->cols);
    if (recipe->add_reverse) status = add_reverse(A, error);
    if (status == STATUS_OK) status = csr_sort_rows(A, error);
    if (status == STATUS_OK && (recipe->drop_self_loops || recipe->coalesce))
        compact(A, recipe->drop_self_loops, recipe->coalesce);
    return status;
}
