/*
 * test_text.c - the scanner under all text readers: numbers, lines and windows.
 */
#include "fixture.h"

#include "matrix/random.h"
#include "matrix/text.h"

static text_input open_file(const char *name)
{
    text_input in;
    error_text error;
    if (text_open(&in, fixture_path(name), &error) != STATUS_OK) fail_msg("%s", error.text);
    return in;
}

/* ---- integers -------------------------------------------------------------------------------- */

static void integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t least, most, value;
        const char *message; /* NULL: read */
    } cases[] = {
        {"7", 0, 10, 7, NULL},
        {" \t 0012,", 0, 100, 12, NULL},
        {"+5 ", 0, 10, 5, NULL},
        {"-5\n", -10, 10, -5, NULL},
        {"9223372036854775807", INT64_MIN, INT64_MAX, INT64_MAX, NULL},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, INT64_MIN, NULL},
        {"00000000000000000000000000000000000000001", 0, 9, 1, NULL},
        {"11", 0, 10, 0, ":1: a number of 11 is outside 0..10"},
        {"-1", 0, 10, 0, ":1: a number of -1 is outside 0..10"},
        {"2147483648", 0, INT32_MAX, 0, "a number of 2147483648 is outside 0..2147483647"},
        {"9223372036854775808", INT64_MIN, INT64_MAX, 0, "a number of 9223372036854775808 is"},
        {"-9223372036854775809", INT64_MIN, INT64_MAX, 0, "a number of -9223372036854775809 is"},
        {"99999999999999999999999999999999", 0, 9, 0, "a number of 999999999999999999999999..."},
        {"1.0", 0, 10, 0, ":1: expected a number (an integer), found '1.0'"},
        {"1e3", 0, 10, 0, "found '1e3'"},
        {"0x10", 0, 10, 0, "found '0x10'"},
        {"12abc", 0, 99, 0, "found '12abc'"},
        {"abc", 0, 99, 0, "found 'abc'"},
        {"-", 0, 99, 0, "found '-'"},
        {"- 5", 0, 99, 0, "found '-'"},
        {"--5", 0, 99, 0, "found '--5'"},
        {" \n5", 0, 99, 0, "found the end of the line"},
        {" ", 0, 99, 0, "found the end of the file"},
        {"\x01\x80z", 0, 99, 0, "found '\\x01\\x80z'"},
        {"abcdefghijklmnopqrstuvwxyz", 0, 99, 0, "found 'abcdefghijklmnopqrstuvwx...'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("int.txt", cases[i].text);
        text_input in = open_file("int.txt");
        int64_t value = 77;
        error_text error = {""};
        enum status status =
            text_int(&in, "a number", cases[i].least, cases[i].most, &value, &error);
        if (cases[i].message) {
            assert_int_equal(status, STATUS_DATASET);
            if (!strstr(error.text, cases[i].message)) fail_msg("%s", error.text);
        } else {
            assert_int_equal(status, STATUS_OK);
            assert_true(value == cases[i].value);
        }
        text_close(&in);
    }
}

/* ---- fractions ------------------------------------------------------------------------------- */

