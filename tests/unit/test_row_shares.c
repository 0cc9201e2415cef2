/*
 * test_row_shares.c - shares of rows: every nonzero is in one share, kinds and lengths come in order, and rows
 * that are cut have their segments side by side.
 */
#include "formats/row_shares.h"
#include "matrix/shapes.h"

#include "device_pattern.h"

enum { SEGMENT = 64, SHORT_ROW = 16 };

static int64_t length_of(const csr_matrix *A, int row)
{
    return A->row_ptr[row + 1] - A->row_ptr[row];
}

/* Nonzeros of a share of the row that begins at `first`. */
static int64_t share_end(const csr_matrix *A, const row_share *s)
{
    const int64_t end = A->row_ptr[s->row + 1];
    return s->first + SEGMENT < end ? s->first + SEGMENT : end;
}

static void assert_kinds(const csr_matrix *A, const row_shares *r, const row_share *share)
{
    int64_t rows_seen = 0, segments = 0, warps = 0;
    for (int i = 0; i < r->count; i++) {
        const row_share *s = &share[i];
        const int64_t length = length_of(A, s->row), begin = A->row_ptr[s->row];
        assert_int_equal(s->end, A->row_ptr[s->row + 1]);
        assert_int_equal(s->first, begin + (int64_t)(i - s->first_share) * SEGMENT);
        assert_true(s->first < s->end || length == 0);
        assert_int_equal(share[s->first_share].row, s->row);
        rows_seen += s->first_share == i;
        segments += length > SEGMENT;
        warps += length > SHORT_ROW;
        assert_int_equal(i<r->segments, length> SEGMENT);
        assert_int_equal(i<r->warps, length> SHORT_ROW);
    }
    assert_int_equal(rows_seen, A->rows);
    assert_int_equal(segments, r->segments);
    assert_int_equal(warps, r->warps);
}

static void assert_all_nonzeros(const csr_matrix *A, const row_shares *r, const row_share *share)
{
    unsigned char *seen = calloc(A->nnz + 1, 1);
    int64_t total = 0;
    assert_non_null(seen);
    for (int i = 0; i < r->count; i++)
        for (int64_t z = share[i].first; z < share_end(A, &share[i]); z++) {
            assert_false(seen[z]);
            seen[z] = 1;
            total++;
        }
    assert_int_equal(total, A->nnz);
    free(seen);
}

/* Within a window, or in all, lengths of a kind's rows do not ascend; windows ascend. */
static void assert_order(const csr_matrix *A, const row_shares *r, const row_share *share,
                         int window)
{
    for (int i = 1; i < r->count; i++) {
        const int row = share[i].row, before = share[i - 1].row;
        const bool same_kind =
            (i < r->segments) == (i - 1 < r->segments) && (i < r->warps) == (i - 1 < r->warps);
        if (!same_kind || row == before) continue;
        if (window && row / window != before / window)
            assert_true(row / window > before / window);
        else
            assert_true(length_of(A, row) <= length_of(A, before));
    }
}

static void assert_shares(const csr_matrix *A, int window)
{
    row_stats stats;
    error_text error;
    row_shares *r;
    assert_int_equal(row_stats_compute(A, &stats, &error), STATUS_OK);
    device_csr d = pattern_on_device(A);
    d.stats = &stats;
    assert_int_equal(row_shares_build(&d, SEGMENT, SHORT_ROW, window, &r), cudaSuccess);
    assert_int_equal(row_shares_bytes(r), 16 * (size_t)r->count);
    row_share *share = to_host(r->d_share, r->count * sizeof *share);
    assert_kinds(A, r, share);
    assert_all_nonzeros(A, r, share);
    assert_order(A, r, share, window);
    free(share);
    row_shares_free(r);
    pattern_free(&d);
}

static void every_nonzero_has_a_share(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_SHAPES; i++) {
        csr_matrix A;
        error_text error;
        assert_int_equal(SHAPES[i].make(&A, &error), STATUS_OK);
        assert_shares(&A, 0);
        assert_shares(&A, 16);
        csr_free(&A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_nonzero_has_a_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
