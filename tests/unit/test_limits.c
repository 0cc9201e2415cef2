/*
 * test_limits.c - the limits of a machine: kept, found again, and the rates they say.
 */
#include "fixture.h"

#include "results/limits.h"

#include <sys/wait.h>

/* No such GPU exists, so the project holds no limits of it. */
static const machine_limits Z100 = {
    .device = "NVIDIA Z100",
    .copy_gbs = 4012.3,
    .l2_read_gbs = 9876.5,
    .l2_bytes = 52428800,
    .fp32_gflops = 61234,
    .fp16_gflops = 612345,
    .launch_us = 2.25,
    .gather = {{128, 4e6, 8000}, {128, 64e6, 4000}, {128, 2e9, 2000}, {512, 4e6, 9000.5}},
    .num_gather = 4,
};

static const char TABLE[] = "# limits of NVIDIA Z100, measured by ./limits\n"
                            "copy_gbs\t4012.3\n"
                            "l2_read_gbs\t9876.5\n"
                            "l2_bytes\t52428800\n"
                            "fp32_gflops\t61234\n"
                            "fp16_gflops\t612345\n"
                            "launch_us\t2.25\n"
                            "# gather_gbs\trow bytes\tspan bytes\tGB/s\n"
                            "gather_gbs\t128\t4000000\t8000.0\n"
                            "gather_gbs\t128\t64000000\t4000.0\n"
                            "gather_gbs\t128\t2000000000\t2000.0\n"
                            "gather_gbs\t512\t4000000\t9000.5\n";

static void assert_same_limits(const machine_limits *a, const machine_limits *b)
{
    assert_string_equal(a->device, b->device);
    assert_true(a->copy_gbs == b->copy_gbs);
    assert_true(a->read_gbs == b->read_gbs && a->l2_read_gbs == b->l2_read_gbs);
    assert_true(a->l2_bytes == b->l2_bytes);
    assert_true(a->fp32_gflops == b->fp32_gflops && a->tf32_gflops == b->tf32_gflops);
    assert_true(a->fp16_gflops == b->fp16_gflops && a->bf16_gflops == b->bf16_gflops);
    assert_true(a->launch_us == b->launch_us);
    assert_int_equal(a->num_gather, b->num_gather);
    for (int i = 0; i < a->num_gather; i++) {
        assert_true(a->gather[i].row_bytes == b->gather[i].row_bytes);
        assert_true(a->gather[i].span_bytes == b->gather[i].span_bytes);
        assert_true(a->gather[i].gbs == b->gather[i].gbs);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static void round_trip(void **state)
{
    (void)state;
    machine_limits loaded;
    error_text error;
    char path[4096];
    assert_false(limits_load("NVIDIA Z100", &loaded));
    assert_int_equal(limits_save(&Z100, path, sizeof path, &error), STATUS_OK);
    assert_string_equal(path, fixture_path("cache/spmm-lab/limits-z100.tsv"));
    assert_file("cache/spmm-lab/limits-z100.tsv", TABLE);
    assert_true(limits_load("NVIDIA Z100", &loaded));
    assert_same_limits(&loaded, &Z100);
    assert_false(limits_load("NVIDIA Z100 NVL", &loaded)); /* another machine */
}

/* The name of a device in the name of a file: small letters and digits, the rest _. */
static void file_names(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"NVIDIA GeForce RTX 4090", "limits-geforce_rtx_4090.tsv"},
        {"Tesla/V100-SXM2..", "limits-tesla_v100_sxm2__.tsv"},
        {"nvidia x", "limits-nvidia_x.tsv"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        machine_limits l = Z100, loaded;
        error_text error;
        char path[4096];
        strcpy(l.device, cases[i][0]);
        assert_int_equal(limits_save(&l, path, sizeof path, &error), STATUS_OK);
        assert_string_equal(strrchr(path, '/') + 1, cases[i][1]);
        assert_true(limits_load(cases[i][0], &loaded));
        assert_string_equal(loaded.device, cases[i][0]);
    }
}

/* A table that lacks something, or has it wrong, is none. */
static void damaged_files(void **state)
{
    (void)state;
    static const char *const tables[] = {
        "",
        "copy_gbs\t4000\nfp32_gflops\t60000\n",
        "copy_gbs\t4000\ngather_gbs\t128\t4000000\t8000\n",
        "fp32_gflops\t60000\ngather_gbs\t128\t4000000\t8000\n",
        "copy_gbs\t-1\nfp32_gflops\t60000\ngather_gbs\t128\t4000000\t8000\n",
        "copy_gbs\tnan\nfp32_gflops\t60000\ngather_gbs\t128\t4000000\t8000\n",
        "copy_gbs\t4000\nfp32_gflops\t60000\ngather_gbs\t128\t8000\n",
        "copy_gbs\t4000\nfp32_gflops\t60000\ngather_gbs\t0\t4000000\t8000\n",
        "copy_gbs\t4000\nfp32_gflops\t60000\ngather_gbs\t128\t0\t8000\n",
        "copy_gbs\t4000\nfp32_gflops\t60000\ngather_gbs\t128\t4000000\t0\n",
    };
    mkdir(fixture_path("cache"), 0755);
    mkdir(fixture_path("cache/spmm-lab"), 0755);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        machine_limits l;
        write_text("cache/spmm-lab/limits-damaged.tsv", tables[i]);
        if (limits_load("Damaged", &l)) fail_msg("taken: %s", tables[i]);
    }
}

