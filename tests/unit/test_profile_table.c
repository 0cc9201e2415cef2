/*
 * test_profile_table.c - counters, findings and estimates for people. What is told is written down in
 * fake_instruments.h; its sources do not exist, so no line of them is shown.
 */
#include "fixture.h"

#include "fake_instruments.h"
#include "harness/profile_table.h"
#include "harness/source_text.h"
#include "harness/terminal.h"
#include "results/table.h"

#include <fcntl.h>

static inspection inspected;

/* Text that prints[...] writes; valid until the next call. */
static char text[16384];
static FILE *begin_text(void)
{
    memset(text, 0, sizeof text);
    return fmemopen(text, sizeof text, "w");
}

static inspection *inspect(int which, double sample, size_t findings)
{
    const bool counted = (which & INSTRUMENT_COUNTERS) && !findings;
    inspected = (inspection){.which = which,
                             .counted = counted,
                             .predicted = counted,
                             .sample = sample,
                             .model = "NVIDIA H200",
                             .model_text = "132 SMs, an L2 of 60 MB",
                             .kernels = fake_kernels,
                             .num_kernels = 3,
                             .run_kernels = 2,
                             .run_sectors = 32404,
                             .prediction = fake_prediction,
                             .findings = fake_finding_list,
                             .num_findings = findings};
    counters_add(&inspected.run, &fake_kernels[1].total);
    counters_add(&inspected.run, &fake_kernels[2].total);
    return &inspected;
}

static void assert_text(const char *expected)
{
    assert_string_equal(text, expected);
}

static void assert_fits(void)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > TERMINAL_WIDTH)
            fail_msg("too wide: %.*s", (int)strcspn(line, "\n"), line);
}

/* ---- one contender --------------------------------------------------------------------------- */

static void one_contender(void **state)
{
    (void)state;
    FILE *out = begin_text();
    profile_print(out, "lab9 fake", inspect(INSTRUMENT_COUNTERS, 1, 0));
    fclose(out);
    assert_fits();
    assert_text("-- lab9 fake -----------------------------------------------------------------"
                "----------------------\n"
                "  in prepare: count_kernel (2 launches, 40 sectors)\n"
                "  spmm_fake_kernel<4>: grid 100 x 2, block 32 x 4, 2048 B of dynamic "
                "shared memory\n"
                "                                 requests  lanes    moved    each  ideal  "
                "effic.   share\n"
                "    global load                    1.00 k   32.0   32.0 k   32.00   4.00    "
                "12 %    99 %\n"
                "    global atomic                   100     32.0    400      4.00   4.00   "
                "100 %     1 %\n"
                "    shared load                     500     32.0   1.00 k    2.00   2.00   "
                "100 %    33 %\n"
                "    shared store                    500     32.0   2.00 k    4.00   2.00    "
                "50 %    67 %\n"
                "    bank conflicts  1.00 k: wavefronts beyond the least\n"
                "    atomics         8.00 lanes a request take turns at one address\n"
                "    lanes active    25 % in memory accesses, 50 % in all steps\n"
                "    of warps        800 barriers, 1.23 M shuffles\n"
                "    imbalance       longest warp 500 (5.00 x the mean), longest block 1.50 x, "
                "busiest SM 2.00 x\n"
                "    caches          L1 25 % hits; L2 9.01 PB read, 6.40 kB written; DRAM 512 "
                "B read, 0 B written\n"
                "    labs/09_fake/lab.cu\n"
                "      12\n"
                "          load 4 B                 1.00 k   32.0   32.0 k   32.00   4.00    "
                "12 %    99 %\n"
                "      13\n"
                "          shared store 8 B          500     32.0   2.00 k    4.00   2.00    "
                "50 %    67 %\n"
                "          shared load 8 B           500     32.0   1.00 k    2.00   2.00   "
                "100 %    33 %\n"
                "    common/device/fake.cuh\n"
                "       7\n"
                "          atomic 4 B                100     32.0    400      4.00   4.00   "
                "100 %     1 %\n"
                "\n"
                "  spmm_rest_kernel: grid 1, block 32\n"
                "                                 requests  lanes    moved    each  ideal  "
                "effic.   share\n"
                "    global store                      1     32.0      4      4.00   4.00   "
                "100 %   100 %\n"
                "    lanes active    100 % in memory accesses, 100 % in all steps\n"
                "    imbalance       longest warp 1 (1.00 x the mean), longest block 1.00 x, "
                "busiest SM 132 x\n"
                "    caches          L1 - hits; L2 0 B read, 0 B written; DRAM 0 B read, 0 B "
                "written\n"
                "\n");
}

