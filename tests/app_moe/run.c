/*
 * run.c - apps/moe under the instruments: steps with all kernels of the app. Nothing may be read that is not written,
 * nothing outside of arrays, and nothing in a race.
 */
#include "apps/moe/check.h"
#include "tests/instrumented.h"

static enum status run(const moe_shape *s, enum way w, error_text *error)
{
    layer *l;
    layer_verdict v;
    enum status status = layer_open(s, w, &l, error);
    if (status == STATUS_OK) status = layer_check(l, &v, error);
    layer_close(l);
    return status;
}

static void test_layer(const instruments *all, enum way w, const moe_shape *s)
{
    error_text error = {""};
    instrumented_begin(all);
    const enum status status = run(s, w, &error);
    instrumented_end(all, status, &error, true,
                     "%s, %d tokens, %d experts, %d chosen, blocks of %d", way_name(w), s->tokens,
                     s->experts, s->chosen, s->block);
}

int main(void)
{
    /* A tile of two halves, and one of which the upper half is nobody's; three steps, and more than a ring has; experts
     * without tokens. */
    const moe_shape uneven = {150, 192, 320, 4, 1, 16, 2, 1}, two = {40, 64, 64, 3, 2, 64, 0, 2},
                    one = {1, 64, 128, 6, 1, 32, 100, 3};
    const instruments *all = instrumented_open();
    if (!all) return 1;
    for (int w = 0; w < NUM_WAYS; w++)
        test_layer(all, (enum way)w, &two);
    for (int w = WAY_WGMMA; w <= WAY_MMA; w++) {
        test_layer(all, (enum way)w, &uneven);
        test_layer(all, (enum way)w, &one);
    }
    return tap_done();
}
