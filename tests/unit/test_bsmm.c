/*
 * test_bsmm.c - products with block-sparse weights and their gradient: oracles against dense products, bounds, costs,
 * and what problems are made of.
 */
#include "fixture.h"
#include "generated.h"

#include "matrix/block_layout.h"
#include "ops/bsmm.h"
#include "ops/bsmm_update.h"
#include "real_problem.h"

static void create(problem *p, const operation *op, enum precision precision, const csr_matrix *A,
                   int N, const int *knobs)
{
    error_text error;
    *p = (problem){.operation = op, .A = A, .width = N, .seed = 5, .precision = precision};
    memcpy(p->knobs, knobs, sizeof p->knobs);
    if (row_stats_compute(A, &p->stats, &error) != STATUS_OK || op->create(p, &error) != STATUS_OK)
        fail_msg("%s", error.text);
}

/* The numbers of an input as floats, to be freed; what is not finite becomes 0. */
static float *floats_of(const problem *p, int input)
{
    const operand *in = &p->inputs[input];
    const size_t count = in->bytes / in->element;
    float *x = malloc((count + 1) * sizeof *x);
    const enum precision precision = in->element == 4 ? PRECISION_FP32 : p->precision;
    precision_widen(precision, in->data, x, count);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i])) x[i] = 0;
    return x;
}

/* Element (feature, token) of a matrix of features in either order. */
static double feature_at(const float *x, int64_t features, int N, bool token_major, int64_t f,
                         int64_t t)
{
    return token_major ? x[t * features + f] : x[f * N + t];
}

static void assert_product(const csr_matrix *A, enum precision precision, const int *knobs)
{
    enum { N = 5 };
    problem p;
    block_layout l;
    error_text error;
    create(&p, &bsmm_operation, precision, A, N, knobs);
    const int B = problem_knob(&p, BSMM_KNOB_BLOCK);
    const bool transposed = problem_knob(&p, BSMM_KNOB_PASS), tokens = precision != PRECISION_FP32;
    const bool gated = problem_knob(&p, BSMM_KNOB_GATES);
    assert_int_equal(block_layout_make(A, &l, &error), STATUS_OK);
    const int64_t C = A->rows * B, K = A->cols * B, in = transposed ? K : C,
                  out = transposed ? C : K;
    float *W = floats_of(&p, 0), *X = floats_of(&p, 1), *gate = gated ? floats_of(&p, 2) : NULL;
    float *dense = malloc(((size_t)C * K + 1) * sizeof *dense);
    for (int b = 0; gate && b < l.blocks; b++)
        for (int i = 0; i < B * B; i++)
            W[b * B * B + i] *= 1024 * gate[b]; /* exact enough: compared to 2^-20 */
    block_to_dense(&l, B, W, dense);
    assert_int_equal(p.num_inputs, 2 + gated);
    assert_int_equal(p.outputs[0].rows, tokens ? N : out);
    assert_int_equal(p.outputs[0].cols, tokens ? out : N);
    const int64_t rows = p.outputs[0].rows, cols = p.outputs[0].cols;
    double *want = malloc(2 * (cols + 1) * sizeof *want), *bound = want + cols;
    for (int64_t r = 0; r < rows; r++) {
        p.operation->oracle(&p, 0, r, want, bound);
        for (int64_t c = 0; c < cols; c++) {
            const int64_t f = tokens ? c : r, t = tokens ? r : c;
            double sum = 0, size = 0;
            int64_t products = 0;
            for (int64_t i = 0; i < in; i++) {
                const double x = feature_at(X, in, N, tokens, i, t);
                const double w = transposed ? dense[f * K + i] : dense[i * K + f], product = x * w;
                products += w != 0;
                sum += product / (gate ? 1024 : 1);
                size += fabs(product) / (gate ? 1024 : 1);
            }
            assert_float_equal(want[c], sum, 1e-6 * size + 1e-30);
            assert_int_equal(p.operation->products(&p, 0, r, c), products);
            if (size == 0) assert_true(bound[c] == 0 && want[c] == 0);
            if (size > 0)
                assert_true(bound[c] > 0 &&
                            bound[c] < (precision == PRECISION_FP32 ? 1e-5 : 2e-2) * size + 1e-6);
        }
    }
    free(want);
    free(dense);
    free(W);
    free(X);
    free(gate);
    block_layout_free(&l);
    p.operation->destroy(&p);
}

