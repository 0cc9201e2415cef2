/*
 * test_csr.c - the CSR type: allocation, validation, building from coordinates, transposition.
 */
#include "fixture.h"
#include "random_matrix.h"

#include "matrix/row_sort.h"

#include <inttypes.h>
#include <omp.h>

/* ---- allocation ------------------------------------------------------------------------------ */

static void alloc_zeroes_offsets(void **state)
{
    (void)state;
    csr_matrix A;
    error_text error;
    assert_int_equal(csr_alloc(&A, 3, 5, 7, true, &error), STATUS_OK);
    for (int i = 0; i <= 3; i++)
        assert_int_equal(A.row_ptr[i], 0);
    assert_non_null(A.values);
    csr_free(&A);
    assert_null(A.row_ptr);
    csr_free(&A); /* a zeroed matrix may be freed */

    assert_int_equal(csr_alloc(&A, 0, 0, 0, false, &error), STATUS_OK);
    assert_null(A.values);
    assert_int_equal(csr_validate(&A, "empty", &error), STATUS_OK);
    csr_free(&A);
}

static void alloc_refuses(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, cols, nnz;
        enum status status;
        const char *fragment;
    } cases[] = {
        {-1, 5, 0, STATUS_DATASET, "no possible shape"},
        {5, -1, 0, STATUS_DATASET, "no possible shape"},
        {INT64_C(1) << 31, 5, 0, STATUS_DATASET, "no possible shape"},
        {5, INT64_C(1) << 31, 0, STATUS_DATASET, "no possible shape"},
        {5, 5, -1, STATUS_DATASET, "no possible number of nonzeros"},
        {5, 5, INT64_MAX, STATUS_DATASET, "no possible number of nonzeros"},
        {5, 5, INT64_C(1) << 44, STATUS_MEMORY, "GB are available"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        csr_matrix A = {.rows = 99};
        error_text error = {""};
        assert_int_equal(csr_alloc(&A, cases[i].rows, cases[i].cols, cases[i].nnz, true, &error),
                         cases[i].status);
        assert_non_null(strstr(error.text, cases[i].fragment));
        assert_int_equal(A.rows, 0);
        assert_null(A.row_ptr);
    }
}

/* ---- validation ------------------------------------------------------------------------------ */

