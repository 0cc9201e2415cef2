/*
 * test_precision.c - the 16-bit formats: every number of them, and the floats around the borders
 * between each two.
 */
#include "fixture.h"

#include "ops/precision.h"

#include <float.h>

static float widened(enum precision precision, uint16_t bits)
{
    float x;
    precision_widen(precision, &bits, &x, 1);
    return x;
}

static uint16_t narrowed(enum precision precision, float x)
{
    uint16_t bits;
    precision_narrow(precision, &x, &bits, 1);
    return bits;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Fraction bits and bias: a second description of the formats, for ldexp. */
static const struct {
    enum precision precision;
    int fraction, bias;
    uint16_t infinity;
} FORMATS[] = {{PRECISION_FP16, 10, 15, 0x7c00}, {PRECISION_BF16, 7, 127, 0x7f80}};

static double value_of(int format, uint16_t bits)
{
    const int fraction = bits & ((1 << FORMATS[format].fraction) - 1);
    const int exponent = (bits & 0x7fff) >> FORMATS[format].fraction;
    const int implied = exponent ? 1 << FORMATS[format].fraction : 0;
    const double size = ldexp(implied + fraction, (exponent ? exponent : 1) - FORMATS[format].bias -
                                                      FORMATS[format].fraction);
    return bits & 0x8000 ? -size : size;
}

static void every_number_and_back(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++)
        for (unsigned bits = 0; bits <= UINT16_MAX; bits++) {
            const float x = widened(FORMATS[f].precision, (uint16_t)bits);
            if ((bits & 0x7fff) > FORMATS[f].infinity) {
                assert_true(isnan(x));
                assert_true(bits == UINT16_MAX || narrowed(FORMATS[f].precision, x) == 0x7fff);
                continue;
            }
            if ((bits & 0x7fff) == FORMATS[f].infinity)
                assert_true(x == (bits & 0x8000 ? -INFINITY : INFINITY));
            else
                assert_true(x == value_of(f, (uint16_t)bits));
            assert_int_equal(narrowed(FORMATS[f].precision, x), bits); /* -0, too */
        }
}

/* Between two neighbours the border lies in the middle, which goes to the even one. The neighbour of
 * the largest number is what would follow it, and means infinity. */
static void borders(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++)
        for (unsigned bits = 0; bits < FORMATS[f].infinity; bits++) {
            const enum precision precision = FORMATS[f].precision;
            const double low = value_of(f, (uint16_t)bits),
                         high = value_of(f, (uint16_t)(bits + 1));
            const float middle = (float)((low + high) / 2);
            if (middle != (low + high) / 2) continue; /* below the least float */
            assert_int_equal(narrowed(precision, middle), bits % 2 ? bits + 1 : bits);
            assert_int_equal(narrowed(precision, nextafterf(middle, 0)), bits);
            assert_int_equal(narrowed(precision, nextafterf(middle, INFINITY)), bits + 1);
            assert_int_equal(narrowed(precision, -nextafterf(middle, 0)), 0x8000 | bits);
        }
    assert_int_equal(narrowed(PRECISION_FP16, 65519.99f), 0x7bff);
    assert_int_equal(narrowed(PRECISION_FP16, 65520), 0x7c00);
    assert_int_equal(narrowed(PRECISION_FP16, -FLT_MAX), 0xfc00);
    assert_int_equal(narrowed(PRECISION_BF16, FLT_MAX), 0x7f80);
    assert_int_equal(narrowed(PRECISION_FP16, NAN), 0x7fff);
}

static void described(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        const number_format *format = precision_format(FORMATS[f].precision);
        assert_int_equal(format->bytes, 2);
        assert_true(format->unit_roundoff == ldexp(1, -FORMATS[f].fraction - 1));
        assert_true(format->least == value_of(f, 1));
        assert_true(format->largest == value_of(f, (uint16_t)(FORMATS[f].infinity - 1)));
    }
    assert_int_equal(precision_format(PRECISION_FP32)->bytes, 4);
    assert_string_equal(precision_name(PRECISION_FP32), "fp32");
    assert_string_equal(precision_name(PRECISION_FP16), "fp16");
    assert_string_equal(precision_name(PRECISION_BF16), "bf16");
    assert_true(precision_round(PRECISION_FP32, 0.1f) == 0.1f);
    assert_true(precision_round(PRECISION_BF16, 0.1f) == 0.10009765625f);
}

/* Numbers that were never written are recognised in every precision. */
static void the_fill_pattern_stays(void **state)
{
    (void)state;
    for (int p = 0; p < NUM_PRECISIONS; p++) {
        float never_written = 0, x = 0;
        memset(&never_written, 0xFF, sizeof never_written);
        precision_widen((enum precision)p, &never_written, &x, 1);
        assert_int_equal(bits_of(x), UINT32_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_and_back),
        cmocka_unit_test(borders),
        cmocka_unit_test(described),
        cmocka_unit_test(the_fill_pattern_stays),
    };
    return cmocka_run_group_tests_name("precision", tests, NULL, NULL);
}
