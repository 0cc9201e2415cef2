#include "grader/test_inputs.h"

#include "matrix/dataset.h"
#include "matrix/generate.h"
#include "matrix/random.h"
#include "matrix/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SEED, VALUES, ROWS, COLUMNS, INSIDE };

uint64_t test_input_secret(void)
{
    uint64_t bits = 0;
    while (getrandom(&bits, sizeof bits, 0) != sizeof bits) {
    }
    return bits;
}

/* Fisher and Yates: order[0 .. n-1] becomes a permutation of 0 .. n-1. */
static void shuffle(int32_t *order, int64_t n, uint64_t stream)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)random_below(stream, i, i + 1);
        const int32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* Fills P, allocated like A, with A's rows in another order, under other column numbers, and with the
 * nonzeros of each row rotated. */
static void permute_into(const csr_matrix *A, csr_matrix *P, const int32_t *row_order,
                         const int32_t *new_column, uint64_t secret)
{
    const uint64_t inside = random_substream(secret, INSIDE);
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t start = A->row_ptr[row_order[i]];
        const int64_t length = A->row_ptr[row_order[i] + 1] - start;
        const int64_t turn = length ? (int64_t)random_below(inside, i, length) : 0;
        int64_t at = P->row_ptr[i];
        P->row_ptr[i + 1] = at + length;
        for (int64_t k = 0; k < length; k++, at++) {
            const int64_t from = start + (k + turn) % length;
            P->col_idx[at] = new_column[A->col_idx[from]];
            if (P->values) P->values[at] = A->values[from];
        }
    }
}

static enum status permute(csr_matrix *A, uint64_t secret, error_text *error)
{
    csr_matrix P;
    int32_t *row_order = malloc((A->rows + 1) * sizeof *row_order);
    int32_t *new_column = malloc((A->cols + 1) * sizeof *new_column);
    enum status status = fail(error, STATUS_MEMORY, "no memory to permute a matrix");
    if (row_order && new_column)
        status = csr_alloc(&P, A->rows, A->cols, A->nnz, A->values != NULL, error);
    if (status == STATUS_OK) {
        shuffle(row_order, A->rows, random_substream(secret, ROWS));
        shuffle(new_column, A->cols, random_substream(secret, COLUMNS));
        permute_into(A, &P, row_order, new_column, secret);
        P.block = A->block;
        csr_free(A);
        *A = P;
    }
    free(row_order);
    free(new_column);
    return status;
}

/* Values of A's own, so that problems with other seeds differ in their dense inputs alone. */
static enum status give_values(csr_matrix *A, uint64_t secret, error_text *error)
{
    if (A->values) return STATUS_OK;
    A->values = malloc((A->nnz + 1) * sizeof *A->values);
    if (!A->values) return fail(error, STATUS_MEMORY, "no memory for a matrix's values");
    for (int64_t k = 0; k < A->nnz; k++)
        A->values[k] = random_symmetric(random_substream(secret, VALUES), k);
    return STATUS_OK;
}

const char *test_input_matrix(const char *spec)
{
    static const char PATTERN[] = "pattern:";
    return strncmp(spec, PATTERN, sizeof PATTERN - 1) ? spec : spec + sizeof PATTERN - 1;
}

/* The shape that `spec` means; NULL: none. */
static const shape *shape_of(const char *spec)
{
    int number, end = 0;
    const bool is_shape = sscanf(spec, "shape:%d%n", &number, &end) == 1 && !spec[end] &&
                          number >= 0 && number < NUM_SHAPES;
    return is_shape ? &SHAPES[number] : NULL;
}

const char *test_input_name(const char *spec)
{
    const shape *awkward = shape_of(test_input_matrix(spec));
    return awkward ? awkward->name : spec;
}

/* The matrix with the values that it comes with, if any. */
static enum status make_matrix(const char *spec, uint64_t secret, csr_matrix *A, error_text *error)
{
    const shape *awkward = shape_of(spec);
    bool is_new = true;
    enum status status;
    *A = (csr_matrix){0};
    if (awkward) {
        status = awkward->make(A, error);
    } else if (is_generator_spec(spec)) {
        char text[512], source[1024];
        snprintf(text, sizeof text, "%.400s,seed=%llu", spec,
                 (unsigned long long)(random_substream(secret, SEED) >> 11));
        status = generate(text, A, source, sizeof source, error);
    } else {
        dataset d;
        is_new = false;
        status = dataset_open(spec, NULL, &d, error);
        if (status == STATUS_OK) *A = d.matrix; /* it is A's now, mapping and all */
    }
    if (status == STATUS_OK && is_new) status = permute(A, secret, error);
    if (status != STATUS_OK) csr_free(A);
    return status;
}

enum status test_input_make(const char *spec, uint64_t secret, csr_matrix *A, error_text *error)
{
    const char *matrix = test_input_matrix(spec);
    enum status status = make_matrix(matrix, secret, A, error);
    if (status == STATUS_OK && matrix != spec)
        csr_drop_values(A);
    else if (status == STATUS_OK)
        status = give_values(A, secret, error);
    if (status != STATUS_OK) csr_free(A);
    return status;
}
