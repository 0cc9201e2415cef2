/*
 * test_results.c - from what was measured to rows: every field, and whom the speedups compare with.
 */
#include "fixture.h"

#include "harness/provenance.h"
#include "ops/spmm.h"
#include "results/results.h"

/* ---- one row --------------------------------------------------------------------------------- */

static spmm_contender lab = {.base = {.operation = &spmm_operation,
                                      .lab = 4,
                                      .name = "tuning",
                                      .tunables = {{"D", "", {1, 2}, 2}, {"C", "", {4}, 1}}}};
static const int TUNING[] = {2, 4};
static const device_info DEVICE = {.name = "NVIDIA H200",
                                   .compute_capability = 90,
                                   .l2_bytes = 2000,
                                   .driver = "580.65.06",
                                   .toolkit = "13.0"};

/* A 100 x 50 problem with 400 nonzeros, N = 10: 8000 flops, 9604 B compulsory, 23604 B gathered. */
static row make_row(const outcome *out, const int *tuning, const machine_limits *limits)
{
    static const csr_matrix A = {.rows = 100, .cols = 50, .nnz = 400};
    const dataset d = {
        .name = "web.mtx", .origin = ORIGIN_FILE, .source = "/data/web.mtx", .matrix = A};
    const problem p = {.operation = &spmm_operation,
                       .A = &A,
                       .width = 10,
                       .stats = {.mean = 4, .max = 17, .cov = 0.5}};
    const options o = {.check = true, .bench = true, .runs = 50, .seed = 7, .l2 = L2_COLD};
    return result_row(&d, &p, &lab.base, tuning, out, &o, &DEVICE, limits);
}

static const outcome MEASURED = {
    .status = STATUS_OK,
    .prepare_ms = 3,
    .timing = {.runs = 50, .median_ms = 2e-3, .iqr_ms = 1e-4, .batch_ms = 1.5e-3},
    .comparison = {.elements = 1000, .worst = 0.25},
};

static void every_field(void **state)
{
    (void)state;
    const row r = make_row(&MEASURED, TUNING, NULL);
    assert_int_equal(r.lab, 4);
    assert_false(r.is_vendor_default);
    assert_string_equal(r.contender, "tuning");
    assert_string_equal(r.operation, "spmm");
    assert_string_equal(r.precision, "fp32");
    assert_string_equal(r.dataset, "web.mtx");
    assert_string_equal(r.origin, "file");
    assert_string_equal(r.source, "/data/web.mtx");
    assert_int_equal(r.rows, 100);
    assert_int_equal(r.cols, 50);
    assert_int_equal(r.nnz, 400);
    assert_true(r.mean_row == 4 && r.cov_row == 0.5);
    assert_int_equal(r.max_row, 17);
    assert_int_equal(r.N, 10);
    assert_string_equal(r.backend, device_backend());
    assert_string_equal(r.device, "NVIDIA H200");
    assert_string_equal(r.driver, "580.65.06");
    assert_string_equal(r.toolkit, "13.0");
    assert_string_equal(r.commit, provenance_commit());
    assert_string_equal(r.flags, "runs=50");
    assert_string_equal(r.tuning, "D=2 C=4");
    assert_int_equal(r.seed, 7);
    assert_string_equal(r.l2, "cold");
    assert_true(r.prepare_ms == 3);
    assert_true(r.median_ms == 2e-3 && r.iqr_ms == 1e-4 && r.batch_ms == 1.5e-3);
    assert_int_equal(r.runs, 50);
    assert_float_equal(r.gflops, 8000 / 2e-6 * 1e-9, 1e-9);
    assert_float_equal(r.compulsory_gbs, 9604 / 2e-6 * 1e-9, 1e-9);
    assert_float_equal(r.gather_gbs, 23604 / 2e-6 * 1e-9, 1e-9);
    assert_true(isnan(r.bound_ms) && isnan(r.bound_share) && isnan(r.gather_share));
    assert_string_equal(r.vendor_best, "");
    assert_string_equal(r.vendor_default, "");
    assert_true(isnan(r.speedup_vendor_best));
    assert_true(isnan(r.speedup_vendor_default));
    assert_true(isnan(r.speedup_lab_before));
    assert_true(r.worst_error == 0.25);
    assert_string_equal(r.status, "ok");
    assert_string_equal(r.message, "");
}

