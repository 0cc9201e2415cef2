/*
 * test_table.c - results for people: the tables of both backends, and what is printed of contenders
 * that failed. Rows and outcomes are written down here, so no GPU is needed for the wide table.
 */
#include "fixture.h"

#include "results/table.h"

static const operation SPMM = {.name = "spmm", .width = "N"};
static const problem PROBLEM = {
    .operation = &SPMM,
    .width = 64,
    .outputs = {{.name = "C", .rows = 169343, .cols = 64}},
    .num_outputs = 1,
    .stats = {.mean = 6.9, .max = 13155, .cov = 9.816, .empty_rows = 62006}};

static row base_row(int lab, const char *name)
{
    row r = {.lab = lab,
             .operation = "spmm",
             .precision = "fp32",
             .dataset = "arxiv",
             .origin = "real",
             .source = "/data/arxiv.csr",
             .rows = 169343,
             .cols = 169343,
             .nnz = 1166243,
             .N = 64,
             .backend = "cuda",
             .device = "NVIDIA H200",
             .driver = "580.65.06",
             .toolkit = "13.0",
             .seed = 1,
             .l2 = "warm",
             .prepare_ms = NAN,
             .median_ms = NAN,
             .iqr_ms = NAN,
             .gflops = NAN,
             .gather_gbs = NAN,
             .bound_share = NAN,
             .gather_share = NAN,
             .speedup_vendor_best = NAN,
             .speedup_vendor_default = NAN,
             .speedup_lab_before = NAN,
             .worst_error = NAN,
             .status = "ok"};
    snprintf(r.contender, sizeof r.contender, "%s", name);
    return r;
}

static row timed_row(int lab, const char *name, double ms)
{
    row r = base_row(lab, name);
    r.prepare_ms = 1.234;
    r.median_ms = ms;
    r.iqr_ms = ms / 100;
    r.gflops = 149.3 / ms;
    r.gather_gbs = 341.2 / ms;
    r.bound_share = 0.05 / ms;
    r.gather_share = 0.15 / ms;
    r.speedup_vendor_best = 0.2 / ms;
    r.speedup_vendor_default = 0.3 / ms;
    r.worst_error = 0.355;
    snprintf(r.vendor_best, sizeof r.vendor_best, "cuSPARSE CSR_ALG2");
    snprintf(r.vendor_default, sizeof r.vendor_default, "cuSPARSE CSR_ALG1");
    return r;
}

/* Valid until the next call. */
static char *printed(const row *rows, const outcome *outcomes, size_t count)
{
    static char text[8192];
    FILE *out = fmemopen(text, sizeof text, "w");
    table_print(out, &PROBLEM, rows, outcomes, count);
    fclose(out);
    return text;
}

static void assert_prints(const row *rows, const outcome *outcomes, size_t count,
                          const char *expected)
{
    assert_string_equal(printed(rows, outcomes, count), expected);
}

/* Only the last line that is not empty. */
static void assert_verdict(const row *rows, const outcome *outcomes, size_t count,
                           const char *expected)
{
    char *text = printed(rows, outcomes, count), *end = text + strlen(text) - 2;
    assert_string_equal(end, "\n\n");
    *end = 0;
    assert_string_equal(strrchr(text, '\n') + 1, expected);
}

static void timed(void **state)
{
    (void)state;
    row rows[] = {timed_row(1, "row_per_thread", 12.5), timed_row(4, "tuning", 0.1234),
                  timed_row(0, "cuSPARSE CSR_ALG2", 0.2)};
    const outcome outcomes[3] = {0};
    rows[1].speedup_lab_before = 101.296;
    rows[1].before_lab = 1;
    strcpy(rows[1].tuning, "D=1 C=2");
    strcpy(rows[1].bound_lacks, "L2 read");
    strcpy(rows[2].bound_lacks, "L2 read, tf32 peak");
    assert_prints(
        rows, outcomes, 3,
        "arxiv: real data (/data/arxiv.csr)\n"
        "  169343 x 169343, 1166243 nonzeros; row length mean 6.9, max 13155, CoV 9.82; 62006 "
        "empty rows\n"
        "  spmm, N = 64, fp32, seed 1, warm L2; NVIDIA H200, driver 580.65.06, CUDA 13.0\n"
        "\n"
        "                            error/     median      IQR           gather  bound  gather    "
        "over   "
        "  over         over the   prepare  prepare\n"
        "contender            check   bound         ms       ms  GFLOP/s    GB/s  share   share    "
        "best  "
        "default      step before        ms     runs\n"
        "lab1 row_per_thread  PASS    0.355    12.5000   0.1250       12      27   0.00    0.01    "
        "0.02   "
        "  0.02                -     1.234      0.1\n"
        "lab4 tuning          PASS    0.355     0.1234   0.0012     1210    2765   0.41    1.22    "
        "1.62   "
        "  2.43    101.30 (lab1)     1.234     10.0\n"
        "cuSPARSE CSR_ALG2    PASS    0.355     0.2000   0.0020      746    1706   0.25    0.75    "
        "1.00   "
        "  1.50                -     1.234      6.2\n"
        "\n"
        "best: cuSPARSE CSR_ALG2\n"
        "default: cuSPARSE CSR_ALG1\n"
        "bound share: the least possible time / time; gather share: gathers without reuse / time, "
        "which reuse takes past 1\n"
        "bound: lower than it could be, for want of limits not measured here: L2 read, tf32 peak\n"
        "lab4: D=1 C=2\n"
        "PASS: 3 of 3 contenders right in all 10837952 elements\n"
        "\n");
}

