/*
 * test_column_tiles.c - tiles of columns. Each nonzero stands at its place, and places that no nonzero has say
 * so. Segments begin and end at multiples of eight. The shares of the blocks are all the work, once.
 */
#include "formats/column_tiles.h"
#include "matrix/shapes.h"

#include "device_pattern.h"

/* The arrays of a format, in host memory. */
typedef struct on_host {
    uint16_t *column;
    int *place, *shift, *order; /* order NULL: there is none */
    tile_share *share;
} on_host;

static on_host fetch(const column_tiles *t, int64_t nnz)
{
    const size_t segments = (size_t)t->tiles * t->rows;
    return (on_host){.column = to_host(t->d_column, t->places * sizeof *t->d_column),
                     .place = to_host(t->d_place, (segments + 2) * sizeof *t->d_place),
                     .shift = to_host(t->d_shift, segments * sizeof *t->d_shift),
                     .order = t->d_order ? to_host(t->d_order, nnz * sizeof *t->d_order) : NULL,
                     .share = to_host(t->d_share, t->blocks * sizeof *t->d_share)};
}

static void release(on_host *h)
{
    free(h->column);
    free(h->place);
    free(h->shift);
    free(h->order);
    free(h->share);
}

static void assert_places(const csr_matrix *A, const column_tiles *t, const on_host *h)
{
    const int segments = t->tiles * t->rows;
    int64_t filled = 0;
    bool *seen = calloc(A->nnz + 1, sizeof *seen);
    assert_non_null(seen);
    assert_int_equal(h->place[0], 0);
    assert_int_equal(h->place[segments], t->places);
    assert_int_equal(h->place[segments + 1], t->places);
    for (int s = 0; s < segments; s++) {
        const int64_t row = s % t->rows, first = (int64_t)s / t->rows * t->tile_cols;
        assert_int_equal(h->place[s] % 8, 0);
        assert_int_equal(h->shift[s] % 8, 0);
        for (int k = h->place[s]; k < h->place[s + 1]; k++) {
            if (h->column[k] == NO_TILE_COLUMN) continue;
            const int number = k + h->shift[s], z = h->order ? h->order[number] : number;
            assert_true(z >= A->row_ptr[row] && z < A->row_ptr[row + 1] && !seen[z]);
            assert_int_equal(A->col_idx[z], first + h->column[k]);
            seen[z] = true;
            filled++;
        }
    }
    assert_int_equal(filled, A->nnz);
    free(seen);
}

/* Blocks of a tile follow each other from 0 to all of its work, each with about as much. */
static void assert_shares(const column_tiles *t, const on_host *h, int blocks)
{
    int b = 0, used = 0;
    for (int tile = 0; tile < t->tiles; tile++) {
        const int *const place = h->place + (size_t)tile * t->rows;
        const int work = place[t->rows] - place[0] + SEGMENT_COST * t->rows;
        int next = 0, shares = 0;
        if (place[t->rows] == place[0]) continue; /* no block for a tile without a nonzero */
        used++;
        for (; b < t->blocks && h->share[b].tile == tile; b++, shares++) {
            assert_int_equal(h->share[b].first, next);
            assert_int_equal(h->share[b].first % 8, 0);
            next = h->share[b].end;
        }
        assert_true(shares > 0);
        assert_int_equal(next, work);
    }
    assert_int_equal(b, t->blocks);
    assert_true(t->blocks <= (blocks > used ? blocks : used));
}

static void assert_format(const csr_matrix *A, int tile_cols, int blocks)
{
    device_csr d = pattern_on_device(A);
    column_tiles t;
    assert_int_equal(column_tiles_build(&d, tile_cols, blocks, &t), cudaSuccess);
    assert_true(t.tile_cols <= tile_cols && (int64_t)t.tiles * t.tile_cols >= A->cols);
    assert_true((int64_t)(t.tiles - 1) * tile_cols < A->cols);
    on_host h = fetch(&t, A->nnz);
    assert_places(A, &t, &h);
    assert_shares(&t, &h, blocks);
    release(&h);
    column_tiles_free(&t);
    pattern_free(&d);
}

static void every_nonzero_stands_at_its_place(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, cols;
        bool (*keep)(int64_t row, int64_t col);
    } CASES[] = {{1, 1, all},
                 {3, 128, all},
                 {130, 129, all},
                 {65, 33, scattered},
                 {300, 500, block_diagonal}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        csr_matrix A = dense_part(CASES[i].rows, CASES[i].cols, CASES[i].keep);
        for (int tile_cols = 64; tile_cols < 1000; tile_cols *= 3) {
            assert_format(&A, tile_cols, 1);
            assert_format(&A, tile_cols, 13);
        }
        csr_free(&A);
    }
}

/* 13 blocks for 130 x 129 elements: the heavier tile gets more of them. */
static void the_heaviest_tile_gets_the_next_block(void **state)
{
    (void)state;
    csr_matrix A = dense_part(130, 129, all);
    device_csr d = pattern_on_device(&A);
    column_tiles t;
    int of_tile[3] = {0};
    assert_int_equal(column_tiles_build(&d, 43, 13, &t), cudaSuccess);
    on_host h = fetch(&t, A.nnz);
    assert_int_equal(t.tiles, 3);
    assert_int_equal(t.blocks, 13);
    for (int b = 0; b < t.blocks; b++)
        of_tile[h.share[b].tile]++;
    for (int i = 0; i < 3; i++)
        assert_true(of_tile[i] == 4 || of_tile[i] == 5);
    release(&h);
    column_tiles_free(&t);
    pattern_free(&d);
    csr_free(&A);
}

/* Columns in any order, and repeated. */
static void any_pattern_is_sorted(void **state)
{
    (void)state;
    csr_matrix A;
    error_text error;
    assert_int_equal(make_everything(&A, &error), STATUS_OK);
    assert_format(&A, 64, 13);
    assert_format(&A, 300, 13);
    csr_free(&A);
}

static void what_has_no_tiles_is_refused(void **state)
{
    (void)state;
    assert_null(column_tiles_unsuited(4267, 4267, 2135822, 1814));
    assert_null(column_tiles_unsuited(1, 64 * 100, 0, 100));
    assert_non_null(column_tiles_unsuited(1, 64 * 100 + 1, 0, 100));
    assert_non_null(column_tiles_unsuited(1, 1, 1, 0));
    assert_non_null(column_tiles_unsuited(INT32_MAX / 60 + 1, 200, 0, 100));
}

static void nothing_stored_is_nothing_to_do(void **state)
{
    (void)state;
    static const int SIDES[][2] = {{0, 9}, {9, 0}, {131, 7}};
    for (int i = 0; i < 3; i++) {
        csr_matrix A;
        error_text error;
        column_tiles t;
        assert_int_equal(csr_alloc(&A, SIDES[i][0], SIDES[i][1], 0, false, &error), STATUS_OK);
        device_csr d = pattern_on_device(&A);
        assert_int_equal(column_tiles_build(&d, 64, 13, &t), cudaSuccess);
        assert_int_equal(t.blocks, 0);
        column_tiles_free(&t);
        pattern_free(&d);
        csr_free(&A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_nonzero_stands_at_its_place),
        cmocka_unit_test(the_heaviest_tile_gets_the_next_block),
        cmocka_unit_test(any_pattern_is_sorted),
        cmocka_unit_test(what_has_no_tiles_is_refused),
        cmocka_unit_test(nothing_stored_is_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
