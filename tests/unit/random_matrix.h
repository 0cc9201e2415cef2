/*
 * random_matrix.h - random matrices for property tests: every shape from empty to one long row,
 * with repeated columns in random order.
 */
#ifndef TEST_RANDOM_MATRIX_H
#define TEST_RANDOM_MATRIX_H

#include "matrix/csr.h"
#include "matrix/random.h"

/* A list of up to `most` entries in a random shape of up to rows x cols. Values are distinct small
 * multiples, so that a test can follow each entry. */
static inline coo_list random_list(uint64_t seed, int64_t *rows, int64_t *cols, int64_t most,
                                   bool with_values)
{
    error_text error;
    coo_list list;
    *rows = 1 + (int64_t)random_below(seed, 0, (uint64_t)*rows);
    *cols = 1 + (int64_t)random_below(seed, 1, (uint64_t)*cols);
    int64_t count = (int64_t)random_below(seed, 2, (uint64_t)most + 1);
    bool in_order = random_below(seed, 3, 4) == 0, one_row = random_below(seed, 4, 8) == 0;
    assert_int_equal(coo_init(&list, 0, with_values, &error), STATUS_OK);
    for (int64_t k = 0; k < count; k++) {
        uint64_t stream = random_substream(seed, (uint64_t)k);
        int64_t row = in_order  ? k * *rows / count
                      : one_row ? *rows / 2
                                : (int64_t)random_below(stream, 0, (uint64_t)*rows);
        int32_t col = (int32_t)random_below(stream, 1, (uint64_t)*cols);
        float value = (float)(k + 1) * 0.25f;
        assert_int_equal(coo_push(&list, (int32_t)row, col, value, &error), STATUS_OK);
    }
    return list;
}

static inline csr_matrix random_matrix(uint64_t seed, int64_t rows, int64_t cols, int64_t most,
                                       bool with_values)
{
    csr_matrix A;
    error_text error;
    coo_list list = random_list(seed, &rows, &cols, most, with_values);
    assert_int_equal(csr_from_coo(&list, rows, cols, &A, "random", &error), STATUS_OK);
    return A;
}

#endif
