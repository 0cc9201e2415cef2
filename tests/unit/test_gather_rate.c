/*
 * test_gather_rate.c - rates of gathers, and the sizes of caches that they follow.
 */
#include "fixture.h"

#include "device/facts.h"
#include "models/gather_rate.h"

static const device_rates H200 = {1, 1, 1, 1, 1, 1, 1};

/* Never faster from more bytes or by shorter rows; at the ends the measured rates. */
static void rates_fall_with_the_span(void **state)
{
    (void)state;
    double last = 1e9;
    for (double span = 1e5; span < 1e10; span *= 1.1) {
        const double lines = gather_rate_in(LINE_BYTES, span, &H200);
        assert_true(lines > 0 && lines <= last);
        assert_true(gather_rate_in(LINE_BYTES / 2, span, &H200) <= lines);
        last = lines;
    }
    assert_float_equal(gather_rate_in(LINE_BYTES, 1e5, &H200), 10432e3, 1);
    assert_float_equal(gather_rate_in(LINE_BYTES, 1e10, &H200), 4312e3, 1);
}

/* An L2 of half the size holds half the span at the same rate. */
static void the_span_follows_l2(void **state)
{
    (void)state;
    device_rates half = H200;
    half.l2_bytes = 0.5;
    for (double span = 1e6; span < 4e9; span *= 1.7) {
        const double whole = gather_rate_in(LINE_BYTES, span, &H200);
        assert_float_equal(gather_rate_in(LINE_BYTES, span / 2, &half), whole, 1e-6 * whole);
    }
    assert_true(gather_rate_in(LINE_BYTES, 80e6, &half) <
                0.8 * gather_rate_in(LINE_BYTES, 80e6, &H200));
}

/* A span that L2 holds follows the rate of L2; a far larger one, that of memory. */
static void rates_follow_the_device(void **state)
{
    (void)state;
    device_rates slow_l2 = H200, slow_memory = H200;
    slow_l2.l2 = slow_memory.memory = 0.5;
    assert_float_equal(gather_rate_in(LINE_BYTES, 1e5, &slow_l2), 5216e3, 1);
    assert_float_equal(gather_rate_in(LINE_BYTES, 1e10, &slow_l2), 4312e3, 1);
    assert_float_equal(gather_rate_in(LINE_BYTES, 1e5, &slow_memory), 10432e3, 1);
    assert_float_equal(gather_rate_in(LINE_BYTES, 1e10, &slow_memory), 2156e3, 1);
    const double between = gather_rate_in(LINE_BYTES, 2e8, &slow_memory);
    assert_true(between < 0.9 * gather_rate_in(LINE_BYTES, 2e8, &H200) && between > 2156e3);
}

/* This device's L2 and L1 are asked; the CPU backend answers as an H200. */
static void this_device_is_asked(void **state)
{
    (void)state;
    const device_facts *f = device_facts_get();
    assert_true(f->l2_bytes > 0 && f->sm_shared_bytes > 0);
    assert_float_equal(gather_rate(LINE_BYTES, 9e7),
                       gather_rate_in(LINE_BYTES, 9e7, device_rates_get()), 1e-6);
    assert_float_equal(l1_like(1000), 1000.0 * f->sm_shared_bytes / (228 << 10), 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_fall_with_the_span),
        cmocka_unit_test(the_span_follows_l2),
        cmocka_unit_test(rates_follow_the_device),
        cmocka_unit_test(this_device_is_asked),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
