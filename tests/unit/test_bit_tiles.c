/*
 * test_bit_tiles.c - bits of tiles: each nonzero has its bit and its place, no other bit is set, and the listed
 * tiles are those that hold a nonzero.
 */
#include "formats/bit_tiles.h"
#include "matrix/shapes.h"

#include "device_pattern.h"

/* Every set bit is of the nonzeros of A that its number says, and every nonzero has one bit. */
static void assert_bits(const csr_matrix *A, const bit_tiles *t, int *nonzeros)
{
    const size_t pieces = (size_t)t->strips * A->rows;
    uint32_t *bits = to_host(t->d_bits, pieces * STRIP_WORDS * sizeof *bits);
    int *first = to_host(t->d_first, pieces * sizeof *first);
    int *order = t->d_order ? to_host(t->d_order, A->nnz * sizeof *order) : NULL;
    int *begin = t->d_order ? to_host(t->d_begin, (A->nnz + 1) * sizeof *begin) : NULL;
    bool *seen = calloc(A->nnz + 1, sizeof *seen);
    assert_non_null(seen);
    int64_t set = 0;
    for (int s = 0; s < t->strips; s++)
        for (int64_t i = 0; i < A->rows; i++) {
            const size_t piece = (size_t)s * A->rows + i;
            for (int b = 0, below = 0; b < STRIP_COLS; b++) {
                if (!(bits[piece * STRIP_WORDS + b / 32] >> b % 32 & 1)) continue;
                const int number = first[piece] + below++;
                const int from = begin ? begin[number] : number;
                const int to = begin ? begin[number + 1] : number + 1;
                assert_true(from < to);
                for (int k = from; k < to; k++, set++) {
                    const int z = order ? order[k] : k;
                    assert_true(z >= A->row_ptr[i] && z < A->row_ptr[i + 1] && !seen[z]);
                    assert_int_equal(A->col_idx[z], s * STRIP_COLS + b);
                    seen[z] = true;
                }
                nonzeros[i / t->tile_rows * t->strips + s]++;
            }
        }
    assert_int_equal(set, A->nnz);
    free(bits);
    free(first);
    free(order);
    free(begin);
    free(seen);
}

/* The format of A is what its definition says, with tiles of so many rows. */
static void assert_format(const csr_matrix *A, int tile_rows)
{
    device_csr d = pattern_on_device(A);
    bit_tiles t;
    assert_int_equal(bit_tiles_build(&d, tile_rows, &t), cudaSuccess);
    const int down = (int)((A->rows - 1) / tile_rows + 1);
    assert_int_equal(t.strips, (A->cols + 127) / 128);
    int *tile = to_host(t.d_tile, t.num_tiles * sizeof *tile);
    int *nonzeros = calloc((size_t)t.strips * down, sizeof *nonzeros);
    assert_non_null(nonzeros);
    assert_bits(A, &t, nonzeros);
    int listed = 0;
    for (int k = 0; k < t.strips * down; k++)
        if (nonzeros[k]) {
            assert_true(listed < t.num_tiles);
            assert_int_equal(tile[listed++], k);
        }
    assert_int_equal(listed, t.num_tiles);
    free(tile);
    free(nonzeros);
    bit_tiles_free(&t);
    pattern_free(&d);
}

static void every_nonzero_has_its_bit_and_place(void **state)
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

/* 20 bytes for each row and strip of a listed tile, and 4 for the tile. */
static void bytes_are_those_of_listed_tiles(void **state)
{
    (void)state;
    csr_matrix A = dense_part(300, 500, block_diagonal);
    device_csr d = pattern_on_device(&A);
    bit_tiles t;
    assert_int_equal(bit_tiles_build(&d, 64, &t), cudaSuccess);
    assert_int_equal(bit_tiles_bytes(&t, A.nnz), t.num_tiles * (64 * 20 + 4));
    assert_true(t.num_tiles < 5 * 4);
    bit_tiles_free(&t);
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

static void what_has_no_bits_is_refused(void **state)
{
    (void)state;
    assert_null(bit_tiles_unsuited(0, 0));
    assert_null(bit_tiles_unsuited(1 << 16, 1 << 15));
    assert_non_null(bit_tiles_unsuited((1 << 16) + 1, 1 << 15));
    assert_non_null(bit_tiles_unsuited(INT32_MAX, INT32_MAX));
}

static void nothing_stored_is_nothing_to_do(void **state)
{
    (void)state;
    static const int SIDES[][2] = {{0, 9}, {9, 0}, {131, 7}};
    for (int i = 0; i < 3; i++) {
        csr_matrix A;
        error_text error;
        bit_tiles t;
        assert_int_equal(csr_alloc(&A, SIDES[i][0], SIDES[i][1], 0, false, &error), STATUS_OK);
        device_csr d = pattern_on_device(&A);
        assert_int_equal(bit_tiles_build(&d, 64, &t), cudaSuccess);
        assert_int_equal(t.num_tiles, 0);
        assert_int_equal(bit_tiles_bytes(&t, 0), 0);
        bit_tiles_free(&t);
        pattern_free(&d);
        csr_free(&A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_nonzero_has_its_bit_and_place),
        cmocka_unit_test(bytes_are_those_of_listed_tiles),
        cmocka_unit_test(any_pattern_is_sorted),
        cmocka_unit_test(what_has_no_bits_is_refused),
        cmocka_unit_test(nothing_stored_is_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
