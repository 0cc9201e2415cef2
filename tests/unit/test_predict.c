/*
 * test_predict.c - the table of GPUs, and the roofline: each resource alone, sums, the limit.
 */
#include "fixture.h"

#include "matrix/nearest.h"
#include "profiler/predict.h"

static void models_are_found_by_key(void **state)
{
    (void)state;
    size_t count;
    const char *const *keys = gpu_model_keys(&count);
    assert_true(count >= 4);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(gpu_model_find(keys[i])->key, keys[i]);
    assert_string_equal(gpu_model_find("h200")->name, "NVIDIA H200");
    assert_null(gpu_model_find("h20"));
    assert_string_equal(nearest_match("h20", keys, count), "h200");
}

/* As the cache model needs them: 64 sets in every L1, places for what can be resident. */
static void models_make_sense(void **state)
{
    (void)state;
    size_t count;
    const char *const *keys = gpu_model_keys(&count);
    for (size_t i = 0; i < count; i++) {
        const gpu_model *gpu = gpu_model_find(keys[i]);
        const gpu_residency full = gpu_model_residency(gpu, 32, gpu->l1_kb * 1024u);
        assert_true(full.blocks >= 1 && full.l1_bytes >= 64 * 128);
        assert_int_equal(gpu->max_threads, 32 * gpu->max_warps);
        assert_true(gpu->l2_gbs > gpu->dram_gbs && gpu->dram_latency > gpu->l2_latency);
    }
}

/* Nsight Compute, labs 1 to 5 on an H200: 16 blocks of 128 threads; 32 KB of shared memory where a
 * block takes none but the 1 KB of the system, 64 KB where it takes 1 KB more. */
static void residency_is_that_of_an_h200(void **state)
{
    (void)state;
    const gpu_model *gpu = gpu_model_find("h200");
    gpu_residency r = gpu_model_residency(gpu, 128, 0);
    assert_int_equal(r.blocks, 16);
    assert_int_equal(r.block_warps, 4);
    assert_int_equal(r.shared_bytes, 32 << 10);
    assert_int_equal(r.l1_bytes, (256 - 32) << 10);
    r = gpu_model_residency(gpu, 128, 1024);
    assert_int_equal(r.blocks, 16);
    assert_int_equal(r.shared_bytes, 64 << 10);
    assert_int_equal(gpu_model_residency(gpu, 32, 0).blocks, 32);      /* of blocks */
    assert_int_equal(gpu_model_residency(gpu, 33, 0).block_warps, 2);  /* one has a single lane */
    assert_int_equal(gpu_model_residency(gpu, 128, 100000).blocks, 2); /* of 228 KB */
    assert_int_equal(gpu_model_residency(gpu, 1024, 10000000).blocks, 1); /* not its business */
}

static prediction predicted(const counters *n)
{
    prediction p;
    predict_kernel(gpu_model_find("h200"), n, &p);
    return p;
}

static void each_resource_alone(void **state)
{
    (void)state;
    const gpu_model *gpu = gpu_model_find("h200");
    const double cycles = gpu->clock_mhz * 1e3; /* in a ms */
    struct {
        counters n;
        enum resource limit;
        double ms;
    } cases[] = {
        {{.dram_read_bytes = 3000000000, .dram_write_bytes = 1264800000}, LIMIT_DRAM, 1},
        {{.l2_read_bytes = 10000000000, .l2_write_bytes = 432000000}, LIMIT_L2, 1},
        /* 132 SMs, alike: 128 bytes a cycle each */
        {{.access[GLOBAL_LOAD].cost = 4LL * 132 * 1980000}, LIMIT_L1, 1},
        {{.access[SHARED_LOAD].cost = 132 * 1980000}, LIMIT_L1, 1},
        /* 6 instructions a step, 4 schedulers */
        {{.busiest_sm = 1320000, .work = 132 * 1320000LL}, LIMIT_ISSUE, 1},
        /* 96 slices, 3.5 additions a cycle in each; or one for all lanes of a warp */
        {{.access[GLOBAL_ATOMIC].lanes = 665280000}, LIMIT_ATOMICS, 1},
        {{.access[GLOBAL_ATOMIC] = {.lanes = 190080000, .serial = 190080000}}, LIMIT_ATOMICS, 1},
        {{.longest_dram_waits = 4000, .longest_l2_waits = 4000},
         LIMIT_LONGEST_WARP,
         1000 * (gpu->dram_latency + gpu->l2_latency) / cycles},
        {{.longest_warp = 82500}, LIMIT_LONGEST_WARP, 1},
        {{.launches = 2}, LIMIT_LAUNCH, 2 * 4.9e-3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const prediction p = predicted(&cases[i].n);
        assert_float_equal(p.ms, cases[i].ms, 1e-6);
        assert_float_equal(p.resource_ms[cases[i].limit], cases[i].ms, 1e-6);
        assert_int_equal(p.limit, cases[i].limit);
    }
}

/* An SM with twice its share of the work takes twice as long over its part of the data. */
static void imbalance_is_paid_for(void **state)
{
    (void)state;
    const counters even = {.work = 1320, .busiest_sm = 10, .access[GLOBAL_LOAD].cost = 1320000000};
    counters uneven = even;
    uneven.busiest_sm = 20;
    assert_float_equal(predicted(&uneven).ms, 2 * predicted(&even).ms, 1e-9);
}

/* Memory works while warps wait; but a warp that waits issues nothing. */
static void what_overlaps_and_what_does_not(void **state)
{
    (void)state;
    const counters n = {.launches = 1,
                        .dram_read_bytes = 4264800000,
                        .busiest_sm = 1320000,
                        .work = 132 * 1320000LL,
                        .longest_dram_waits = 4000};
    const prediction p = predicted(&n);
    assert_float_equal(p.ms, 1 + 540.0 * 1000 / 1980e3 + 4.9e-3, 1e-6);
}

static void kernels_add_up(void **state)
{
    (void)state;
    const counters dram = {.launches = 1, .dram_read_bytes = 4264800000};
    const counters l2 = {.launches = 1, .l2_read_bytes = 3 * 10432000000};
    const prediction a = predicted(&dram), b = predicted(&l2);
    prediction run = {0};
    predict_add(&run, &a);
    assert_int_equal(run.limit, LIMIT_DRAM);
    predict_add(&run, &b);
    assert_int_equal(run.limit, LIMIT_L2);
    assert_float_equal(run.ms, 4 + 2 * 4.9e-3, 1e-9);
    assert_float_equal(run.resource_ms[LIMIT_LAUNCH], 2 * 4.9e-3, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_found_by_key),
        cmocka_unit_test(models_make_sense),
        cmocka_unit_test(residency_is_that_of_an_h200),
        cmocka_unit_test(each_resource_alone),
        cmocka_unit_test(imbalance_is_paid_for),
        cmocka_unit_test(what_overlaps_and_what_does_not),
        cmocka_unit_test(kernels_add_up),
    };
    return cmocka_run_group_tests_name("predict", tests, fixture_setup, fixture_teardown);
}
