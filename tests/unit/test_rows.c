/*
 * test_rows.c - what the commands of `rows` share: cells by name, keys, settings, means, the vendor's best, and the
 * refusal of what is no file of rows.
 */
#include "fixture.h"

#include "rows/choices.h"
#include "rows/study.h"

#include <cmocka.h>

FILE *out;
static jmp_buf refused;
static enum status refused_with;
static char refused_text[1024];

/* In place of the program's end: back to the test that asked for it. */
_Noreturn void refuse(enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(refused_text, sizeof refused_text, format, arguments);
    va_end(arguments);
    refused_with = status;
    longjmp(refused, 1);
}

void warn(const char *format, ...)
{
    (void)format;
}

/* A file of these lines in the test's folder. */
static const char *file_of(const char *name, const char *lines)
{
    write_text(name, lines);
    return text("%s", fixture_path(name));
}

#define HEADER                                                                                    \
    "schema,operation,lab,contender,precision,dataset,origin,rows,cols,nnz,N,device,driver,"      \
    "toolkit,commit,flags,tuning,seed,l2,prepare_ms,median_ms,gflops,vendor_best,vendor_default," \
    "status\n"
#define ROW(operation, lab, contender, dataset, tuning, flags, ms, status) \
    "2," operation "," lab "," contender ",fp32," dataset                  \
    ",real,10,10,20,32,GPU,1,2,c0ffee," flags "," tuning ",1,warm,0.5," ms ",7,X,Y," status "\n"

/* ---- sets, texts, means ----------------------------------------------------------------------- */

static void names_keep_their_order_and_come_once(void **state)
{
    (void)state;
    names set = {0};
    for (int i = 0; i < 1000; i++)
        assert_int_equal(names_add(&set, text("name %d", i)), i);
    assert_int_equal(names_add(&set, "name 7"), 7);
    assert_int_equal(set.count, 1000);
    assert_int_equal(names_find(&set, "name 999"), 999);
    assert_int_equal(names_find(&set, "name 1000"), NONE);
    names few = {0};
    names_add(&few, "b");
    names_add(&few, "a");
    assert_string_equal(names_sorted(&few, "`"), "`a`, `b`");
}

static void keys_and_lists_come_apart(void **state)
{
    (void)state;
    size_t count;
    char **part = parts_of("5,,7", ',', &count);
    assert_int_equal(count, 3);
    assert_string_equal(part[1], "");
    parts_of("", ',', &count);
    assert_int_equal(count, 0);
    assert_string_equal(key_part("a" KEY "b" KEY "c", 1), "b");
    assert_string_equal(key_part("a", 1), "");
    assert_true(is_among("lab5", "lab5,lab50", ',') && !is_among("lab", "lab5,lab50", ','));
    assert_string_equal(digits(100 * 0.4), "40");
    assert_string_equal(digits(0.25), "0.25");
}

static void a_mean_is_geometric(void **state)
{
    (void)state;
    mean m = {0};
    assert_true(mean_of(&m) == 0);
    mean_add(&m, 4);
    mean_add(&m, 0.25);
    mean_add(&m, 8);
    assert_float_equal(mean_of(&m), 2, 1e-12);
    assert_int_equal(m.ahead, 2);
    assert_true(m.least == 0.25 && m.most == 8);
}

static void one_setting_has_one_name(void **state)
{
    (void)state;
    assert_string_equal(setting_of("length_bins", "WIDTH=64"), "KERNEL=length_bins WIDTH=64");
    assert_string_equal(setting_of("open", "KERNEL=length_bins WIDTH=64"),
                        "KERNEL=length_bins WIDTH=64");
    assert_string_equal(setting_of("row_swizzle", "KERNEL=roma SWIZZLE=0"), "KERNEL=roma");
    assert_string_equal(setting_of("roma", ""), "KERNEL=roma");
}

/* ---- files ------------------------------------------------------------------------------------ */

static void operation_is_in_the_key(void **state)
{
    (void)state;
    table *t = table_read(file_of("two", HEADER ROW("spmm", "5", "split", "a", "", "", "2", "ok")
                                             ROW("sddmm", "5", "split", "a", "", "", "2", "ok")));
    assert_string_not_equal(cell_key((row_of){t, 0}), cell_key((row_of){t, 1}));
    table *old =
        table_read(file_of("old", "dataset,N,precision,l2,seed,flags\na,32,fp32,warm,1,\n"));
    assert_string_equal(cell_key((row_of){old, 0}),
                        cell_key((row_of){t, 0})); /* older than the second one */
    assert_string_equal(width_name("sddmm"), "K");
    assert_string_equal(width_name("spmm"), "N");
}

/* Whether reading ends with this status and a text that has these words. */
static void expect_refusal(const char *lines, enum status status, const char *words)
{
    refused_with = STATUS_OK;
    if (!setjmp(refused)) table_needs(table_read(file_of("bad", lines)), "schema median_ms");
    assert_int_equal(refused_with, status);
    assert_non_null(strstr(refused_text, words));
}

static void what_is_no_file_of_rows_is_refused(void **state)
{
    (void)state;
    expect_refusal("", STATUS_DATASET, "an empty file");
    expect_refusal("name,grade\n", STATUS_DATASET, "no column schema");
    expect_refusal("schema,median_ms\n2,1\n2\n", STATUS_DATASET,
                   ":3: not the 2 cells of the first line");
    expect_refusal("schema,schema\n", STATUS_DATASET, "two columns schema");
    refused_with = STATUS_OK;
    if (!setjmp(refused))
        number((row_of){table_read(file_of("word", "schema,median_ms\n2,fast\n")), 0}, "median_ms");
    assert_int_equal(refused_with, STATUS_DATASET);
    assert_non_null(strstr(refused_text, ":2: median_ms is no number: 'fast'"));
    refused_with = STATUS_OK;
    if (!setjmp(refused)) table_read("/nowhere/rows.csv");
    assert_int_equal(refused_with, STATUS_DATASET);
}

