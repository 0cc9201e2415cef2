/*
 * test_rates.c - facts and measured limits of a device as ratios to an H200, and estimates that follow them.
 */
#include "fixture.h"

#include "device/facts.h"
#include "models/b_tiles.h"
#include "models/binned_rows.h"
#include "models/column_blocks.h"
#include "models/rates.h"
#include "models/row_fragments.h"
#include "models/sddmm_balanced.h"
#include "models/sddmm_tensor_core.h"
#include "models/sddmm_tiles.h"
#include "models/whole_rows.h"

#include <sys/wait.h>

static const device_facts H200 = {.sms = 132,
                                  .sm_warps = 64,
                                  .sm_shared_bytes = 228 << 10,
                                  .block_shared_bytes = 227 << 10,
                                  .l2_bytes = 60 << 20,
                                  .clock_khz = 1980000,
                                  .memory_gbs = 4800,
                                  .compute_capability = 90};

static void assert_all_are_1(device_rates r)
{
    assert_true(r.sms == 1 && r.l1_bytes == 1 && r.l2_bytes == 1 && r.clock == 1);
    assert_true(r.l2 == 1 && r.memory == 1 && r.tensor == 1);
}

/* Rules choose there as they did when they were fitted. They do so with the rates of the reference rows. They
 * do so with those of a start of the machine that differs by a few per cent, and where nobody has measured. */
static void an_h200_is_an_h200(void **state)
{
    (void)state;
    machine_limits l;
    assert_true(limits_load("NVIDIA H200", &l));
    assert_all_are_1(device_rates_of(&H200, &l));
    l.l2_read_gbs *= 0.97, l.fp16_gflops *= 1.03;
    assert_all_are_1(device_rates_of(&H200, &l));
    assert_all_are_1(device_rates_of(&H200, NULL));
}

/* Facts from NVIDIA's white paper of the A100, and no limits: rates follow from clocks and the bus. */
static void without_limits_clocks_tell(void **state)
{
    (void)state;
    device_facts f = H200;
    f.sms = 108, f.sm_shared_bytes = 164 << 10, f.l2_bytes = 40 << 20, f.clock_khz = 1410000;
    f.memory_gbs = 1555;
    const device_rates r = device_rates_of(&f, NULL);
    assert_float_equal(r.sms, 108 / 132., 1e-9);
    assert_float_equal(r.l1_bytes, 164 / 228., 1e-9);
    assert_float_equal(r.l2_bytes, 2 / 3., 1e-9);
    assert_float_equal(r.clock, 1410 / 1980., 0.05 * r.clock);
    assert_float_equal(r.memory, 1555 / 4800., 0.05 * r.memory);
    assert_float_equal(r.l2, r.sms * r.clock, 1e-9);
    assert_float_equal(r.tensor, r.clock, 1e-9);
}

/* Measured rates go before clocks; tensor cores are those of one multiprocessor. */
static void limits_go_first(void **state)
{
    (void)state;
    const machine_limits l = {
        .copy_gbs = 2171.3, .l2_read_gbs = 5016.4, .l2_bytes = 60 << 20, .fp16_gflops = 223795};
    device_facts f = H200;
    f.sms = 66;
    const device_rates r = device_rates_of(&f, &l);
    assert_float_equal(r.memory, 0.5, 0.025);
    assert_float_equal(r.l2, 0.5, 0.025);
    assert_float_equal(r.tensor, 0.5, 0.025);
    assert_true(r.clock == 1 && r.sms == 0.5);
}

/* A device that answers nothing is an H200, and no rate is 0 or NaN. */
static void unknown_is_1(void **state)
{
    (void)state;
    assert_all_are_1(device_rates_of(&(device_facts){0}, NULL));
    assert_all_are_1(device_rates_of(&(device_facts){0}, &(machine_limits){0}));
}

/* ---- estimates ------------------------------------------------------------------------------- */

