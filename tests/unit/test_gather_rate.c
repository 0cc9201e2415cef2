/*
 * test_gather_rate.c - rates of gathers, and the sizes of caches that they follow.
 */
#include "fixture.h"

#include "device/facts.h"
#include "models/gather_rate.h"

static const double H200_L2 = 62914560;

/* Never faster from more bytes or by shorter rows; at the ends the measured rates. */
static void rates_fall_with_the_span(void **state)
{
    (void)state;
    double last = 1e9;
    for (double span = 1e5; span < 1e10; span *= 1.1) {
        const double lines = gather_rate_in(LINE_BYTES, span, H200_L2);
        assert_true(lines > 0 && lines <= last);
        assert_true(gather_rate_in(LINE_BYTES / 2, span, H200_L2) <= lines);
        last = lines;
    }
    assert_float_equal(gather_rate_in(LINE_BYTES, 1e5, H200_L2), 10432e3, 1);
    assert_float_equal(gather_rate_in(LINE_BYTES, 1e10, H200_L2), 4312e3, 1);
}

/* An L2 of half the size holds half the span at the same rate. */
static void the_span_follows_l2(void **state)
{
    (void)state;
    for (double span = 1e6; span < 4e9; span *= 1.7) {
        const double whole = gather_rate_in(LINE_BYTES, span, H200_L2);
        assert_float_equal(gather_rate_in(LINE_BYTES, span / 2, H200_L2 / 2), whole, 1e-6 * whole);
    }
    assert_true(gather_rate_in(LINE_BYTES, 80e6, H200_L2 / 2) <
                0.8 * gather_rate_in(LINE_BYTES, 80e6, H200_L2));
}

/* This device's L2 and L1 are asked; the CPU backend answers as an H200. */
static void this_device_is_asked(void **state)
{
    (void)state;
    const device_facts *f = device_facts_get();
    assert_true(f->l2_bytes > 0 && f->sm_shared_bytes > 0);
    assert_float_equal(gather_rate(LINE_BYTES, 9e7),
                       gather_rate_in(LINE_BYTES, 9e7, (double)f->l2_bytes), 1e-6);
    assert_float_equal(l1_like(1000), 1000.0 * f->sm_shared_bytes / (228 << 10), 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_fall_with_the_span),
        cmocka_unit_test(the_span_follows_l2),
        cmocka_unit_test(this_device_is_asked),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