/* The first lab in 16 bits is beside one in 32; of a sweep it is said once. */
static void across_precisions(void **state)
{
    (void)state;
    row rows[] = {timed_row(8, "mixed_fp16", 0.1), timed_row(8, "mixed_fp16", 0.2),
                  timed_row(10, "row_swizzle_fp16", 0.1)};
    const outcome outcomes[3] = {0};
    for (int i = 0; i < 3; i++) {
        strcpy(rows[i].precision, "fp16");
        strcpy(rows[i].before_precision, "fp32");
        rows[i].before_lab = 7;
    }
    char *text = printed(rows, outcomes, 3);
    assert_non_null(strstr(text, "  spmm, N = 64, fp16, seed 1"));
    assert_non_null(strstr(text, "\nlab8: over lab7 in fp32\nlab10: over lab7 in fp32\n"));
}

/* Without a GPU: no times, and no columns that need them; a sweep names each line's settings. */
static void simt(void **state)
{
    (void)state;
    row rows[] = {base_row(3, "shared_tiles"), base_row(4, "tuning"), base_row(4, "tuning")};
    const outcome outcomes[3] = {0};
    for (int i = 0; i < 3; i++) {
        strcpy(rows[i].backend, "simt");
        strcpy(rows[i].device, "CPU backend (simt)");
        strcpy(rows[i].origin, "stand-in");
        strcpy(rows[i].source, "stand-in: a model");
        rows[i].worst_error = 1;
    }
    strcpy(rows[1].tuning, "D=1");
    strcpy(rows[2].tuning, "D=16");
    assert_prints(
        rows, outcomes, 3,
        "arxiv: stand-in data (stand-in: a model)\n"
        "  A STAND-IN, not the real matrix: generated with its counts and row lengths (make data "
        "DATASET=arxiv)\n"
        "  169343 x 169343, 1166243 nonzeros; row length mean 6.9, max 13155, CoV 9.82; 62006 "
        "empty rows\n"
        "  spmm, N = 64, fp32, seed 1; CPU backend (simt): results are checked, times mean nothing "
        "and are not shown\n"
        "\n"
        "                          error/\n"
        "contender          check   bound  time        over vendor\n"
        "lab3 shared_tiles  PASS    1.000  n/a (simt)  n/a (no GPU)\n"
        "lab4 tuning D=1    PASS    1.000  n/a (simt)  n/a (no GPU)\n"
        "lab4 tuning D=16   PASS    1.000  n/a (simt)  n/a (no GPU)\n"
        "\n"
        "PASS: 3 of 3 contenders right in all 10837952 elements\n"
        "\n");
}

