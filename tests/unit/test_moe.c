/*
 * test_moe.c - apps/moe without its program: the short sums of exact numbers are those of the whole matrices, published sizes,
 * room for any routing, and shares that dropping layers drop.
 */
#include "apps/moe/check.h"
#include "tests/tap.h"

#include <math.h>

/* Products of all of x, W1 and W2, beside the few numbers that the check takes. */
static void test_exact_numbers(int features, int hidden)
{
    const number_source n = {NUMBERS_EXACT, 5, features, hidden, 3, 1, 1, 1};
    bool ok = true;
    for (int e = 0; e < n.experts; e++) {
        double inside[512];
        for (int h = 0; h < hidden; h++) {
            inside[h] = 0;
            for (int f = 0; f < features; f++)
                inside[h] += number_of_x(&n, 4, f) * number_of_up(&n, e, f, h);
            inside[h] = fmax(inside[h], 0);
            const float x = exact_sign(e, h) * number_of_x(&n, 4, exact_feature(&n, e, h));
            ok = ok && inside[h] == fmaxf(x, 0);
        }
        for (int c = 0; c < features; c++) {
            double sum = 0;
            for (int h = 0; h < hidden; h++)
                sum += inside[h] * number_of_down(&n, e, h, c);
            ok = ok && sum == inside[exact_once(&n, e, c)] + 2 * inside[exact_twice(&n, e, c)];
        }
    }
    tap_ok(ok, "%d x %d: two hidden numbers are all that an output of exact numbers sums", features,
           hidden);
}

static void test_random_numbers(void)
{
    const number_source n = {NUMBERS_RANDOM, 7, 64, 64, 2, 0.25f, 0.5f, 1};
    double sum = 0, squares = 0;
    bool ok = true;
    for (int i = 0; i < 4096; i++) {
        const float x = number_of_x(&n, i / 64, i % 64), w = number_of_up(&n, 1, i / 64, i % 64);
        sum += x;
        squares += (double)x * x;
        ok = ok && fabsf(x) < 1 && fabsf(w) < 0.25f && x * 128 == truncf(x * 128) && w != 0;
    }
    tap_ok(ok && fabs(sum / 4096) < 0.05 && fabs(squares / 4096 - 1 / 3.) < 0.02,
           "random numbers are symmetric and short");
}

static void test_sizes(void)
{
    moe_shape s = {.block = 64};
    error_text error;
    tap_ok(shape_of_model("dmoe-xs", &s, &error) == STATUS_OK && s.tokens == 65536 &&
               shape_check(&s, &error) == STATUS_OK && s.hidden == 4 * s.features,
           "dmoe-xs");
    tap_ok(shape_flops(&s, shape_slots(&s)) == 4. * 65536 * 512 * 2048 &&
               shape_weight_bytes(&s) == 64. * 2 * 512 * 2048 * 2,
           "its operations and weights");
    tap_ok(shape_of_model("dmoe", &s, &error) == STATUS_USAGE, "no model of that name");
    s.block = 24;
    tap_ok(shape_check(&s, &error) == STATUS_USAGE, "no block of that size");
    /* The worst routing: one row more than whole blocks, or whole tiles, for each expert. */
    const moe_shape worst = {2 * 257, 64, 64, 2, 1, 128, 0, 1};
    tap_ok(shape_most_rows(&worst) >= 2 * 384 && shape_most_tiles(&worst) >= 4,
           "room for experts that have one row too many");
}

static void test_dropping(void)
{
    int start[] = {0, 6, 6, 7, 8};
    layer l = {.shape = {8, 64, 64, 4, 1, 16, 0, 1}, .start = start};
    tap_ok(layer_largest(&l) == 6 && layer_without_tokens(&l) == 1, "counts");
    tap_ok(dropped_share(&l, 1) == 0.5 && dropped_share(&l, 2) == 0.25 && dropped_share(&l, 3) == 0,
           "shares that are dropped");
}

int main(void)
{
    test_exact_numbers(64, 64);
    test_exact_numbers(128, 320);
    test_random_numbers();
    test_sizes();
    test_dropping();
    return tap_done();
}
