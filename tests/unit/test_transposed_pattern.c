/*
 * test_transposed_pattern.c - a pattern's columns as rows, made on the device: the same as the host's
 * transposition, every place is that of its nonzero, and the way back leads back.
 */
#include "formats/transposed_pattern.h"
#include "matrix/shapes.h"

#include "device_pattern.h"

static int64_t longest_row(const csr_matrix *T)
{
    int64_t longest = 0;
    for (int64_t j = 0; j < T->rows; j++)
        if (T->row_ptr[j + 1] - T->row_ptr[j] > longest)
            longest = T->row_ptr[j + 1] - T->row_ptr[j];
    return longest;
}

/* T's copy in host memory is the host's transposition, and its statistics are that's. */
static void assert_described(transposed_pattern *t, const csr_matrix *T)
{
    row_stats stats;
    error_text error;
    assert_int_equal(transposed_pattern_describe(t), cudaSuccess);
    assert_int_equal(row_stats_compute(T, &stats, &error), STATUS_OK);
    assert_memory_equal(t->T.stats, &stats, sizeof stats);
    assert_ptr_equal(t->T.host, &t->host);
    assert_int_equal(t->host.nnz, T->nnz);
    assert_memory_equal(t->host.row_ptr, T->row_ptr, (T->rows + 1) * sizeof *T->row_ptr);
    assert_memory_equal(t->host.col_idx, T->col_idx, T->nnz * sizeof *T->col_idx);
}

static void assert_transposed(const csr_matrix *A)
{
    csr_matrix T;
    error_text error;
    transposed_pattern *t;
    device_csr d = pattern_on_device(A);
    assert_int_equal(csr_transpose(A, &T, &error), STATUS_OK);
    assert_int_equal(transposed_pattern_build(&d, &t), cudaSuccess);
    assert_null(t->T.host);
    assert_null(t->d_place_in_T);
    assert_int_equal(transposed_pattern_invert(t), cudaSuccess);
    assert_described(t, &T);
    assert_int_equal(t->T.rows, A->cols);
    assert_int_equal(t->T.cols, A->rows);
    assert_int_equal(t->T.nnz, A->nnz);
    assert_int_equal(t->T.stats->max, longest_row(&T));
    assert_int_equal(transposed_pattern_bytes(t, true), 4 * (A->cols + 1 + 2 * A->nnz));
    assert_int_equal(transposed_pattern_bytes(t, false), 4 * (A->cols + 1 + A->nnz));
    int *begin = to_host(t->T.d_row_ptr, (A->cols + 1) * sizeof *begin);
    int *row = to_host(t->T.d_col_idx, A->nnz * sizeof *row);
    int *place = to_host(t->d_place, A->nnz * sizeof *place);
    int *back = to_host(t->d_place_in_T, A->nnz * sizeof *back);
    for (int64_t i = 0; i < A->nnz; i++)
        assert_int_equal(back[place[i]], i);
    for (int64_t j = 0; j <= A->cols; j++)
        assert_int_equal(begin[j], T.row_ptr[j]);
    for (int64_t j = 0; j < A->cols; j++)
        for (int64_t i = begin[j]; i < begin[j + 1]; i++) {
            assert_int_equal(row[i], T.col_idx[i]);
            assert_int_equal(A->col_idx[place[i]], j);
            assert_true(place[i] >= A->row_ptr[row[i]] && place[i] < A->row_ptr[row[i] + 1]);
            assert_true(i == begin[j] || place[i] > place[i - 1]); /* none twice */
        }
    free(begin);
    free(row);
    free(place);
    free(back);
    transposed_pattern_free(t);
    pattern_free(&d);
    csr_free(&T);
}

static void columns_become_rows(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_SHAPES; i++) {
        csr_matrix A;
        error_text error;
        assert_int_equal(SHAPES[i].make(&A, &error), STATUS_OK);
        assert_transposed(&A);
        csr_free(&A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_become_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
