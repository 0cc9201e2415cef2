/*
 * test_row.c - rows as CSV and JSON, and files of them that are never lost half-way.
 */
#include "fixture.h"

#include "results/row.h"

#include <stddef.h>
#include <sys/wait.h>

/* A row with something in every field, and text that both formats must escape. */
static row sample_row(void)
{
    return (row){.lab = 3,
                 .contender = "shared_tiles",
                 .operation = "spmm",
                 .precision = "fp32",
                 .dataset = "web, \"old\"",
                 .origin = "file",
                 .source = "C:\\web\n",
                 .rows = 3000000000,
                 .cols = 7,
                 .nnz = 123718280,
                 .mean_row = 50.517857142857,
                 .max_row = 1234567,
                 .cov_row = 0.1,
                 .N = 256,
                 .backend = "cuda",
                 .device = "NVIDIA H200",
                 .driver = "580.65.06",
                 .toolkit = "13.0",
                 .commit = "0123456789ab",
                 .flags = "runs=50;D=2",
                 .tuning = "D=2 C=1",
                 .seed = UINT64_MAX,
                 .l2 = "warm",
                 .prepare_ms = 12.25,
                 .median_ms = 0.000123456789,
                 .iqr_ms = 0,
                 .batch_ms = NAN,
                 .runs = 50,
                 .gflops = 1234.5678,
                 .compulsory_gbs = 1e10,
                 .gather_gbs = 2500,
                 .bound_ms = 6.25e-05,
                 .bound_share = 0.5,
                 .gather_share = NAN,
                 .vendor_best = "cuSPARSE CSR_ALG2",
                 .vendor_default = "",
                 .speedup_vendor_best = 1.96,
                 .speedup_vendor_default = NAN,
                 .speedup_lab_before = 2,
                 .ranges = 2,
                 .checked_share = 0.125,
                 .worst_error = INFINITY,
                 .status = "wrong",
                 .message = "never written: only the last row, 6"};
}

static const char HEADER[] =
    "schema,operation,lab,contender,precision,dataset,origin,source,rows,cols,nnz,mean_row,"
    "max_row,cov_row,N,backend,device,driver,toolkit,commit,flags,tuning,seed,l2,prepare_ms,"
    "median_ms,iqr_ms,batch_ms,runs,gflops,compulsory_gbs,gather_gbs,bound_ms,bound_share,gather_"
    "share,vendor_best,"
    "vendor_default,speedup_vendor_best,speedup_vendor_default,speedup_lab_before,ranges,checked_"
    "share,worst_error,"
    "status,message,model,sampled,num_kernels,ld_requests,ld_sectors,ld_bytes,st_requests,st_"
    "sectors,"
    "st_bytes,atomic_requests,atomic_sectors,atomic_turns,shared_ld_requests,shared_ld_wavefronts,"
    "shared_ld_conflicts,shared_st_requests,shared_st_wavefronts,shared_st_conflicts,"
    "shared_atomic_requests,shared_atomic_turns,barriers,syncwarps,shuffles,votes,mma,ldmatrix,"
    "async_copies,simt_efficiency,memory_simt_efficiency,warp_imbalance,block_imbalance,"
    "sm_imbalance,l1_hit_rate,l2_read_bytes,l2_write_bytes,dram_read_bytes,dram_write_bytes,"
    "predicted_ms,predicted_limit,num_findings\n";

/* A cell for each of them, where there are no instruments. */
#define NOT_INSPECTED ",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,"

static const char SAMPLE_CSV[] =
    "2,spmm,3,shared_tiles,fp32,\"web, \"\"old\"\"\",file,\"C:\\web\n\",3000000000,7,123718280,"
    "50.5179,1234567,0.1,256,cuda,NVIDIA H200,580.65.06,13.0,0123456789ab,runs=50;D=2,D=2 C=1,"
    "18446744073709551615,warm,12.25,0.000123457,0,,50,1234.57,1e+10,2500,6.25e-05,0.5,,cuSPARSE "
    "CSR_ALG2,,"
    "1.96,,2,2,0.125,,wrong,\"never written: only the last row, 6\"" NOT_INSPECTED "\n";