static void products_are_those_of_dense_weights(void **state)
{
    (void)state;
    csr_matrix A = made("blocks:in=56,out=40,block=8,density=0.4,seed=2");
    for (int pass = 0; pass < 2; pass++)
        for (int gates = 0; gates < 2; gates++)
            for (int precision = 0; precision < NUM_PRECISIONS; precision++)
                assert_product(&A, (enum precision)precision, (int[MAX_KNOBS]){0, pass, gates});
    A.block = 0;
    assert_product(&A, PRECISION_FP32, (int[MAX_KNOBS]){16, 0, 0}); /* the same pattern of others */
    csr_free(&A);
}

/* The dataset's block is the problem's; without one it is the user's, or 32. */
static void whose_block_counts(void **state)
{
    (void)state;
    csr_matrix A = made("blocks:in=64,block=16,density=1");
    problem p;
    char text[96];
    create(&p, &bsmm_operation, PRECISION_FP32, &A, 3, (int[MAX_KNOBS]){0});
    assert_int_equal(problem_knob(&p, BSMM_KNOB_BLOCK), 16);
    problem_knobs_text(&p, text, sizeof text);
    assert_string_equal(text, "BLOCK=16 PASS=fprop GATES=0");
    p.operation->destroy(&p);
    create(&p, &bsmm_operation, PRECISION_FP32, &A, 3, (int[MAX_KNOBS]){8});
    assert_int_equal(problem_knob(&p, BSMM_KNOB_BLOCK), 16);
    p.operation->destroy(&p);
    A.block = 0;
    create(&p, &bsmm_operation, PRECISION_FP32, &A, 3, (int[MAX_KNOBS]){8});
    assert_int_equal(problem_knob(&p, BSMM_KNOB_BLOCK), 8);
    p.operation->destroy(&p);
    create(&p, &bsmm_operation, PRECISION_FP32, &A, 3, (int[MAX_KNOBS]){0});
    assert_int_equal(problem_knob(&p, BSMM_KNOB_BLOCK), 32);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* Inputs that no open block reads are NaN and infinities; those that one reads are finite. */
static void unread_inputs_are_not_numbers(void **state)
{
    (void)state;
    csr_matrix A = made("blocks:in=96,out=64,block=8,density=0.1,seed=3");
    problem p;
    block_layout l;
    error_text error;
    create(&p, &bsmm_operation, PRECISION_FP32, &A, 4, (int[MAX_KNOBS]){0, 0, 1});
    assert_int_equal(block_layout_make(&A, &l, &error), STATUS_OK);
    const float *W = p.inputs[0].data, *X = p.inputs[1].data, *gate = p.inputs[2].data;
    int closed = 0, unread = 0;
    for (int b = 0; b < l.blocks; b++) {
        closed += gate[b] == 0;
        for (int i = 0; i < 64; i++)
            assert_int_equal(isfinite(W[b * 64 + i]) != 0, gate[b] != 0);
    }
    for (int c = 0; c < l.rows; c++) {
        bool read = false;
        for (int i = l.row_ptr[c]; i < l.row_ptr[c + 1]; i++)
            read |= gate[l.of_row[i]] != 0;
        unread += !read;
        for (int i = 0; i < 8 * 4; i++)
            assert_int_equal(isfinite(X[c * 32 + i]) != 0, read);
    }
    assert_true(closed > 0 && unread > 0);
    assert_int_equal(p.operation->needs(&p, 0, false), (l.blocks - closed) * 64 * 4);
    assert_int_equal(p.operation->needs(&p, 1, false), (l.rows - unread) * 32 * 4);
    p.operation->destroy(&p);
    block_layout_free(&l);
    csr_free(&A);
}

/* Gates are A's values where it has some; a NaN among them is refused. */
static void values_are_gates(void **state)
{
    (void)state;
    csr_matrix A;
    problem p;
    error_text error;
    assert_int_equal(csr_alloc(&A, 1, 3, 2, true, &error), STATUS_OK);
    A.row_ptr[1] = 2;
    A.col_idx[0] = 2;
    A.col_idx[1] = 0;
    A.values[0] = 0.75f;
    A.values[1] = 0;
    create(&p, &bsmm_operation, PRECISION_FP32, &A, 1, (int[MAX_KNOBS]){8, 0, 1});
    const float *gate = p.inputs[2].data;
    assert_true(gate[0] == 0 && gate[1] == 0.75f); /* by number: the block of column 0 is first */
    p.operation->destroy(&p);
    A.values[1] = NAN;
    assert_problem_refused(&bsmm_operation, PRECISION_FP32, &A, 1, STATUS_DATASET, "row 0");
    assert_problem_refused(&bsmm_update_operation, PRECISION_FP32, &A, 1, STATUS_DATASET, "row 0");
    csr_free(&A);
}

static void too_many_weights(void **state)
{
    (void)state;
    csr_matrix A = {.rows = INT32_MAX / 16, .cols = 1};
    A.row_ptr = calloc((size_t)A.rows + 1, sizeof *A.row_ptr);
    assert_problem_refused(&bsmm_operation, PRECISION_FP32, &A, 1, STATUS_MEMORY,
                           "134217727 blocks of 32 features are more than an int counts");
    free(A.row_ptr);
    A = made("blocks:in=65536,density=1");
    assert_problem_refused(&bsmm_operation, PRECISION_FP32, &A, 1, STATUS_MEMORY,
                           "4194304 blocks of 32 x 32 are more weights than 2^31");
    csr_free(&A);
}

static void costs_are_those_of_the_blocks(void **state)
{
    (void)state;
    csr_matrix A = made("blocks:in=5120,density=0.2562,kind=attach");
    problem p = {.operation = &bsmm_operation, .A = &A, .width = 64};
    cost_model model;
    error_text error;
    row_stats_compute(&A, &p.stats, &error);
    p.used_columns = A.cols;
    p.knobs[BSMM_KNOB_BLOCK] = 32;
    p.operation->cost(&p, &model);
    assert_true(model.flops == 2. * 6694 * 1024 * 64);
    assert_true(model.compulsory_bytes == 6694. * (4 * 1024 + 8) + 2 * 4. * 5120 * 64);
    p.operation = &bsmm_update_operation;
    p.knobs[UPDATE_KNOB_PAIRS] = 3;
    p.knobs[UPDATE_KNOB_BETA] = 100;
    p.operation->cost(&p, &model);
    assert_true(model.flops == 3 * 2. * 6694 * 1024 * 64);
    assert_true(model.compulsory_bytes == 6694. * (2 * 4 * 1024 + 8) + 3 * 2 * 4. * 5120 * 64);
    csr_free(&A);
}

/* ---- the update ------------------------------------------------------------------------------- */

static void assert_update(const csr_matrix *A, enum precision precision, const int *knobs)
{
    enum { N = 6, B = 8 };
    problem p;
    block_layout l;
    error_text error;
    create(&p, &bsmm_update_operation, precision, A, N, knobs);
    assert_int_equal(block_layout_make(A, &l, &error), STATUS_OK);
    const bool tokens = precision != PRECISION_FP32;
    const int pairs = problem_knob(&p, UPDATE_KNOB_PAIRS);
    const int gates = problem_knob(&p, UPDATE_KNOB_GATES);
    const double alpha = problem_knob(&p, UPDATE_KNOB_ALPHA) / 100.;
    const double beta = problem_knob(&p, UPDATE_KNOB_BETA) / 100.;
    const int64_t C = A->rows * B, K = A->cols * B;
    float *X = floats_of(&p, 0), *dY = floats_of(&p, 1);
    float *U = beta != 0 ? floats_of(&p, 2) : NULL;
    float *gate = gates ? floats_of(&p, 2 + (beta != 0)) : NULL;
    assert_int_equal(p.num_inputs, 2 + (beta != 0) + (gates != 0));
    assert_int_equal(output_elements(&p.outputs[0]), (int64_t)l.blocks * B * B);
    for (int b = 0; b < l.blocks; b++) {
        double want[B * B], bound[B * B];
        p.operation->oracle(&p, 0, b, want, bound);
        for (int i = 0; i < B * B; i++) {
            const int64_t c = l.row[b] * B + i / B, k = l.col[b] * B + i % B;
            const double g = !gate ? 1 : gates == BSMM_UPDATE_STOP ? gate[b] != 0 : gate[b];
            double sum = 0, size = 0;
            for (int pair = 0; pair < pairs; pair++)
                for (int t = 0; t < N; t++) {
                    const double x = feature_at(X + pair * C * N, C, N, tokens, c, t);
                    const double y = feature_at(dY + pair * K * N, K, N, tokens, k, t);
                    sum += x * y;
                    size += fabs(x * y);
                }
            const double old = U ? beta * U[b * B * B + i] : 0;
            assert_float_equal(want[i], alpha * g * sum + old, 1e-9);
            const double all = fabs(alpha * g) * size + fabs(old);
            assert_true(bound[i] <= (precision == PRECISION_FP32 ? 1e-5 : 2e-2) * all + 1e-6);
            if (g == 0 && !U) assert_true(bound[i] == 0 && want[i] == 0);
            if (g != 0) assert_true(bound[i] > 0);
        }
    }
    free(X);
    free(dY);
    free(U);
    free(gate);
    block_layout_free(&l);
    p.operation->destroy(&p);
}

static void updates_are_sums_over_pairs(void **state)
{
    (void)state;
    csr_matrix A = made("blocks:in=40,out=56,block=8,density=0.4,seed=2");
    for (uint64_t turn = 0; turn < 8 * 3 * 2 * 3; turn += 7)
        for (int precision = 0; precision < NUM_PRECISIONS; precision++) {
            problem p = {.operation = &bsmm_update_operation};
            problem_turn_knobs(&p, 4 * turn);
            p.knobs[UPDATE_KNOB_BLOCK] = 8;
            assert_update(&A, (enum precision)precision, p.knobs);
        }
    csr_free(&A);
}

/* ---- what a wrong element looks like ------------------------------------------------------------ */

static void mistakes_are_named(void **state)
{
    (void)state;
    csr_matrix A = made("blocks:in=16,out=24,block=8,density=1");
    problem p;
    char text[128];
    create(&p, &bsmm_operation, PRECISION_FP32, &A, 2, (int[MAX_KNOBS]){0, 0, 1});
    const float *W = p.inputs[0].data, *X = p.inputs[1].data, *gate = p.inputs[2].data;
    double swapped = 0, ungated = 0; /* of feature 1, token 0: blocks 0 and 2 in z-order */
    static const int behind[] = {0, 2};
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 8 && gate[behind[j]] != 0; i++) {
            const float *w = W + behind[j] * 64, x = X[(j * 8 + i) * 2];
            swapped += (double)gate[behind[j]] * w[8 + i] * x;
            ungated += (double)w[8 * i + 1] * x;
        }
    p.operation->explain(&p, 0, 1, 0, swapped, text, sizeof text);
    assert_string_equal(text, "blocks were taken transposed");
    p.operation->explain(&p, 0, 1, 0, ungated, text, sizeof text);
    assert_string_equal(text, "gates were not multiplied in");
    p.operation->explain(&p, 0, 1, 0, 1234, text, sizeof text);
    assert_string_equal(text, "");
    p.operation->destroy(&p);
    csr_free(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_dense_weights),
        cmocka_unit_test(whose_block_counts),
        cmocka_unit_test(unread_inputs_are_not_numbers),
        cmocka_unit_test(values_are_gates),
        cmocka_unit_test(too_many_weights),
        cmocka_unit_test(costs_are_those_of_the_blocks),
        cmocka_unit_test(updates_are_sums_over_pairs),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
