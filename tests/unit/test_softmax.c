/*
 * test_softmax.c - the softmax operation: its oracle against sums formed in another way, its bound, its invariants.
 */
#include "fixture.h"
#include "matrix/random.h"
#include "ops/softmax.h"
#include "random_matrix.h"
#include "real_problem.h"

/* The place of S among the inputs. */
static const float *scores_of(const problem *p)
{
    return p->inputs[p->num_inputs - 1].data;
}

/* Shares of a row and head, and their bounds; the caller frees them. */
static double *shares_of(const problem *p, int64_t head_row, double **bound)
{
    const int64_t n = output_length(&p->outputs[0], head_row);
    double *share = malloc(2 * (n + 1) * sizeof *share);
    *bound = share + n + 1;
    p->operation->oracle(p, 0, head_row, share, *bound);
    return share;
}

static void test_shares(void **state)
{
    (void)state;
    const int H = 3;
    csr_matrix A = random_matrix(3, 40, 30, 400, true);
    problem p;
    problem_create(&p, &softmax_operation, PRECISION_FP32, &A, H, 1);
    const float *S = scores_of(&p);
    for (int64_t u = 0; u < A.rows * H; u++) {
        const int64_t first = A.row_ptr[u / H], n = A.row_ptr[u / H + 1] - first;
        const float *s = S + first * H + u % H * n;
        double *bound, *share = shares_of(&p, u, &bound), sum = 0, total = 0, lse, lse_bound;
        assert_int_equal(output_first(&p.outputs[0], u), s - S);
        for (int64_t j = 0; j < n; j++) { /* long double, and no maximum: exp(10000) is a number */
            long double all = 0;
            for (int64_t k = 0; k < n; k++)
                all += expl((long double)s[k] + A.values[first + k] - s[j] - A.values[first + j]);
            assert_float_equal(share[j], (double)(1 / all), 1e-12);
            sum += share[j];
            total += bound[j];
        }
        if (n) assert_float_equal(sum, 1, 1e-12);
        assert_true(total < 1e-2);
        p.operation->oracle(&p, 1, u, &lse, &lse_bound);
        if (!n) assert_true(lse == -INFINITY && lse_bound == 0);
        if (n) assert_float_equal(share[0], exp(s[0] + (double)A.values[first] - lse), 1e-9);
        free(share);
    }
    p.operation->destroy(&p);
    csr_free(&A);
}

/* Kernels number rows of all heads in int. */
static void test_too_many_rows(void **state)
{
    (void)state;
    const csr_matrix A = {.rows = INT32_MAX / 4, .cols = 1};
    problem p = {.operation = &softmax_operation, .A = &A, .width = 8};
    error_text error;
    assert_int_equal(p.operation->create(&p, &error), STATUS_MEMORY);
    assert_string_equal(error.text,
                        "4294967288 rows of all heads need 64-bit offsets; try fewer heads");
    assert_null(p.own);
}

/* A row of one has a share of exactly 1, whatever its score, and a kernel a bound of a few roundings. */
static void test_row_of_one(void **state)
{
    (void)state;
    csr_matrix A = full_pattern(50, 1);
    problem p;
    problem_create(&p, &softmax_operation, PRECISION_FP32, &A, 1, 1);
    for (int64_t i = 0; i < A.rows; i++) {
        double *bound, *share = shares_of(&p, i, &bound);
        assert_true(share[0] == 1 && bound[0] < 20 * 0x1p-24);
        free(share);
    }
    p.operation->destroy(&p);
    csr_free(&A);
}

/* Adding 1000 to all scores of a row changes nothing but their own roundings. */
static void test_shift(void **state)
{
    (void)state;
    enum { N = 200 };
    double s[N], shifted[N], e[N] = {0}, f[N] = {0}, p[N], q[N];
    for (int j = 0; j < N; j++) {
        s[j] = 8 * random_symmetric(5, j);
        shifted[j] = s[j] + 1000;
    }
    const row_sum one = softmax_row(N, s, e, p), other = softmax_row(N, shifted, f, q);
    for (int j = 0; j < N; j++)
        assert_float_equal(p[j], q[j], 1e-14);
    assert_float_equal(one.lse + 1000, other.lse, 1e-10);
}

/* fp32 as a kernel forms it, one pass with a running maximum, is within the bound; without a bit of care it is not. */
static void test_bound_holds(void **state)
{
    (void)state;
    csr_matrix A = random_matrix(7, 60, 500, 6000, false);
    problem p;
    problem_create(&p, &softmax_operation, PRECISION_FP32, &A, 1, 9);
    const float *S = scores_of(&p);
    int64_t careless_found = 0;
    for (int64_t i = 0; i < A.rows; i++) {
        const int64_t first = A.row_ptr[i], n = A.row_ptr[i + 1] - first;
        double *bound, *share = shares_of(&p, i, &bound);
        float max = -INFINITY, sum = 0;
        for (int64_t j = 0; j < n; j++) {
            const float top = fmaxf(max, S[first + j]);
            sum =
                sum * exp2f((max - top) * 1.44269504f) + exp2f((S[first + j] - top) * 1.44269504f);
            max = top;
        }
        for (int64_t j = 0; j < n; j++) {
            const float right = exp2f((S[first + j] - max) * 1.44269504f) / sum;
            const float careless = /* the product before the difference */
                exp2f(S[first + j] * 1.44269504f - max * 1.44269504f) / sum;
            assert_true(fabs(right - share[j]) <= bound[j]);
            careless_found += !(fabs(careless - share[j]) <= bound[j]);
        }
        free(share);
    }
    assert_true(careless_found > 0);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* Checks the probe: shares are 0, or the same for all of a row that are not. */
static void test_whole(void **state)
{
    (void)state;
    error_text error;
    csr_matrix A = random_matrix(7, 60, 500, 6000, false);
    problem p = {.operation = &softmax_operation, .A = &A, .width = 2, .seed = 1, .whole = true};
    assert_int_equal(row_stats_compute(&A, &p.stats, &error), STATUS_OK);
    assert_int_equal(p.operation->create(&p, &error), STATUS_OK);
    for (int64_t u = 0; u < 2 * A.rows; u++) {
        const int64_t n = output_length(&p.outputs[0], u);
        double *bound, *share = shares_of(&p, u, &bound), largest = 0;
        for (int64_t j = 0; j < n; j++)
            largest = fmax(largest, share[j]);
        for (int64_t j = 0; j < n; j++)
            assert_true(share[j] == 0 || share[j] == largest);
        free(share);
    }
    p.operation->destroy(&p);
    csr_free(&A);
}

static void test_refused(void **state)
{
    (void)state;
    csr_matrix A = one_row(3, 2e38f);
    assert_problem_refused(&softmax_operation, PRECISION_FP32, &A, 1, STATUS_DATASET, "overflows");
    csr_free(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),        cmocka_unit_test(test_row_of_one),
        cmocka_unit_test(test_too_many_rows), cmocka_unit_test(test_shift),
        cmocka_unit_test(test_bound_holds),   cmocka_unit_test(test_whole),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