static const char SAMPLE_JSON[] = "\n    {\n"
                                  "      \"operation\": \"spmm\",\n"
                                  "      \"lab\": 3,\n"
                                  "      \"contender\": \"shared_tiles\",\n"
                                  "      \"precision\": \"fp32\",\n"
                                  "      \"dataset\": \"web, \\\"old\\\"\",\n"
                                  "      \"origin\": \"file\",\n"
                                  "      \"source\": \"C:\\\\web\\u000a\",\n"
                                  "      \"rows\": 3000000000,\n"
                                  "      \"cols\": 7,\n"
                                  "      \"nnz\": 123718280,\n"
                                  "      \"mean_row\": 50.5179,\n"
                                  "      \"max_row\": 1234567,\n"
                                  "      \"cov_row\": 0.1,\n"
                                  "      \"N\": 256,\n"
                                  "      \"backend\": \"cuda\",\n"
                                  "      \"device\": \"NVIDIA H200\",\n"
                                  "      \"driver\": \"580.65.06\",\n"
                                  "      \"toolkit\": \"13.0\",\n"
                                  "      \"commit\": \"0123456789ab\",\n"
                                  "      \"flags\": \"runs=50;D=2\",\n"
                                  "      \"tuning\": \"D=2 C=1\",\n"
                                  "      \"seed\": 18446744073709551615,\n"
                                  "      \"l2\": \"warm\",\n"
                                  "      \"prepare_ms\": 12.25,\n"
                                  "      \"median_ms\": 0.000123457,\n"
                                  "      \"iqr_ms\": 0,\n"
                                  "      \"batch_ms\": null,\n"
                                  "      \"runs\": 50,\n"
                                  "      \"gflops\": 1234.57,\n"
                                  "      \"compulsory_gbs\": 1e+10,\n"
                                  "      \"gather_gbs\": 2500,\n"
                                  "      \"bound_ms\": 6.25e-05,\n"
                                  "      \"bound_share\": 0.5,\n"
                                  "      \"gather_share\": null,\n"
                                  "      \"vendor_best\": \"cuSPARSE CSR_ALG2\",\n"
                                  "      \"vendor_default\": \"\",\n"
                                  "      \"speedup_vendor_best\": 1.96,\n"
                                  "      \"speedup_vendor_default\": null,\n"
                                  "      \"speedup_lab_before\": 2,\n"
                                  "      \"ranges\": 2,\n"
                                  "      \"checked_share\": 0.125,\n"
                                  "      \"worst_error\": null,\n"
                                  "      \"status\": \"wrong\",\n"
                                  "      \"message\": \"never written: only the last row, 6\",\n"
                                  "      \"model\": \"\",\n"
                                  "      \"sampled\": null,\n"
                                  "      \"num_kernels\": null,\n"
                                  "      \"ld_requests\": null,\n"
                                  "      \"ld_sectors\": null,\n"
                                  "      \"ld_bytes\": null,\n"
                                  "      \"st_requests\": null,\n"
                                  "      \"st_sectors\": null,\n"
                                  "      \"st_bytes\": null,\n"
                                  "      \"atomic_requests\": null,\n"
                                  "      \"atomic_sectors\": null,\n"
                                  "      \"atomic_turns\": null,\n"
                                  "      \"shared_ld_requests\": null,\n"
                                  "      \"shared_ld_wavefronts\": null,\n"
                                  "      \"shared_ld_conflicts\": null,\n"
                                  "      \"shared_st_requests\": null,\n"
                                  "      \"shared_st_wavefronts\": null,\n"
                                  "      \"shared_st_conflicts\": null,\n"
                                  "      \"shared_atomic_requests\": null,\n"
                                  "      \"shared_atomic_turns\": null,\n"
                                  "      \"barriers\": null,\n"
                                  "      \"syncwarps\": null,\n"
                                  "      \"shuffles\": null,\n"
                                  "      \"votes\": null,\n"
                                  "      \"mma\": null,\n"
                                  "      \"ldmatrix\": null,\n"
                                  "      \"async_copies\": null,\n"
                                  "      \"simt_efficiency\": null,\n"
                                  "      \"memory_simt_efficiency\": null,\n"
                                  "      \"warp_imbalance\": null,\n"
                                  "      \"block_imbalance\": null,\n"
                                  "      \"sm_imbalance\": null,\n"
                                  "      \"l1_hit_rate\": null,\n"
                                  "      \"l2_read_bytes\": null,\n"
                                  "      \"l2_write_bytes\": null,\n"
                                  "      \"dram_read_bytes\": null,\n"
                                  "      \"dram_write_bytes\": null,\n"
                                  "      \"predicted_ms\": null,\n"
                                  "      \"predicted_limit\": \"\",\n"
                                  "      \"num_findings\": null\n"
                                  "    }";

/* Returns the text that `write` makes of the rows; the caller frees it. */
static char *written(void (*write)(FILE *, const row *, size_t), const row *rows, size_t count)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    write(out, rows, count);
    fclose(out);
    return text;
}

