#include "matrix/csr.h"

#include "matrix/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Above this the byte counts below could overflow; no machine holds it anyway. */
#define MAX_NNZ (INT64_MAX / 16)

static enum status check_sizes(int64_t rows, int64_t cols, int64_t nnz, error_text *error)
{
    if (rows < 0 || rows > INT32_MAX || cols < 0 || cols > INT32_MAX)
        return fail(error, STATUS_DATASET,
                    "%" PRId64 " x %" PRId64 " is no possible shape: each side is 0..%d", rows,
                    cols, INT32_MAX);
    if (nnz < 0 || nnz > MAX_NNZ)
        return fail(error, STATUS_DATASET, "%" PRId64 " is no possible number of nonzeros", nnz);
    return STATUS_OK;
}

enum status csr_check_side(const char *side, int64_t count, int64_t entries, const char *source,
                           error_text *error)
{
    enum { ALWAYS = 1 << 23, A_NONZERO = 1000 };
    if (count <= ALWAYS || (count - ALWAYS - 1) / A_NONZERO < entries) return STATUS_OK;
    return fail(error, STATUS_DATASET,
                "%s: %" PRId64 " %s are absurd for %" PRId64
                " nonzeros: number them from the first one up, without large gaps",
                source, count, side, entries);
}

enum status csr_alloc(csr_matrix *A, int64_t rows, int64_t cols, int64_t nnz, bool with_values,
                      error_text *error)
{
    *A = (csr_matrix){0};
    enum status status = check_sizes(rows, cols, nnz, error);
    if (status != STATUS_OK) return status;

    int64_t bytes = (rows + 1) * (int64_t)sizeof *A->row_ptr +
                    nnz * (int64_t)(sizeof *A->col_idx + (with_values ? sizeof *A->values : 0));
    status = memory_check(bytes, "the matrix", error);
    if (status != STATUS_OK) return status;

    /* At least one byte each: malloc(0) may return NULL, which is reserved for "pattern only". */
    A->row_ptr = calloc((size_t)rows + 1, sizeof *A->row_ptr);
    A->col_idx = malloc((size_t)nnz * sizeof *A->col_idx + 1);
    if (with_values) A->values = malloc((size_t)nnz * sizeof *A->values + 1);
    if (!A->row_ptr || !A->col_idx || (with_values && !A->values)) {
        csr_free(A);
        return fail(error, STATUS_MEMORY, "the matrix needs %.1f GB of memory, which is refused",
                    (double)bytes * 1e-9);
    }
    A->rows = rows;
    A->cols = cols;
    A->nnz = nnz;
    return STATUS_OK;
}

static void free_unless_mapped(const csr_matrix *A, void *array)
{
    uintptr_t at = (uintptr_t)array, begin = (uintptr_t)A->mapping;
    if (!A->mapping || at < begin || at >= begin + A->mapping_bytes) free(array);
}

void csr_free(csr_matrix *A)
{
    free_unless_mapped(A, A->row_ptr);
    free_unless_mapped(A, A->col_idx);
    free_unless_mapped(A, A->values);
    if (A->mapping) munmap(A->mapping, A->mapping_bytes);
    *A = (csr_matrix){0};
}

void csr_drop_values(csr_matrix *A)
{
    free_unless_mapped(A, A->values);
    A->values = NULL;
}

/* The first row whose offsets decrease, or A->rows. */
static int64_t first_decrease(const csr_matrix *A)
{
    int64_t first = A->rows;
#pragma omp parallel for reduction(min : first)
    for (int64_t i = 0; i < A->rows; i++) {
        if (A->row_ptr[i + 1] < A->row_ptr[i] && i < first) first = i;
    }
    return first;
}

/* The first entry with a column out of range, or A->nnz. */
static int64_t first_bad_column(const csr_matrix *A)
{
    int64_t first = A->nnz;
    uint32_t cols = (uint32_t)A->cols;
#pragma omp parallel for reduction(min : first)
    for (int64_t k = 0; k < A->nnz; k++)
        if ((uint32_t)A->col_idx[k] >= cols && k < first)
            first = k; /* negative: huge as unsigned */
    return first;
}

/* The first entry with a value that is not finite, or A->nnz. */
static int64_t first_nonfinite_value(const csr_matrix *A)
{
    int64_t first = A->nnz;
#pragma omp parallel for reduction(min : first)
    for (int64_t k = 0; k < A->nnz; k++)
        if (!isfinite(A->values[k]) && k < first) first = k;
    return first;
}

/* The row that holds entry k < nnz of a matrix with valid offsets: the last one starting at or
 * before k (rows of no entries that start there come earlier). */
static int64_t row_of_entry(const csr_matrix *A, int64_t k)
{
    int64_t low = 0, high = A->rows; /* row_ptr[low] <= k < row_ptr[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (A->row_ptr[middle] <= k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

enum status csr_validate(const csr_matrix *A, const char *source, error_text *error)
{
    error_text reason;
    enum status status = check_sizes(A->rows, A->cols, A->nnz, &reason);
    if (status != STATUS_OK) return fail(error, status, "%s: %s", source, reason.text);
    if (!A->row_ptr || (A->nnz > 0 && !A->col_idx))
        return fail(error, STATUS_DATASET, "%s: a matrix without its arrays", source);

    if (A->row_ptr[0] != 0)
        return fail(error, STATUS_DATASET, "%s: row 0: starts at entry %" PRId64 ", not at 0",
                    source, A->row_ptr[0]);
    int64_t row = first_decrease(A);
    if (row < A->rows)
        return fail(error, STATUS_DATASET,
                    "%s: row %" PRId64 ": offsets decrease (ends at entry %" PRId64
                    ", starts at %" PRId64 ")",
                    source, row, A->row_ptr[row + 1], A->row_ptr[row]);
    if (A->row_ptr[A->rows] != A->nnz)
        return fail(error, STATUS_DATASET,
                    "%s: the row offsets end at %" PRId64 ", but there are %" PRId64 " nonzeros",
                    source, A->row_ptr[A->rows], A->nnz);

    int64_t k = first_bad_column(A);
    if (k == A->nnz) return STATUS_OK;
    return fail(error, STATUS_DATASET,
                "%s: row %" PRId64 ": column %" PRId32 " is outside the matrix (%" PRId64
                " columns)",
                source, row_of_entry(A, k), A->col_idx[k], A->cols);
}

enum status csr_require_finite(const csr_matrix *A, error_text *error)
{
    if (!A->values) return STATUS_OK;
    int64_t k = first_nonfinite_value(A);
    if (k == A->nnz) return STATUS_OK;
    return fail(error, STATUS_DATASET,
                "row %" PRId64 ": the value at column %" PRId32
                " is not finite in fp32, so no result could be checked",
                row_of_entry(A, k), A->col_idx[k]);
}