/* Full rows, which every model holds; uneven ones, long enough to cut. */
static const row_stats FULL = {.rows = 8192,
                               .cols = 2048,
                               .nnz = 1677722,
                               .max = 260,
                               .mean = 204.8,
                               .cov = 0.06,
                               .density = 0.1,
                               .quantile = {170, 190, 198, 205, 212, 220, 240}};

enum { NUM_ESTIMATES = 11 };

static void estimates(double us[NUM_ESTIMATES])
{
    b_tiles_shape tiles;
    row_fragments_shape fragments;
    sddmm_tensor_core_shape dense;
    const sddmm_balanced_shape groups = {1024, 4, 32, 2};
    locality l;
    for (int i = 0; i < LOCALITY_SIZES; i++)
        l.entered[i] = FULL.nnz / 4;
    const column_blocks_settings s = {.N = 256, .width = 64, .serial = 64, .shortest = 8};
    const double all[NUM_ESTIMATES] = {
        roma_estimate(&FULL, 256),
        roma_estimate(&FULL, 32),
        subwarp_estimate(&FULL, 256),
        mixed_estimate(&FULL, 256),
        length_bins_estimate(&FULL, 256),
        column_blocks_estimate(&FULL, &l, &s, 4),
        b_tiles_estimate(&FULL, 256, &tiles),
        row_fragments_estimate(&FULL, 256, PRECISION_FP32, &fragments),
        sddmm_balanced_time(&FULL, &groups, 2),
        sddmm_tiles_estimate(&FULL, 256, PRECISION_FP32),
        sddmm_tensor_core_estimate(&FULL, 256, PRECISION_FP32, &dense)};
    memcpy(us, all, sizeof all);
}

/* With every speed halved all estimates are longer, by all that is no launch. */
static void every_estimate_follows_the_device(void **state)
{
    (void)state;
    device_rates *here = (device_rates *)device_rates_get();
    const device_rates before = *here;
    double fast[NUM_ESTIMATES], slow[NUM_ESTIMATES];
    estimates(fast);
    here->clock = here->l2 = here->memory = here->tensor = 0.5;
    estimates(slow);
    *here = before;
    for (int i = 0; i < NUM_ESTIMATES; i++) {
        assert_true(fast[i] > 0 && fast[i] < 1e6);
        if (!(slow[i] > 1.4 * fast[i] && slow[i] <= 2.001 * fast[i]))
            fail_msg("estimate %d: %g us, at half the speed %g", i, fast[i], slow[i]);
    }
}

/* ---- this machine's limits ------------------------------------------------------------------- */

/* Acts as a program that starts after `make limits` found half the rates. */
static int with_limits(void)
{
    const device_rates *here = device_rates_get();
    return here->l2 > 0.55 || here->memory > 0.55 || here->tensor > 0.55 || here->clock != 1;
}

static void limits_of_this_machine_are_found(void **state)
{
    (void)state;
    struct cudaDeviceProp p;
    machine_limits l = {.copy_gbs = 2171.3,
                        .l2_read_gbs = 5016.4,
                        .l2_bytes = 60 << 20,
                        .fp32_gflops = 60000,
                        .fp16_gflops = 447590,
                        .gather = {{128, 4e6, 5000}},
                        .num_gather = 1};
    error_text error;
    char path[4096], command[64];
    assert_int_equal(cudaGetDeviceProperties(&p, 0), cudaSuccess);
    snprintf(l.device, sizeof l.device, "%s", p.name);
    snprintf(command, sizeof command, "/proc/%ld/exe --with-limits", (long)getpid());
    assert_int_equal(limits_save(&l, path, sizeof path, &error), STATUS_OK);
    assert_int_equal(WEXITSTATUS(system(command)), 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--with-limits")) return with_limits();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_h200_is_an_h200),
        cmocka_unit_test(without_limits_clocks_tell),
        cmocka_unit_test(limits_go_first),
        cmocka_unit_test(unknown_is_1),
        cmocka_unit_test(every_estimate_follows_the_device),
        cmocka_unit_test(limits_of_this_machine_are_found),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
