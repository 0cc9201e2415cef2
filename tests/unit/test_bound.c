/*
 * test_bound.c - the least time of a run, its terms one by one; and that no committed row is below it.
 */
#include "fixture.h"

#include "matrix/dataset.h"
#include "results/bound.h"
#include "results/old_rows.h"

#include <glob.h>

/* Memory reads at 4 bytes a ns, L2 at 10; L2 holds 1000 bytes, half of what gathers span. */
static const machine_limits MACHINE = {.copy_gbs = 3,
                                       .read_gbs = 4,
                                       .l2_read_gbs = 10,
                                       .l2_bytes = 1000,
                                       .fp32_gflops = 2,
                                       .fp16_gflops = 8,
                                       .gather = {{64, 2000, 5}},
                                       .num_gather = 1};

static void assert_bound(const machine_limits *l, least_work w, bool warm, double ns)
{
    const double ms = bound_ms(l, &w, PRECISION_FP16, warm);
    if (isnan(ns))
        assert_true(isnan(ms));
    else
        assert_float_equal(ms * 1e6, ns, 1e-6);
}

/* ---- its terms ------------------------------------------------------------------------------- */

static void memory(void **state)
{
    (void)state;
    machine_limits l = MACHINE;
    l.l2_read_gbs = 0;
    /* Cold: all that is read, and what is written beyond L2. */
    assert_bound(&l, (least_work){.read_bytes = 400, .write_bytes = 1000}, false, 100);
    assert_bound(&l, (least_work){.read_bytes = 400, .write_bytes = 1200}, false, 150);
    /* Warm: what is read beyond L2, too. */
    assert_bound(&l, (least_work){.read_bytes = 1400, .write_bytes = 1200}, true, 150);
    assert_bound(&l, (least_work){.read_bytes = 1400, .write_bytes = 900}, true, 100);
    /* For an L2 of unknown size nothing is certain but that cold reads come from memory. */
    l.l2_bytes = l.num_gather = 0;
    assert_bound(&l, (least_work){.read_bytes = 400, .write_bytes = 1e9}, false, 100);
    assert_bound(&l, (least_work){.read_bytes = 1e9, .write_bytes = 1e9}, true, NAN);
}

static void reading_l2(void **state)
{
    (void)state;
    assert_bound(&MACHINE, (least_work){.read_bytes = 900, .write_bytes = 900}, true, 90);
    assert_bound(&MACHINE, (least_work){.read_bytes = 1100}, true, 110);
    assert_bound(&MACHINE, (least_work){.read_bytes = 2000}, true, 250); /* memory is slower */
}

static void units(void **state)
{
    (void)state;
    const least_work cores = {.flops = 1600};
    const least_work tensor = {.flops = 1600, .unit = UNIT_TENSOR_CORES};
    assert_bound(&MACHINE, cores, true, 800);
    assert_bound(&MACHINE, tensor, true, 200);
    assert_true(isnan(bound_ms(&MACHINE, &tensor, PRECISION_BF16, true))); /* not measured */
}

static void limits_that_lack(void **state)
{
    (void)state;
    char text[40];
    const least_work cores = {.flops = 1}, tensor = {.flops = 1, .unit = UNIT_TENSOR_CORES};
    machine_limits l = MACHINE;
    bound_lacks(&l, &tensor, PRECISION_FP16, text, sizeof text);
    assert_string_equal(text, "");
    bound_lacks(&l, &tensor, PRECISION_FP32, text, sizeof text);
    assert_string_equal(text, "tf32 peak");
    l.l2_read_gbs = 0;
    bound_lacks(&l, &cores, PRECISION_FP32, text, sizeof text);
    assert_string_equal(text, "L2 read");
    bound_lacks(&l, &tensor, PRECISION_BF16, text, sizeof text);
    assert_string_equal(text, "L2 read, bf16 peak");
}

static void gathers(void **state)
{
    (void)state;
    const cost_model m = {.gathers = {{.bytes = 1000, .row = 64, .span = 1e6}}, .num_gathers = 1};
    assert_float_equal(gather_ms(&MACHINE, &m) * 1e6, 200, 1e-6);
}

/* ---- rows of schema 1 ------------------------------------------------------------------------ */

static const char OLD[] =
    "schema,lab,contender,operation,precision,rows,cols,nnz,max_row,N,tuning,l2,median_ms,gather_"
    "gbs,"
    "roofline_share,status,message\n"
    "1,3,shared_tiles,spmm,fp32,99,50,600,20,5,,cold,0.002,2.5,0.9,ok,\n"
    "1,9,bitmap_fp16,spmm,fp16,80,50,600,20,5,,cold,0.002,2.5,0.9,ok,\"a, \"\"b\"\"\"\n"
    "1,99,open_fp16,spmm,fp16,99,70000,600,20,5,KERNEL=mixed C=2,cold,0.002,2.5,0.9,ok,\n"
    "1,0,cuBLAS SGEMM (dense),spmm,fp32,80,50,600,20,5,,cold,0.002,2.5,0.9,ok,\n"
    "1,3,shared_tiles,spmm,fp32,99,50,600,20,5,,cold,,,,skip,no\n";

/* 4 bytes a ns, all of them from memory, if flops take no time. A: 400 + 8 * 600 = 5200 bytes, B: 20 * 20;
 * as a bitmap 500 + 2 * 600, B 20 * 10; in wide pairs 400 + 8 * 600 and 200; dense 16000, B 50 * 20. */