static void validate_names_row_and_reason(void **state)
{
    (void)state;
    static const struct {
        int64_t offsets[4];
        int32_t columns[4];
        float values[4];
        const char *message; /* NULL: valid */
    } cases[] = {
        {{0, 1, 1, 4}, {2, 1, 0, 1}, {1, 2, 3, 4}, NULL},
        {{1, 1, 1, 4}, {0}, {0}, "m: row 0: starts at entry 1, not at 0"},
        {{0, 3, 1, 4}, {0}, {0}, "m: row 1: offsets decrease (ends at entry 1, starts at 3)"},
        {{0, -1, 1, 4}, {0}, {0}, "m: row 0: offsets decrease (ends at entry -1, starts at 0)"},
        {{0, 1, 1, 3}, {0}, {0}, "m: the row offsets end at 3, but there are 4 nonzeros"},
        {{0, 1, 1, 4}, {0, 1, 3, 9}, {0}, "m: row 2: column 3 is outside the matrix (3 columns)"},
        {{0, 1, 1, 4}, {-1, 9, 0, 0}, {0}, "m: row 0: column -1 is outside the matrix (3 columns)"},
        {{0, 0, 2, 4}, {0, 1, 2, 0}, {0, NAN, 0, INFINITY}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t offsets[4];
        int32_t columns[4];
        float values[4];
        memcpy(offsets, cases[i].offsets, sizeof offsets);
        memcpy(columns, cases[i].columns, sizeof columns);
        memcpy(values, cases[i].values, sizeof values);
        csr_matrix A = {.rows = 3,
                        .cols = 3,
                        .nnz = 4,
                        .row_ptr = offsets,
                        .col_idx = columns,
                        .values = values};
        error_text error = {""};
        enum status status = csr_validate(&A, "m", &error);
        assert_string_equal(error.text, cases[i].message ? cases[i].message : "");
        assert_int_equal(status, cases[i].message ? STATUS_DATASET : STATUS_OK);
    }
}

static void validate_sizes(void **state)
{
    (void)state;
    int64_t offsets[2] = {0, 1};
    csr_matrix A = {.rows = 1, .cols = -2, .nnz = 1, .row_ptr = offsets};
    error_text error;
    assert_int_equal(csr_validate(&A, "m", &error), STATUS_DATASET);
    assert_string_equal(error.text, "m: 1 x -2 is no possible shape: each side is 0..2147483647");
    A.cols = 2;
    assert_int_equal(csr_validate(&A, "m", &error), STATUS_DATASET);
    assert_string_equal(error.text, "m: a matrix without its arrays");
}

/* ---- coordinates to CSR ---------------------------------------------------------------------- */

static void coo_sorts_stably(void **state)
{
    (void)state;
    error_text error;
    coo_list list;
    csr_matrix A;
    assert_int_equal(coo_init(&list, 0, true, &error), STATUS_OK);
    static const int32_t entries[][2] = {{2, 1}, {0, 3}, {2, 1}, {0, 0}, {2, 0}, {0, 3}};
    for (int k = 0; k < 6; k++)
        assert_int_equal(coo_push(&list, entries[k][0], entries[k][1], (float)k, &error),
                         STATUS_OK);
    assert_int_equal(csr_from_coo(&list, 3, 4, &A, "m", &error), STATUS_OK);
    assert_matrix_text(&A, "3x4: 0,0=3 0,3=1 0,3=5 2,0=4 2,1=0 2,1=2");
    assert_int_equal(list.count, 0);
    assert_null(list.row);
    csr_free(&A);
}

static void coo_refuses_outsiders(void **state)
{
    (void)state;
    static const int32_t outsiders[][2] = {{3, 0}, {0, 4}, {-1, 0}, {0, -1}};
    static const char *const messages[] = {"entry 1 at (3, 0)", "entry 1 at (0, 4)",
                                           "entry 1 at (-1, 0)", "entry 1 at (0, -1)"};
    for (int i = 0; i < 4; i++) {
        error_text error;
        coo_list list;
        csr_matrix A;
        assert_int_equal(coo_init(&list, 2, false, &error), STATUS_OK);
        coo_push(&list, 2, 3, 0, &error);
        coo_push(&list, outsiders[i][0], outsiders[i][1], 0, &error);
        assert_int_equal(csr_from_coo(&list, 3, 4, &A, "m.txt", &error), STATUS_DATASET);
        assert_non_null(strstr(error.text, messages[i]));
        assert_non_null(strstr(error.text, "m.txt: "));
        assert_null(A.row_ptr);
        assert_null(list.row);
    }
}

static void coo_hint_is_not_believed(void **state)
{
    (void)state;
    error_text error;
    coo_list list;
    assert_int_equal(coo_init(&list, INT64_MAX, true, &error), STATUS_OK);
    assert_true(list.capacity <= 1 << 20);
    coo_free(&list);
}

/* Every entry of the list is in the matrix, once, and the columns ascend. */
static void coo_property(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        int64_t rows = seed % 3 ? 40 : 3, cols = seed % 5 ? 300 : 70000;
        coo_list list = random_list(seed, &rows, &cols, 3000, true);
        int64_t count = list.count;
        int32_t *row = malloc((size_t)(count + 1) * sizeof *row);
        int32_t *col = malloc((size_t)(count + 1) * sizeof *col);
        memcpy(row, list.row, (size_t)count * sizeof *row);
        memcpy(col, list.col, (size_t)count * sizeof *col);

        csr_matrix A;
        error_text error;
        omp_set_num_threads(1 + (int)(seed % 4));
        assert_int_equal(csr_from_coo(&list, rows, cols, &A, "m", &error), STATUS_OK);
        assert_int_equal(csr_validate(&A, "m", &error), STATUS_OK);
        assert_int_equal(A.nnz, count);
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++) {
                int64_t pushed = (int64_t)(A.values[k] * 4) - 1; /* the value names the entry */
                assert_int_equal(row[pushed], i);
                assert_int_equal(col[pushed], A.col_idx[k]);
                if (k == A.row_ptr[i]) continue;
                assert_true(A.col_idx[k - 1] <= A.col_idx[k]);
                if (A.col_idx[k - 1] == A.col_idx[k]) assert_true(A.values[k - 1] < A.values[k]);
            }
        }
        csr_free(&A);
        free(row);
        free(col);
    }
    omp_set_num_threads(omp_get_num_procs());
}

