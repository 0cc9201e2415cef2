/*
 * test_block_importance.c - norms of blocks and the importance of all: the oracle against sums formed here, its bounds,
 * what is not finite, mistakes, and costs.
 */
#include "fixture.h"
#include "generated.h"

#include "matrix/block_layout.h"
#include "ops/block_importance.h"
#include "real_problem.h"

enum { X, DY, W, OLD };
enum { IMPORTANCE, NORM };

static void create(problem *p, enum precision precision, const csr_matrix *A, int N,
                   const int *knobs, bool whole)
{
    error_text error;
    *p = (problem){.operation = &block_importance_operation,
                   .A = A,
                   .width = N,
                   .seed = 5,
                   .whole = whole,
                   .precision = precision};
    memcpy(p->knobs, knobs, sizeof p->knobs);
    if (row_stats_compute(A, &p->stats, &error) != STATUS_OK ||
        p->operation->create(p, &error) != STATUS_OK)
        fail_msg("%s", error.text);
}

/* R of B features of line `line` at token `t` of pair `pair`, by definition. */
static double reduced(const problem *p, const float *x, int64_t lines, int pair, int t,
                      int64_t line)
{
    const int B = problem_knob(p, IMPORTANCE_KNOB_BLOCK), N = p->width;
    double largest = 0, squares = 0;
    for (int i = 0; i < B; i++) {
        const int64_t f = line * B + i, features = lines * B;
        const float v = p->precision == PRECISION_FP32 ? x[(pair * features + f) * N + t]
                                                       : x[((int64_t)pair * N + t) * features + f];
        if (!isfinite(v)) return NAN;
        largest = fabs(v) > largest ? fabs(v) : largest;
        squares += (double)v * v;
    }
    return problem_knob(p, IMPORTANCE_KNOB_NORM) == IMPORTANCE_L2 ? sqrt(squares) : largest;
}

/* How much of an exact result the bound may be: R of l2 is rounded to the precision, twice in each product. */
static double share(const problem *p)
{
    const bool rounds = problem_knob(p, IMPORTANCE_KNOB_NORM) == IMPORTANCE_L2;
    return rounds ? 2.5 * precision_format(p->precision)->unit_roundoff + 1e-5 : 1e-5;
}

static void assert_importance(const csr_matrix *A, enum precision precision, const int *knobs,
                              bool whole)
{
    enum { N = 6 };
    static const double SCALES[] = {1, 1, 0.5, 0};
    problem p;
    create(&p, precision, A, N, knobs, whole);
    const int pairs = problem_knob(&p, IMPORTANCE_KNOB_PAIRS);
    const double scale = SCALES[problem_knob(&p, IMPORTANCE_KNOB_SCALE)];
    const bool adds = problem_knob(&p, IMPORTANCE_KNOB_BETA);
    float *x = widened(&p, X), *y = widened(&p, DY);
    const float *old = adds ? p.inputs[OLD].data : NULL;
    double want[16], bound[16];
    assert_int_equal(p.num_inputs, 3 + adds);
    assert_int_equal(p.outputs[IMPORTANCE].rows, A->rows);
    assert_int_equal(p.outputs[IMPORTANCE].cols, A->cols);
    for (int64_t c = 0; c < A->rows; c++) {
        p.operation->oracle(&p, IMPORTANCE, c, want, bound);
        for (int64_t k = 0; k < A->cols; k++) {
            double sum = 0;
            for (int pair = 0; pair < pairs; pair++)
                for (int t = 0; t < N; t++)
                    sum +=
                        reduced(&p, x, A->rows, pair, t, c) * reduced(&p, y, A->cols, pair, t, k);
            const bool counts = isfinite(sum) && scale != 0;
            assert_int_equal(isfinite(sum), c % 8 != 5 && k % 8 != 2);
            const double product = counts ? scale * sum : 0;
            const double before = old ? old[c * A->cols + k] : 0;
            assert_true(fabs(want[k] - (product + before)) <= 1e-12 * (product + 1));
            assert_true(bound[k] <= share(&p) * (product + fabs(before)));
            assert_true(whole || !counts ? bound[k] == 0 : bound[k] > 0);
            if (whole) assert_true(2 * want[k] == floor(2 * want[k]));
        }
    }
    free(x);
    free(y);
    p.operation->destroy(&p);
}