static void assert_writes(void (*write)(FILE *, const row *, size_t), const row *rows, size_t count,
                          const char *format, ...)
{
    char expected[8192], *text = written(write, rows, count);
    va_list args;
    va_start(args, format);
    vsnprintf(expected, sizeof expected, format, args);
    va_end(args);
    assert_string_equal(text, expected);
    free(text);
}

/* ---- the formats ----------------------------------------------------------------------------- */

static void csv_golden(void **state)
{
    (void)state;
    const row rows[2] = {sample_row(), sample_row()};
    assert_writes(rows_write_csv, rows, 0, "%s", HEADER);
    assert_writes(rows_write_csv, rows, 1, "%s%s", HEADER, SAMPLE_CSV);
    assert_writes(rows_write_csv, rows, 2, "%s%s%s", HEADER, SAMPLE_CSV, SAMPLE_CSV);
}

static void json_golden(void **state)
{
    (void)state;
    static const char begin[] = "{\n  \"schema\": 2,\n  \"rows\": [", end[] = "\n  ]\n}\n";
    const row rows[2] = {sample_row(), sample_row()};
    assert_writes(rows_write_json, rows, 0, "%s%s", begin, end);
    assert_writes(rows_write_json, rows, 1, "%s%s%s", begin, SAMPLE_JSON, end);
    assert_writes(rows_write_json, rows, 2, "%s%s,%s%s", begin, SAMPLE_JSON, SAMPLE_JSON, end);
}

static void csv_quotes_by_rfc_4180(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"plain text; with 'marks'", "plain text; with 'marks'"},
        {"a,b", "\"a,b\""},
        {"say \"x\"", "\"say \"\"x\"\"\""},
        {"\"", "\"\"\"\""},
        {"two\nlines", "\"two\nlines\""},
        {"two\rlines", "\"two\rlines\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        row r = sample_row();
        strcpy(r.message, cases[i][0]);
        char *text = written(rows_write_csv, &r, 1), expected[128];
        snprintf(expected, sizeof expected, ",wrong,%s" NOT_INSPECTED "\n", cases[i][1]);
        const size_t length = strlen(expected);
        assert_string_equal(text + strlen(text) - length, expected);
        free(text);
    }
}

/* Every control character is escaped, every character of UTF-8 is kept, and bytes that are none
 * become U+FFFD one by one. */
static void json_escapes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"\"\\/", "\\\"\\\\/"},
        {"\x01\x1f\t\r\x7f", "\\u0001\\u001f\\u0009\\u000d\x7f"},
        {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xed\x9f\xbf \xee\x80\x80 \xf4\x8f\xbf\xbf",
         "\xed\x9f\xbf \xee\x80\x80 \xf4\x8f\xbf\xbf"},
        {"\xe4ndern", "\\ufffdndern"},                                     /* Latin-1 */
        {"cut \xe2\x82", "cut \\ufffd\\ufffd"},                            /* in the middle */
        {"\xe2\x28\xa1", "\\ufffd(\\ufffd"},                               /* broken off */
        {"\xc0\xaf \xe0\x80\xaf", "\\ufffd\\ufffd \\ufffd\\ufffd\\ufffd"}, /* overlong */
        {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},                         /* a surrogate */
        {"\xf0\x8f\xbf\xbf", "\\ufffd\\ufffd\\ufffd\\ufffd"},              /* overlong */
        {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"},              /* above U+10FFFF */
        {"\xff\xfe", "\\ufffd\\ufffd"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        row r = sample_row();
        strcpy(r.message, cases[i][0]);
        char *text = written(rows_write_json, &r, 1), expected[128];
        snprintf(expected, sizeof expected, "\"message\": \"%s\",\n", cases[i][1]);
        if (!strstr(text, expected)) fail_msg("no '%s' in %s", expected, text);
        free(text);
    }
}

/* Not measured: nothing in CSV, null in JSON; all the same for infinities, which JSON lacks. */
static void missing_numbers(void **state)
{
    (void)state;
    row r = sample_row();
    r.median_ms = r.gflops = NAN;
    r.iqr_ms = -INFINITY;
    char *csv = written(rows_write_csv, &r, 1), *json = written(rows_write_json, &r, 1);
    assert_non_null(strstr(csv, ",12.25,,,,50,,1e+10,"));
    assert_non_null(strstr(json, "\"median_ms\": null,\n      \"iqr_ms\": null,\n"));
    free(csv);
    free(json);
}

/* ---- the list -------------------------------------------------------------------------------- */

