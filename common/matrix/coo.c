#include "matrix/bucket.h"
#include "matrix/csr.h"
#include "matrix/memory.h"
#include "matrix/row_sort.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    MIN_CAPACITY = 1024,
    /* More is not believed in advance: a header that promises 10^12 entries proves nothing. */
    MAX_HINT = 1 << 20
};

/* Grows one array; on failure the old one stays. Fresh pages are touched only when written, so a
 * generous capacity costs address space, not memory. */
static bool grow(void **array, int64_t capacity, size_t element)
{
    void *larger = realloc(*array, (size_t)capacity * element);
    if (larger) *array = larger;
    return larger != NULL;
}

static enum status reserve(coo_list *list, int64_t capacity, bool with_values, error_text *error)
{
    int64_t entry_bytes = (int64_t)(2 * sizeof(int32_t) + (with_values ? sizeof(float) : 0));
    enum status status =
        memory_check((capacity - list->capacity) * entry_bytes, "the list of entries", error);
    if (status != STATUS_OK) return status;
    if (!grow((void **)&list->row, capacity, sizeof *list->row) ||
        !grow((void **)&list->col, capacity, sizeof *list->col) ||
        (with_values && !grow((void **)&list->value, capacity, sizeof *list->value)))
        return fail(error, STATUS_MEMORY, "no memory for %" PRId64 " entries", capacity);
    list->capacity = capacity;
    return STATUS_OK;
}

enum status coo_init(coo_list *list, int64_t capacity, bool with_values, error_text *error)
{
    *list = (coo_list){0};
    if (capacity < MIN_CAPACITY) capacity = MIN_CAPACITY;
    if (capacity > MAX_HINT) capacity = MAX_HINT;
    enum status status = reserve(list, capacity, with_values, error);
    if (status != STATUS_OK) coo_free(list);
    return status;
}

enum status coo_push(coo_list *list, int32_t row, int32_t col, float value, error_text *error)
{
    if (list->count == list->capacity) {
        enum status status =
            reserve(list, list->capacity + list->capacity / 2, list->value != NULL, error);
        if (status != STATUS_OK) return status;
    }
    list->row[list->count] = row;
    list->col[list->count] = col;
    if (list->value) list->value[list->count] = value;
    list->count++;
    return STATUS_OK;
}

void coo_free(coo_list *list)
{
    free(list->row);
    free(list->col);
    free(list->value);
    *list = (coo_list){0};
}

static enum status check_coordinates(const coo_list *list, int64_t rows, int64_t cols,
                                     const char *source, error_text *error)
{
    int64_t bad = list->count;
#pragma omp parallel for reduction(min : bad)
    for (int64_t k = 0; k < list->count; k++) {
        bool outside = (uint32_t)list->row[k] >= rows || (uint32_t)list->col[k] >= cols;
        if (outside && k < bad) bad = k;
    }
    if (bad == list->count) return STATUS_OK;
    return fail(error, STATUS_DATASET,
                "%s: entry %" PRId64 " at (%" PRId32 ", %" PRId32 ") is outside the %" PRId64
                " x %" PRId64 " matrix (all counted from 0)",
                source, bad, list->row[bad], list->col[bad], rows, cols);
}

static bool rows_ascend(const coo_list *list)
{
    bool ascend = true;
#pragma omp parallel for reduction(&& : ascend)
    for (int64_t k = 1; k < list->count; k++)
        ascend = ascend && list->row[k - 1] <= list->row[k];
    return ascend;
}

/* A list that is in row order already: its columns and values are the matrix's. */
static enum status adopt(coo_list *list, int64_t rows, int64_t cols, csr_matrix *A,
                         error_text *error)
{
    enum status status = csr_alloc(A, rows, cols, 0, false, error);
    if (status != STATUS_OK) return status;
    for (int64_t k = 0; k < list->count; k++)
        A->row_ptr[list->row[k] + 1]++;
    for (int64_t i = 0; i < rows; i++)
        A->row_ptr[i + 1] += A->row_ptr[i];

    free(A->col_idx);
    A->nnz = list->count;
    A->col_idx = list->col;
    A->values = list->value;
    list->col = NULL;
    list->value = NULL;
    /* Gives the unused capacity back; a shrinking realloc that fails leaves the array as it is. */
    int64_t kept = A->nnz > 0 ? A->nnz : 1;
    grow((void **)&A->col_idx, kept, sizeof *A->col_idx);
    if (A->values) grow((void **)&A->values, kept, sizeof *A->values);
    return STATUS_OK;
}

static enum status scatter(const coo_list *list, int64_t rows, int64_t cols, csr_matrix *A,
                           error_text *error)
{
    bucket_plan plan = {0};
    enum status status = csr_alloc(A, rows, cols, list->count, list->value != NULL, error);
    if (status != STATUS_OK) return status;
    status = bucket_plan_make(&plan, list->row, list->count, rows, A->row_ptr, error);
    if (status != STATUS_OK) goto cleanup;

#pragma omp parallel for
    for (int chunk = 0; chunk < plan.chunks; chunk++) {
        int64_t end = bucket_begin(&plan, chunk + 1);
        for (int64_t k = bucket_begin(&plan, chunk); k < end; k++) {
            int64_t place = bucket_place(&plan, chunk, list->row[k]);
            A->col_idx[place] = list->col[k];
            if (list->value) A->values[place] = list->value[k];
        }
    }

cleanup:
    bucket_plan_free(&plan);
    return status;
}

enum status csr_from_coo(coo_list *list, int64_t rows, int64_t cols, csr_matrix *A,
                         const char *source, error_text *error)
{
    *A = (csr_matrix){0};
    enum status status = check_coordinates(list, rows, cols, source, error);
    if (status == STATUS_OK) status = csr_check_side("rows", rows, list->count, source, error);
    if (status != STATUS_OK) goto cleanup;
    status =
        rows_ascend(list) ? adopt(list, rows, cols, A, error) : scatter(list, rows, cols, A, error);
    if (status != STATUS_OK) goto cleanup;
    coo_free(list);
    status = csr_sort_rows(A, error);

cleanup:
    coo_free(list);
    if (status != STATUS_OK) csr_free(A);
    return status;
}