/* ---- times ------------------------------------------------------------------------------------ */

static void who_took_how_long(void **state)
{
    (void)state;
    const char *path =
        file_of("times", HEADER ROW("spmm", "5", "split", "a", "", "", "4", "ok")
                             ROW("spmm", "5", "split", "a", "", "", "2", "ok")
                                 ROW("spmm", "0", "X", "a", "", "", "6", "ok")
                                     ROW("spmm", "0", "Y", "a", "", "", "8", "ok")
                                         ROW("spmm", "0", "cuBLAS (dense)", "a", "", "", "1", "ok")
                                             ROW("spmm", "5", "split", "b", "", "", "1", "wrong")
                                                 ROW("spmm", "0", "X", "b", "", "", "6", "ok"));
    char *files[] = {(char *)path};
    const request q = {.files = files, .count = 1};
    study *s = study_read(&q, true);
    const problem *a = problem_find(s, "a" KEY "32" KEY "real" KEY "spmm");
    const problem *b = problem_find(s, "b" KEY "32" KEY "real" KEY "spmm");
    assert_true(a && b && !problem_find(s, "a" KEY "32" KEY "real" KEY "sddmm"));
    assert_true(time_of(s, a, "lab5") == 2); /* of a lab the fastest row */
    assert_true(time_of(s, a, "best") == 6 && time_of(s, a, "default") == 8 &&
                time_of(s, a, "dense") == 1);
    assert_true(time_of(s, b, "lab5") == 0); /* a wrong result has no time */
    const comparison c = compare_on(s, "lab5", "best", "", "");
    assert_int_equal(c.ratio.count, 1);
    assert_float_equal(mean_of(&c.ratio), 3, 1e-12);
}

static void a_rule_beside_an_oracle(void **state)
{
    (void)state;
    const char *rule =
        file_of("rule", HEADER ROW("spmm", "99", "open", "a", "KERNEL=split D=2", "", "5", "ok"));
    const char *sweep =
        file_of("sweep", HEADER ROW("spmm", "5", "split", "a", "D=1", "sweep", "2", "ok")
                             ROW("spmm", "5", "split", "a", "D=2", "sweep", "4", "ok")
                                 ROW("spmm", "5", "split", "a", "D=4", "sweep", "1", "wrong"));
    const choices c = choices_read(rule, sweep, 99);
    assert_float_equal(choices_share(&c, "a N=32"), 0.5,
                       1e-12); /* the rule's time is the sweep's: 4 */
    assert_string_equal(texts_find(&c.best, "a N=32"), "KERNEL=split D=1");
    assert_true(choices_share(&c, "b N=32") == 0);
}

/* The same row, measured with a cold L2. */
static const char *cold(const char *row)
{
    const char *warm = strstr(row, ",warm,");
    return text("%.*s,cold,%s", (int)(warm - row), row, warm + strlen(",warm,"));
}

static void a_case_has_its_flags_and_its_L2(void **state)
{
    (void)state;
    const char *own = ROW("spmm", "99", "open", "a", "KERNEL=split D=2", "", "5", "ok");
    const char *rule =
        file_of("case_rule",
                text("%s%s%s%s", HEADER, own, cold(own),
                     ROW("spmm", "99", "open", "a", "KERNEL=split D=2", "HEADS=4", "50", "ok")));
    const char *warm =
        ROW("spmm", "5", "split", "a", "D=1", "bench-only;sweep;runs=50;D=1", "4", "ok");
    const char *other = ROW("spmm", "5", "split", "a", "D=1", "sweep;HEADS=4", "40", "ok");
    const char *fast = ROW("spmm", "5", "split", "a", "D=4", "sweep;D=1", "1", "ok");
    const char *tuned = ROW("spmm", "5", "split", "a", "D=8", "sweep;sample=0.5", "0.5", "ok");
    const char *sweep =
        file_of("case_sweep", text("%s%s%s%s%s", HEADER, warm, other, cold(fast), tuned));
    const choices c = choices_read(rule, sweep, 99);
    assert_int_equal(c.rule.key.count, 3);
    /* Flags of measuring and settings that the tuning names are no other case. */
    assert_float_equal(choices_share(&c, "a N=32"), 0.8, 1e-12);
    assert_float_equal(choices_share(&c, "a N=32 cold"), 0.2, 1e-12);
    assert_float_equal(choices_share(&c, "a N=32 HEADS=4"), 0.8, 1e-12);
    assert_string_equal(texts_find(&c.best, "a N=32"), "KERNEL=split D=1");
    assert_string_equal(texts_find(&c.best, "a N=32 cold"), "KERNEL=split D=4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_keep_their_order_and_come_once),
        cmocka_unit_test(keys_and_lists_come_apart),
        cmocka_unit_test(a_mean_is_geometric),
        cmocka_unit_test(one_setting_has_one_name),
        cmocka_unit_test(operation_is_in_the_key),
        cmocka_unit_test(what_is_no_file_of_rows_is_refused),
        cmocka_unit_test(who_took_how_long),
        cmocka_unit_test(a_rule_beside_an_oracle),
        cmocka_unit_test(a_case_has_its_flags_and_its_L2),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