/* A wrong contender has its first wrong elements shown, others their message. */
static void failures(void **state)
{
    (void)state;
    row rows[] = {timed_row(2, "warp_per_row", 0.5), base_row(3, "shared_tiles"),
                  base_row(0, "cuSPARSE COO_ALG4")};
    outcome outcomes[] = {
        {.status = STATUS_OK},
        {.status = STATUS_WRONG,
         .message = "never written: only the last row, 169342",
         .comparison = {.elements = 10837952,
                        .bad = 7,
                        .which_bad = 7,
                        .shown = {{169342, 0, 0, 169342 * 64 + 0, 3, -0.5, 1e-6, NAN},
                                  {169342, 1, 1, 169342 * 64 + 1, 3, 0.123456789, 1.3e-6, 0.5f},
                                  {169342, 2, 2, 169342 * 64 + 2, 3, 1, 1e-6, INFINITY},
                                  {169342, 3, 3, 169342 * 64 + 3, 3, 1e30, 1e24, -1e30f},
                                  {169342, 4, 4, 169342 * 64 + 4, 3, 0, 0, 1}}}},
        {.status = STATUS_SKIPPED, .message = "prepare: not supported"},
    };
    rows[0].worst_error = 2.5e7; /* too wide for its column */
    memset(&outcomes[1].comparison.shown[4].got, 0xFF, sizeof(float));
    strcpy(rows[1].status, "wrong");
    rows[1].worst_error = INFINITY;
    strcpy(rows[2].status, "skip");
    rows[0].bound_share = rows[0].gather_share = NAN;
    assert_prints(
        rows, outcomes, 3,
        "arxiv: real data (/data/arxiv.csr)\n"
        "  169343 x 169343, 1166243 nonzeros; row length mean 6.9, max 13155, CoV 9.82; 62006 "
        "empty rows\n"
        "  spmm, N = 64, fp32, seed 1, warm L2; NVIDIA H200, driver 580.65.06, CUDA 13.0\n"
        "\n"
        "                          error/     median      IQR           gather  bound  gather    "
        "over     "
        "over         over the   prepare  prepare\n"
        "contender          check   bound         ms       ms  GFLOP/s    GB/s  share   share    "
        "best  "
        "default      step before        ms     runs\n"
        "lab2 warp_per_row  PASS    2e+07     0.5000   0.0050      299     682      -       -    "
        "0.40     "
        "0.60                -     1.234      2.5\n"
        "lab3 shared_tiles  FAIL        -          -        -        -       -      -       -      "
        " -     "
        "   -                -         -        -\n"
        "cuSPARSE COO_ALG4  skip        -          -        -        -       -      -       -      "
        " -     "
        "   -                -         -        -\n"
        "\n"
        "best: cuSPARSE CSR_ALG2\n"
        "default: cuSPARSE CSR_ALG1\n"
        "bound, gather share: unknown for this GPU until it is measured (make limits)\n"
        "lab3 shared_tiles: never written: only the last row, 169342\n"
        "  7 of 10837952 elements are wrong; the first:\n"
        "         row   column             got            want       bound  row length\n"
        "      169342        0             nan            -0.5       1e-06           3\n"
        "      169342        1             0.5       0.1234568     1.3e-06           3\n"
        "      169342        2             inf               1       1e-06           3\n"
        "      169342        3          -1e+30           1e+30       1e+24           3\n"
        "      169342        4     not written               0           0           3\n"
        "cuSPARSE COO_ALG4: prepare: not supported\n"
        "FAIL: 1 of 3 contenders right in all 10837952 elements, 1 wrong, 1 not run\n"
        "\n");
}

/* PASS means that nothing that could run went wrong. */
static void verdicts(void **state)
{
    (void)state;
    const row rows[] = {base_row(1, "one"), base_row(2, "two"), base_row(0, "library")};
    static const struct {
        enum status status[3];
        const char *verdict;
    } cases[] = {
        {{STATUS_OK, STATUS_OK, STATUS_OK}, "PASS: 3 of 3"},
        {{STATUS_OK, STATUS_OK, STATUS_SKIPPED}, "PASS: 2 of 3, 1 not run"},
        {{STATUS_OK, STATUS_OK, STATUS_MEMORY}, "PASS: 2 of 3, 1 not run"},
        {{STATUS_SKIPPED, STATUS_OK, STATUS_MEMORY}, "PASS: 1 of 3, 2 not run"},
        {{STATUS_OK, STATUS_MEMORY, STATUS_OK}, "FAIL: 2 of 3, 1 not run"},
        {{STATUS_OK, STATUS_RUNTIME, STATUS_RUNTIME}, "FAIL: 1 of 3, 2 not run"},
        {{STATUS_OK, STATUS_OK, STATUS_RUNTIME}, "FAIL: 2 of 3, 1 not run"},
        {{STATUS_WRONG, STATUS_OK, STATUS_OK}, "FAIL: 2 of 3, 1 wrong"},
        {{STATUS_WRONG, STATUS_WRONG, STATUS_WRONG}, "FAIL: 0 of 3, 3 wrong"},
        {{STATUS_OK, STATUS_SKIPPED, STATUS_OK}, "SKIP: 2 of 3, 1 not run"},
        {{STATUS_SKIPPED, STATUS_SKIPPED, STATUS_SKIPPED}, "SKIP: 0 of 3, 3 not run"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        outcome outcomes[3] = {0};
        char expected[200];
        for (int k = 0; k < 3; k++)
            outcomes[k].status = cases[i].status[k];
        snprintf(expected, sizeof expected, "%.12s contenders right in all 10837952 elements%s",
                 cases[i].verdict, cases[i].verdict + 12);
        assert_verdict(rows, outcomes, 3, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timed),    cmocka_unit_test(across_precisions), cmocka_unit_test(simt),
        cmocka_unit_test(failures), cmocka_unit_test(verdicts),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
