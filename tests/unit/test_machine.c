/*
 * test_machine.c - the cache model, on requests whose hits and misses can be counted by hand.
 */
#include "fixture.h"

#include "profiler/machine.h"

enum { SECTOR = 32, LINE = 128, KB = 1024, MB = 1024 * KB };

static const gpu_model *gpu;

static int find_gpu(void **state)
{
    gpu = gpu_model_find("h200");
    return gpu ? fixture_setup(state) : -1;
}

static void begin(uint64_t blocks)
{
    machine_launch_begin(gpu, 32, 0, blocks);
}

static counters end(void)
{
    counters n = {0};
    machine_launch_end(&n);
    return n;
}

/* Warp 0 asks for whole lines from address `start` on, one a request. */
static void ask(enum access_kind kind, uint64_t start, uint64_t bytes)
{
    for (uint64_t at = start; at < start + bytes; at += LINE) {
        const uint64_t s = at / SECTOR, sectors[] = {s, s + 1, s + 2, s + 3};
        machine_request(0, kind, sectors, 4, 4);
    }
}

static void assert_within(double value, double expected, double share)
{
    if (fabs(value - expected) > share * expected)
        fail_msg("%g is not within %g %% of %g", value, 100 * share, expected);
}

static void what_is_read_once_comes_from_memory(void **state)
{
    (void)state;
    begin(1);
    ask(GLOBAL_LOAD, 0, 64 * KB);
    machine_block_end();
    const counters n = end();
    assert_int_equal(n.l1_hit_sectors, 0);
    assert_int_equal(n.l2_read_bytes, 64 * KB);
    assert_int_equal(n.dram_read_bytes, 64 * KB);
    assert_int_equal(n.dram_write_bytes, 0);
}

/* A line is fetched by sectors, not as a whole. */
static void sectors_are_fetched_one_by_one(void **state)
{
    (void)state;
    begin(1);
    for (uint64_t sector = 0; sector < 4; sector++)
        machine_request(0, GLOBAL_LOAD, &sector, 1, 4);
    for (uint64_t sector = 0; sector < 4; sector++)
        machine_request(0, GLOBAL_LOAD, &sector, 1, 4);
    machine_block_end();
    const counters n = end();
    assert_int_equal(n.l1_hit_sectors, 4);
    assert_int_equal(n.l2_read_bytes, LINE);
}

/* 100 KB fit in an L1 of 256 KB and 1 MB does not: the oldest line always goes first. */
static void l1_holds_what_fits(void **state)
{
    (void)state;
    begin(1);
    ask(GLOBAL_LOAD, 0, 100 * KB);
    ask(GLOBAL_LOAD, 0, 100 * KB);
    machine_block_end();
    assert_int_equal(end().l2_read_bytes, 100 * KB);
    begin(1);
    ask(GLOBAL_LOAD, 0, MB);
    ask(GLOBAL_LOAD, 0, MB);
    machine_block_end();
    const counters n = end();
    assert_within((double)n.l2_read_bytes, 2.0 * MB, 0.01);
    assert_int_equal(n.dram_read_bytes, MB); /* it was in L2 */
}

/* Blocks go to different SMs while there are any: each L1 misses, memory is asked once. */
static void sms_share_l2(void **state)
{
    (void)state;
    begin(gpu->sms);
    for (int block = 0; block < gpu->sms; block++) {
        ask(GLOBAL_LOAD, 0, 16 * KB);
        machine_block_end();
    }
    const counters n = end();
    assert_int_equal(n.l2_read_bytes, 16 * KB * gpu->sms);
    assert_int_equal(n.dram_read_bytes, 16 * KB);
}

/* Both partitions keep what SMs of both sides read: 40 MB are too much for 2 x 30 MB, and 15 MB are
 * not. */
static void partitions_copy(void **state)
{
    (void)state;
    begin(2);
    for (int block = 0; block < 2; block++) {
        ask(GLOBAL_LOAD, 0, 15 * MB);
        ask(GLOBAL_LOAD, 0, 15 * MB);
        machine_block_end();
    }
    assert_within((double)end().dram_read_bytes, 15.0 * MB, 0.05);
    begin(2);
    for (int block = 0; block < 2; block++) {
        ask(GLOBAL_LOAD, 0, 40 * MB);
        ask(GLOBAL_LOAD, 0, 40 * MB);
        machine_block_end();
    }
    assert_true(end().dram_read_bytes > 60 * MB);
}

/* Dirty lines stay in L2 when the launch ends, and are not counted. */
static void stores_stay_in_l2_while_they_fit(void **state)
{
    (void)state;
    begin(1);
    ask(GLOBAL_STORE, 0, MB);
    machine_block_end();
    counters n = end();
    assert_int_equal(n.l2_write_bytes, MB);
    assert_int_equal(n.dram_write_bytes, 0);
    assert_int_equal(n.dram_read_bytes, 0);
    begin(1);
    ask(GLOBAL_STORE, 0, 400 * MB);
    machine_block_end();
    n = end();
    assert_true(n.dram_write_bytes > 330 * MB && n.dram_write_bytes < 400 * MB);
    assert_int_equal(n.dram_read_bytes, 0); /* whole sectors replace what memory has */
}

/* 32 lanes that store 4 bytes each to a sector of their own: memory must complete the sectors. */
static void sectors_stored_in_part_are_completed(void **state)
{
    (void)state;
    begin(1);
    for (uint64_t request = 0; request < 400 * KB; request++) {
        uint64_t sectors[32];
        for (uint64_t lane = 0; lane < 32; lane++)
            sectors[lane] = 32 * request + lane;
        machine_request(0, GLOBAL_STORE, sectors, 32, 4);
    }
    machine_block_end();
    const counters n = end();
    assert_true(n.dram_write_bytes > 330 * MB);
    assert_int_equal(n.dram_read_bytes, n.dram_write_bytes);
}

