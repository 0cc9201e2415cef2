/*
 * test_powerlaw.c - the generator of huge graphs (matrix/generate_powerlaw.h): counts, the law, rows that are made alone, and
 * counts that 32 bits do not hold.
 */
#include "fixture.h"

#include "matrix/generate.h"
#include "matrix/generate_powerlaw.h"
#include "matrix/stats.h"

#include <math.h>
#include <omp.h>

static csr_matrix made(const char *spec, char *source, size_t bytes)
{
    csr_matrix A;
    error_text error;
    if (generate(spec, &A, source, bytes, &error) != STATUS_OK) fail_msg("%s", error.text);
    assert_int_equal(csr_validate(&A, spec, &error), STATUS_OK);
    return A;
}

/* Columns ascend, and none is the row's own. */
static void assert_simple(const csr_matrix *A, int64_t first)
{
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            assert_int_not_equal(A->col_idx[k], first + i);
            if (k > A->row_ptr[i]) assert_true(A->col_idx[k - 1] < A->col_idx[k]);
        }
}

static void counts_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t rows, nnz, longest; /* -1: not asked for */
    } CASES[] = {
        {"powerlaw:", 4096, 32768, -1},
        {"powerlaw:rows=0,nnz=0", 0, 0, -1},
        {"powerlaw:rows=1", 1, 0, -1},
        {"powerlaw:rows=2,nnz=1", 2, 1, -1},
        {"powerlaw:rows=2", 2, 1, -1}, /* 8 a row, and 1 a row, would not fit */
        {"powerlaw:rows=12", 12, 66, -1},
        {"powerlaw:rows=3,nnz=3", 3, 3, -1},
        {"powerlaw:rows=5,nnz=10", 5, 10, -1}, /* as full as it gets */
        {"powerlaw:rows=64,nnz=2016,longest=63", 64, 2016, 63},
        {"powerlaw:rows=64,nnz=2016,columns=even", 64, 2016, -1},
        {"powerlaw:rows=1000,nnz=0", 1000, 0, -1},
        {"powerlaw:rows=100003,nnz=1234567,longest=5000,seed=7", 100003, 1234567, 5000},
        {"powerlaw:rows=65536,nnz=655360,longest=30,columns=even", 65536, 655360, 30},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char source[300], again[300];
        row_stats stats;
        error_text error;
        csr_matrix A = made(CASES[i].spec, source, sizeof source), B;
        assert_int_equal(A.rows, CASES[i].rows);
        assert_int_equal(A.cols, CASES[i].rows);
        assert_int_equal(A.nnz, CASES[i].nnz);
        assert_simple(&A, 0);
        assert_int_equal(row_stats_compute(&A, &stats, &error), STATUS_OK);
        if (CASES[i].longest >= 0) assert_int_equal(stats.max, CASES[i].longest);
        B = made(source, again, sizeof again); /* what it says of itself makes it again */
        assert_string_equal(source, again);
        assert_memory_equal(A.row_ptr, B.row_ptr, (A.rows + 1) * sizeof *A.row_ptr);
        assert_memory_equal(A.col_idx, B.col_idx, A.nnz * sizeof *A.col_idx);
        csr_free(&A);
        csr_free(&B);
    }
}

/* The share of rows of more than k entries is (1 + k / mean)^-2. */
static void lengths_follow_the_law(void **state)
{
    (void)state;
    const int64_t rows = 1 << 18, mean = 15;
    const powerlaw law = powerlaw_of(rows, rows * mean, 10000, POWERLAW_EVEN, 3);
    for (int k = 1; k <= 1000; k *= 3) {
        int64_t more = 0;
        for (int64_t row = 0; row < rows; row++)
            more += powerlaw_length(&law, row) > k;
        const double expected = pow(1 + (k + 0.5) / mean, -2) * rows;
        assert_float_equal((double)more / expected, 1, 0.06);
    }
}

