/*
 * fake_problem.h - a problem whose right results are written down in a table, for tests of what
 * judges results.
 */
#ifndef TEST_FAKE_PROBLEM_H
#define TEST_FAKE_PROBLEM_H

#include "harness/verify.h"

typedef struct fake_problem {
    problem problem;
    double *want, *bound; /* of each element */
    int64_t *length;      /* of each row */
} fake_problem;

static inline void fake_oracle(const problem *p, int which, int64_t row, double *want,
                               double *bound)
{
    const fake_problem *f = p->own;
    const output *o = &p->outputs[which];
    const size_t at = (size_t)output_first(o, row), length = (size_t)output_length(o, row);
    memcpy(want, f->want + at, length * sizeof *want);
    memcpy(bound, f->bound + at, length * sizeof *bound);
}

static inline int64_t fake_row_length(const problem *p, int64_t row)
{
    return ((const fake_problem *)p->own)->length[row];
}

static const operation fake_operation = {
    .name = "fake",
    .width = "N",
    .oracle = fake_oracle,
    .row_length = fake_row_length,
};

/* All results 0 within 0, all rows of length 0: the test fills in what it needs. */
static inline void fake_create(fake_problem *f, int64_t rows, int64_t cols)
{
    f->problem = (problem){
        .operation = &fake_operation,
        .width = (int)cols,
        .outputs = {{.name = "C", .precision = PRECISION_FP32, .rows = rows, .cols = cols}},
        .num_outputs = 1,
        .own = f};
    f->want = calloc(rows * cols + 1, sizeof *f->want);
    f->bound = calloc(rows * cols + 1, sizeof *f->bound);
    f->length = calloc(rows + 1, sizeof *f->length);
    assert_true(f->want && f->bound && f->length);
}

/* Makes the output a pattern: row i has lengths[i] elements, in columns 0, 2, 4 ... */
static inline void fake_pattern(fake_problem *f, int64_t rows, const int64_t *lengths,
                                int64_t *row_ptr, int32_t *col_idx)
{
    row_ptr[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        row_ptr[i + 1] = row_ptr[i] + lengths[i];
        for (int64_t j = 0; j < lengths[i]; j++)
            col_idx[row_ptr[i] + j] = (int32_t)(2 * j);
    }
    f->problem.outputs[0] =
        (output){.name = "D", .rows = rows, .cols = 1000, .row_ptr = row_ptr, .col_idx = col_idx};
}

static inline void fake_destroy(fake_problem *f)
{
    free(f->want);
    free(f->bound);
    free(f->length);
}

/* Returns the number that the harness fills outputs with before a run: NaN with every bit set. */
static inline float fill_pattern(void)
{
    float x;
    memset(&x, 0xFF, sizeof x);
    return x;
}

/* Compares `got` with the table. */
static inline comparison fake_verify(const fake_problem *f, const float *got)
{
    reference ref;
    comparison c;
    error_text error;
    reference_create(&f->problem, &ref);
    assert_int_equal(verify(&ref, &got, &c, &error), STATUS_OK);
    reference_destroy(&ref);
    return c;
}

#endif
