/*
 * test_standin_tables.c - the text that describes a stand-in, and the row lengths made of it.
 */
#include "fixture.h"

#include "matrix/standin.h"

#include <inttypes.h>

#define HEAD "lengths histogram\norder shuffled\ncolumns even\nnear 0 0\nrepeats 0\nseed 1\n"

static void good_tables(void **state)
{
    (void)state;
    write_text("t.txt", "# a comment\n\n" HEAD "0 0 2 0\n1 1 3 3\n2 5 4 14\n");
    csr_matrix A;
    char source[256];
    error_text error = {""};
    if (standin_make(fixture_path("t.txt"), &A, source, sizeof source, &error) != STATUS_OK)
        fail_msg("%s", error.text);
    assert_int_equal(A.rows, 9);
    assert_int_equal(A.nnz, 17);
    assert_string_equal(source,
                        "stand-in: row lengths (histogram, 3 bins) shuffled; columns even; seed 1");
    int64_t count[6] = {0};
    for (int64_t i = 0; i < 9; i++)
        count[A.row_ptr[i + 1] - A.row_ptr[i]]++;
    assert_true(count[0] == 2 && count[1] == 3 && count[2] >= 1 && count[5] >= 1);
    csr_free(&A);
}

/* Any bin that the reader accepts must come out with its rows, its sum and both its ends. */
static void every_bin_can_be_spread(void **state)
{
    (void)state;
    for (int64_t rows = 1; rows <= 5; rows++) {
        for (int64_t nnz = 3 * rows; nnz <= 9 * rows; nnz++) {
            char text[512];
            snprintf(text, sizeof text, HEAD "0 0 100 0\n3 9 %" PRId64 " %" PRId64 "\n", rows, nnz);
            write_text("t.txt", text);
            csr_matrix A;
            char source[256];
            error_text error;
            enum status status =
                standin_make(fixture_path("t.txt"), &A, source, sizeof source, &error);
            bool possible = rows > 1 && nnz >= 12 + 3 * (rows - 2) && nnz <= 12 + 9 * (rows - 2);
            assert_int_equal(status, possible ? STATUS_OK : STATUS_DATASET);
            if (!possible) continue;
            int64_t shortest = 0, longest = 0, filled = 0;
            for (int64_t i = 0; i < A.rows; i++) {
                int64_t length = A.row_ptr[i + 1] - A.row_ptr[i];
                filled += length > 0;
                shortest += length == 3;
                longest += length == 9;
                assert_true(length == 0 || (length >= 3 && length <= 9));
            }
            assert_int_equal(filled, rows);
            assert_int_equal(A.nnz, nnz);
            assert_true(shortest > 0 && longest > 0);
            csr_free(&A);
        }
    }
}

static void bad_tables(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fragment;
    } cases[] = {
        {"", "no line 'lengths"},
        {HEAD, "no row lengths"},
        {"lengths histogram\n1 1 2 2\n", "no line 'order"},
        {HEAD "1 1 2 3\n", "t.txt:7: '1 1 2 3'"},
        {HEAD "1 2 1 2\n", "t.txt:7:"},
        {HEAD "2 1 2 3\n", "t.txt:7:"},
        {HEAD "3 3 2 6\n3 3 1 3\n", "t.txt:8:"},
        {HEAD "-1 3 2 2\n", "t.txt:7:"},
        {HEAD "1 1 0 0\n", "t.txt:7:"},
        {HEAD "5 5 3 15\n", "a row of 5 in a matrix of 3"},
        {HEAD "colour blue\n", "t.txt:7: 'colour blue'"},
        {"order sorted\n", "t.txt:1:"},
        {"order longest-first 1\n", "t.txt:1:"},
        {"columns ranked 0 1\n", "t.txt:1:"},
        {"columns some\n", "t.txt:1:"},
        {"near 2 1\n", "t.txt:1:"},
        {"repeats 1\n", "t.txt:1:"},
        {"seed x\n", "t.txt:1:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A;
        char source[256];
        error_text error = {""};
        write_text("t.txt", cases[i].text);
        enum status status = standin_make(fixture_path("t.txt"), &A, source, sizeof source, &error);
        if (status != STATUS_DATASET || !strstr(error.text, cases[i].fragment))
            fail_msg("case %zu: status %d, '%s'", i, status, error.text);
        assert_null(A.row_ptr);
    }
    csr_matrix A;
    char source[256];
    error_text error = {""};
    assert_int_equal(standin_make(fixture_path("none.txt"), &A, source, sizeof source, &error),
                     STATUS_DATASET);
    assert_non_null(strstr(error.text, "No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_tables),
        cmocka_unit_test(every_bin_can_be_spread),
        cmocka_unit_test(bad_tables),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
