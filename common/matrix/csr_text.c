#include "matrix/csr_text.h"

#include <inttypes.h>

static enum status read_offsets(text_input *in, csr_matrix *A, error_text *error)
{
    int64_t before = 0;
    for (int64_t i = 0; i <= A->rows; i++) {
        int64_t offset;
        text_skip_space(in);
        enum status status = text_int(in, "a row offset", INT64_MIN, INT64_MAX, &offset, error);
        if (status != STATUS_OK) return status;
        if (i == 0 && offset != 0)
            return text_fail(in, error, "row 0: the row offsets begin with %" PRId64 ", not with 0",
                             offset);
        if (offset < before)
            return text_fail(in, error,
                             "row %" PRId64 ": offsets decrease (%" PRId64 " after %" PRId64 ")",
                             i - 1, offset, before);
        A->row_ptr[i] = before = offset;
    }
    if (before != A->nnz)
        return text_fail(
            in, error, "the row offsets end at %" PRId64 ", but %" PRId64 " nonzeros are promised",
            before, A->nnz);
    return STATUS_OK;
}

static enum status read_columns(text_input *in, csr_matrix *A, error_text *error)
{
    for (int64_t k = 0; k < A->nnz; k++) {
        int64_t column;
        text_skip_space(in);
        enum status status = text_int(in, "a column index", INT32_MIN, INT32_MAX, &column, error);
        if (status != STATUS_OK) return status;
        A->col_idx[k] = (int32_t)column;
    }
    return STATUS_OK;
}

enum status csr_text_read(text_input *in, int64_t rows, int64_t cols, int64_t nnz, csr_matrix *A,
                          error_text *error)
{
    enum status status = text_check_promise(in, rows, "rows", error);
    if (status == STATUS_OK) status = text_check_promise(in, nnz, "nonzeros", error);
    if (status == STATUS_OK) status = csr_alloc(A, rows, cols, nnz, false, error);
    if (status == STATUS_OK) status = read_offsets(in, A, error);
    if (status == STATUS_OK) status = read_columns(in, A, error);
    if (status == STATUS_OK) status = text_finish(in, "the last column index", error);
    if (status != STATUS_OK) csr_free(A);
    return status;
}
