#include "ops/inputs.h"

#include "matrix/random.h"

#include <math.h>
#include <stdlib.h>

/* ---- numbers --------------------------------------------------------------------------------- */

static size_t narrow_bytes(enum precision precision)
{
    return precision == PRECISION_FP32 ? 0 : precision_format(precision)->bytes;
}

size_t numbers_bytes(enum precision precision, size_t count)
{
    return (count + 1) * (sizeof(float) + narrow_bytes(precision));
}

bool numbers_alloc(numbers *n, enum precision precision, size_t count)
{
    const size_t narrow = narrow_bytes(precision);
    *n = (numbers){.precision = precision, .count = count};
    n->own = malloc((count + 1) * sizeof *n->own);
    n->floats = n->own;
    if (narrow) n->narrow = malloc((count + 1) * narrow);
    return n->own && (n->narrow || !narrow);
}

void numbers_borrow(numbers *n, const float *floats, size_t count)
{
    *n = (numbers){.precision = PRECISION_FP32, .count = count, .floats = floats};
}

void numbers_free(numbers *n)
{
    free(n->own);
    free(n->narrow);
    *n = (numbers){0};
}

float input_number(int most, uint64_t stream, uint64_t at)
{
    if (most == 0) return random_symmetric(stream, at);
    const int k = (int)random_below(stream, at, 2 * (uint64_t)most);
    return (float)(k < most ? k - most : k - most + 1);
}

void numbers_fill_rows(numbers *n, int64_t rows, int width, const uint8_t *used, int most,
                       uint64_t stream)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++)
        for (int j = 0; j < width; j++) {
            const size_t at = (size_t)i * width + j;
            n->own[at] = used[i] ? input_number(most, stream, at) : i % 2 ? INFINITY : NAN;
        }
}

void numbers_round(numbers *n)
{
    if (!n->narrow) return;
    precision_narrow(n->precision, n->own, n->narrow, n->count);
    precision_widen(n->precision, n->narrow, n->own, n->count);
}

operand numbers_operand(const numbers *n, const char *name)
{
    const size_t element = precision_format(n->precision)->bytes;
    void *data = n->narrow ? n->narrow : (void *)n->floats;
    return (operand){name, data, n->count * element, element};
}

/* ---- the dataset ----------------------------------------------------------------------------- */

enum status dataset_check(const problem *p, const char *labs, error_text *error)
{
    const csr_matrix *A = p->A;
    if (A->nnz > MAX_NNZ)
        return fail(error, STATUS_MEMORY,
                    "%lld nonzeros need 64-bit row offsets on the device; the %s labs take at "
                    "most %d",
                    (long long)A->nnz, labs, MAX_NNZ);
    return dataset_check_values(p, error);
}

enum status dataset_check_values(const problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    enum status status = csr_require_finite(A, error);
    if (status != STATUS_OK || !A->values) return status;
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            if (isinf(precision_round(p->precision, A->values[k])))
                return fail(error, STATUS_SKIPPED, "row %lld: the value %.7g overflows %s",
                            (long long)i, (double)A->values[k], precision_name(p->precision));
    return STATUS_OK;
}

int32_t *dataset_offsets(const csr_matrix *A)
{
    int32_t *offsets = malloc((A->rows + 1) * sizeof *offsets);
    if (!offsets) return NULL;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i <= A->rows; i++)
        offsets[i] = (int32_t)A->row_ptr[i];
    return offsets;
}

uint8_t *dataset_mark_columns(problem *p)
{
    const csr_matrix *A = p->A;
    uint8_t *used = calloc(A->cols + 1, 1);
    if (!used) return NULL;
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < A->nnz; k++) {
#pragma omp atomic write
        used[A->col_idx[k]] = 1;
    }
    p->used_columns = 0;
    for (int64_t c = 0; c < A->cols; c++)
        p->used_columns += used[c];
    p->has_empty_column = p->used_columns < A->cols;
    return used;
}

uint8_t *dataset_mark_rows(const problem *p)
{
    const csr_matrix *A = p->A;
    uint8_t *used = calloc(A->rows + 1, 1);
    for (int64_t i = 0; used && i < A->rows; i++)
        used[i] = A->row_ptr[i] < A->row_ptr[i + 1];
    return used;
}

int64_t dataset_row_length(const problem *p, int64_t row)
{
    return p->A->row_ptr[row + 1] - p->A->row_ptr[row];
}

operand dataset_offsets_operand(const csr_matrix *A, int32_t *offsets, const char *name)
{
    return (operand){name, offsets, (A->rows + 1) * sizeof *offsets, sizeof *offsets};
}

operand dataset_columns_operand(const csr_matrix *A, const char *name)
{
    return (operand){name, A->col_idx, A->nnz * sizeof *A->col_idx, sizeof *A->col_idx};
}

device_csr dataset_on_device(const problem *p, const void *d_row_ptr, const void *d_col_idx,
                             const void *d_values)
{
    const bool is_fp32 = p->precision == PRECISION_FP32;
    return (device_csr){
        .rows = (int)p->A->rows,
        .cols = (int)p->A->cols,
        .nnz = (int)p->A->nnz,
        .d_row_ptr = d_row_ptr,
        .d_col_idx = d_col_idx,
        .d_values = is_fp32 ? d_values : NULL,
        .d_values16 = is_fp32 ? NULL : d_values,
        .host = p->A,
        .stats = &p->stats,
    };
}