static const machine_limits LIMITS = {.copy_gbs = 9,
                                      .fp32_gflops = 8,
                                      .l2_bytes = 5000,
                                      .gather = {{40, 10000, 11.802}},
                                      .num_gather = 1};

/* 8000 flops at 8 GFLOP/s: at least 1 us; 23604 bytes gathered at 11.802 GB/s take 2 us. It took 2. */
static void bound_and_gather_rate(void **state)
{
    (void)state;
    outcome out = MEASURED;
    out.least = (least_work){.read_bytes = 4000, .write_bytes = 4000, .flops = 8000};
    row r = make_row(&out, TUNING, &LIMITS);
    assert_float_equal(r.bound_ms, 1e-3, 1e-12);
    assert_float_equal(r.bound_share, 0.5, 1e-9);
    assert_float_equal(r.gather_share, 1, 1e-9);
    assert_string_equal(r.bound_lacks, "L2 read");
    /* Cold, all that is read comes from memory, at the highest rate seen there. */
    out.least.read_bytes = 2 * 9000;
    r = make_row(&out, TUNING, &LIMITS);
    assert_float_equal(r.bound_ms, 2e-3, 1e-12);
}

/* L2 is as large as the device says, 2000 bytes, unless the limits do. Gathers out of 10000 bytes miss it
 * at 0.8 of their rate. */
static void l2_of_the_device(void **state)
{
    (void)state;
    machine_limits l = LIMITS;
    outcome out = MEASURED;
    l.l2_bytes = 0;
    out.least = (least_work){.write_bytes = 0.8 * 11802 + 2000, .flops = 8};
    assert_float_equal(make_row(&out, TUNING, &l).bound_ms, 1e-3, 1e-12);
}

/* Cells that were not measured, or not even chosen, are empty. */
static void failures_have_no_numbers(void **state)
{
    (void)state;
    static const struct {
        enum status status;
        const char *word;
    } cases[] = {{STATUS_WRONG, "wrong"},
                 {STATUS_MEMORY, "oom"},
                 {STATUS_SKIPPED, "skip"},
                 {STATUS_RUNTIME, "error"},
                 {STATUS_DATASET, "error"}};
    const machine_limits l = {
        .copy_gbs = 1, .fp32_gflops = 1, .gather = {{40, 2000, 1}}, .num_gather = 1};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome out = {.status = cases[i].status,
                       .prepare_ms = NAN,
                       .timing = {.median_ms = NAN, .iqr_ms = NAN, .batch_ms = NAN}};
        memset(out.message, 'x', sizeof out.message - 1);
        const row r = make_row(&out, NULL, &l);
        assert_string_equal(r.status, cases[i].word);
        assert_string_equal(r.message, out.message);
        assert_string_equal(r.tuning, "");
        assert_true(isnan(r.prepare_ms) && isnan(r.median_ms) && isnan(r.gflops));
        assert_true(isnan(r.compulsory_gbs) && isnan(r.gather_gbs) && isnan(r.gather_share));
        assert_true(isnan(r.bound_ms) && isnan(r.bound_share));
        assert_true(isnan(r.worst_error));
        assert_int_equal(r.runs, 0);
    }
}

/* ---- who is compared with whom --------------------------------------------------------------- */

/* Labs of an operation of its own, with the parents of SpMM's first ones: 4 has two children, and 9 and 10
 * are not the children of their neighbours. */
static const operation ladder = {.name = "ladder"};
static spmm_contender steps[] = {
    {.base = {.lab = 1}},
    {.base = {.lab = 2, .after = 1}},
    {.base = {.lab = 3, .after = 2}},
    {.base = {.lab = 4, .after = 3}},
    {.base = {.lab = 5, .after = 4}},
    {.base = {.lab = 6, .after = 4}},
    {.base = {.lab = 7, .after = 6}},
    {.base = {.lab = 8, .after = 7, .precision = PRECISION_FP16}},
    {.base = {.lab = 9, .after = 8, .precision = PRECISION_FP16}},
    {.base = {.lab = 10, .after = 7}},
};

static int register_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        contender_register(&steps[i].base, &ladder);
    return 0;
}

static row lab_row(int number, double ms)
{
    return (row){.lab = number,
                 .operation = "ladder",
                 .precision = "fp32",
                 .median_ms = ms,
                 .speedup_vendor_best = NAN,
                 .speedup_vendor_default = NAN,
                 .speedup_lab_before = NAN};
}