static void importance_is_a_sum_over_tokens_of_pairs(void **state)
{
    (void)state;
    csr_matrix A = made("blocks:in=64,out=72,block=8,density=0.4,seed=2");
    for (uint64_t turn = 0; turn < 8 * 2 * 3 * 2; turn += 5)
        for (int precision = 0; precision < NUM_PRECISIONS; precision++) {
            problem p = {.operation = &block_importance_operation};
            problem_turn_knobs(&p, 4 * turn);
            p.knobs[IMPORTANCE_KNOB_BLOCK] = 8;
            assert_importance(&A, (enum precision)precision, p.knobs, false);
            assert_importance(&A, (enum precision)precision, p.knobs, true);
        }
    csr_free(&A);
}

/* Norms by number, which is in z-order; every eighth block has a number that is not finite. */
static void norms_are_of_the_blocks_that_exist(void **state)
{
    (void)state;
    enum { B = 16 };
    csr_matrix A = made("blocks:in=128,out=64,block=16,density=0.7");
    for (int norm = 0; norm < 2; norm++)
        for (int whole = 0; whole < 2; whole++) {
            problem p;
            create(&p, PRECISION_FP16, &A, 2, (int[MAX_KNOBS]){0, 1, norm, 1, 0}, whole);
            float *w = widened(&p, W);
            assert_int_equal(p.outputs[NORM].rows, A.nnz);
            for (int64_t b = 0; b < A.nnz; b++) {
                double largest = 0, squares = 0, want, bound;
                bool finite = true;
                for (int i = 0; i < B * B; i++) {
                    const double v = w[b * B * B + i];
                    finite &= isfinite(v) != 0;
                    largest = fmax(largest, fabs(v));
                    squares += v * v;
                }
                p.operation->oracle(&p, NORM, b, &want, &bound);
                assert_int_equal(finite, b % 8 != 3);
                const double r = !finite ? 0 : norm == IMPORTANCE_L2 ? sqrt(squares) : largest;
                assert_true(want == r);
                assert_true(bound <= 1e-4 * r);
                assert_true(whole || norm == IMPORTANCE_MAX || !finite ? bound == 0 : bound > 0);
                if (whole) assert_true(r == floor(r));
            }
            free(w);
            p.operation->destroy(&p);
        }
    csr_free(&A);
}