/* Kernels of prepare are shown whole where they are more than run. */
static void heavy_prepare(void **state)
{
    (void)state;
    inspection *i = inspect(INSTRUMENT_COUNTERS, 1, 0);
    i->run_sectors = 39;
    i->num_kernels = 1;
    FILE *out = begin_text();
    profile_print(out, "lab9 fake", i);
    fclose(out);
    assert_non_null(strstr(text, "  count_kernel (in prepare): grid 2, block 64, 2 launches\n"));
    assert_non_null(strstr(text, "global load "));
}

static void legend(void **state)
{
    (void)state;
    FILE *out = begin_text();
    profile_legend(out);
    fclose(out);
    assert_fits();
    assert_non_null(strstr(text, "32-byte sectors"));
}

static void what_was_found(void **state)
{
    (void)state;
    FILE *out = begin_text();
    findings_print(out, "lab9 fake", inspect(INSTRUMENT_RACECHECK, 1, 2));
    fclose(out);
    assert_fits();
    assert_text("-- lab9 fake -----------------------------------------------------------------"
                "----------------------\n"
                "  race in spmm_fake_kernel<4>, block (5,0,0), thread (3,1,0), the first of 96\n"
                "    thread 3 of warp 1 reads shared tile[3], which thread 7 of warp 0 wrote, "
                "and nothing orders the\n"
                "    two\n"
                "    at   labs/09_fake/lab.cu:13\n"
                "    and  labs/09_fake/lab.cu:12\n"
                "    think of: __syncthreads() between the two\n"
                "\n"
                "  out of bounds in spmm_fake_kernel<4>, block (0,0,0), thread (31,0,0)\n"
                "    reads B[400], of 400 elements\n"
                "    at   labs/09_fake/lab.cu:12\n"
                "\n");
    out = begin_text();
    findings_print(out, "lab9 fake", inspect(INSTRUMENT_RACECHECK, 1, 0));
    fclose(out);
    assert_text("");
}

/* ---- several ---------------------------------------------------------------------------------- */

static row counted_row(int lab, int64_t load_sectors, int64_t shuffles)
{
    row r = {.lab = lab,
             .counted = true,
             .predicted = true,
             .memory_simt_efficiency = 0.5,
             .warp_imbalance = 1668.4,
             .block_imbalance = 12.34,
             .sm_imbalance = lab,
             .l1_hit_rate = NAN,
             .inspection = inspect(INSTRUMENT_COUNTERS, 1, 0)};
    r.total.access[GLOBAL_LOAD] = (access_counters){1000, 32000, 128000, load_sectors, 4000, 0};
    r.total.operations[OP_SHUFFLE] = shuffles;
    return r;
}

/* Only what differs; a lab that was not counted has no line. */
static void step_by_step(void **state)
{
    (void)state;
    static const char *const names[] = {"lab1 one", "lab2 two", "lab3 three"};
    row rows[] = {counted_row(1, 32000, 0), counted_row(2, 4000, 0), counted_row(3, 4000, 12345)};
    FILE *out = begin_text();
    profiles_compare(out, rows, names, 3);
    fclose(out);
    assert_fits();
    assert_text("                  load  sectors/      load             busiest\n"
                "step by step   sectors   request    effic.  shuffles        SM\n"
                "lab1 one        32.0 k     32.00      12 %       0      1.00 x\n"
                "lab2 two        4.00 k      4.00     100 %       0      2.00 x\n"
                "lab3 three      4.00 k      4.00     100 %    12.3 k    3.00 x\n"
                "\n");
    rows[0].counted = false;
    out = begin_text();
    profiles_compare(out, rows, names, 3);
    fclose(out);
    assert_text("                         busiest\n"
                "step by step  shuffles        SM\n"
                "lab2 two           0      2.00 x\n"
                "lab3 three      12.3 k    3.00 x\n"
                "\n");
    out = begin_text();
    profiles_compare(out, rows, names, 2); /* one alone has nothing to differ from */
    fclose(out);
    assert_text("");
}

