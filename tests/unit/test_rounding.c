/*
 * test_rounding.c - the bound of rounded sums, and its two parts. Sums of random products stay far
 * below it. Products that are lost, doubled or rounded to 16 bits do not.
 */
#include "fixture.h"

#include "matrix/random.h"
#include "ops/rounding.h"

static const double U = 0x1p-24;

static void the_lesser_of_two(void **state)
{
    (void)state;
    /* One product: 5 |p| always, 6 + 4 + 2 by chance. */
    const product_sum one = {1, 3, 9, 3, -3};
    assert_float_equal(rounding_bound(&one), U * 15 + 0x1p-149, 1e-18);
    /* 10,000 products of 1 and -1: 10,004 times 10,000, or 6 * 100 * 100 + 4 + 2 * 50. */
    const product_sum many = {1e4, 1e4, 1e4, 1, 50};
    assert_float_equal(rounding_bound(&many), U * 60104, 1e-12);
    const product_sum none = {0};
    assert_true(rounding_bound(&none) == 0);
    /* Subnormal products: nothing but what underflows. */
    const product_sum tiny = {4, 0x1p-147, 0x1p-296, 0x1p-149, 0};
    assert_true(rounding_bound(&tiny) >= 0x1p-147);
}

static void the_store_rounds_once_more(void **state)
{
    (void)state;
    assert_true(rounding_stored(PRECISION_FP32, 100, 0.25) == 0.25);
    assert_float_equal(rounding_stored(PRECISION_FP16, -100, 0.25),
                       0.25 + 0x1p-11 * 100.25 + 0x1p-25, 1e-12);
    assert_float_equal(rounding_stored(PRECISION_BF16, 100, 0.25), 0.25 + 0x1p-8 * 100.25, 1e-12);
}

/* n products of uniform random numbers, one of them held in the array. */
static void draw(uint64_t seed, int n, float *a, float *b, product_sum *s)
{
    *s = (product_sum){.n = n};
    for (int k = 0; k < n; k++) {
        a[k] = random_symmetric(2 * seed, k);
        b[k] = random_symmetric(2 * seed + 1, k);
        const double p = (double)a[k] * b[k];
        s->size += fabs(p);
        s->squares += p * p;
        s->largest = fmax(s->largest, fabs(p));
        s->result += p;
    }
}

enum { MOST = 40000 };
static float a[MOST], b[MOST];

/* From the first to the last, in 32 lanes, and backwards: no sum comes near the bound. */
static void right_sums_pass(void **state)
{
    (void)state;
    double worst = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        const int n = seed % 10 == 0 ? MOST : (int)(1 + seed * seed % 3000);
        float ahead = 0, back = 0, lane[32] = {0};
        product_sum s;
        draw(seed, n, a, b, &s);
        for (int k = 0; k < n; k++) {
            ahead += a[k] * b[k];
            back = fmaf(a[n - 1 - k], b[n - 1 - k], back);
            lane[k % 32] = fmaf(a[k], b[k], lane[k % 32]);
        }
        for (int m = 16; m; m /= 2)
            for (int l = 0; l < m; l++)
                lane[l] += lane[l + m];
        const float sums[] = {ahead, back, lane[0]};
        for (int i = 0; i < 3; i++)
            worst = fmax(worst, fabs(sums[i] - s.result) / rounding_bound(&s));
    }
    if (!(worst > 0.05 && worst < 0.7)) fail_msg("the worst error is %.3f of the bound", worst);
}

/* The share of 200 sums in which a wrong sum lies within the bound. */
static double share_that_passes(int n, float (*wrong)(int n, const float *, const float *))
{
    int passed = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        product_sum s;
        draw(1000 + seed, n, a, b, &s);
        passed += fabs(wrong(n, a, b) - s.result) <= rounding_bound(&s);
    }
    return passed / 200.0;
}

static float last_one_lost(int n, const float *x, const float *y)
{
    double sum = 0;
    for (int k = 0; k < n - 1; k++)
        sum += (double)x[k] * y[k];
    return (float)sum;
}

static float rounded_to_fp16(int n, const float *x, const float *y)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += (double)precision_round(PRECISION_FP16, x[k]) * y[k];
    return (float)sum;
}

/* tf32 has the 10 bits of fp16 behind the first one. */
static float product_of_tf32(int n, const float *x, const float *y)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum +=
            (double)precision_round(PRECISION_FP16, x[k]) * precision_round(PRECISION_FP16, y[k]);
    return (float)sum;
}

/* All of 32 columns would have to pass for the fault to go unseen. */
static void wrong_sums_fail(void **state)
{
    (void)state;
    static const int lengths[] = {100, 1500, 5000, 10000, 40000};
    for (int i = 0; i < 5; i++) {
        assert_true(share_that_passes(lengths[i], last_one_lost) < 0.2);
        assert_true(share_that_passes(lengths[i], rounded_to_fp16) < 0.5);
        assert_true(share_that_passes(lengths[i], product_of_tf32) < 0.5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lesser_of_two),
        cmocka_unit_test(the_store_rounds_once_more),
        cmocka_unit_test(right_sums_pass),
        cmocka_unit_test(wrong_sums_fail),
    };
    return cmocka_run_group_tests_name("rounding", tests, NULL, NULL);
}