static void atomics_need_the_old_value(void **state)
{
    (void)state;
    begin(1);
    ask(GLOBAL_ATOMIC, 0, 64 * KB);
    ask(GLOBAL_ATOMIC, 0, 64 * KB);
    machine_block_end();
    const counters n = end();
    assert_int_equal(n.dram_read_bytes, 64 * KB);
    assert_int_equal(n.l2_write_bytes, 128 * KB);
    assert_int_equal(n.l2_read_bytes, 0);
}

/* 200 MB are enough for sampling to set in. */
static void sampling_keeps_the_sums(void **state)
{
    (void)state;
    begin(1000);
    for (uint64_t block = 0; block < 1000; block++) {
        ask(GLOBAL_LOAD, block * 800 * KB, 400 * KB);
        ask(GLOBAL_STORE, block * 800 * KB + 400 * KB, 400 * KB);
        machine_block_end();
    }
    const counters n = end();
    assert_within((double)n.l2_read_bytes, 400.0 * MB * 1000 / 1024, 0.02);
    assert_within((double)n.dram_read_bytes, 400.0 * MB * 1000 / 1024, 0.02);
    assert_true(n.dram_write_bytes > 330 * MB * 1000LL / 1024);
}

static void work_is_dealt_to_the_first_free_place(void **state)
{
    (void)state;
    /* One more block than there are SMs, of two warps with 3 and 5 steps. */
    machine_launch_begin(gpu, 64, 0, gpu->sms + 1);
    for (int block = 0; block <= gpu->sms; block++) {
        for (int step = 0; step < 5; step++) {
            if (step < 3) machine_step(0);
            machine_step(1);
        }
        machine_block_end();
    }
    const counters n = end();
    assert_int_equal(n.sms, gpu->sms);
    assert_int_equal(n.work, 8 * (gpu->sms + 1));
    assert_int_equal(n.longest_warp, 5);
    assert_int_equal(n.longest_block, 8);
    assert_int_equal(n.busiest_sm, 16);
}

/* 32 blocks of one warp fit on an SM. Twice as many blocks: chains of two warps. */
static void waits_follow_the_longest_chain(void **state)
{
    (void)state;
    for (int rounds = 1; rounds <= 2; rounds++) {
        begin((uint64_t)rounds * 32 * gpu->sms);
        for (int block = 0; block < rounds * 32 * gpu->sms; block++) {
            ask(GLOBAL_LOAD, (uint64_t)block * 10 * LINE, 10 * LINE);
            machine_block_end();
        }
        const counters n = end();
        assert_int_equal(n.longest_dram_waits, rounds * 10);
        assert_int_equal(n.longest_l2_waits, 0);
    }
    /* One warp that waits longer than any chain. */
    begin(2);
    ask(GLOBAL_LOAD, 0, 10 * LINE);
    machine_block_end();
    ask(GLOBAL_LOAD, MB, 1000 * LINE);
    machine_block_end();
    assert_int_equal(end().longest_dram_waits, 1000);
}

/* Half of the blocks traced, the first of them to warm the caches. */
static void blocks_that_only_warm_the_caches(void **state)
{
    (void)state;
    const int round = 32 * gpu->sms;
    begin(4 * (uint64_t)round);
    for (int block = 0; block < 2 * round; block++) {
        if (block == round) machine_warmed();
        ask(GLOBAL_LOAD, 0, 10 * LINE);
        machine_block_end();
    }
    const counters n = end();
    assert_int_equal(n.work, 10 * round);
    assert_int_equal(n.dram_read_bytes, 0);
    assert_int_equal(n.l2_read_bytes, 0);
    assert_int_equal(n.l1_hit_sectors, 40 * round);
    begin(4 * (uint64_t)round);
    for (int block = 0; block < 2 * round; block++) {
        if (block == round) machine_warmed();
        ask(GLOBAL_LOAD, (uint64_t)block * 10 * LINE, 10 * LINE);
        machine_block_end();
    }
    assert_int_equal(end().longest_dram_waits, 4 * 10); /* of all four rounds */
    /* Fewer than there is room for: the first are at work when the others begin. */
    begin(32);
    for (int block = 0; block < 16; block++) {
        if (block == 8) machine_warmed();
        ask(GLOBAL_LOAD, (uint64_t)block * 10 * LINE, 10 * LINE);
        machine_block_end();
    }
    assert_int_equal(end().dram_read_bytes, 8 * 10 * LINE);
}

static void nothing_at_all(void **state)
{
    (void)state;
    begin(1);
    machine_block_end();
    const counters n = end();
    assert_int_equal(n.work, 0);
    assert_int_equal(n.dram_read_bytes, 0);
    begin(3);
    assert_int_equal(end().work, 0); /* the launch failed before its first block was complete */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_once_comes_from_memory),
        cmocka_unit_test(sectors_are_fetched_one_by_one),
        cmocka_unit_test(l1_holds_what_fits),
        cmocka_unit_test(sms_share_l2),
        cmocka_unit_test(partitions_copy),
        cmocka_unit_test(stores_stay_in_l2_while_they_fit),
        cmocka_unit_test(sectors_stored_in_part_are_completed),
        cmocka_unit_test(atomics_need_the_old_value),
        cmocka_unit_test(sampling_keeps_the_sums),
        cmocka_unit_test(work_is_dealt_to_the_first_free_place),
        cmocka_unit_test(waits_follow_the_longest_chain),
        cmocka_unit_test(blocks_that_only_warm_the_caches),
        cmocka_unit_test(nothing_at_all),
    };
    return cmocka_run_group_tests_name("machine", tests, find_gpu, fixture_teardown);
}