static void more_points_than_room(void **state)
{
    (void)state;
    machine_limits l;
    FILE *out = fopen(fixture_path("cache/spmm-lab/limits-many.tsv"), "w");
    assert_non_null(out);
    fputs("copy_gbs\t1\nfp32_gflops\t1\n", out);
    for (int i = 1; i <= 2 * MAX_GATHER_POINTS; i++)
        fprintf(out, "gather_gbs\t128\t%d\t1\n", i);
    fclose(out);
    assert_true(limits_load("many", &l));
    assert_int_equal(l.num_gather, MAX_GATHER_POINTS);
}

static void no_place_to_save(void **state)
{
    (void)state;
    error_text error = {""};
    char path[4096];
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    assert_int_equal(limits_save(&Z100, path, sizeof path, &error), STATUS_RUNTIME);
    assert_non_null(strstr(error.text, "/proc/none/spmm-lab: cannot write"));
    setenv("XDG_CACHE_HOME", fixture_path("cache"), 1);
}

/* ---- those committed with the project -------------------------------------------------------- */

/* Acts as a copy of this program in a project of the test's own. */
static int load_committed(void)
{
    machine_limits l;
    if (!limits_load("NVIDIA B300", &l)) return 1;
    if (l.copy_gbs != 7000 || strcmp(l.device, "NVIDIA B300") != 0) return 2;
    if (limits_load("NVIDIA B300 NVL", &l)) return 3;
    return 0;
}

/* The reference rows were measured with these. */
static void limits_of_the_reference_rows(void **state)
{
    (void)state;
    machine_limits l;
    assert_true(limits_load("NVIDIA H200", &l));
    assert_true(l.copy_gbs > 4000 && l.fp32_gflops > 60000 && l.num_gather > 20);
}

/* With limits measured here and by the project, those measured here count. */
static void committed_limits(void **state)
{
    (void)state;
    static const char *const folders[] = {"project", "project/datasets", "project/report",
                                          "project/report/results", "project/report/results/b300"};
    char program[256], command[600];
    snprintf(program, sizeof program, "%s", fixture_path("project/test_limits"));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        mkdir(fixture_path(folders[i]), 0755);
    write_text("project/datasets/registry.tsv", "# a project\n");
    write_text("project/report/results/b300/limits.tsv",
               "copy_gbs\t7000\nfp32_gflops\t60000\ngather_gbs\t128\t4000000\t8000\n");
    snprintf(command, sizeof command, "cp /proc/%ld/exe '%s' && '%s' --committed", (long)getpid(),
             program, program);
    assert_int_equal(system(command), 0);
    write_text("cache/spmm-lab/limits-b300.tsv",
               "copy_gbs\t6000\nfp32_gflops\t60000\ngather_gbs\t128\t4000000\t8000\n");
    assert_int_equal(WEXITSTATUS(system(command)), 2);
    write_text("cache/spmm-lab/limits-b300.tsv", "damaged\n");
    assert_int_equal(system(command), 0);
}

