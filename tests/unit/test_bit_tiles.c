/*
 * test_bit_tiles.c - bits of tiles: each nonzero has its bit and its place, no other bit is set, and the listed
 * tiles are those that hold a nonzero.
 */
#include "formats/bit_tiles.h"
#include "matrix/shapes.h"

#include "device_pattern.h"

/* The format of A is what its definition says, with tiles of so many rows. */
static void assert_format(const csr_matrix *A, int tile_rows)
{
    device_csr d = pattern_on_device(A);
    bit_tiles t;
    assert_int_equal(bit_tiles_build(&d, tile_rows, &t), cudaSuccess);
    const size_t pieces = (size_t)t.strips * A->rows;
    assert_int_equal(t.strips, (A->cols + 127) / 128);
    uint32_t *bits = to_host(t.d_bits, pieces * STRIP_WORDS * sizeof *bits);
    int *first = to_host(t.d_first, pieces * sizeof *first);
    int *tile = to_host(t.d_tile, t.num_tiles * sizeof *tile);
    const int across = t.strips, down = (int)((A->rows - 1) / tile_rows + 1);
    int *nonzeros = calloc((size_t)across * down, sizeof *nonzeros);
    assert_non_null(nonzeros);

    int64_t set = 0;
    for (size_t i = 0; i < pieces * STRIP_WORDS; i++)
        set += __builtin_popcount(bits[i]);
    assert_int_equal(set, A->nnz);
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t z = A->row_ptr[i]; z < A->row_ptr[i + 1]; z++) {
            const int strip = A->col_idx[z] / 128, bit = A->col_idx[z] % 128;
            const size_t piece = (size_t)strip * A->rows + i;
            int below = 0;
            for (int b = 0; b < bit; b++)
                below += bits[piece * STRIP_WORDS + b / 32] >> b % 32 & 1;
            assert_true(bits[piece * STRIP_WORDS + bit / 32] >> bit % 32 & 1);
            assert_int_equal(first[piece] + below, z);
            nonzeros[i / tile_rows * across + strip]++;
        }
    int listed = 0;
    for (int k = 0; k < across * down; k++)
        if (nonzeros[k]) {
            assert_true(listed < t.num_tiles);
            assert_int_equal(tile[listed++], k);
        }
    assert_int_equal(listed, t.num_tiles);

    free(bits);
    free(first);
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
    assert_int_equal(bit_tiles_bytes(&t), t.num_tiles * (64 * 20 + 4));
    assert_true(t.num_tiles < 5 * 4);
    bit_tiles_free(&t);
    pattern_free(&d);
    csr_free(&A);
}

static void what_has_no_bits_is_refused(void **state)
{
    (void)state;
    csr_matrix A;
    error_text error;
    bit_tiles t;
    assert_int_equal(make_everything(&A, &error),
                     STATUS_OK); /* columns in any order, and repeated */
    device_csr d = pattern_on_device(&A);
    assert_int_equal(bit_tiles_build(&d, 64, &t), cudaErrorNotSupported);
    pattern_free(&d);
    csr_free(&A);
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
        assert_int_equal(bit_tiles_bytes(&t), 0);
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
        cmocka_unit_test(what_has_no_bits_is_refused),
        cmocka_unit_test(nothing_stored_is_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
