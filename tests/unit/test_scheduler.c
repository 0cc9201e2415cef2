/*
 * test_scheduler.c - lab 10's simulation of the block scheduler, against schedules worked out by
 * hand, and the published formula of the first wave.
 */
#include "fixture.h"

#include "labs/10_row_swizzle/scheduler/simulate.h"
#include "matrix/random.h"

static void formula(void **state)
{
    (void)state;
    /* A V100: blocks 0 .. 39 go to the even SMs, 40 .. 79 to the odd ones, and so on. */
    const int block[] = {0, 1, 39, 40, 41, 79, 80, 159};
    const int sm[] = {0, 2, 78, 1, 3, 79, 0, 79};
    for (int i = 0; i < 8; i++)
        assert_int_equal(first_wave_sm(block[i], 80), sm[i]);
    for (int sms = 1; sms < 140; sms++) { /* a wave has one block for every SM */
        bool seen[140] = {false};
        for (int b = 0; b < sms; b++) {
            const int s = first_wave_sm(b, sms);
            assert_in_range(s, 0, sms - 1);
            assert_false(seen[s]);
            seen[s] = true;
        }
    }
}

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-12)) fail_msg("got %.17g, expected %.17g", got, expected);
}

static void by_hand(void **state)
{
    (void)state;
    scheduler_model m = {
        .sms = 2, .blocks_per_sm = 1, .saturation = 1, .rows_per_block = 1, .row_cost = 0};
    /* Rows 1 1 1 5 on two SMs: 1 1, then 1 and 5: ends at 6; 8 / 2 = 4 would be even. */
    const int64_t late[] = {1, 1, 1, 5};
    assert_near(balanced_share(&m, late, NULL, 4), 4.0 / 6);
    /* Longest first: 5 beside 1 1 1. */
    const int swizzled[] = {3, 0, 1, 2};
    assert_near(balanced_share(&m, late, swizzled, 4), 4.0 / 5);
    /* Alike. */
    const int64_t even[] = {3, 3, 3, 3};
    assert_near(balanced_share(&m, even, NULL, 4), 1);
    assert_near(balanced_share(&m, even, NULL, 0), 1);

    /* Two rows a block run side by side: a block of 1 and 5 takes 5, of 3 and 3 takes 3. */
    m.rows_per_block = 2;
    assert_near(balanced_share(&m, late, NULL, 4), 2.0 / 5);
    assert_near(balanced_share(&m, even, NULL, 4), 1);

    /* A row costs 1 by itself: (1+1 1+1 1+1 5+1), two blocks of 2 and 6; 12 / 2 / 2 = 3 is even. */
    m.row_cost = 1;
    assert_near(balanced_share(&m, late, NULL, 4), 3.0 / 6);
}

static void sharing(void **state)
{
    (void)state;
    /* One SM, two places. Rows 2 and 6: both at half speed until the short one has had its 2, at
     * time 4; then the long one alone. Where one block can use the whole SM that takes 4 more ... */
    scheduler_model m = {
        .sms = 1, .blocks_per_sm = 2, .saturation = 1, .rows_per_block = 1, .row_cost = 0};
    const int64_t rows[] = {2, 6};
    assert_near(balanced_share(&m, rows, NULL, 2), 1);
    /* ... and where it needs company, 8. */
    m.saturation = 2;
    assert_near(balanced_share(&m, rows, NULL, 2), 8.0 / 12);
}

static void swizzle_helps(void **state)
{
    (void)state;
    enum { ROWS = 20000 };
    static int64_t length[ROWS];
    static int order[ROWS];
    const scheduler_model m = {
        .sms = 132, .blocks_per_sm = 12, .saturation = 8, .rows_per_block = 16, .row_cost = 4};
    int next = 0;
    for (int i = 0; i < ROWS; i++)
        length[i] = 2000 / (1 + (int64_t)random_below(1, i, 1000));
    for (int64_t l = 2000; l > 0; l--)
        for (int i = 0; i < ROWS; i++)
            if (length[i] == l) order[next++] = i;
    assert_int_equal(next, ROWS);
    const double plain = balanced_share(&m, length, NULL, ROWS);
    const double swizzled = balanced_share(&m, length, order, ROWS);
    assert_true(plain > 0 && plain < swizzled && swizzled <= 1 + 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formula),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(sharing),
        cmocka_unit_test(swizzle_helps),
    };
    return cmocka_run_group_tests_name("scheduler", tests, NULL, NULL);
}
