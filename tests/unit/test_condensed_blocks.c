/*
 * test_condensed_blocks.c - TC-GNN and ME-TCF. What the encoders make is the matrix again, bit by bit. Ranks and blocks
 * are those of the definition. The bytes are those of the published formulas.
 */
#include "formats/condensed_blocks.h"
#include "matrix/generate.h"
#include "matrix/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static csr_matrix made(const char *spec)
{
    csr_matrix A, with_values;
    char spelled[400];
    error_text error;
    if (generate(spec, &A, spelled, sizeof spelled, &error) != STATUS_OK)
        fail_msg("%s", error.text);
    assert_int_equal(csr_alloc(&with_values, A.rows, A.cols, A.nnz, true, &error), STATUS_OK);
    memcpy(with_values.row_ptr, A.row_ptr, ((size_t)A.rows + 1) * sizeof *A.row_ptr);
    for (int64_t k = 0; k < A.nnz; k++) {
        const uint32_t bits = (uint32_t)random_bits(3, (uint64_t)k); /* NaN, -0 and others */
        with_values.col_idx[k] = A.col_idx[k];
        memcpy(&with_values.values[k], &bits, sizeof bits);
    }
    csr_free(&A);
    return with_values;
}

/* The rank of a column among the distinct ones of its window, and their number. */
static int rank_in_window(const csr_matrix *A, int64_t window, int32_t column, int *distinct)
{
    uint8_t *seen = calloc((size_t)A->cols + 1, 1);
    int rank = 0;
    assert_non_null(seen);
    for (int64_t row = 16 * window; row < 16 * window + 16 && row < A->rows; row++)
        for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++)
            seen[A->col_idx[k]] = 1;
    *distinct = 0;
    for (int64_t c = 0; c < A->cols; c++) {
        rank += seen[c] && c < column;
        *distinct += seen[c];
    }
    free(seen);
    return rank;
}

static void check_tc_gnn(const csr_matrix *A)
{
    tc_gnn m;
    error_text error;
    int64_t blocks = 0, k = 0;
    int distinct = 0;
    assert_int_equal(tc_gnn_encode(A, &m, &error), STATUS_OK);
    assert_memory_equal(m.col_idx, A->col_idx, (size_t)A->nnz * 4);
    assert_memory_equal(m.values, A->values, (size_t)A->nnz * 4);
    for (int64_t row = 0; row < A->rows; row++) {
        assert_int_equal(m.row_ptr[row + 1], A->row_ptr[row + 1]);
        for (; k < A->row_ptr[row + 1]; k++) {
            assert_int_equal(m.row[k], row);
            assert_int_equal(m.rank[k], rank_in_window(A, row / 16, A->col_idx[k], &distinct));
        }
    }
    for (int64_t window = 0; window < m.windows; window++) {
        rank_in_window(A, window, 0, &distinct);
        assert_int_equal(m.blocks_of_window[window], (distinct + 7) / 8);
        blocks += m.blocks_of_window[window];
    }
    assert_true(blocks <= A->nnz);
    assert_int_equal(tc_gnn_bytes(&m),
                     4 * (A->rows + 1 + 3 * A->nnz + (A->rows + 15) / 16) + 4 * A->nnz);
    tc_gnn_free(&m);
}

typedef struct element {
    int64_t row;
    int32_t column;
    uint32_t bits;
} element;

static int element_order(const void *a, const void *b)
{
    const element *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return (x->bits > y->bits) - (x->bits < y->bits);
}