/* Several tables share the columns evenly; no line ends in blanks. */
static void many_steps(void **state)
{
    (void)state;
    static const char *const names[] = {"lab1 a_name_that_takes_its_time_to_read",
                                        "lab2 a_name_that_takes_its_time_to_read"};
    row rows[] = {counted_row(1, 32000, 0), counted_row(2, 4000, 12)};
    rows[1].total.longest_warp = 39468;
    rows[1].warp_imbalance = 3;
    FILE *out = begin_text();
    profiles_compare(out, rows, names, 2);
    fclose(out);
    assert_fits();
    assert_null(strstr(text, " \n"));
    assert_text("                                             load  sectors/      load\n"
                "step by step                              sectors   request    effic.  shuffles\n"
                "lab1 a_name_that_takes_its_time_to_read    32.0 k     32.00      12 %       0\n"
                "lab2 a_name_that_takes_its_time_to_read    4.00 k      4.00     100 %      12\n"
                "\n"
                "                                          longest     warp/   busiest\n"
                "step by step                                 warp      mean        SM\n"
                "lab1 a_name_that_takes_its_time_to_read       0      1668 x    1.00 x\n"
                "lab2 a_name_that_takes_its_time_to_read    39.5 k    3.00 x    2.00 x\n"
                "\n");
}

static void estimates(void **state)
{
    (void)state;
    static const char *const names[] = {"lab1 one", "lab2 two"};
    row rows[] = {counted_row(1, 1, 0), counted_row(2, 1, 0)};
    rows[1].predicted = false;
    FILE *out = begin_text();
    predictions_print(out, rows, names, 2);
    fclose(out);
    assert_fits();
    assert_text("estimate, not a measurement: the time that NVIDIA H200 would take for what was "
                "counted,\n"
                "by a model of its resources; then what each of them alone would take\n"
                "\n"
                "estimate, ms   in all  limited by      DRAM      L2      L1   issue atomics "
                "longest  launch\n"
                "lab1 one       0.2500  L2            0.0100  0.2000  0.0300  0.0400  0.0000  "
                "0.0050  0.0049\n"
                "\n");
    rows[0].predicted = false;
    out = begin_text();
    predictions_print(out, rows, names, 2);
    fclose(out);
    assert_text("");
}

/* ---- the table around it ---------------------------------------------------------------------- */

static const operation SPMM = {.name = "spmm", .width = "N"};
static const problem PROBLEM = {.operation = &SPMM,
                                .width = 64,
                                .outputs = {{.name = "C", .rows = 10, .cols = 64}},
                                .num_outputs = 1,
                                .stats = {.mean = 6.9, .max = 13155, .cov = 9.816}};

static row base_row(inspection *i, const char *status)
{
    row r = {.lab = 9,
             .contender = "fake",
             .operation = "spmm",
             .precision = "fp32",
             .dataset = "toy",
             .origin = "generated",
             .source = "toy",
             .rows = 10,
             .cols = 20,
             .nnz = 30,
             .N = 64,
             .backend = "simt",
             .seed = 1,
             .worst_error = 0.25,
             .counted = i->counted,
             .checked = *checks_text(i->which),
             .num_findings = (int64_t)i->num_findings,
             .inspection = i};
    snprintf(r.status, sizeof r.status, "%s", status);
    return r;
}

static void print_table(const row *r, const outcome *o)
{
    FILE *out = begin_text();
    table_print(out, &PROBLEM, r, o, 1);
    fclose(out);
    assert_fits();
}

static void clean_table(void **state)
{
    (void)state;
    const row r = base_row(inspect(INSTRUMENT_MEMCHECK | INSTRUMENT_RACECHECK, 1, 0), "ok");
    const outcome o = {.status = STATUS_OK};
    print_table(&r, &o);
    assert_text("toy: generated data (toy)\n"
                "  10 x 20, 30 nonzeros; row length mean 6.9, max 13155, CoV 9.82; 0 empty rows\n"
                "  spmm, N = 64, fp32, seed 1; checked on the CPU backend\n"
                "  memcheck, racecheck: every access of the kernels\n"
                "\n"
                "                  error/\n"
                "contender  check   bound  memcheck, racecheck\n"
                "lab9 fake  PASS    0.250  nothing found\n"
                "\n"
                "memcheck, racecheck: nothing found in 3 kernels (4 launches)\n"
                "PASS: 1 of 1 contenders right in all 640 elements\n"
                "\n");
}

static void table_with_findings(void **state)
{
    (void)state;
    const row r = base_row(inspect(INSTRUMENT_MEMCHECK, 1, 2), "wrong");
    const outcome o = {.status = STATUS_WRONG,
                       .message = "2 findings, the first: race at labs/09_fake/lab.cu:13"};
    print_table(&r, &o);
    assert_non_null(strstr(text, "\nlab9 fake  FAIL    0.250  2 findings\n"));
    assert_non_null(strstr(text, "\n-- lab9 fake ---"));
    assert_non_null(strstr(text, "\nlab9 fake: 2 findings, the first: race at "));
    assert_non_null(strstr(text, "\nmemcheck: 2 findings\n"
                                 "FAIL: 0 of 1 contenders right in all 640 elements, 1 wrong\n\n"));
}