static row vendor_row(const char *name, bool is_default, double ms)
{
    row r = lab_row(0, ms);
    snprintf(r.contender, sizeof r.contender, "%s", name);
    r.is_vendor_default = is_default;
    return r;
}

#define assert_speedup(actual, expected)                 \
    do {                                                 \
        if (isnan(expected))                             \
            assert_true(isnan(actual));                  \
        else                                             \
            assert_float_equal(actual, expected, 1e-12); \
    } while (0)

static void compared_with_the_vendor(void **state)
{
    (void)state;
    row r[] = {lab_row(1, 8), lab_row(2, 2), vendor_row("x", false, 6), vendor_row("y", true, 4),
               vendor_row("z", false, 3)};
    results_compare(r, 5);
    static const double best[] = {3.0 / 8, 1.5, 0.5, 0.75, 1};
    static const double standard[] = {0.5, 2, 4.0 / 6, 1, 4.0 / 3};
    for (int i = 0; i < 5; i++) {
        assert_string_equal(r[i].vendor_best, "z");
        assert_string_equal(r[i].vendor_default, "y");
        assert_speedup(r[i].speedup_vendor_best, best[i]);
        assert_speedup(r[i].speedup_vendor_default, standard[i]);
    }
    assert_speedup(r[1].speedup_lab_before, 4.0);
    for (int i = 2; i < 5; i++)
        assert_speedup(r[i].speedup_lab_before, NAN);
}