static void fractions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        float value;
        const char *message;
    } cases[] = {
        {"1", 1, NULL},
        {"-.12565", -.12565f, NULL},
        {"5.", 5, NULL},
        {"+1.5e+00", 1.5f, NULL},
        {"1E-3", 1e-3f, NULL},
        {"-0.0", -0.0f, NULL},
        {"0e99999999999", 0, NULL},
        {"1e-99999999999", 0, NULL},
        {"1e-45", 1e-45f, NULL},
        {"1.1754942e-38", 1.1754942e-38f, NULL},
        {"3.4028234e38", 3.4028234e38f, NULL},
        {"340282346638528859811704183484516925440", 3.4028234e38f, NULL},
        {"0.000000000000000000000000000000000000000000001", 1e-45f, NULL},
        {"16777217", 16777216, NULL}, /* exactly between two: to even */
        {"16777219", 16777220, NULL},
        {"16777217.0000000000000000000000000001", 16777218, NULL},
        {"1.00000005960464477539062500", 1, NULL}, /* 1 + 2^-24, between */
        {"1.00000005960464477539062501", 1.00000012f, NULL},
        /* Between, as a double, but not as written. */
        {"1.000000059604644776", 1.00000012f, NULL},
        {"1.000000178813934326", 1.00000012f, NULL},
        {"3.4028236e38", 0, ":1: expected a value that is finite in fp32, found '3.4028236e38'"},
        {"1e39", 0, "finite in fp32, found '1e39'"},
        {"1e99999999999", 0, "finite in fp32, found '1e99999999999'"},
        {"inf", INFINITY, NULL},
        {"-Infinity", -INFINITY, NULL},
        {"infinit", 0, ":1: expected a value, found 'infinit'"},
        {"nano", 0, ":1: expected a value, found 'nano'"},
        {"abc", 0, ":1: expected a value, found 'abc'"},
        {"1.5x", 0, "expected a value, found '1.5x'"},
        {"1.5.2", 0, "found '1.5.2'"},
        {"1e", 0, "found '1e'"},
        {"1e+", 0, "found '1e+'"},
        {".", 0, "found '.'"},
        {"-", 0, "found '-'"},
        {"e5", 0, "found 'e5'"},
        {"0x1p3", 0, "found '0x1p3'"},
        {"1.0D+05", 1e5f, NULL},
        {"1D", 0, "found '1D'"},
        {"1.0F+00", 0, "found '1.0F+00'"},
        {"\n1", 0, "found the end of the line"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("float.txt", cases[i].text);
        text_input in = open_file("float.txt");
        float value = 77;
        error_text error = {""};
        enum status status = text_float(&in, "a value", &value, &error);
        if (cases[i].message) {
            assert_int_equal(status, STATUS_DATASET);
            if (!strstr(error.text, cases[i].message)) fail_msg("%s", error.text);
        } else {
            if (status != STATUS_OK) fail_msg("%s", error.text);
            if (memcmp(&value, &cases[i].value, sizeof value) != 0)
                fail_msg("%s gave %.9g", cases[i].text, value);
        }
        text_close(&in);
    }
}

/* One of the ways in which programs write numbers. */
static void random_number(uint64_t i, char *text, size_t capacity)
{
    uint64_t bits = random_bits(5, i);
    uint32_t pattern = (uint32_t)random_bits(6, i) & 0xbfffffff; /* up to 2: no huge exponents */
    float single;
    memcpy(&single, &pattern, sizeof single);
    double number = (double)(int64_t)bits * pow(10, (double)(bits % 60) - 45);
    static const char *const formats[] = {"%.17g", "%.7g", "%.15e", "%.3f", "%.25g"};
    switch (bits % 7) {
    case 0: /* between two fp32 numbers: exactly, or but for the last digits */
        snprintf(text, capacity, bits & 128 ? "%.40g" : "%.18e",
                 (double)single + ldexp(nextafterf(single, 9) - single, -1));
        break;
    case 1:
        snprintf(text, capacity, "%lld", (long long)bits);
        break;
    default:
        snprintf(text, capacity, formats[bits % 5], fabs(number) < 1e38 ? number : 0.5);
    }
}

static void fractions_are_rounded_once(void **state)
{
    (void)state;
    enum { COUNT = 300000 };
    FILE *file = fopen(fixture_path("many.txt"), "w");
    char text[512];
    for (uint64_t i = 0; i < COUNT; i++) {
        random_number(i, text, sizeof text);
        fprintf(file, "%s%s", text, i % 10 ? " " : "\n");
    }
    fclose(file);

    text_input in = open_file("many.txt");
    for (uint64_t i = 0; i < COUNT; i++) {
        random_number(i, text, sizeof text);
        float value, expected = strtof(text, NULL);
        error_text error;
        assert_true(text_skip_space(&in));
        if (text_float(&in, "a value", &value, &error) != STATUS_OK)
            fail_msg("%s: %s", text, error.text);
        if (memcmp(&value, &expected, sizeof value) != 0)
            fail_msg("%s gave %.9g, not %.9g", text, value, expected);
    }
    assert_false(text_skip_space(&in));
    text_close(&in);
}

/* ---- lines and windows ----------------------------------------------------------------------- */

/* The window holds 256 KB; what is longer passes through in pieces. */
static void long_lines(void **state)
{
    (void)state;
    FILE *file = fopen(fixture_path("long.txt"), "w");
    fputc('#', file);
    for (int i = 0; i < 1000000; i++)
        fputc('x', file);
    fputs("\r\n\r\n  ", file);
    for (int i = 0; i < 1000000; i++)
        fputc(i % 2 ? ' ' : '\t', file);
    fputs("1 2\n", file);
    for (int i = 0; i < 700000; i++)
        fputc('\n', file);
    fputs("3 4", file);
    fclose(file);

    text_input in = open_file("long.txt");
    int64_t a, b;
    error_text error;
    assert_true(text_next_entry(&in, '#', '#'));
    assert_int_equal(in.line, 3);
    assert_int_equal(text_int(&in, "a", 0, 9, &a, &error), STATUS_OK);
    assert_int_equal(text_int(&in, "b", 0, 9, &b, &error), STATUS_OK);
    assert_int_equal(text_end_line(&in, &error), STATUS_OK);
    assert_int_equal(a * 10 + b, 12);
    assert_true(text_next_entry(&in, '#', '#'));
    assert_int_equal(in.line, 700004);
    assert_int_equal(text_int(&in, "a", 0, 9, &a, &error), STATUS_OK);
    assert_int_equal(text_int(&in, "b", 0, 9, &b, &error), STATUS_OK);
    assert_int_equal(text_end_line(&in, &error), STATUS_OK);
    assert_int_equal(a * 10 + b, 34);
    assert_int_equal(text_finish(&in, "b", &error), STATUS_OK);
    text_close(&in);
}