/* ---- what they say --------------------------------------------------------------------------- */

static void gather_between_points(void **state)
{
    (void)state;
    const machine_limits *l = &Z100;
    assert_float_equal(limits_gather_gbs(l, 128, 4e6), 8000, 1e-9);
    assert_float_equal(limits_gather_gbs(l, 128, 64e6), 4000, 1e-9);
    assert_float_equal(limits_gather_gbs(l, 128, 16e6), 6000, 1e-9); /* half way on a log scale */
    assert_float_equal(limits_gather_gbs(l, 128, 1), 8000, 1e-9);
    assert_float_equal(limits_gather_gbs(l, 128, 1e12), 2000, 1e-9);
    assert_float_equal(limits_gather_gbs(l, 512, 64e6), 9000.5, 1e-9);
    /* The nearest measured row: 255 is nearer to 128, 257 to 512. */
    assert_float_equal(limits_gather_gbs(l, 4, 4e6), 8000, 1e-9);
    assert_float_equal(limits_gather_gbs(l, 255, 4e6), 8000, 1e-9);
    assert_float_equal(limits_gather_gbs(l, 257, 4e6), 9000.5, 1e-9);
    assert_float_equal(limits_gather_gbs(l, 1e6, 4e6), 9000.5, 1e-9);
    assert_float_equal(limits_gather_gbs(l, 128, 0), 8000, 1e-9); /* a matrix without columns */
}

/* The highest of three: copies, reads, and what far gathers cannot have found in L2. */
static void memory_rate(void **state)
{
    (void)state;
    machine_limits l = {.copy_gbs = 4000,
                        .l2_bytes = 1e8,
                        .gather = {{128, 4e6, 9000}, {128, 2e9, 4100}, {512, 2e9, 4400}},
                        .num_gather = 3};
    assert_float_equal(limits_memory_gbs(&l), 4180, 1e-9); /* 5 % of the span fit into L2 */
    l.read_gbs = 4200;
    assert_float_equal(limits_memory_gbs(&l), 4200, 1e-9);
    l.copy_gbs = 4250;
    assert_float_equal(limits_memory_gbs(&l), 4250, 1e-9);
    l.l2_bytes = 2e9; /* all of it may lie in L2: these gathers say nothing about memory */
    l.gather[2].gbs = 9000;
    assert_float_equal(limits_memory_gbs(&l), 4250, 1e-9);
}

static void peaks(void **state)
{
    (void)state;
    const machine_limits l = {
        .fp32_gflops = 1, .tf32_gflops = 2, .fp16_gflops = 3, .bf16_gflops = 4};
    for (int p = 0; p < NUM_PRECISIONS; p++) {
        assert_float_equal(limits_gflops(&l, UNIT_CUDA_CORES, p), 1, 0);
        assert_float_equal(limits_gflops(&l, UNIT_TENSOR_CORES, p), 2 + p, 0);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--committed")) return load_committed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),       cmocka_unit_test(file_names),
        cmocka_unit_test(damaged_files),    cmocka_unit_test(more_points_than_room),
        cmocka_unit_test(no_place_to_save), cmocka_unit_test(limits_of_the_reference_rows),
        cmocka_unit_test(committed_limits), cmocka_unit_test(gather_between_points),
        cmocka_unit_test(memory_rate),      cmocka_unit_test(peaks),
    };
    return cmocka_run_group_tests_name("limits", tests, fixture_setup, fixture_teardown);
}
