/*
 * test_summary.c - medians and histograms of a collection's figures.
 */
#include "fixture.h"

#include "matrix/summary.h"

static void medians(void **state)
{
    (void)state;
    double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, one[] = {7};
    assert_true(median_of(odd, 3) == 3);
    assert_true(median_of(even, 4) == 2.5);
    assert_true(median_of(one, 1) == 7);
    assert_true(isnan(median_of(NULL, 0)));
}

static void sparsity_is_exact(void **state)
{
    (void)state;
    assert_true(sparsity_of(&(row_stats){.rows = 10, .cols = 10, .nnz = 30}) == 0.7);
    assert_true(sparsity_of(&(row_stats){.rows = 2048, .cols = 512, .nnz = 0}) == 1);
    assert_true(isnan(sparsity_of(&(row_stats){.rows = 0, .cols = 5})));
}

static const histogram_scale SCALE = {.title = "size", .edge = {0, 1, 2.5, 10}, .num_bins = 4};

static void bins_take_their_lower_edge(void **state)
{
    (void)state;
    static const double values[] = {0, 0.5, 1, 2.4999, 2.5, 9, 10, 1e9, -1, NAN};
    size_t bins[4];
    histogram_count(&SCALE, values, 10, bins);
    assert_int_equal(bins[0], 2);
    assert_int_equal(bins[1], 2);
    assert_int_equal(bins[2], 2);
    assert_int_equal(bins[3], 2);
}

static void edges_ascend(void **state)
{
    (void)state;
    static const histogram_scale *const scales[] = {&sparsity_scale, &mean_row_scale, &cov_scale};
    for (int s = 0; s < 3; s++) {
        assert_true(scales[s]->num_bins <= MAX_BINS && scales[s]->edge[0] == 0);
        for (int i = 1; i < scales[s]->num_bins; i++)
            assert_true(scales[s]->edge[i] > scales[s]->edge[i - 1]);
    }
}

static void assert_drawn(const double *values, size_t count, const char *expected)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    histogram_print(out, &SCALE, values, count);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

/* From the first full bin to the last; one matrix among many is still a mark. */
static void drawn_as_text(void **state)
{
    (void)state;
    double values[103] = {11, 3, 3};
    for (int i = 3; i < 103; i++)
        values[i] = 1;
    assert_drawn(values, 103,
                 "size            1 to 2.5        100  "
                 "##################################################\n"
                 "              2.5 to 10           2  #\n"
                 "               10 up              1  #\n");
    assert_drawn((const double[]){0, 5}, 2,
                 "size            0 to 1            1  "
                 "##################################################\n"
                 "                1 to 2.5          0\n"
                 "              2.5 to 10           1  "
                 "##################################################\n");
    assert_drawn(NULL, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians),
        cmocka_unit_test(sparsity_is_exact),
        cmocka_unit_test(bins_take_their_lower_edge),
        cmocka_unit_test(edges_ascend),
        cmocka_unit_test(drawn_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
