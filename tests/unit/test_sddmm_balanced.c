/*
 * test_sddmm_balanced.c - the model of lab 31: what makes a product slower, and who gets blocks of columns.
 */
#include "models/sddmm_balanced.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int BLOCKS[] = {1, 2, 4, 8, 16, 32, 64};
enum { COUNT = sizeof BLOCKS / sizeof *BLOCKS };

/* Rows of a square matrix, all of one length. */
static row_stats rows_of(int64_t rows, int64_t length)
{
    row_stats s = {.rows = rows, .cols = rows, .nnz = rows * length, .max = length};
    s.mean = (double)length;
    for (int q = 0; q < ROW_QUANTILES; q++)
        s.quantile[q] = length;
    return s;
}

/* Groups of 8 lanes, in fp32. */
static sddmm_balanced_shape width(int K)
{
    return (sddmm_balanced_shape){
        .row_bytes = 4.0 * K, .element = 4, .lanes = 8, .pieces = K > 32 ? K / 32 : 1};
}

static void more_work_takes_longer(void **state)
{
    (void)state;
    const row_stats few = rows_of(10000, 10), many = rows_of(10000, 40);
    const sddmm_balanced_shape narrow = width(32), wide = width(128);
    const double least = sddmm_balanced_time(&few, &narrow, 1);
    assert_true(least > 0 && isfinite(least));
    assert_true(sddmm_balanced_time(&many, &narrow, 1) > least);
    assert_true(sddmm_balanced_time(&few, &wide, 1) > least);
    assert_true(sddmm_balanced_time(&few, &narrow, 8) > least); /* Y is in L2 either way */
}

static void nothing_takes_a_launch(void **state)
{
    (void)state;
    const row_stats empty = {.rows = 5, .cols = 5, .empty_rows = 5}, none = {0};
    const sddmm_balanced_shape shape = width(32);
    for (int b = 0; b < COUNT; b++) {
        assert_true(sddmm_balanced_time(&empty, &shape, BLOCKS[b]) < 10);
        assert_true(sddmm_balanced_time(&none, &shape, BLOCKS[b]) < 10);
    }
}

static void blocks_are_for_what_gains_by_them(void **state)
{
    (void)state;
    const row_stats tiny = rows_of(200, 50), dense = rows_of(4267, 500);
    const row_stats shorts = rows_of(100000, 5), large = rows_of(1000000, 80);
    const sddmm_balanced_shape narrow = width(32), wide = width(128);
    assert_int_equal(sddmm_balanced_blocks(&tiny, &narrow, BLOCKS, COUNT), 1);   /* Y is in L1 */
    assert_true(sddmm_balanced_blocks(&dense, &wide, BLOCKS, COUNT) >= 8);       /* it gets there */
    assert_int_equal(sddmm_balanced_blocks(&shorts, &narrow, BLOCKS, COUNT), 1); /* all X, often */
    assert_true(sddmm_balanced_blocks(&large, &wide, BLOCKS, COUNT) >=
                4); /* L2 instead of memory */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_work_takes_longer),
        cmocka_unit_test(nothing_takes_a_launch),
        cmocka_unit_test(blocks_are_for_what_gains_by_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