/* A sample passes nothing. */
static void sampled_table(void **state)
{
    (void)state;
    row r = base_row(inspect(INSTRUMENT_COUNTERS, 0.1, 0), "sample");
    const outcome o = {.status = STATUS_OK};
    r.worst_error = NAN;
    print_table(&r, &o);
    assert_null(strstr(text, "PASS"));
    assert_non_null(strstr(text,
                           "; counted on the CPU backend, modelled: NVIDIA H200\n"
                           "  cache model: 132 SMs, an L2 of 60 MB\n"
                           "  a SAMPLE of 10 % of the blocks was run: results are not checked, "
                           "counters are scaled up\n"));
    assert_non_null(strstr(text, "\nlab9 fake  -           -\n"));
    assert_non_null(
        strstr(text, "\nSAMPLE: 1 of 1 contenders traced in part, no result checked\n"));
}

/* ---- small things ----------------------------------------------------------------------------- */

static void amounts(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *column, *words, *bytes;
    } cases[] = {
        {0, "0  ", "0", "0 B"},
        {7, "7  ", "7", "7 B"},
        {999, "999  ", "999", "999 B"},
        {1000, "1.00 k", "1.00 k", "1.00 kB"},
        {9994, "9.99 k", "9.99 k", "9.99 kB"},
        {9996, "10.0 k", "10.0 k", "10.0 kB"},
        {99960, "100 k", "100 k", "100 kB"},
        {999400, "999 k", "999 k", "999 kB"},
        {999600, "1.00 M", "1.00 M", "1.00 MB"},
        {3837415, "3.84 M", "3.84 M", "3.84 MB"},
        {2.5e18, "2500 P", "2500 P", "2500 PB"},
        {NAN, "-", "-", "-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(amount(cases[i].value).text, cases[i].column);
        assert_string_equal(in_words(cases[i].value).text, cases[i].words);
        assert_string_equal(bytes_in_words(cases[i].value).text, cases[i].bytes);
    }
    assert_string_equal(percent(0).text, "0 %");
    assert_string_equal(percent(0.004).text, "0.4 %");
    assert_string_equal(percent(0.126).text, "13 %");
    assert_string_equal(percent(4).text, "400 %");
    assert_string_equal(percent(NAN).text, "-");
}

static void folding(void **state)
{
    (void)state;
    char words[400] = "";
    FILE *out = begin_text();
    for (int i = 0; i < 12; i++)
        strcat(words, "123456789012 ");
    print_folded(out, 9, words);
    fclose(out);
    assert_text("         123456789012 123456789012 123456789012 123456789012 123456789012 "
                "123456789012 123456789012\n"
                "         123456789012 123456789012 123456789012 123456789012 123456789012\n");
}

/* A source is shown as long as it is older than the program. */
static void source_lines(void **state)
{
    (void)state;
    char line[100];
    const char *path = fixture_path("old.cu");
    write_text("old.cu", "first\n    second();  \n\n");
    const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    const struct timespec later[2] = {{.tv_sec = 1LL << 32}, {.tv_sec = 1LL << 32}};
    assert_int_equal(utimensat(AT_FDCWD, path, later, 0), 0);
    assert_false(source_text(path, (int)strlen(path), 1, line, sizeof line));
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    assert_true(source_text(path, (int)strlen(path), 2, line, sizeof line));
    assert_string_equal(line, "second();");
    assert_false(source_text(path, (int)strlen(path), 3, line, sizeof line)); /* empty */
    assert_false(source_text(path, (int)strlen(path), 4, line, sizeof line));
    assert_false(source_text(path, (int)strlen(path), 0, line, sizeof line));
    assert_false(source_text("/nowhere.cu", 11, 1, line, sizeof line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_contender),
        cmocka_unit_test(heavy_prepare),
        cmocka_unit_test(legend),
        cmocka_unit_test(what_was_found),
        cmocka_unit_test(step_by_step),
        cmocka_unit_test(many_steps),
        cmocka_unit_test(estimates),
        cmocka_unit_test(clean_table),
        cmocka_unit_test(table_with_findings),
        cmocka_unit_test(sampled_table),
        cmocka_unit_test(amounts),
        cmocka_unit_test(folding),
        cmocka_unit_test(source_lines),
    };
    return cmocka_run_group_tests_name("profile_table", tests, fixture_setup, fixture_teardown);
}