/* By length, a column is in as many rows as its own row is long. */
static void popular_columns_have_long_rows(void **state)
{
    (void)state;
    char source[300];
    csr_matrix A = made("powerlaw:rows=20000,nnz=400000,longest=2000", source, sizeof source);
    double xy = 0, xx = 0, yy = 0;
    int64_t *in = calloc(A.cols, sizeof *in);
    for (int64_t k = 0; k < A.nnz; k++)
        in[A.col_idx[k]]++;
    for (int64_t i = 0; i < A.rows; i++) {
        const double x = (double)(A.row_ptr[i + 1] - A.row_ptr[i]) - 20, y = (double)in[i] - 20;
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    assert_true(xy / sqrt(xx * yy) > 0.95);
    free(in);
    csr_free(&A);
}

/* Ranges of rows, made alone and by any number of threads, are those of the whole. */
static void rows_are_made_alone(void **state)
{
    (void)state;
    error_text error;
    const int64_t rows = 5003, cuts[] = {0, 1, 64, 1000, 1000, 4999, 5003};
    for (int by_length = 0; by_length <= 1; by_length++) {
        csr_matrix whole, part;
        const powerlaw law =
            powerlaw_of(rows, 60000, 900, by_length ? POWERLAW_BY_LENGTH : POWERLAW_EVEN, 5);
        assert_int_equal(powerlaw_make(&law, 0, rows, &whole, &error), STATUS_OK);
        for (size_t i = 0; i + 1 < sizeof cuts / sizeof cuts[0]; i++) {
            omp_set_num_threads(1 + (int)i % 3);
            assert_int_equal(powerlaw_make(&law, cuts[i], cuts[i + 1], &part, &error), STATUS_OK);
            const int64_t at = whole.row_ptr[cuts[i]];
            assert_int_equal(part.nnz, whole.row_ptr[cuts[i + 1]] - at);
            for (int64_t row = 0; row <= part.rows; row++)
                assert_int_equal(part.row_ptr[row], whole.row_ptr[cuts[i] + row] - at);
            assert_memory_equal(part.col_idx, whole.col_idx + at, part.nnz * sizeof *part.col_idx);
            assert_simple(&part, cuts[i]);
            csr_free(&part);
        }
        csr_free(&whole);
    }
}

/* The stand-in of papers100M in both directions: its longest row; lengths in every thousandth row, which have the mean within
 * two per cent; and a range of rows. Sums in 32 bits would be off by 2^32. */
static void counts_may_pass_32_bits(void **state)
{
    (void)state;
    const int64_t rows = 111059956, nnz = 3231371744;
    const powerlaw law = powerlaw_of(rows, nnz, 251471, POWERLAW_BY_LENGTH, 1);
    error_text error;
    csr_matrix part;
    int64_t sum = 0, count = 0;
    for (int64_t row = 7; row < rows; row += 500, count++) {
        const int64_t length = powerlaw_length(&law, row);
        assert_in_range(length, 0, 251471);
        sum += length;
    }
    assert_float_equal((double)sum / (double)count / ((double)nnz / (double)rows), 1, 0.05);
    assert_int_equal(powerlaw_make(&law, rows - 3000, rows, &part, &error), STATUS_OK);
    assert_int_equal(part.cols, rows);
    assert_int_equal(csr_validate(&part, "papers100M.both", &error), STATUS_OK);
    assert_simple(&part, rows - 3000);
    csr_free(&part);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *fragment;
    } CASES[] = {
        {"powerlaw:rows=1,nnz=1", "here nnz is from 0 to 0"},
        {"powerlaw:rows=0,nnz=1", "here nnz is from 0 to 0"},
        {"powerlaw:rows=64,nnz=2080", "here nnz is from 0 to 2016"},
        {"powerlaw:rows=100,nnz=1000,longest=19", "here longest is from 19"},
        {"powerlaw:rows=100,nnz=1000,longest=18", "here longest is from 19"},
        {"powerlaw:rows=100,nnz=1000,longest=100", "to 99"},
        {"powerlaw:columns=odd", "even"},
        {"powerlaw:rows=-1", "rows"},
        {"powerlaw:rows=2147483647,nnz=1000000000000000", "GB"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        csr_matrix A = {0};
        char source[300];
        error_text error;
        const enum status status = generate(CASES[i].spec, &A, source, sizeof source, &error);
        csr_free(&A);
        if (i == 3) { /* the least there is */
            assert_int_equal(status, STATUS_OK);
            continue;
        }
        assert_int_not_equal(status, STATUS_OK);
        if (!strstr(error.text, CASES[i].fragment)) fail_msg("%s", error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(lengths_follow_the_law),
        cmocka_unit_test(popular_columns_have_long_rows),
        cmocka_unit_test(rows_are_made_alone),
        cmocka_unit_test(counts_may_pass_32_bits),
        cmocka_unit_test(bad_values_are_refused),
    };
    return cmocka_run_group_tests_name("powerlaw", tests, NULL, NULL);
}