/* The dense product is compared with the sparse ones, and is neither the best nor the default. */
static void dense_is_beside_the_vendors(void **state)
{
    (void)state;
    row r[] = {lab_row(1, 8), vendor_row("x", true, 6), vendor_row("y", false, 4),
               vendor_row("dense", false, 1)};
    r[3].is_dense = true;
    results_compare(r, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(r[i].vendor_best, "y");
    assert_speedup(r[0].speedup_vendor_best, 0.5);
    assert_speedup(r[3].speedup_vendor_best, 4.0);
    assert_speedup(r[3].speedup_vendor_default, 6.0);
}

/* With one algorithm run (--vs default) there is no best of several. */
static void one_vendor_is_no_best(void **state)
{
    (void)state;
    row r[] = {lab_row(1, 8), vendor_row("y", true, 4), vendor_row("z", false, NAN)};
    results_compare(r, 3);
    assert_string_equal(r[0].vendor_best, "");
    assert_speedup(r[0].speedup_vendor_best, NAN);
    assert_string_equal(r[0].vendor_default, "y");
    assert_speedup(r[0].speedup_vendor_default, 0.5);
    row none[] = {lab_row(1, 8), lab_row(2, 4)};
    results_compare(none, 2);
    assert_string_equal(none[1].vendor_default, "");
    assert_speedup(none[1].speedup_vendor_default, NAN);
}

/* A wrong row has no time: it is compared with nobody and nobody with it. */
static void rows_without_time(void **state)
{
    (void)state;
    row r[] = {lab_row(1, 8),
               lab_row(2, NAN),
               lab_row(3, 2),
               vendor_row("x", true, NAN),
               vendor_row("y", false, 4),
               vendor_row("z", false, 5)};
    results_compare(r, 6);
    assert_speedup(r[0].speedup_lab_before, NAN);
    assert_speedup(r[1].speedup_lab_before, NAN);
    assert_speedup(r[1].speedup_vendor_best, NAN);
    assert_speedup(r[2].speedup_lab_before, NAN); /* lab 2 is the step before */
    assert_string_equal(r[2].vendor_best, "y");
    assert_speedup(r[2].speedup_vendor_best, 2.0);
    assert_string_equal(r[2].vendor_default, "");
    assert_speedup(r[2].speedup_vendor_default, NAN);
    assert_speedup(r[3].speedup_vendor_best, NAN);
}

/* A sweep gives the last lab many rows: each is compared with the best of the step before. */
static void sweep_rows(void **state)
{
    (void)state;
    row r[] = {lab_row(2, 10),  lab_row(3, 9), lab_row(3, 6), lab_row(3, 7),
               lab_row(3, NAN), lab_row(5, 3), lab_row(5, 2), lab_row(5, 12)};
    results_compare(r, 8);
    static const double expected[] = {NAN, 10.0 / 9, 10.0 / 6, 10.0 / 7, NAN, 2, 3, 0.5};
    for (int i = 0; i < 8; i++)
        assert_speedup(r[i].speedup_lab_before, expected[i]);
}

/* The step before is the parent, not the neighbour; where the parent was not run, the parent's. */
static void compared_with_the_parent(void **state)
{
    (void)state;
    row r[] = {lab_row(2, 10), lab_row(3, 9), lab_row(4, 8),
               lab_row(5, 1),  lab_row(6, 2), lab_row(10, 4)};
    results_compare(r, 6);
    static const double speedup[] = {NAN, 10.0 / 9, 9.0 / 8, 8, 4, 0.5};
    static const int before[] = {0, 2, 3, 4, 4, 6}; /* lab 7 was not run */
    for (int i = 0; i < 6; i++) {
        assert_speedup(r[i].speedup_lab_before, speedup[i]);
        assert_int_equal(r[i].before_lab, before[i]);
    }
    row alone[] = {lab_row(5, 1), lab_row(6, 2)}; /* none of 6's ancestors */
    results_compare(alone, 2);
    assert_speedup(alone[1].speedup_lab_before, NAN);
    assert_int_equal(alone[1].before_lab, 0);
}

/* Contenders that no registration knows, and a parent that would be its own, end the walk. */
static void parents_that_lead_nowhere(void **state)
{
    (void)state;
    row unknown[] = {lab_row(10, 3), lab_row(77, 3)};
    results_compare(unknown, 2);
    assert_speedup(unknown[1].speedup_lab_before, NAN);
    steps[5].base.after = 6;
    row own[] = {lab_row(4, 8), lab_row(6, 2)};
    results_compare(own, 2);
    assert_speedup(own[1].speedup_lab_before, NAN);
    steps[5].base.after = 4;
}

/* The vendor is compared within a precision. A lab is compared with the nearest ancestor in its own;
 * the first one in 16 bits with the nearest of all, and says so. */
static void precisions_are_told_apart(void **state)
{
    (void)state;
    static const char *const precision[] = {"fp32", "fp32", "fp32", "fp32", "fp32",
                                            "fp16", "fp16", "fp16", "fp16", "bf16"};
    row r[] = {lab_row(6, 9),
               lab_row(7, 8),
               lab_row(10, 4),
               vendor_row("x", true, 12),
               vendor_row("y", false, 10),
               lab_row(8, 4),
               lab_row(9, 2),
               vendor_row("u", true, 20),
               vendor_row("v", false, 6),
               lab_row(8, 5)};
    for (int i = 0; i < 10; i++)
        strcpy(r[i].precision, precision[i]);
    results_compare(r, 10);
    static const double before[] = {NAN, 9.0 / 8, 2, NAN, NAN, 2, 2, NAN, NAN, 8.0 / 5};
    for (int i = 0; i < 10; i++) {
        const bool first_narrow = i == 5 || i == 9;
        assert_speedup(r[i].speedup_lab_before, before[i]);
        assert_string_equal(r[i].before_precision, first_narrow ? "fp32" : "");
        if (first_narrow) assert_int_equal(r[i].before_lab, 7);
    }
    assert_string_equal(r[2].vendor_best, "y");
    assert_speedup(r[2].speedup_vendor_best, 2.5);
    assert_string_equal(r[6].vendor_best, "v");
    assert_speedup(r[6].speedup_vendor_best, 3.0);
    assert_string_equal(r[6].vendor_default, "u");
    assert_speedup(r[6].speedup_vendor_default, 10.0);
    assert_string_equal(r[9].vendor_best, ""); /* none was asked in bf16 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field),
        cmocka_unit_test(bound_and_gather_rate),
        cmocka_unit_test(l2_of_the_device),
        cmocka_unit_test(failures_have_no_numbers),
        cmocka_unit_test(compared_with_the_vendor),
        cmocka_unit_test(dense_is_beside_the_vendors),
        cmocka_unit_test(one_vendor_is_no_best),
        cmocka_unit_test(rows_without_time),
        cmocka_unit_test(sweep_rows),
        cmocka_unit_test(compared_with_the_parent),
        cmocka_unit_test(parents_that_lead_nowhere),
        cmocka_unit_test(precisions_are_told_apart),
    };
    return cmocka_run_group_tests_name("results", tests, register_steps, NULL);
}