static void list_grows(void **state)
{
    (void)state;
    row_list list = {0};
    error_text error;
    row group[3] = {sample_row(), sample_row(), sample_row()};
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 3; k++)
            group[k].N = 3 * i + k;
        assert_int_equal(row_list_add(&list, group, 3, &error), STATUS_OK);
    }
    assert_int_equal(list.count, 120);
    for (int i = 0; i < 120; i++)
        assert_int_equal(list.rows[i].N, i);
    row_list_free(&list);
    assert_null(list.rows);
    assert_int_equal(list.count, 0);
}

/* ---- files ----------------------------------------------------------------------------------- */

static enum status save(const char *path, error_text *error)
{
    const row r = sample_row();
    return rows_save(path, rows_write_csv, &r, 1, "", error);
}

static void saves_whole_files(void **state)
{
    (void)state;
    char expected[4096];
    error_text error;
    snprintf(expected, sizeof expected, "%s%s", HEADER, SAMPLE_CSV);
    assert_int_equal(save(fixture_path("rows.csv"), &error), STATUS_OK);
    assert_file("rows.csv", expected);
    write_text("rows.csv", "an old result\n");
    assert_int_equal(save(fixture_path("rows.csv"), &error), STATUS_OK);
    assert_file("rows.csv", expected);
}

static void older_rows_stay_behind_new_ones(void **state)
{
    (void)state;
    char text[8192], *older;
    error_text error;
    const row r = sample_row();
    assert_true(rows_older(fixture_path("none.csv"), &older));
    assert_string_equal(older, "");
    free(older);
    snprintf(text, sizeof text, "%sold 1\nold 2\n", HEADER);
    write_text("older.csv", text);
    assert_true(rows_older(fixture_path("older.csv"), &older));
    assert_string_equal(older, "old 1\nold 2\n");
    assert_int_equal(rows_save(fixture_path("older.csv"), rows_write_csv, &r, 1, older, &error),
                     STATUS_OK);
    free(older);
    snprintf(text, sizeof text, "%s%sold 1\nold 2\n", HEADER, SAMPLE_CSV);
    assert_file("older.csv", text);
    write_text("older.csv", "schema,of,another,time\n1,2,3,4\n");
    assert_false(rows_older(fixture_path("older.csv"), &older));
    free(older);
}

/* Writes more than a buffer holds, so that the failure comes before the end. */
static void write_too_much(FILE *out, const row *rows, size_t count)
{
    for (int i = 0; i < 2000; i++)
        rows_write_csv(out, rows, count);
}

static void failures_are_reported(void **state)
{
    (void)state;
    const row r = sample_row();
    error_text error;
    assert_int_equal(save("/nowhere/rows.csv", &error), STATUS_RUNTIME);
    assert_string_equal(error.text, "/nowhere/rows.csv: cannot write: No such file or directory");
    assert_int_equal(save("/dev/full", &error), STATUS_RUNTIME);
    assert_string_equal(error.text, "/dev/full: cannot write: No space left on device");
    assert_int_equal(rows_save("/dev/full", write_too_much, &r, 1, "", &error), STATUS_RUNTIME);
    assert_non_null(strstr(error.text, "/dev/full: cannot write: "));
    assert_int_equal(save("", &error), STATUS_RUNTIME);
    assert_string_equal(error.text, "cannot write to a file without a name");
}

/* "-" is standard output, whose failure is reported once. In a child, whose output is a file. */
static void standard_output(void **state)
{
    (void)state;
    char expected[4096];
    const char *const targets[] = {fixture_path("stdout"), "/dev/full"};
    for (int i = 0; i < 2; i++) {
        int status;
        fflush(stdout);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            error_text error = {""};
            if (!freopen(targets[i], "w", stdout)) _exit(99);
            const enum status saved = save("-", &error);
            const bool said = strstr(error.text, "standard output: cannot write: No space left");
            _exit(saved == STATUS_OK                                   ? 0
                  : saved == STATUS_RUNTIME && said && !ferror(stdout) ? 1
                                                                       : 2);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), i);
    }
    snprintf(expected, sizeof expected, "%s%s", HEADER, SAMPLE_CSV);
    assert_file("stdout", expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_golden),
        cmocka_unit_test(json_golden),
        cmocka_unit_test(csv_quotes_by_rfc_4180),
        cmocka_unit_test(json_escapes),
        cmocka_unit_test(missing_numbers),
        cmocka_unit_test(list_grows),
        cmocka_unit_test(older_rows_stay_behind_new_ones),
        cmocka_unit_test(saves_whole_files),
        cmocka_unit_test(failures_are_reported),
        cmocka_unit_test(standard_output),
    };
    return cmocka_run_group_tests_name("row", tests, fixture_setup, fixture_teardown);
}
