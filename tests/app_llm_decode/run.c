/*
 * run.c - apps/llm_decode under the instruments: steps and passes with all kernels of the app and of the labs it names.
 * Nothing may be read that is not written, nothing outside of arrays, and nothing in a race.
 */
#include "apps/llm_decode/check.h"
#include "tests/instrumented.h"

static const llm_shape SMALL = {"small", 1, 256, 50, 64};

/* Enough positions for a head's blocks to share them, where there are few heads. */
static enum status decode(enum kernel_kind kind, int tokens, int capacity, error_text *error)
{
    const decoder_settings s = {.shape = &SMALL,
                                .sparsity = 0.6,
                                .kind = kind,
                                .sequences = 2,
                                .tokens = tokens,
                                .capacity = capacity,
                                .prompt = 2,
                                .seed = 1,
                                .by_column = kind == KERNEL_DENSE,
                                .early = true,
                                .fused = true};
    decoder d;
    verdict v;
    enum status status = decoder_create(&s, &d, error);
    if (status != STATUS_OK) return status;
    status = check_decoder(&d, 3, NULL, &v, error);
    decoder_destroy(&d);
    return status;
}

static void test_decoder(const instruments *all, enum kernel_kind kind, int tokens, int capacity)
{
    error_text error = {""};
    instrumented_begin(all);
    const enum status status = decode(kind, tokens, capacity, &error);
    instrumented_end(all, status, &error, true, "%s, %d tokens a pass", kernel_name(kind), tokens);
}

int main(void)
{
    const instruments *all = instrumented_open();
    if (!all) return 1;
    test_decoder(all, KERNEL_DENSE, 1, 256);
    test_decoder(all, KERNEL_BITMAP, 1, 10);
    test_decoder(all, KERNEL_LANE_MAJOR, 1, 10);
    test_decoder(all, KERNEL_LANE_MAJOR, 2, 10);
    test_decoder(all, KERNEL_DENSE, 3, 10);
    return tap_done();
}
