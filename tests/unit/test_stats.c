/*
 * test_stats.c - row-length statistics against values worked out by hand, and against a slow
 * definition on random row lengths.
 */
#include "fixture.h"
#include "random_matrix.h"

#include "matrix/stats.h"

static csr_matrix with_lengths(const int64_t *lengths, int64_t rows, int64_t cols)
{
    csr_matrix A;
    error_text error;
    int64_t nnz = 0;
    for (int64_t i = 0; i < rows; i++)
        nnz += lengths[i];
    assert_int_equal(csr_alloc(&A, rows, cols, nnz, false, &error), STATUS_OK);
    for (int64_t i = 0; i < rows; i++)
        A.row_ptr[i + 1] = A.row_ptr[i] + lengths[i];
    memset(A.col_idx, 0, (size_t)nnz * sizeof *A.col_idx);
    return A;
}

static row_stats stats_of(const csr_matrix *A)
{
    row_stats s;
    error_text error;
    assert_int_equal(row_stats_compute(A, &s, &error), STATUS_OK);
    return s;
}

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-12 * (1 + fabs(expected))))
        fail_msg("got %.17g, expected %.17g", got, expected);
}

static void by_hand(void **state)
{
    (void)state;
    const int64_t lengths[] = {0, 4, 1, 0, 3}; /* mean 1.6, squares (2.56 5.76 .36 2.56 1.96) */
    csr_matrix A = with_lengths(lengths, 5, 10);
    row_stats s = stats_of(&A);
    assert_int_equal(s.rows, 5);
    assert_int_equal(s.cols, 10);
    assert_int_equal(s.nnz, 8);
    assert_int_equal(s.empty_rows, 2);
    assert_int_equal(s.max, 4);
    assert_near(s.mean, 1.6);
    assert_near(s.cov, sqrt(13.2 / 5) / 1.6);
    /* Sorted 0 0 1 3 4: 2 (1*0 + 2*0 + 3*1 + 4*3 + 5*4) / (5 * 8) - 6/5 */
    assert_near(s.gini, 2 * 35.0 / 40 - 1.2);
    assert_near(s.density, 8.0 / 50);
    static const int64_t quantiles[ROW_QUANTILES] = {0, 0, 0, 1, 3, 4, 4};
    assert_memory_equal(s.quantile, quantiles, sizeof quantiles);
    csr_free(&A);
}

static void equal_rows_are_even(void **state)
{
    (void)state;
    int64_t lengths[700];
    for (int i = 0; i < 700; i++)
        lengths[i] = 7;
    csr_matrix A = with_lengths(lengths, 700, 70);
    row_stats s = stats_of(&A);
    assert_near(s.cov, 0);
    assert_near(s.gini, 0);
    for (int q = 0; q < ROW_QUANTILES; q++)
        assert_int_equal(s.quantile[q], 7);
    csr_free(&A);
}

static void one_row_has_all(void **state)
{
    (void)state;
    int64_t lengths[1000] = {[500] = 5000};
    csr_matrix A = with_lengths(lengths, 1000, 5000);
    row_stats s = stats_of(&A);
    assert_int_equal(s.empty_rows, 999);
    assert_int_equal(s.max, 5000);
    assert_near(s.gini, 0.999);
    assert_near(s.cov, sqrt(999));
    assert_int_equal(s.quantile[ROW_QUANTILES - 1], 0); /* 99% of the rows are empty */
    csr_free(&A);
}

static void nothing_is_zero(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{0, 0}, {0, 4}, {4, 0}, {4, 4}};
    for (int i = 0; i < 4; i++) {
        csr_matrix A = with_lengths((const int64_t[4]){0}, shapes[i][0], shapes[i][1]);
        row_stats s = stats_of(&A);
        assert_int_equal(s.empty_rows, shapes[i][0]);
        assert_true(s.mean == 0 && s.cov == 0 && s.gini == 0 && s.density == 0 && s.max == 0);
        csr_free(&A);
    }
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void against_definitions(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        int64_t lengths[300];
        int64_t rows = 1 + (int64_t)random_below(seed, 0, 300), nnz = 0;
        for (int64_t i = 0; i < rows; i++) {
            lengths[i] =
                (int64_t)random_below(seed, 1 + (uint64_t)i, 1 + random_below(seed, 9, 50));
            nnz += lengths[i];
        }
        if (nnz == 0) continue;
        csr_matrix A = with_lengths(lengths, rows, 100);
        row_stats s = stats_of(&A);
        csr_free(&A);

        double mean = (double)nnz / (double)rows, squares = 0, differences = 0;
        for (int64_t i = 0; i < rows; i++) {
            squares += ((double)lengths[i] - mean) * ((double)lengths[i] - mean);
            for (int64_t j = 0; j < rows; j++)
                differences += fabs((double)(lengths[i] - lengths[j]));
        }
        assert_near(s.cov, sqrt(squares / (double)rows) / mean);
        assert_near(s.gini, differences / (2 * (double)rows * (double)rows * mean));
        qsort(lengths, (size_t)rows, sizeof *lengths, ascending);
        static const int percent[ROW_QUANTILES] = {1, 10, 25, 50, 75, 90, 99};
        for (int q = 0; q < ROW_QUANTILES; q++) {
            assert_near(row_quantile_levels[q], percent[q] / 100.0);
            int64_t rank = 0; /* the smallest one with rank / rows >= level */
            while (rank * 100 < percent[q] * rows)
                rank++;
            assert_int_equal(s.quantile[q], lengths[rank - 1]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(equal_rows_are_even),
        cmocka_unit_test(one_row_has_all),
        cmocka_unit_test(nothing_is_zero),
        cmocka_unit_test(against_definitions),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