/* Every number arrives whole wherever the window's end falls. */
static void windows_do_not_cut_numbers(void **state)
{
    (void)state;
    for (int shift = 0; shift < 12; shift++) {
        enum { COUNT = 60000 };
        FILE *file = fopen(fixture_path("cut.txt"), "w");
        fprintf(file, "%*s", shift, "");
        for (int i = 0; i < COUNT; i++)
            fprintf(file, "%d ", 1000000000 + i);
        fclose(file);
        text_input in = open_file("cut.txt");
        for (int i = 0; i < COUNT; i++) {
            int64_t value = 0;
            error_text error;
            assert_int_equal(text_int(&in, "n", 0, INT32_MAX, &value, &error), STATUS_OK);
            assert_int_equal(value, 1000000000 + i);
        }
        text_close(&in);
    }
}

/* A number may be longer than the lookahead only if it does not lie across the window's end. */
static void endless_numbers_are_refused(void **state)
{
    (void)state;
    enum { FIRST = (1 << 18) - 300 };
    char *text = malloc(FIRST + 1000 + 1);
    memset(text, ' ', FIRST);
    memset(text + FIRST, '0', 1000);
    text[FIRST + 999] = '1';
    text[FIRST + 1000] = 0;
    write_text("endless.txt", text);
    free(text);

    int64_t integer;
    float fraction;
    error_text error;
    text_input in = open_file("endless.txt");
    assert_int_equal(text_int(&in, "n", 0, 9, &integer, &error), STATUS_DATASET);
    assert_non_null(strstr(error.text, "expected n (an integer), found '0000"));
    assert_int_equal(text_float(&in, "n", &fraction, &error), STATUS_DATASET);
    text_close(&in);
}

static void trailing_text_is_refused(void **state)
{
    (void)state;
    error_text error;
    write_text("trail.txt", "1 2\n\n x");
    text_input in = open_file("trail.txt");
    int64_t a;
    assert_int_equal(text_int(&in, "a", 0, 9, &a, &error), STATUS_OK);
    assert_int_equal(text_end_line(&in, &error), STATUS_DATASET);
    assert_non_null(strstr(error.text, "trail.txt:1: expected the end of the line, found '2'"));
    text_skip_line(&in);
    assert_int_equal(text_finish(&in, "the pair", &error), STATUS_DATASET);
    assert_non_null(strstr(error.text, "trail.txt:3: expected nothing after the pair, found 'x'"));
    text_close(&in);
}

static void unpromising_files(void **state)
{
    (void)state;
    error_text error;
    text_input in;
    write_text("nothing.txt", "");
    assert_int_equal(text_open(&in, fixture_path("nothing.txt"), &error), STATUS_DATASET);
    assert_non_null(strstr(error.text, "nothing.txt: the file is empty"));
    assert_int_equal(text_open(&in, fixture_path("missing.txt"), &error), STATUS_DATASET);
    assert_non_null(strstr(error.text, "missing.txt: No such file or directory"));
    assert_int_equal(text_open(&in, fixture_folder, &error), STATUS_DATASET);
    assert_non_null(strstr(error.text, "is a directory, not a file"));

    write_text("five.txt", "1 2 3 4 5");
    in = open_file("five.txt");
    assert_int_equal(text_check_promise(&in, 5, "numbers", &error), STATUS_OK);
    assert_int_equal(text_check_promise(&in, 6, "numbers", &error), STATUS_DATASET);
    assert_non_null(strstr(error.text, "6 numbers are promised, but the file can hold 5 at most"));
    text_close(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(fractions),
        cmocka_unit_test(fractions_are_rounded_once),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(windows_do_not_cut_numbers),
        cmocka_unit_test(endless_numbers_are_refused),
        cmocka_unit_test(trailing_text_is_refused),
        cmocka_unit_test(unpromising_files),
    };
    return cmocka_run_group_tests_name("text", tests, fixture_setup, fixture_teardown);
}
