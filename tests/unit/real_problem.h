/*
 * real_problem.h - what the tests of operations share: problems made by the operation itself, small
 * matrices to make them of, and assertions about inputs and refusals.
 */
#ifndef TEST_REAL_PROBLEM_H
#define TEST_REAL_PROBLEM_H

#include "fixture.h"
#include "ops/operation.h"

static inline void problem_create(problem *p, const operation *op, enum precision precision,
                                  const csr_matrix *A, int width, uint64_t seed)
{
    error_text error;
    *p = (problem){.operation = op, .A = A, .width = width, .seed = seed, .precision = precision};
    if (row_stats_compute(A, &p->stats, &error) != STATUS_OK || op->create(p, &error) != STATUS_OK)
        fail_msg("%s", error.text);
}

/* The problem is refused with that status and a message that holds the fragment. Nothing is left. */
static inline void assert_problem_refused(const operation *op, enum precision precision,
                                          const csr_matrix *A, int width, enum status status,
                                          const char *fragment)
{
    error_text error = {""};
    problem p = {.operation = op, .A = A, .width = width, .seed = 1, .precision = precision};
    assert_int_equal(op->create(&p, &error), status);
    if (!strstr(error.text, fragment)) fail_msg("'%s' without '%s'", error.text, fragment);
    assert_null(p.own);
    op->destroy(&p); /* of a problem that was never made: harmless */
}

static inline csr_matrix full_pattern(int64_t rows, int64_t cols)
{
    csr_matrix A;
    error_text error;
    assert_int_equal(csr_alloc(&A, rows, cols, rows * cols, false, &error), STATUS_OK);
    for (int64_t k = 0; k < A.nnz; k++)
        A.col_idx[k] = (int32_t)(k % cols);
    for (int64_t i = 0; i <= rows; i++)
        A.row_ptr[i] = i * cols;
    return A;
}

/* One row of `count` nonzeros of that value. */
static inline csr_matrix one_row(int64_t count, float value)
{
    csr_matrix A;
    error_text error;
    assert_int_equal(csr_alloc(&A, 1, count, count, true, &error), STATUS_OK);
    A.row_ptr[1] = count;
    for (int64_t k = 0; k < count; k++) {
        A.col_idx[k] = (int32_t)k;
        A.values[k] = value;
    }
    return A;
}

/* Uniform in [-1, 1): range, mean and variance of some ten thousand numbers. */
static inline void assert_uniform(const float *x, size_t count)
{
    double sum = 0, squares = 0;
    for (size_t k = 0; k < count; k++) {
        assert_true(x[k] >= -1 && x[k] < 1);
        sum += x[k];
        squares += (double)x[k] * x[k];
    }
    assert_float_equal(sum / count, 0, 0.03);
    assert_float_equal(squares / count, 1.0 / 3, 0.02);
}

/* An input as floats, whatever the precision; the caller frees it. */
static inline float *widened(const problem *p, int input)
{
    const operand *in = &p->inputs[input];
    const size_t count = in->bytes / in->element;
    float *x = malloc((count + 1) * sizeof *x);
    precision_widen(p->precision, in->data, x, count);
    return x;
}

#endif