static void long_rows_are_sorted(void **state)
{
    (void)state;
    enum { N = 200000 };
    csr_matrix A;
    error_text error;
    assert_int_equal(csr_alloc(&A, 1, INT32_MAX, N, false, &error), STATUS_OK);
    A.row_ptr[1] = N;
    for (int k = 0; k < N; k++)
        A.col_idx[k] = (int32_t)random_below(7, (uint64_t)k, INT32_MAX);
    uint64_t before = 0, after = 0;
    for (int k = 0; k < N; k++)
        before += random_bits(1, (uint64_t)A.col_idx[k]);
    assert_int_equal(csr_sort_rows(&A, &error), STATUS_OK);
    for (int k = 0; k < N; k++) {
        after += random_bits(1, (uint64_t)A.col_idx[k]);
        if (k > 0) assert_true(A.col_idx[k - 1] <= A.col_idx[k]);
    }
    assert_true(before == after);
    csr_free(&A);
}

/* ---- transposition --------------------------------------------------------------------------- */

static void transpose_small(void **state)
{
    (void)state;
    /* Unsorted columns, a duplicate, an empty row and an empty column. */
    int64_t offsets[] = {0, 3, 3, 5};
    int32_t columns[] = {3, 0, 3, 1, 0};
    float values[] = {1, 2, 3, 4, 5};
    csr_matrix A = {.rows = 3,
                    .cols = 4,
                    .nnz = 5,
                    .row_ptr = offsets,
                    .col_idx = columns,
                    .values = values},
               T;
    error_text error;
    assert_int_equal(csr_transpose(&A, &T, &error), STATUS_OK);
    assert_matrix_text(&T, "4x3: 0,0=2 0,2=5 1,2=4 3,0=1 3,0=3");
    csr_free(&T);
}

static void transpose_twice_is_identity(void **state)
{
    (void)state;
    for (uint64_t seed = 1000; seed < 1300; seed++) {
        csr_matrix A = random_matrix(seed, 60, 60, 3000, seed % 2), T, B;
        error_text error;
        omp_set_num_threads(1 + (int)(seed % 4));
        assert_int_equal(csr_transpose(&A, &T, &error), STATUS_OK);
        assert_int_equal(csr_validate(&T, "T", &error), STATUS_OK);
        assert_int_equal(T.rows, A.cols);
        assert_int_equal(T.cols, A.rows);
        assert_int_equal(csr_transpose(&T, &B, &error), STATUS_OK);
        assert_same(&A, &B);
        csr_free(&A);
        csr_free(&T);
        csr_free(&B);
    }
    omp_set_num_threads(omp_get_num_procs());
}

static void transpose_empty(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{0, 0}, {0, 5}, {5, 0}, {3, 2}};
    for (int i = 0; i < 4; i++) {
        csr_matrix A, T;
        error_text error;
        assert_int_equal(csr_alloc(&A, shapes[i][0], shapes[i][1], 0, true, &error), STATUS_OK);
        assert_int_equal(csr_transpose(&A, &T, &error), STATUS_OK);
        assert_int_equal(T.rows, shapes[i][1]);
        assert_int_equal(csr_validate(&T, "T", &error), STATUS_OK);
        csr_free(&A);
        csr_free(&T);
    }
}

static void finite_values_can_be_required(void **state)
{
    (void)state;
    int64_t offsets[] = {0, 1, 1, 3};
    int32_t columns[] = {0, 2, 1};
    float values[] = {1, 2, 3};
    csr_matrix A = {.rows = 3, .cols = 3, .nnz = 3, .row_ptr = offsets, .col_idx = columns};
    error_text error;
    assert_int_equal(csr_require_finite(&A, &error), STATUS_OK);
    A.values = values;
    assert_int_equal(csr_require_finite(&A, &error), STATUS_OK);
    values[1] = NAN;
    assert_int_equal(csr_require_finite(&A, &error), STATUS_DATASET);
    assert_string_equal(error.text, "row 2: the value at column 2 is not finite in fp32, so no "
                                    "result could be checked");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alloc_zeroes_offsets),
        cmocka_unit_test(alloc_refuses),
        cmocka_unit_test(validate_names_row_and_reason),
        cmocka_unit_test(validate_sizes),
        cmocka_unit_test(finite_values_can_be_required),
        cmocka_unit_test(coo_sorts_stably),
        cmocka_unit_test(coo_refuses_outsiders),
        cmocka_unit_test(coo_hint_is_not_believed),
        cmocka_unit_test(coo_property),
        cmocka_unit_test(long_rows_are_sorted),
        cmocka_unit_test(transpose_small),
        cmocka_unit_test(transpose_twice_is_identity),
        cmocka_unit_test(transpose_empty),
    };
    return cmocka_run_group_tests_name("csr", tests, NULL, NULL);
}
