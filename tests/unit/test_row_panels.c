/*
 * test_row_panels.c - panels of rows: list 0 has what all rows of a panel name, the others have the rest, and so both
 * give each row its columns again.
 */
#include "formats/row_panels.h"
#include "matrix/shapes.h"

#include "device_pattern.h"

enum { LARGE = 10000 }; /* nonzeros: counting is quadratic */

/* How often a row names a column; a row beyond the last never does. */
static int64_t times(const csr_matrix *A, int64_t row, int column)
{
    int64_t found = 0;
    for (int64_t z = row < A->rows ? A->row_ptr[row] : 0; row < A->rows && z < A->row_ptr[row + 1];
         z++)
        found += A->col_idx[z] == column;
    return found;
}

/* How often all rows of the panel that begins with row `first` name it. */
static int64_t times_of_all(const csr_matrix *A, int64_t first, int rows, int column)
{
    int64_t least = INT64_MAX;
    for (int64_t i = first; i < first + rows; i++)
        if (times(A, i, column) < least) least = times(A, i, column);
    return least;
}

/* Columns begin .. end - 1 do not descend, and each is there as often as list 0, or that of `row`, must have it. */
static void assert_list(const csr_matrix *A, const int *column, int begin, int end, int64_t row,
                        int64_t first, int rows, bool common)
{
    for (int z = begin, same = 0; z < end; z++) {
        const int64_t all = times_of_all(A, first, rows, column[z]);
        same = z > begin && column[z] == column[z - 1] ? same + 1 : 1;
        assert_true(z == begin || column[z] >= column[z - 1]);
        assert_true(same <= (common ? all : times(A, row, column[z]) - all));
    }
}

/* Returns how many columns are stored. */
static int assert_panels(const csr_matrix *A, int rows)
{
    row_stats stats;
    error_text error;
    row_panels *r;
    assert_int_equal(row_stats_compute(A, &stats, &error), STATUS_OK);
    device_csr d = pattern_on_device(A);
    d.stats = &stats;
    assert_int_equal(row_panels_build(&d, rows, &r), cudaSuccess);
    pattern_free(&d);
    const int panels = r->P.rows, lists = panels * (rows + 1), stored = r->P.nnz;
    assert_int_equal(panels, (A->rows + rows - 1) / rows);
    assert_int_equal(row_panels_bytes(r), 4 * ((size_t)stored + lists + 1));
    int *list = to_host(r->d_list, (lists + 1) * sizeof *list);
    int *panel = to_host(r->P.d_row_ptr, (panels + 1) * sizeof *panel);
    int *column = to_host(r->P.d_col_idx, stored * sizeof *column);
    assert_int_equal(list[0], 0);
    assert_int_equal(list[lists], stored);
    assert_int_equal(panel[panels], stored);
    for (int p = 0; p < panels; p++) {
        const int *of = list + p * (rows + 1), commons = of[1] - of[0];
        const int64_t first = (int64_t)p * rows;
        assert_int_equal(panel[p], of[0]);
        assert_true(panel[p + 1] - panel[p] <= r->P.stats->max);
        assert_list(A, column, of[0], of[1], first, first, rows, true);
        for (int i = 0; i < rows; i++) {
            const int64_t row = first + i;
            const int64_t length = row < A->rows ? A->row_ptr[row + 1] - A->row_ptr[row] : 0;
            assert_int_equal(of[2 + i] - of[1 + i], length - (length ? commons : 0));
            assert_list(A, column, of[1 + i], of[2 + i], row, first, rows, false);
        }
    }
    free(list);
    free(panel);
    free(column);
    row_panels_free(r);
    return stored;
}

static void every_row_has_its_columns(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_SHAPES; i++) {
        csr_matrix A;
        error_text error;
        assert_int_equal(SHAPES[i].make(&A, &error), STATUS_OK);
        for (int rows = 2; rows <= 4; rows++)
            if (A.rows > 0 && A.nnz < LARGE) assert_panels(&A, rows);
        csr_free(&A);
    }
}

/* A band of 5 diagonals, of which two rows share 4 columns and four rows 2: 6 of 10 are stored, or 14 of 20. */
static bool near_diagonal(int64_t row, int64_t col)
{
    return row <= col && col < row + 5;
}

static void a_band_is_stored_once(void **state)
{
    (void)state;
    csr_matrix A = dense_part(20, 24, near_diagonal);
    assert_int_equal(assert_panels(&A, 2), 10 * 6);
    assert_int_equal(assert_panels(&A, 4), 5 * (2 + 4 * 3));
    csr_free(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_its_columns),
        cmocka_unit_test(a_band_is_stored_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
