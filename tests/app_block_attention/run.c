/*
 * run.c - apps/block_attention under the instruments: all checks of each variant, with all kernels of the app and of the labs that
 * its plans choose. Nothing may be read that is not written, nothing outside of arrays, and nothing in a race.
 */
#include "apps/block_attention/check.h"
#include "tests/instrumented.h"

static void test_variant(const instruments *all, attend_settings is)
{
    attend a;
    verdict v = {{0}, {0}};
    error_text error = {""};
    const char *why = attend_unsuited(&is);
    instrumented_begin(all);
    enum status status =
        why ? fail(&error, STATUS_SKIPPED, "%s", why) : attend_open(&a, &is, &error);
    if (status == STATUS_OK) {
        status = check_attention(&a, 1, &v, &error);
        attend_close(&a);
    }
    instrumented_end(all, status, &error, v.worst[CHECKED_ORACLE] > 0,
                     "%s in %s, blocks of %d, heads of %d, unit %d", variant_name(is.variant),
                     precision_name(is.precision), is.pattern.block, is.d, is.unit);
}

int main(void)
{
    const block_pattern of_32 = {160, 32, 2, 2}, of_64 = {256, 64, 1, 2};
    const instruments *all = instrumented_open();
    if (!all) return 1;
    test_variant(all, (attend_settings){THREE_STEPS, PRECISION_FP16, of_32, 2, 32, 0, NULL});
    test_variant(all, (attend_settings){THREE_STEPS, PRECISION_FP32, of_64, 1, 64, 0, NULL});
    test_variant(all, (attend_settings){THREE_STEPS, PRECISION_BF16, of_64, 1, 64, 0,
                                        "block_tensor_core_bf16"});
    test_variant(all,
                 (attend_settings){ONE_PASS, PRECISION_FP16, of_64, 2, 64, ONE_PASS_WGMMA, NULL});
    test_variant(all,
                 (attend_settings){ONE_PASS, PRECISION_BF16, of_64, 1, 32, ONE_PASS_WGMMA, NULL});
    test_variant(all,
                 (attend_settings){ONE_PASS, PRECISION_BF16, of_32, 2, 32, ONE_PASS_MMA16, NULL});
    test_variant(all,
                 (attend_settings){ONE_PASS, PRECISION_FP16, of_64, 1, 128, ONE_PASS_MMA16, NULL});
    test_variant(all,
                 (attend_settings){ONE_PASS, PRECISION_FP16, of_32, 2, 64, ONE_PASS_MMA32, NULL});
    test_variant(all,
                 (attend_settings){ONE_PASS, PRECISION_BF16, of_64, 1, 64, ONE_PASS_MMA32, NULL});
    test_variant(all, (attend_settings){DENSE, PRECISION_FP16, of_32, 1, 32, 0, NULL});
    return tap_done();
}
