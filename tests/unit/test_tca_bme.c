/*
 * test_tca_bme.c - TCA-BME. Both encoders agree to the bit, and what they make is the matrix again.
 * Every bit and value is where the definition says. The bytes are those of the formula.
 */
#include "formats/tca_bme.h"
#include "on_device.h"
#include "pruned_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the encoders -------------------------------------------------------------------------------- */

/* A on the device, encoded there; the same arrays as `want`, and its columns. */
static void assert_device_agrees(const sample *s, const tca_bme *want)
{
    const csr_matrix *A = &s->A;
    tca_bme m;
    uint64_t *used = calloc((size_t)want->across + 1, sizeof *used), *d_used;
    assert_non_null(used);
    for (int64_t k = 0; k < A->nnz; k++)
        used[A->col_idx[k] / 64] |= UINT64_C(1) << A->col_idx[k] % 64;
    spmm_matrix d_A = sample_to_device(s);
    assert_int_equal(tca_bme_create(&d_A, &m), cudaSuccess);
    const size_t groups = (size_t)tca_bme_groups(want), repeats = (size_t)want->num_repeats;
    assert_int_equal(m.rows, want->rows);
    assert_int_equal(m.cols, want->cols);
    assert_int_equal(m.down, want->down);
    assert_int_equal(m.across, want->across);
    assert_int_equal(m.num_values, want->num_values);
    assert_int_equal(m.longest, want->longest);
    assert_int_equal(m.num_repeats, want->num_repeats);
    assert_on_device(m.offset, want->offset, (groups + 1) * sizeof *m.offset, "offsets");
    assert_on_device(m.bitmap, want->bitmap, groups * GROUP_BITMAPS * 8, "bitmaps");
    assert_on_device(m.values, want->values, (size_t)m.num_values * 2, "values");
    if (repeats) {
        assert_on_device(m.repeat_ptr, want->repeat_ptr, ((size_t)A->rows + 1) * 4, "repeat_ptr");
        assert_on_device(m.repeat_col, want->repeat_col, repeats * 4, "repeat_col");
        assert_on_device(m.repeat_value, want->repeat_value, repeats * 2, "repeat_value");
    }
    assert_int_equal(cudaMalloc((void **)&d_used, want->across * sizeof *d_used + 1), cudaSuccess);
    assert_int_equal(tca_bme_used_columns(&m, d_used), cudaSuccess);
    assert_on_device(d_used, used, want->across * sizeof *used, "used columns");
    cudaFree(d_used);
    sample_free_on_device(&d_A);
    tca_bme_destroy(&m);
    free(used);
}

static int place_in_row(const csr_matrix *A, int64_t row, int32_t column, int nth)
{
    for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++)
        if (A->col_idx[k] == column && nth-- == 0) return (int)k;
    return -1;
}

/* The same elements with the same bits, those named again in the same order. */
static void assert_same(const sample *a, const csr_matrix *B, const uint16_t *values)
{
    const csr_matrix *A = &a->A;
    assert_int_equal(A->nnz, B->nnz);
    for (int64_t i = 0; i < A->rows; i++) {
        assert_int_equal(A->row_ptr[i + 1], B->row_ptr[i + 1]);
        for (int64_t k = A->row_ptr[i], nth = 0; k < A->row_ptr[i + 1]; k++) {
            nth = k > A->row_ptr[i] && A->col_idx[k] == A->col_idx[k - 1] ? nth + 1 : 0;
            const int at = place_in_row(B, i, A->col_idx[k], (int)nth);
            if (at < 0) fail_msg("row %d lost column %d", (int)i, A->col_idx[k]);
            assert_int_equal(values[at], a->values[k]);
        }
    }
}

static void check(sample s)
{
    error_text error;
    tca_bme m;
    csr_matrix back;
    uint16_t *values;
    assert_int_equal(tca_bme_encode(&s.A, s.values, &m, &error), STATUS_OK);
    assert_device_agrees(&s, &m);
    assert_int_equal(tca_bme_decode(&m, &back, &values, &error), STATUS_OK);
    assert_same(&s, &back, values);
    tca_bme_free(&m);
    csr_free(&back);
    free(values);
    sample_free(&s);
}

static void both_encoders_and_the_decoder_agree(void **state)
{
    (void)state;
    static const double SPARSITIES[] = {0, .06, .47, .5, .99, 1};
    static const int SIDES[] = {1, 15, 16, 17, 63, 64, 65, 130};
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 6; k++) {
            check(make(SIDES[i], SIDES[(3 * i + k) % 8], SPARSITIES[k], 0, false, 10 + i));
            check(make(SIDES[i], SIDES[(5 * i + k) % 8], SPARSITIES[k], 20, true, 30 + k));
        }
    check(make(0, 70, .5, 0, false, 1));
    check(make(70, 0, .5, 0, false, 1));
}

static void any_shape_at_any_sparsity(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 60; n++)
        check(make(1 + (int64_t)random_below(5, 4 * n, 200),
                   1 + (int64_t)random_below(5, 4 * n + 1, 200), random_unit(5, 4 * n + 2),
                   (int)random_below(5, 4 * n + 3, 3) * 30, n % 2, n));
}

