/*
 * test_attention.c - attention and its backward pass: oracles against sums formed in another way, gradients against
 * differences of a loss; and the pattern of several heads.
 */
#include "fixture.h"
#include "formats/head_pattern.h"
#include "matrix/random.h"
#include "ops/attention.h"
#include "ops/attention_backward.h"
#include "ops/attention_problem.h"
#include "real_problem.h"

/* A pattern with that many rows and columns, and rows of 0 to 6 nonzeros, whose columns may repeat. */
static csr_matrix pattern(int64_t rows, int64_t cols)
{
    error_text error;
    csr_matrix A;
    int64_t nnz = 0;
    for (int64_t i = 0; i < rows; i++)
        nnz += (int64_t)random_below(1, (uint64_t)i, 7);
    assert_int_equal(csr_alloc(&A, rows, cols, nnz, false, &error), STATUS_OK);
    for (int64_t i = 0; i < rows; i++)
        A.row_ptr[i + 1] = A.row_ptr[i] + (int64_t)random_below(1, (uint64_t)i, 7);
    for (int64_t z = 0; z < nnz; z++)
        A.col_idx[z] = (int32_t)random_below(2, (uint64_t)z, (uint64_t)cols);
    return A;
}

static void make(problem *p, const operation *op, const csr_matrix *A, int d, int heads, int mode,
                 int bias)
{
    error_text error;
    *p = (problem){.operation = op, .A = A, .width = d, .seed = 3, .knobs = {heads, mode, bias}};
    if (row_stats_compute(A, &p->stats, &error) != STATUS_OK || op->create(p, &error) != STATUS_OK)
        fail_msg("%s", error.text);
}

static const float *input(const problem *p, const char *name)
{
    for (int i = 0; i < p->num_inputs; i++)
        if (!strcmp(p->inputs[i].name, name)) return p->inputs[i].data;
    return NULL;
}

static double slope(double x)
{
    return x < 0 ? (double)0.2f * x : x;
}

/* A score from the problem's own arrays, as attention.h defines it. */
static double score(const problem *p, int mode, int H, int64_t row, int64_t z, int h)
{
    const int64_t column = p->A->col_idx[z], i = row * H + h, j = column * H + h;
    const int d = p->width;
    const float *Q = input(p, "Q"), *K = input(p, "K"), *V = input(p, "V"), *a = input(p, "a");
    const float *bias = input(p, "A.values");
    double s = 0;
    if (mode == ATTENTION_GAT) s = slope((double)input(p, "el")[i] + input(p, "er")[j]);
    for (int c = 0; c < d && mode == ATTENTION_DOT; c++)
        s += (double)Q[i * d + c] * K[j * d + c] / sqrt(d);
    for (int c = 0; c < d && mode == ATTENTION_GATV2; c++)
        s += a[h * d + c] * slope((double)Q[i * d + c] + V[j * d + c]);
    return s + (bias ? bias[z] : 0);
}

static void test_modes(void **state)
{
    (void)state;
    const int d = 12, H = 3;
    csr_matrix A = pattern(40, 30);
    for (int number = 0; number < 7; number++) {
        const int mode = number / 2, biased = number % 2;
        problem p;
        make(&p, &attention_operation, &A, d, H, mode, biased);
        double O[36], bound[36], lse[3], lse_bound[3];
        for (int64_t i = 0; i < A.rows; i++) {
            p.operation->oracle(&p, 0, i, O, bound);
            if (mode != ATTENTION_WEIGHTED) p.operation->oracle(&p, 1, i, lse, lse_bound);
            for (int h = 0; h < H; h++) {
                long double sum = 0, of[12] = {0};
                for (int64_t z = A.row_ptr[i]; z < A.row_ptr[i + 1]; z++) {
                    const long double w = mode == ATTENTION_WEIGHTED
                                              ? input(&p, "A.values")[z]
                                              : expl(score(&p, mode, H, i, z, h));
                    sum += w;
                    for (int c = 0; c < d; c++)
                        of[c] += w * input(&p, "V")[((int64_t)A.col_idx[z] * H + h) * d + c];
                }
                const bool is_empty = A.row_ptr[i] == A.row_ptr[i + 1];
                if (mode == ATTENTION_WEIGHTED || is_empty) sum = 1;
                for (int c = 0; c < d; c++)
                    assert_float_equal(O[h * d + c], (double)(of[c] / sum), 1e-9);
                if (mode == ATTENTION_WEIGHTED) continue;
                if (is_empty)
                    assert_true(lse[h] == -INFINITY && lse_bound[h] == 0);
                else
                    assert_float_equal(lse[h], (double)logl(sum), 1e-9);
            }
        }
        p.operation->destroy(&p);
    }
    csr_free(&A);
}