static void check_me_tcf(const csr_matrix *A)
{
    me_tcf m;
    error_text error;
    const size_t nnz = (size_t)A->nnz;
    element *want = calloc(nnz + 1, sizeof *want), *found = calloc(nnz + 1, sizeof *found);
    assert_true(want && found);
    assert_int_equal(me_tcf_encode(A, &m, &error), STATUS_OK);
    assert_int_equal(m.begin[m.blocks], A->nnz);
    for (int64_t window = 0; window < m.windows; window++) {
        int distinct;
        rank_in_window(A, window, 0, &distinct);
        assert_int_equal(m.first_block[window + 1] - m.first_block[window], (distinct + 7) / 8);
        for (int block = m.first_block[window]; block < m.first_block[window + 1]; block++)
            for (int k = m.begin[block]; k < m.begin[block + 1]; k++) {
                found[k].row = 16 * window + m.place[k] / 8;
                found[k].column = m.column[8 * block + m.place[k] % 8];
                memcpy(&found[k].bits, &m.values[k], 4);
            }
    }
    for (int64_t row = 0; row < A->rows; row++)
        for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++) {
            want[k].row = row;
            want[k].column = A->col_idx[k];
            memcpy(&want[k].bits, &A->values[k], 4);
        }
    qsort(want, nnz, sizeof *want, element_order);
    qsort(found, nnz, sizeof *found, element_order);
    for (size_t k = 0; k < nnz; k++)
        assert_int_equal(element_order(&want[k], &found[k]), 0);
    assert_int_equal(me_tcf_bytes(&m), 4 * ((A->rows + 15) / 16 + 1) + 4 * ((int64_t)m.blocks + 1) +
                                           A->nnz + 32 * (int64_t)m.blocks + 4 * A->nnz);
    me_tcf_free(&m);
    free(want);
    free(found);
}

static void both_formats_are_the_matrix_again(void **state)
{
    (void)state;
    static const char *const SPECS[] = {
        "rand:rows=1,deg=1",
        "rand:rows=17,deg=3",
        "rand:rows=100,deg=9,skew=1",
        "weights:rows=33,cols=70,sparsity=0",
        "weights:rows=64,cols=9,sparsity=0.5",
        "weights:rows=50,cols=300,sparsity=0.97",
        "weights:rows=40,cols=0",
        "weights:rows=0,cols=40",
    };
    for (size_t i = 0; i < sizeof SPECS / sizeof SPECS[0]; i++) {
        csr_matrix A = made(SPECS[i]);
        if (A.nnz > 1) A.col_idx[1] = A.col_idx[0]; /* named again, where they are of one row */
        check_tc_gnn(&A);
        check_me_tcf(&A);
        csr_free(&A);
    }
}

/* Two rows of a window: columns 3, 9 and 9, 900; a second window of nine columns. */
static void a_window_by_hand(void **state)
{
    (void)state;
    csr_matrix A;
    me_tcf m;
    error_text error;
    assert_int_equal(csr_alloc(&A, 17, 1000, 13, false, &error), STATUS_OK);
    static const int32_t COLUMNS[13] = {9, 3, 9, 900, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    memcpy(A.col_idx, COLUMNS, sizeof COLUMNS);
    for (int row = 1; row <= 17; row++)
        A.row_ptr[row] = row == 1 ? 2 : row < 17 ? 4 : 13;
    assert_int_equal(me_tcf_encode(&A, &m, &error), STATUS_OK);
    static const int WANT_COLUMNS[24] = {3, 9, 900, 900, 900, 900, 900, 900, 0, 1, 2, 3,
                                         4, 5, 6,   7,   8,   8,   8,   8,   8, 8, 8, 8};
    static const uint8_t WANT_PLACES[13] = {0, 1, 9, 10, 0, 1, 2, 3, 4, 5, 6, 7, 0};
    static const int WANT_BEGIN[4] = {0, 4, 12, 13};
    assert_int_equal(m.blocks, 3);
    assert_memory_equal(m.column, WANT_COLUMNS, sizeof WANT_COLUMNS);
    assert_memory_equal(m.place, WANT_PLACES, sizeof WANT_PLACES);
    assert_memory_equal(m.begin, WANT_BEGIN, sizeof WANT_BEGIN);
    assert_true(m.values[12] == 1); /* a pattern's */
    me_tcf_free(&m);
    csr_free(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_formats_are_the_matrix_again),
        cmocka_unit_test(a_window_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
