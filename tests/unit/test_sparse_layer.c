/*
 * test_sparse_layer.c - transposed SpMM and a training step: oracles against sums formed in another way; gradients
 * against differences of a loss; the two orders of W; what is refused.
 */
#include "fixture.h"
#include "matrix/random.h"
#include "ops/sparse_layer.h"
#include "ops/transposed_spmm.h"
#include "random_matrix.h"
#include "real_problem.h"

static const float *input(const problem *p, const char *name)
{
    for (int i = 0; i < p->num_inputs; i++)
        if (!strcmp(p->inputs[i].name, name)) return p->inputs[i].data;
    return NULL;
}

/* A row of an output; the caller frees it. */
static double *row_of(const problem *p, int output, int64_t row, double **bound)
{
    const int64_t n = output_length(&p->outputs[output], row);
    double *reference = malloc(2 * (n + 1) * sizeof *reference);
    *bound = reference + n + 1;
    p->operation->oracle(p, output, row, reference, *bound);
    return reference;
}

/* ---- transposed SpMM ------------------------------------------------------------------------- */

/* C is formed by scattering from A's rows, as no kernel or oracle does. */
static void test_transposed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 12; seed++) {
        const int N = 5;
        csr_matrix A = random_matrix(seed, 30, 20, 200, seed % 2);
        problem p;
        problem_create(&p, &transposed_spmm_operation, PRECISION_FP32, &A, N, seed);
        const float *values = input(&p, "A.values"), *B = input(&p, "B");
        double *C = calloc(A.cols * N + 1, sizeof *C);
        for (int64_t i = 0; i < A.rows; i++)
            for (int64_t z = A.row_ptr[i]; z < A.row_ptr[i + 1]; z++)
                for (int n = 0; n < N; n++)
                    C[A.col_idx[z] * N + n] += (double)values[z] * B[i * N + n];
        assert_int_equal(p.outputs[0].rows, A.cols);
        int64_t nonzeros = 0;
        for (int64_t j = 0; j < A.cols; j++) {
            double *bound, *reference = row_of(&p, 0, j, &bound);
            const int64_t length = p.operation->row_length(&p, j);
            nonzeros += length;
            for (int n = 0; n < N; n++) {
                assert_float_equal(reference[n], C[j * N + n], 1e-9);
                assert_true(bound[n] < 1e-2 && (length || (reference[n] == 0 && bound[n] == 0)));
            }
            free(reference);
        }
        assert_int_equal(nonzeros, A.nnz);
        if (A.values) assert_memory_equal(values, A.values, A.nnz * sizeof *values);
        free(C);
        p.operation->destroy(&p);
        csr_free(&A);
    }
}