static const char NEW[] =
    "schema,operation,lab,contender,precision,rows,cols,nnz,max_row,N,tuning,l2,median_ms,gather_"
    "gbs,"
    "bound_ms,bound_share,gather_share,status,message\n"
    "2,spmm,3,shared_tiles,fp32,99,50,600,20,5,,cold,0.002,2.5,0.0014,0.7,0.5,ok,\n"
    "2,spmm,9,bitmap_fp16,fp16,80,50,600,20,5,,cold,0.002,2.5,0.000475,0.2375,0.5,ok,\"a, "
    "\"\"b\"\"\"\n"
    "2,spmm,99,open_fp16,fp16,99,70000,600,20,5,KERNEL=mixed "
    "C=2,cold,0.002,2.5,0.00135,0.675,0.5,ok,\n"
    "2,spmm,0,cuBLAS SGEMM (dense),fp32,80,50,600,20,5,,cold,0.002,2.5,0.00425,2.125,,ok,\n"
    "2,spmm,3,shared_tiles,fp32,99,50,600,20,5,,cold,,,,,,skip,no\n";

/* Converts `text`; the caller frees the result. */
static char *converted(const char *text, enum status expected)
{
    char *to = NULL;
    size_t bytes;
    error_text error;
    machine_limits l = MACHINE;
    FILE *in = fmemopen((void *)text, strlen(text), "r"), *out = open_memstream(&to, &bytes);
    l.fp32_gflops = l.fp16_gflops = 1e9;
    l.l2_bytes = 1e9;
    assert_int_equal(old_rows_convert(in, "old.csv", &l, out, &error), expected);
    fclose(in);
    fclose(out);
    if (expected != STATUS_OK)
        assert_string_equal(error.text, "old.csv:2: 2 cells, not the 3 of the first line");
    return to;
}

static void old_rows(void **state)
{
    (void)state;
    char *once = converted(OLD, STATUS_OK), *twice = converted(once, STATUS_OK);
    assert_string_equal(once, NEW);
    assert_string_equal(twice, NEW);
    free(once);
    free(twice);
    free(converted("schema,operation,roofline_share\n1,2\n", STATUS_DATASET));
}

/* ---- committed rows -------------------------------------------------------------------------- */

/* Error that limits may have: they are measured like everything else, and a product of cuBLASLt has read
 * memory faster than ./limits. */
static const double MOST = 1.03;

/* Counts the rows of a file that have a bound; fails on one below it. */
static size_t check_rows(const char *path, const machine_limits *l)
{
    FILE *in = fopen(path, "r");
    char *first = NULL, *line = NULL;
    size_t first_bytes = 0, bytes = 0, checked = 0;
    csv_line header, r;
    assert_non_null(in);
    if (getline(&first, &first_bytes, in) < 0) fail_msg("%s is empty", path);
    csv_split(first, &header);
    const bool is_old = csv_cell(&header, &header, "roofline_share");
    const bool is_new = csv_cell(&header, &header, "bound_share");
    while ((is_old || is_new) && getline(&line, &bytes, in) >= 0) {
        double ms, share = NAN, gather;
        csv_split(line, &r);
        assert_int_equal(r.count, header.count);
        if (is_old)
            old_row_shares(&header, &r, l, &ms, &share, &gather);
        else if (*csv_cell(&header, &r, "bound_share"))
            share = strtod(csv_cell(&header, &r, "bound_share"), NULL);
        checked += !isnan(share);
        if (share > MOST)
            fail_msg("%s: %s on %s, N = %s: the bound is %.3f of the time, so it is none", path,
                     csv_cell(&header, &r, "contender"), csv_cell(&header, &r, "dataset"),
                     csv_cell(&header, &r, "N"), share);
    }
    fclose(in);
    free(first);
    free(line);
    return checked;
}

/* Reads rows of every device, those of the log too. */
static void no_row_is_below_its_bound(void **state)
{
    (void)state;
    static const char *const kinds[] = {"*.csv", "log/*.csv"};
    char pattern[4200];
    size_t checked = 0;
    glob_t devices;
    snprintf(pattern, sizeof pattern, "%s/report/results/*/limits.tsv", project_root());
    assert_int_equal(glob(pattern, 0, NULL, &devices), 0);
    for (size_t d = 0; d < devices.gl_pathc; d++) {
        machine_limits l;
        const int folder = (int)(strrchr(devices.gl_pathv[d], '/') - devices.gl_pathv[d]);
        assert_true(limits_read(devices.gl_pathv[d], &l));
        for (int k = 0; k < 2; k++) {
            glob_t files;
            snprintf(pattern, sizeof pattern, "%.*s/%s", folder, devices.gl_pathv[d], kinds[k]);
            if (glob(pattern, 0, NULL, &files) == 0)
                for (size_t f = 0; f < files.gl_pathc; f++)
                    checked += check_rows(files.gl_pathv[f], &l);
            globfree(&files);
        }
    }
    globfree(&devices);
    assert_true(checked > 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory),
        cmocka_unit_test(reading_l2),
        cmocka_unit_test(units),
        cmocka_unit_test(limits_that_lack),
        cmocka_unit_test(gathers),
        cmocka_unit_test(old_rows),
        cmocka_unit_test(no_row_is_below_its_bound),
    };
    return cmocka_run_group_tests_name("bound", tests, fixture_setup, fixture_teardown);
}