/* A row of one nonzero has O = V exactly. */
static void test_row_of_one(void **state)
{
    (void)state;
    csr_matrix A = full_pattern(20, 1);
    problem p;
    make(&p, &attention_operation, &A, 8, 2, ATTENTION_DOT, 0);
    double O[16], bound[16];
    for (int64_t i = 0; i < A.rows; i++) {
        p.operation->oracle(&p, 0, i, O, bound);
        for (int c = 0; c < 16; c++)
            assert_true(O[c] == input(&p, "V")[c]);
    }
    p.operation->destroy(&p);
    csr_free(&A);
}

/* Makes whole numbers: all exponentials of a row are 0 or the same, in every mode. */
static void test_whole(void **state)
{
    (void)state;
    error_text error;
    csr_matrix A = pattern(60, 80);
    for (int mode = ATTENTION_DOT; mode < ATTENTION_WEIGHTED; mode++) {
        problem p = {.operation = &attention_operation,
                     .A = &A,
                     .width = 20,
                     .seed = 1,
                     .whole = true,
                     .knobs = {2, mode, 0}};
        assert_int_equal(row_stats_compute(&A, &p.stats, &error), STATUS_OK);
        assert_int_equal(p.operation->create(&p, &error), STATUS_OK);
        double s[100], e[100];
        for (int64_t i = 0; i < A.rows; i++) {
            const int64_t n = A.row_ptr[i + 1] - A.row_ptr[i];
            double max = -INFINITY;
            attention_scores(&p, p.own, i, 1, s, e);
            for (int64_t j = 0; j < n; j++)
                max = fmax(max, s[j]);
            for (int64_t j = 0; j < n; j++)
                assert_true(s[j] == max || s[j] < max - 104);
        }
        p.operation->destroy(&p);
    }
    csr_free(&A);
}

/* ---- the backward pass ----------------------------------------------------------------------- */

enum { NODES = 20, D = 5, HEADS = 2, WIDE = HEADS * D };

/* sum of dO o O, with O of these Q, K and V. */
static double loss(const csr_matrix *A, double *const x[3], const float *dO)
{
    double all = 0;
    for (int64_t i = 0; i < A->rows; i++)
        for (int h = 0; h < HEADS; h++) {
            long double sum = 0, of = 0;
            for (int64_t z = A->row_ptr[i]; z < A->row_ptr[i + 1]; z++) {
                const int64_t j = A->col_idx[z];
                double s = 0, dv = 0;
                for (int c = 0; c < D; c++) {
                    s += x[0][i * WIDE + h * D + c] * x[1][j * WIDE + h * D + c] / sqrt(D);
                    dv += x[2][j * WIDE + h * D + c] * dO[i * WIDE + h * D + c];
                }
                sum += expl(s);
                of += expl(s) * dv;
            }
            if (sum > 0) all += (double)(of / sum);
        }
    return all;
}