/* An element that is named four times, between others. */
static void repeats_keep_their_order(void **state)
{
    (void)state;
    static const int32_t COLUMNS[] = {7, 3, 7, 7, 2, 7};
    static const uint16_t VALUES[] = {10, 11, 12, 13, 14, 15}, REPEATS[] = {12, 13, 15};
    error_text error;
    tca_bme m;
    sample s = sample_alloc(1, 8, 6);
    memcpy(s.A.col_idx, COLUMNS, sizeof COLUMNS);
    memcpy(s.values, VALUES, sizeof VALUES);
    s.A.row_ptr[1] = 6;
    assert_int_equal(tca_bme_encode(&s.A, s.values, &m, &error), STATUS_OK);
    assert_int_equal(m.bitmap[0], 1 << 7 | 1 << 3 | 1 << 2);
    assert_int_equal(m.num_repeats, 3);
    assert_memory_equal(m.repeat_value, REPEATS, sizeof REPEATS);
    assert_device_agrees(&s, &m);
    tca_bme_free(&m);
    sample_free(&s);
}

/* ---- against the definition ---------------------------------------------------------------------- */

/* One element: its bit is the only one. Of 65 x 129, so that it lies in the group below and to the
 * right, too. */
static void every_element_has_its_own_bit(void **state)
{
    (void)state;
    error_text error;
    for (int row = 0; row < 65; row++)
        for (int column = row % 3; column < 129; column += 3) {
            tca_bme m;
            sample s = sample_alloc(65, 129, 1);
            s.A.col_idx[0] = column;
            s.values[0] = 0x8000; /* -0 */
            for (int i = row; i < 65; i++)
                s.A.row_ptr[i + 1] = 1;
            assert_int_equal(tca_bme_encode(&s.A, s.values, &m, &error), STATUS_OK);
            int r = row % 64, c = column % 64, tile = row / 64 * 3 + column / 64;
            tile = tile * 4 + r / 16;                      /* group, strip */
            tile = tile * 4 + c / 16;                      /* mma tile */
            tile = tile * 4 + c % 16 / 8 * 2 + r % 16 / 8; /* by columns */
            for (int t = 0; t < 2 * 3 * 64; t++)
                assert_true(m.bitmap[t] == (t == tile ? UINT64_C(1) << (r % 8 * 8 + c % 8) : 0));
            assert_int_equal(m.values[0], 0x8000);
            assert_int_equal(m.num_values, 8);
            tca_bme_free(&m);
            sample_free(&s);
        }
}

/* Full groups: the n-th value is of the n-th bit, and there is nothing to fill up. */
static void a_full_matrix_has_no_gaps(void **state)
{
    (void)state;
    error_text error;
    tca_bme m;
    sample s = make(128, 128, 0, 0, false, 3);
    for (int64_t k = 0; k < s.A.nnz; k++)
        s.values[k] = (uint16_t)k; /* row * 128 + column */
    assert_int_equal(tca_bme_encode(&s.A, s.values, &m, &error), STATUS_OK);
    assert_int_equal(m.num_values, 128 * 128);
    assert_int_equal(m.longest, 64 * 64);
    for (int i = 0; i < 4 * GROUP_BITMAPS; i++)
        assert_true(m.bitmap[i] == UINT64_MAX);
    assert_int_equal(m.values[64 + 9], 9 * 128 + 1);         /* bottom left tile: (8 + 1, 1) */
    assert_int_equal(m.values[2 * 64], 8);                   /* top right */
    assert_int_equal(m.values[4 * 64], 16);                  /* next mma tile */
    assert_int_equal(m.values[16 * 64], 16 * 128);           /* next strip */
    assert_int_equal(m.values[2 * 4096 + 63], 71 * 128 + 7); /* group below */
    assert_int_equal(tca_bme_bytes(&m), 4 * 5 + 8 * 256 + 2 * 128 * 128);
    tca_bme_free(&m);
    sample_free(&s);
}

/* The formula counts nonzeros; what fills up groups adds less than 16 bytes each. */
static void bytes_are_those_of_the_formula(void **state)
{
    (void)state;
    error_text error;
    for (int n = 0; n < 20; n++) {
        tca_bme m;
        sample s = make(100 + 13 * n, 300 - 11 * n, n / 20., 0, false, 50 + (uint64_t)n);
        assert_int_equal(tca_bme_encode(&s.A, s.values, &m, &error), STATUS_OK);
        const int64_t groups = (int64_t)groups_of(s.A.rows) * groups_of(s.A.cols);
        const int64_t formula = 4 * (groups + 1) + 8 * 64 * groups + 2 * s.A.nnz;
        const int64_t more = tca_bme_bytes(&m) - formula;
        assert_true(more >= 0 && more <= 14 * groups);
        for (int64_t g = 0; g < groups; g++)
            assert_int_equal(m.offset[g] % 8, 0);
        tca_bme_free(&m);
        sample_free(&s);
    }
}

/* 4 times CSR's bytes is the border, above 16 MB; 2 GiB is one, too. */
static void sparse_matrices_are_unsuited(void **state)
{
    (void)state;
    assert_true(tca_bme_unsuited(100000, 100000, 1000));
    assert_true(tca_bme_unsuited(100000, 100000, 52015832));
    assert_false(tca_bme_unsuited(100000, 100000, 52016668));
    assert_false(tca_bme_unsuited(11585, 11585, 0)); /* less than 16 MB */
    assert_true(tca_bme_unsuited(11586, 11586, 0));
    assert_true(tca_bme_unsuited(131072, 131073, INT64_C(131072) * 131073));
    assert_false(tca_bme_unsuited(131072, 131072, INT64_C(131072) * 131072));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_encoders_and_the_decoder_agree),
        cmocka_unit_test(any_shape_at_any_sparsity),
        cmocka_unit_test(repeats_keep_their_order),
        cmocka_unit_test(every_element_has_its_own_bit),
        cmocka_unit_test(a_full_matrix_has_no_gaps),
        cmocka_unit_test(bytes_are_those_of_the_formula),
        cmocka_unit_test(sparse_matrices_are_unsuited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