static void test_transposed_costs(void **state)
{
    (void)state;
    csr_matrix A = full_pattern(3, 7);
    problem p;
    cost_model model;
    problem_create(&p, &transposed_spmm_operation, PRECISION_FP16, &A, 4, 1);
    p.operation->cost(&p, &model);
    assert_float_equal(model.flops, 2 * 21 * 4, 0);
    assert_float_equal(model.compulsory_bytes, 6 * 21 + 4 * 8 + 2 * 4 * (3 + 7), 0);
    assert_float_equal(model.gathers[0].span, 2 * 4 * 3, 0);
    assert_int_equal(p.operation->needs(&p, 3, false), 2 * 3 * 4);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* ---- a training step ------------------------------------------------------------------------- */

static void make(problem *p, const csr_matrix *A, int N, int steps, int orders,
                 enum precision precision, bool whole)
{
    error_text error;
    *p = (problem){.operation = &sparse_layer_operation,
                   .A = A,
                   .width = N,
                   .seed = 3,
                   .knobs = {steps, orders},
                   .precision = precision,
                   .whole = whole};
    if (row_stats_compute(A, &p->stats, &error) != STATUS_OK ||
        p->operation->create(p, &error) != STATUS_OK)
        fail_msg("%s", error.text);
}

/* Elements from a time step to the next, in fp32: a multiple of 64. */
static size_t step_of(int64_t rows, int N)
{
    return ((size_t)rows * N + 63) / 64 * 64;
}

/* A sum of Y has W's row, one of dX its column, and a new weight the gradients of all time steps. */
static void test_counted_products(void **state)
{
    (void)state;
    enum { N = 5, STEPS = 3 };
    csr_matrix A = random_matrix(4, 30, 20, 200, true);
    int64_t in_column[20] = {0};
    problem p;
    make(&p, &A, N, STEPS, 2, PRECISION_FP32, false);
    for (int64_t z = 0; z < A.nnz; z++)
        in_column[A.col_idx[z]]++;
    for (int which = 0; which < p.num_outputs; which++)
        for (int64_t row = 0; row < p.outputs[which].rows; row++) {
            const int64_t in_row = which < STEPS ? A.row_ptr[row + 1] - A.row_ptr[row] : 0;
            const int64_t want = which < STEPS       ? in_row
                                 : which < 2 * STEPS ? in_column[row]
                                                     : STEPS * N;
            assert_int_equal(p.operation->products(&p, which, row, 0), want);
        }
    p.operation->destroy(&p);
    csr_free(&A);
}

/* The loss whose gradient by Y is dY: the sum of dY o Y, over all time steps, for weights W. */
static double loss(const problem *p, const double *W, const float *X, const float *dY, int steps)
{
    const csr_matrix *A = p->A;
    const int N = p->width;
    double sum = 0;
    for (int t = 0; t < steps; t++)
        for (int64_t i = 0; i < A->rows; i++)
            for (int64_t z = A->row_ptr[i]; z < A->row_ptr[i + 1]; z++)
                for (int n = 0; n < N; n++)
                    sum += W[z] * X[t * step_of(A->cols, N) + A->col_idx[z] * N + n] *
                           dY[t * step_of(A->rows, N) + i * N + n];
    return sum;
}

/* The new W is W - eta times the loss's slope. The loss is linear in W, so that differences are exact but for rounding. */
static void test_update_is_a_gradient(void **state)
{
    (void)state;
    const int N = 3, steps = 3;
    csr_matrix A = random_matrix(5, 12, 9, 60, true);
    problem p;
    make(&p, &A, N, steps, 1, PRECISION_FP32, false);
    const float *W = input(&p, "W.values"), *X = input(&p, "X"), *dY = input(&p, "dY");
    double *moved = malloc((A.nnz + 1) * sizeof *moved);
    assert_int_equal(p.num_outputs, 2 * steps + 1);
    for (int64_t z = 0; z < A.nnz; z++)
        moved[z] = W[z];
    for (int64_t i = 0; i < A.rows; i++) {
        double *bound, *reference = row_of(&p, 2 * steps, i, &bound);
        for (int64_t z = A.row_ptr[i]; z < A.row_ptr[i + 1]; z++) {
            moved[z] = W[z] + 0.5;
            const double up = loss(&p, moved, X, dY, steps);
            moved[z] = W[z] - 0.5;
            const double slope = up - loss(&p, moved, X, dY, steps);
            moved[z] = W[z];
            assert_float_equal(reference[z - A.row_ptr[i]], W[z] - slope / 16, 1e-9);
            assert_true(bound[z - A.row_ptr[i]] > 0 && bound[z - A.row_ptr[i]] < 1e-4);
        }
        free(reference);
    }
    free(moved);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* Y and dX of each time step are what SpMM says of W and of its transpose; the sums are formed by scattering. */
static void test_products(void **state)
{
    (void)state;
    const int N = 4, steps = 2;
    csr_matrix A = random_matrix(8, 20, 15, 120, false);
    problem p;
    make(&p, &A, N, steps, 2, PRECISION_FP32, false);
    const float *W = input(&p, "W.values"), *X = input(&p, "X"), *dY = input(&p, "dY");
    for (int t = 0; t < steps; t++) {
        double *Y = calloc(A.rows * N, sizeof *Y), *dX = calloc(A.cols * N, sizeof *dX);
        for (int64_t i = 0; i < A.rows; i++)
            for (int64_t z = A.row_ptr[i]; z < A.row_ptr[i + 1]; z++)
                for (int n = 0; n < N; n++) {
                    Y[i * N + n] += (double)W[z] * X[t * step_of(A.cols, N) + A.col_idx[z] * N + n];
                    dX[A.col_idx[z] * N + n] +=
                        (double)W[z] * dY[t * step_of(A.rows, N) + i * N + n];
                }
        for (int side = 0; side < 2; side++)
            for (int64_t r = 0; r < (side ? A.cols : A.rows); r++) {
                double *bound, *reference = row_of(&p, side * steps + t, r, &bound);
                for (int n = 0; n < N; n++)
                    assert_float_equal(reference[n], (side ? dX : Y)[r * N + n], 1e-12);
                free(reference);
            }
        free(Y);
        free(dX);
    }
    p.operation->destroy(&p);
    csr_free(&A);
}

/* Both orders hold the same weights, those of a pair that is stored twice in the order in which they are stored. */
static void test_orders(void **state)
{
    (void)state;
    error_text error;
    csr_matrix A;
    static const int32_t columns[] = {1, 0, 1, 1, 2, 1};
    assert_int_equal(csr_alloc(&A, 2, 3, 6, false, &error), STATUS_OK);
    memcpy(A.col_idx, columns, sizeof columns);
    A.row_ptr[1] = 4;
    A.row_ptr[2] = 6;
    static const int place[] = {1, 0, 2, 3, 5, 4};
    problem p;
    make(&p, &A, 3, 1, 2, PRECISION_FP16, false);
    const float *W = input(&p, "W.values");
    const output *by_column = &p.outputs[3];
    float now[6];
    precision_widen(PRECISION_FP16, p.inputs[p.num_inputs - 1].data, now, 6);
    assert_string_equal(by_column->name, "the new W by column");
    assert_int_equal(p.num_outputs, 4);
    int at = 0;
    for (int64_t j = 0; j < 3; j++) {
        double *bound, *reference = row_of(&p, 3, j, &bound);
        for (int64_t k = 0; k < output_length(by_column, j); k++, at++) {
            const int z = place[at];
            double *other_bound, *other = row_of(&p, 2, z < 4 ? 0 : 1, &other_bound);
            assert_true(now[at] == precision_round(PRECISION_FP16, W[z]));
            assert_true(reference[k] == other[z < 4 ? z : z - 4]);
            assert_true(bound[k] > 0);
            free(other);
        }
        free(reference);
    }
    assert_int_equal(at, 6);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* On whole numbers nothing is forgiven, and a time step's gradient fits 16 bits. */
static void test_whole(void **state)
{
    (void)state;
    for (int precision = 0; precision < NUM_PRECISIONS; precision++) {
        const int N = 33, steps = 2;
        csr_matrix A = random_matrix(4, 25, 25, 150, false);
        problem p;
        make(&p, &A, N, steps, 2, (enum precision)precision, true);
        const double u = precision_format((enum precision)precision)->unit_roundoff;
        for (int o = 0; o < p.num_outputs; o++)
            for (int64_t r = 0; r < p.outputs[o].rows; r++) {
                double *bound, *reference = row_of(&p, o, r, &bound);
                for (int64_t k = 0; k < output_length(&p.outputs[o], r); k++) {
                    assert_true(bound[k] == 0 && reference[k] == (float)reference[k]);
                    if (o == 2 * steps) assert_true(fabs(reference[k]) < steps / u + 8);
                }
                free(reference);
            }
        p.operation->destroy(&p);
        csr_free(&A);
    }
}

/* A kernel that leaves its sums in fp32 is within the bound, and one that leaves them in fp16 is not. */
static void test_bound_is_tight(void **state)
{
    (void)state;
    const int N = 64;
    csr_matrix A = random_matrix(6, 30, 30, 300, false);
    problem p;
    int64_t found = 0;
    make(&p, &A, N, 1, 1, PRECISION_FP32, false);
    const float *W = input(&p, "W.values"), *X = input(&p, "X"), *dY = input(&p, "dY");
    for (int64_t i = 0; i < A.rows; i++) {
        double *bound, *reference = row_of(&p, 2, i, &bound);
        for (int64_t z = A.row_ptr[i]; z < A.row_ptr[i + 1]; z++) {
            const int64_t k = z - A.row_ptr[i];
            float sum = 0;
            for (int n = 0; n < N; n++)
                sum += dY[i * N + n] * X[A.col_idx[z] * N + n];
            const float right = W[z] - 0.0625f * sum;
            const float careless = W[z] - 0.0625f * precision_round(PRECISION_FP16, sum);
            assert_true(fabs(right - reference[k]) <= bound[k]);
            found += !(fabs(careless - reference[k]) <= bound[k]);
        }
        free(reference);
    }
    assert_true(found > A.nnz / 2);
    p.operation->destroy(&p);
    csr_free(&A);
}

static void test_refused(void **state)
{
    (void)state;
    csr_matrix A = one_row(4, 3e38f);
    assert_problem_refused(&sparse_layer_operation, PRECISION_FP32, &A, 2, STATUS_DATASET,
                           "row 0: values that add up to 1.2e+39 overflow fp32");
    csr_free(&A);
    A = one_row(4, 20000);
    assert_problem_refused(&sparse_layer_operation, PRECISION_FP16, &A, 2, STATUS_SKIPPED,
                           "row 0: values that add up to 8e+04 overflow fp16");
    csr_free(&A);
    A = one_row(2, NAN);
    assert_problem_refused(&sparse_layer_operation, PRECISION_FP32, &A, 2, STATUS_DATASET, "row 0");
    assert_problem_refused(&transposed_spmm_operation, PRECISION_FP32, &A, 2, STATUS_DATASET,
                           "row 0");
    csr_free(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_transposed_costs),
        cmocka_unit_test(test_counted_products),
        cmocka_unit_test(test_update_is_a_gradient),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_bound_is_tight),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
