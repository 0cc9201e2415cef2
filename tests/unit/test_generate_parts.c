/*
 * test_generate_parts.c - what generated matrices are made of: arithmetic, row lengths, columns.
 */
#include "fixture.h"

#include "matrix/generate_columns.h"
#include "matrix/generate_lengths.h"
#include "matrix/generate_math.h"
#include "matrix/random.h"

static void math_is_accurate(void **state)
{
    (void)state;
    for (int i = -7000; i <= 7000; i++) {
        double x = i * 0.0997;
        assert_true(fabs(portable_exp(x) / exp(x) - 1) < 1e-15 * (4 + fabs(x) / 8));
    }
    for (int i = 1; i < 20000; i++) {
        double x = i * 0.0137, y = i * 1e200;
        assert_true(fabs(portable_log(x) - log(x)) <= 4e-16 * (1 + fabs(log(x))));
        assert_true(fabs(portable_log(y) - log(y)) <= 4e-16 * fabs(log(y)));
    }
    assert_true(portable_exp(0) == 1 && portable_log(1) == 0);
}

static double wild_weight(const void *seed, int64_t row)
{
    return portable_exp(8 * random_unit(*(const uint64_t *)seed, (uint64_t)row));
}

static void lengths_add_up(void **state)
{
    (void)state;
    int64_t length[200];
    for (uint64_t seed = 0; seed < 3000; seed++) {
        int64_t rows = 1 + (int64_t)random_below(seed, 0, 200);
        int64_t cap = (int64_t)random_below(seed, 1, 50);
        int64_t total = (int64_t)random_below(seed, 2, (uint64_t)(rows * cap) + 1);
        if (seed % 7 == 0) total = rows * cap;
        row_weight weight = seed % 3 ? wild_weight : equal_weight;
        lengths_share(length, rows, total, cap, weight, &seed);
        int64_t sum = 0, shortest = INT64_MAX, longest = 0;
        for (int64_t i = 0; i < rows; i++) {
            assert_in_range(length[i], 0, cap);
            sum += length[i];
            if (length[i] < shortest) shortest = length[i];
            if (length[i] > longest) longest = length[i];
        }
        assert_int_equal(sum, total);
        if (weight == equal_weight) assert_true(longest - shortest <= 1);
    }
}

static void shuffles_are_permutations(void **state)
{
    (void)state;
    int64_t length[1000], again[1000], seen[1000] = {0}, moved = 0;
    for (int64_t i = 0; i < 1000; i++)
        length[i] = again[i] = i;
    lengths_shuffle(length, 1000, 3);
    lengths_shuffle(again, 1000, 4);
    assert_memory_not_equal(length, again, sizeof length);
    for (int64_t i = 0; i < 1000; i++) {
        seen[length[i]]++;
        moved += llabs(length[i] - i);
    }
    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(seen[i], 1);
    assert_true(fabs((double)moved / 1000 - 1000.0 / 3) < 20); /* uniform: a third of the range */
}

/* Rows as long as there are columns leave nothing to chance: each model must still end. */
static void full_rows_are_drawn(void **state)
{
    (void)state;
    static const column_model models[] = {
        {.popularity = COLUMNS_EVEN},
        {.popularity = COLUMNS_BY_LENGTH},
        {.popularity = COLUMNS_RANKED, .power = 6, .flat = 1},
        {.popularity = COLUMNS_EVEN, .near = 1, .window = 3},
        {.popularity = COLUMNS_BY_LENGTH, .near = 0.5, .window = 40, .empty_diagonal = true},
    };
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        csr_matrix A;
        error_text error;
        int64_t n = 131, length = n - models[m].empty_diagonal;
        assert_int_equal(csr_alloc(&A, n, n, n * length, false, &error), STATUS_OK);
        for (int64_t i = 0; i <= n; i++)
            A.row_ptr[i] = i * length;
        assert_int_equal(columns_draw(&A, &models[m], 1, &error), STATUS_OK);
        assert_int_equal(csr_validate(&A, "full", &error), STATUS_OK);
        for (int64_t k = 0; k < A.nnz; k++) /* all columns, each once: ascending */
            assert_true(k % length == 0 || A.col_idx[k - 1] < A.col_idx[k]);
        for (int64_t k = 0; models[m].empty_diagonal && k < A.nnz; k++)
            assert_int_not_equal(A.col_idx[k], k / length);
        csr_free(&A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(math_is_accurate),
        cmocka_unit_test(lengths_add_up),
        cmocka_unit_test(shuffles_are_permutations),
        cmocka_unit_test(full_rows_are_drawn),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
