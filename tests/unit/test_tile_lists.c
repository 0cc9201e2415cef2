/*
 * test_tile_lists.c - lists of tiles: each nonzero has a code at its place, no chunk lists another, and the listed
 * tiles are those that hold a nonzero.
 */
#include "formats/tile_lists.h"
#include "matrix/shapes.h"

#include "device_pattern.h"

/* Where a chunk's sum lies, by the definition. */
static int index_of(int64_t row, int64_t column)
{
    return (int)(row % 16 * 64 + (column % 64 ^ row % 4 * 8));
}

/* Every place is of a nonzero of A, the one that its number says, and every nonzero has one. Counts them by tile. */
static void assert_codes(const csr_matrix *A, const tile_lists *t, int *nonzeros)
{
    const int chunks = t->strips * (t->rows / CHUNK_ROWS);
    uint16_t *code = to_host(t->d_code, A->nnz * sizeof *code);
    int *start = to_host(t->d_start, (chunks + 1) * sizeof *start);
    int *shift = to_host(t->d_shift, (size_t)t->strips * t->rows * sizeof *shift);
    int *order = t->d_order ? to_host(t->d_order, A->nnz * sizeof *order) : NULL;
    bool *seen = calloc(A->nnz + 1, sizeof *seen);
    assert_non_null(seen);
    assert_int_equal(start[0], 0);
    assert_int_equal(start[chunks], A->nnz);
    for (int c = 0; c < chunks; c++) {
        const int strip = c / (t->rows / CHUNK_ROWS);
        const int first = c % (t->rows / CHUNK_ROWS) * CHUNK_ROWS;
        for (int k = start[c]; k < start[c + 1]; k++) {
            const int row = first + code[k] / STRIP_COLS;
            const int number = k + shift[(size_t)strip * t->rows + row];
            const int z = order ? order[number] : number;
            assert_true(z >= A->row_ptr[row] && z < A->row_ptr[row + 1] && !seen[z]);
            assert_int_equal(A->col_idx[z] / STRIP_COLS, strip);
            assert_int_equal(code[k], index_of(row, A->col_idx[z]));
            seen[z] = true;
            nonzeros[row / t->tile_rows * (t->strips / 2) + strip / 2]++;
        }
    }
    free(code);
    free(start);
    free(shift);
    free(order);
    free(seen);
}

/* The format of A is what its definition says, with tiles of so many rows. */
static void assert_format(const csr_matrix *A, int tile_rows)
{
    device_csr d = pattern_on_device(A);
    tile_lists t;
    assert_int_equal(tile_lists_build(&d, tile_rows, &t), cudaSuccess);
    const int across = (int)((A->cols + 127) / 128), down = (int)((A->rows - 1) / tile_rows + 1);
    assert_int_equal(t.strips, 2 * across);
    assert_int_equal(t.rows, down * tile_rows);
    int *tile = to_host(t.d_tile, t.num_tiles * sizeof *tile);
    int *nonzeros = calloc((size_t)across * down, sizeof *nonzeros);
    assert_non_null(nonzeros);
    assert_codes(A, &t, nonzeros);
    int listed = 0;
    for (int k = 0; k < across * down; k++)
        if (nonzeros[k]) {
            assert_true(listed < t.num_tiles);
            assert_int_equal(tile[listed++], k);
        }
    assert_int_equal(listed, t.num_tiles);
    free(tile);
    free(nonzeros);
    tile_lists_free(&t);
    pattern_free(&d);
}

static void every_nonzero_has_its_code_and_place(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, cols;
        bool (*keep)(int64_t row, int64_t col);
    } CASES[] = {
        {1, 1, all},
        {3, 128, all},
        {130, 129, all},
        {64, 256, scattered},
        {65, 33, scattered},
        {200, 300, scattered},
        {300, 500, block_diagonal},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        csr_matrix A = dense_part(CASES[i].rows, CASES[i].cols, CASES[i].keep);
        assert_format(&A, 64);
        assert_format(&A, 128);
        csr_free(&A);
    }
}

/* 2 bytes a nonzero; of each listed tile 4 for a row of a strip, 4 for a chunk, 4 for itself. */
static void bytes_are_those_of_listed_tiles(void **state)
{
    (void)state;
    csr_matrix A = dense_part(300, 500, block_diagonal);
    device_csr d = pattern_on_device(&A);
    tile_lists t;
    assert_int_equal(tile_lists_build(&d, 64, &t), cudaSuccess);
    assert_int_equal(tile_lists_bytes(&t, A.nnz),
                     2 * A.nnz + t.num_tiles * (64 * 2 * 4 + 4 * 2 * 4 + 4));
    assert_true(t.num_tiles < 5 * 4);
    tile_lists_free(&t);
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
    assert_format(&A, 64);
    assert_format(&A, 256);
    csr_free(&A);
}

static void what_has_no_lists_is_refused(void **state)
{
    (void)state;
    assert_null(tile_lists_unsuited(0, 0));
    assert_null(tile_lists_unsuited(1 << 16, 1 << 15));
    assert_non_null(tile_lists_unsuited((1 << 16) + 1, 1 << 15));
    assert_non_null(tile_lists_unsuited(INT32_MAX, INT32_MAX));
}

static void nothing_stored_is_nothing_to_do(void **state)
{
    (void)state;
    static const int SIDES[][2] = {{0, 9}, {9, 0}, {131, 7}};
    for (int i = 0; i < 3; i++) {
        csr_matrix A;
        error_text error;
        tile_lists t;
        assert_int_equal(csr_alloc(&A, SIDES[i][0], SIDES[i][1], 0, false, &error), STATUS_OK);
        device_csr d = pattern_on_device(&A);
        assert_int_equal(tile_lists_build(&d, 64, &t), cudaSuccess);
        assert_int_equal(t.num_tiles, 0);
        assert_int_equal(tile_lists_bytes(&t, 0), 0);
        tile_lists_free(&t);
        pattern_free(&d);
        csr_free(&A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_nonzero_has_its_code_and_place),
        cmocka_unit_test(bytes_are_those_of_listed_tiles),
        cmocka_unit_test(any_pattern_is_sorted),
        cmocka_unit_test(what_has_no_lists_is_refused),
        cmocka_unit_test(nothing_stored_is_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