/* Groups of whole numbers differ in both norms, or a kernel that takes the other one would pass. */
static void whole_groups_tell_the_norms_apart(void **state)
{
    (void)state;
    csr_matrix A = made("blocks:in=1024,block=8,density=0.5");
    int seen[9] = {0}, other = 0;
    problem p;
    create(&p, PRECISION_FP32, &A, 1, (int[MAX_KNOBS]){0, 1, IMPORTANCE_L2, 1, 0}, true);
    const float *x = p.inputs[X].data;
    for (int line = 0; line < 128; line++) {
        const double root = reduced(&p, x, 128, 0, 0, line);
        double largest = 0;
        for (int i = 0; i < 8; i++)
            largest = fmax(largest, fabs(x[line * 8 + i]));
        if (!isfinite(root)) continue;
        assert_true(root == floor(root) && root <= 8);
        seen[(int)root]++;
        other += root != largest;
    }
    assert_true(seen[0] && seen[1] && seen[2] && seen[3] && seen[5] && seen[7] && other > 30);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* Sums of more tokens than fp32 holds exactly have smaller numbers, or none. */
static void sums_of_whole_numbers_stay_exact(void **state)
{
    (void)state;
    csr_matrix A = full_pattern(1, 1);
    problem p;
    error_text error;
    create(&p, PRECISION_FP32, &A, 1 << 18, (int[MAX_KNOBS]){8, 2, IMPORTANCE_MAX, 1, 0}, true);
    const float *x = p.inputs[X].data;
    for (int64_t i = 0; i < INT64_C(1) << 21; i++)
        if (fabsf(x[i]) > 1) fail_msg("%g is too large for sums of 2^19", (double)x[i]);
    p.operation->destroy(&p);
    p = (problem){.operation = &block_importance_operation,
                  .A = &A,
                  .width = 1 << 20,
                  .knobs = {8, 4, 0, 1, 0},
                  .whole = true};
    assert_int_equal(p.operation->create(&p, &error), STATUS_SKIPPED);
    assert_non_null(strstr(error.text, "no exact result"));
    csr_free(&A);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    csr_matrix A = made("blocks:in=16,out=24,block=8,density=1");
    problem p;
    char text[128];
    double want[3], bound[3];
    create(&p, PRECISION_FP32, &A, 2, (int[MAX_KNOBS]){0, 2, IMPORTANCE_MAX, 2, 1}, false);
    const float *x = p.inputs[X].data, *y = p.inputs[DY].data, *old = p.inputs[OLD].data;
    p.operation->oracle(&p, IMPORTANCE, 0, want, bound);
    const double product = want[0] - old[0];
    double first = 0;
    for (int t = 0; t < 2; t++)
        first += 0.5 * reduced(&p, x, 2, 0, t, 0) * reduced(&p, y, 3, 0, t, 0);
    p.operation->explain(&p, IMPORTANCE, 0, 0, product, text, sizeof text);
    assert_string_equal(text, "the old importance was not added");
    p.operation->explain(&p, IMPORTANCE, 0, 0, 2 * product + old[0], text, sizeof text);
    assert_string_equal(text, "the sum was not scaled");
    p.operation->explain(&p, IMPORTANCE, 0, 0, first + old[0], text, sizeof text);
    assert_string_equal(text, "only the first pair was summed");
    p.operation->explain(&p, IMPORTANCE, 0, 0, want[0] + 1234, text, sizeof text);
    assert_string_equal(text, "");
    const float *w = p.inputs[W].data;
    double squares = 0;
    for (int i = 0; i < 64; i++)
        squares += (double)w[i] * w[i];
    p.operation->explain(&p, NORM, 0, 0, sqrt(squares), text, sizeof text);
    assert_string_equal(text, "the other norm was taken");
    p.operation->destroy(&p);
    csr_free(&A);
}

static void costs_are_those_of_all_blocks(void **state)
{
    (void)state;
    csr_matrix A = made("blocks:in=5120,out=2560,block=64,density=0.25");
    problem p = {.operation = &block_importance_operation,
                 .A = &A,
                 .width = 512,
                 .knobs = {64, 3, 0, 1, 0},
                 .precision = PRECISION_FP16};
    cost_model model;
    p.operation->cost(&p, &model);
    assert_true(model.flops == 2. * 80 * 40 * 512 * 3);
    const double results = 4. * (A.nnz + 80 * 40), weights = 2. * A.nnz * 64 * 64;
    assert_true(model.compulsory_bytes == 2. * (5120 + 2560) * 512 * 3 + weights + results);
    p.knobs[IMPORTANCE_KNOB_SCALE] = 3;
    p.knobs[IMPORTANCE_KNOB_BETA] = 1;
    p.operation->cost(&p, &model);
    assert_true(model.flops == 0);
    assert_true(model.compulsory_bytes == 4. * 80 * 40 + weights + results);
    csr_free(&A);
}

/* Lines with a NaN or an infinity decide nothing, and with a scale of 0 no features do. */
static void needs_are_those_of_finite_lines(void **state)
{
    (void)state;
    csr_matrix A = made("blocks:in=128,out=64,block=8,density=1");
    problem p;
    create(&p, PRECISION_BF16, &A, 3, (int[MAX_KNOBS]){0, 2, 0, 1, 1}, false);
    assert_int_equal(p.operation->needs(&p, X, false), 2 * 14 * 8 * 6);
    assert_int_equal(p.operation->needs(&p, DY, false), 2 * 7 * 8 * 6);
    assert_int_equal(p.operation->needs(&p, W, false), 2 * 112 * 64);
    assert_int_equal(p.operation->needs(&p, OLD, false), 4 * 16 * 8);
    p.operation->destroy(&p);
    create(&p, PRECISION_BF16, &A, 3, (int[MAX_KNOBS]){0, 2, 0, 3, 0}, false);
    assert_int_equal(p.operation->needs(&p, X, false), 0);
    p.operation->destroy(&p);
    csr_free(&A);
}

static void too_large_problems(void **state)
{
    (void)state;
    csr_matrix A = full_pattern(1, 1);
    assert_problem_refused(&block_importance_operation, PRECISION_FP32, &A, INT32_MAX,
                           STATUS_MEMORY, "try a smaller N or fewer PAIRS");
    csr_free(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(importance_is_a_sum_over_tokens_of_pairs),
        cmocka_unit_test(norms_are_of_the_blocks_that_exist),
        cmocka_unit_test(whole_groups_tell_the_norms_apart),
        cmocka_unit_test(sums_of_whole_numbers_stay_exact),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(costs_are_those_of_all_blocks),
        cmocka_unit_test(needs_are_those_of_finite_lines),
        cmocka_unit_test(too_large_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