/* The problem's lse and O are rounded to fp32, as a kernel gets them: that much the gradients are off. */
static void test_gradients(void **state)
{
    (void)state;
    csr_matrix A = pattern(NODES, NODES);
    problem p;
    make(&p, &attention_backward_operation, &A, D, HEADS, 0, 0);
    static const char *const NAMES[] = {"Q", "K", "V"};
    double *x[3], gradient[WIDE], bound[WIDE];
    for (int k = 0; k < 3; k++) {
        x[k] = malloc(NODES * WIDE * sizeof *x[k]);
        for (int at = 0; at < NODES * WIDE; at++)
            x[k][at] = isfinite(input(&p, NAMES[k])[at]) ? input(&p, NAMES[k])[at] : 0;
    }
    for (int k = 0; k < 3; k++)
        for (int64_t i = 0; i < NODES; i++) {
            p.operation->oracle(&p, k, i, gradient, bound);
            for (int c = 0; c < WIDE; c++) {
                const double step = 1e-7, at = x[k][i * WIDE + c];
                x[k][i * WIDE + c] = at + step;
                const double above = loss(&A, x, input(&p, "dO"));
                x[k][i * WIDE + c] = at - step;
                const double below = loss(&A, x, input(&p, "dO"));
                x[k][i * WIDE + c] = at;
                const double want = (above - below) / (2 * step);
                const double near = k == 1 ? 0.03 : 1e-3; /* Q reaches 512, and dK is made of it */
                if (!(fabs(gradient[c] - want) <= near))
                    fail_msg("d%s[%d][%d]: %g, by differences %g", NAMES[k], (int)i, c, gradient[c],
                             want);
            }
        }
    for (int k = 0; k < 3; k++)
        free(x[k]);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* ---- the pattern of several heads ------------------------------------------------------------- */

static void test_head_pattern(void **state)
{
    (void)state;
    const int H = 3;
    error_text error;
    row_stats stats;
    csr_matrix A = pattern(40, 30);
    assert_int_equal(row_stats_compute(&A, &stats, &error), STATUS_OK);
    const device_csr on_device = {
        .rows = 40, .cols = 30, .nnz = (int)A.nnz, .host = &A, .stats = &stats};
    head_pattern *p;
    assert_int_equal(head_pattern_build(&on_device, H, &p), cudaSuccess);
    assert_int_equal(p->A.rows, 40 * H);
    assert_int_equal(p->A.nnz, A.nnz * H);
    assert_int_equal(head_pattern_bytes(p), 4 * (40 * H + 1 + A.nnz * H));
    int *columns = malloc(A.nnz * H * sizeof *columns), offsets[121];
    cudaMemcpy(columns, p->A.d_col_idx, A.nnz * H * sizeof *columns, cudaMemcpyDeviceToHost);
    cudaMemcpy(offsets, p->A.d_row_ptr, sizeof offsets, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 40; i++)
        for (int h = 0; h < H; h++) {
            const int64_t first = A.row_ptr[i], n = A.row_ptr[i + 1] - first;
            assert_int_equal(offsets[i * H + h], first * H + h * n);
            for (int64_t k = 0; k < n; k++)
                assert_int_equal(columns[first * H + h * n + k], A.col_idx[first + k] * H + h);
        }
    assert_int_equal(offsets[40 * H], A.nnz * H);
    free(columns);
    head_pattern_free(p);
    assert_int_equal(head_pattern_build(&on_device, 1, &p), cudaSuccess);
    assert_int_equal(head_pattern_bytes(p), 0);
    assert_ptr_equal(p->A.host, &A);
    head_pattern_free(p);
    const device_csr huge = {.rows = 1 << 30, .cols = 1, .nnz = 1, .host = &A, .stats = &stats};
    assert_int_equal(head_pattern_build(&huge, 2, &p), cudaErrorNotSupported);
    assert_null(p);
    csr_free(&A);
}

static void test_refused(void **state)
{
    (void)state;
    csr_matrix A = one_row(3, 3e38f);
    error_text error;
    problem p = {.operation = &attention_operation, .A = &A, .width = 4, .seed = 1};
    assert_int_equal(row_stats_compute(&A, &p.stats, &error), STATUS_OK);
    p.knobs[KNOB_BIAS] = 1;
    assert_int_equal(p.operation->create(&p, &error), STATUS_DATASET);
    assert_non_null(strstr(error.text, "overflow"));
    assert_null(p.own);
    csr_free(&A);
}

/* Rows {0, 2}, {}, {2} of a 3 x 4 pattern: 2 rows and 2 columns are named. H = 2, d = 8: 16 floats a node. */
static void test_bytes(void **state)
{
    (void)state;
    error_text error;
    csr_matrix A;
    assert_int_equal(csr_alloc(&A, 3, 4, 3, false, &error), STATUS_OK);
    memcpy(A.row_ptr, (int64_t[]){0, 2, 2, 3}, 4 * sizeof(int64_t));
    memcpy(A.col_idx, (int32_t[]){0, 2, 2}, 3 * sizeof(int32_t));
    const double row = 16 * 4, csr = 4 * 4 + 3 * 4, O = 3 * row, lse = 3 * 2 * 4;
    const double want[] = {
        csr + 2 * row + 2 * row + 2 * row + O + lse, /* DOT: Q, K, V */
        csr + 2 * 8 + 2 * 8 + 2 * row + O + lse,     /* GAT: el, er, V */
        csr + 2 * row + 16 * 4 + 2 * row + O + lse,  /* GATV2: Q, a, V */
        csr + 3 * 4 + 2 * row + O,                   /* WEIGHTED: values, V */
    };
    for (int mode = 0; mode < 4; mode++) {
        problem p;
        cost_model model;
        make(&p, &attention_operation, &A, 8, 2, mode, 0);
        attention_operation.cost(&p, &model);
        assert_float_equal(model.compulsory_bytes, want[mode], 0);
        attention_operation.destroy(&p);
    }
    csr_free(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes),        cmocka_unit_test(test_row_of_one),
        cmocka_unit_test(test_whole),        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_head_pattern), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
