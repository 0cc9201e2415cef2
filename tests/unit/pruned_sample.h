/*
 * pruned_sample.h - matrices for tests of formats of 16-bit values.
 */
#ifndef TESTS_UNIT_PRUNED_SAMPLE_H
#define TESTS_UNIT_PRUNED_SAMPLE_H

#include "matrix/csr.h"
#include "matrix/random.h"
#include "on_device.h"
#include "ops/spmm.h"

#include <string.h>

/* A pattern and 16-bit values of any bits: NaN, -0 and zeros among them. */
typedef struct sample {
    csr_matrix A;
    uint16_t *values;
} sample;

static inline sample sample_alloc(int64_t rows, int64_t cols, int64_t nnz)
{
    sample s;
    error_text error;
    assert_int_equal(csr_alloc(&s.A, rows, cols, nnz, false, &error), STATUS_OK);
    s.values = malloc((size_t)nnz * sizeof *s.values + 1);
    assert_non_null(s.values);
    return s;
}

static inline void sample_free(sample *s)
{
    csr_free(&s->A);
    free(s->values);
}

/* Each element is kept by itself; of `repeats` nonzeros in a hundred the next names the same element.
 * Columns ascend, or descend in odd rows if `unsorted`. */
static inline sample make(int64_t rows, int64_t cols, double sparsity, int repeats, bool unsorted,
                          uint64_t seed)
{
    sample s = sample_alloc(rows, cols, 2 * rows * cols);
    int64_t at = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < cols; k++) {
            const int64_t column = unsorted && i % 2 ? cols - 1 - k : k;
            const uint64_t cell = (uint64_t)(i * cols + column);
            if (random_unit(seed, 3 * cell) < sparsity) continue;
            const bool again = (int)random_below(seed, 3 * cell + 1, 100) < repeats;
            for (int times = 0; times <= again; times++) {
                s.A.col_idx[at] = (int32_t)column;
                s.values[at] = (uint16_t)random_bits(seed ^ 77, (uint64_t)at);
                at++;
            }
        }
        s.A.row_ptr[i + 1] = at;
    }
    s.A.nnz = at;
    return s;
}

/* Runs `check`, which frees its sample, on sides around a tile's and all sparsities, with repeats and descending columns,
 * and without rows or columns. */
static inline void check_samples(void (*check)(sample s))
{
    static const double SPARSITIES[] = {0, .06, .5, .75, .99, 1};
    static const int SIDES[] = {1, 3, 15, 17, 63, 64, 65, 130};
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 6; k++) {
            check(
                make(SIDES[i], SIDES[(3 * i + k) % 8], SPARSITIES[k], 0, false, 10 + (uint64_t)i));
            check(
                make(SIDES[i], SIDES[(5 * i + k) % 8], SPARSITIES[k], 20, true, 30 + (uint64_t)k));
        }
    check(make(0, 70, .5, 0, false, 1));
    check(make(70, 0, .5, 0, false, 1));
}

/* The matrix on the device. */
static inline spmm_matrix sample_to_device(const sample *s)
{
    const csr_matrix *A = &s->A;
    int *row_ptr = malloc(((size_t)A->rows + 1) * sizeof *row_ptr);
    assert_non_null(row_ptr);
    for (int64_t i = 0; i <= A->rows; i++)
        row_ptr[i] = (int)A->row_ptr[i];
    const spmm_matrix d_A = {
        .rows = (int)A->rows,
        .cols = (int)A->cols,
        .nnz = (int)A->nnz,
        .d_row_ptr = to_device(row_ptr, ((size_t)A->rows + 1) * sizeof *row_ptr),
        .d_col_idx = to_device(A->col_idx, (size_t)A->nnz * sizeof *A->col_idx),
        .d_values16 = to_device(s->values, (size_t)A->nnz * sizeof *s->values)};
    free(row_ptr);
    return d_A;
}

static inline void sample_free_on_device(spmm_matrix *d_A)
{
    cudaFree((void *)d_A->d_row_ptr);
    cudaFree((void *)d_A->d_col_idx);
    cudaFree((void *)d_A->d_values16);
}

/* An element of a matrix, to compare matrices whose rows are in different orders. */
typedef struct element {
    int row, col;
    uint16_t value;
} element;

static inline int element_order(const void *a, const void *b)
{
    const element *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->col != y->col) return x->col < y->col ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

/* Fails unless `found` are the sample's elements, in any order; sorts them. */
static inline void assert_same_elements(const sample *s, element *found, int64_t count)
{
    const csr_matrix *A = &s->A;
    element *want = malloc((size_t)A->nnz * sizeof *want + 1);
    assert_non_null(want);
    assert_int_equal(count, A->nnz);
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            want[k] = (element){(int)i, A->col_idx[k], s->values[k]};
    qsort(want, (size_t)count, sizeof *want, element_order);
    qsort(found, (size_t)count, sizeof *found, element_order);
    for (int64_t k = 0; k < count; k++)
        if (element_order(&want[k], &found[k]) != 0)
            fail_msg("row %d, column %d: value %04x has become row %d, column %d, value %04x",
                     want[k].row, want[k].col, want[k].value, found[k].row, found[k].col,
                     found[k].value);
    free(want);
}

/* Fails unless the device's array has these bytes. */
static inline void assert_on_device(const void *d, const void *want, size_t bytes, const char *what)
{
    void *got = to_host(d, bytes);
    if (memcmp(got, want, bytes) != 0) fail_msg("%s differ", what);
    free(got);
}

#endif
