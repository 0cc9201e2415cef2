/*
 * test_two_four.c - 2:4 and CSR. Host and device make the same bits. What they make is the matrix again, read by
 * the definition in two_four.h. The bytes are those of the formula.
 */
#include "formats/two_four.h"
#include "pruned_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Finds the places of a four's two stored elements in the metadata. */
static void places_of(const two_four *m, int row, int four_of_row, int place[2])
{
    const int column = four_of_row * 4, t = column % 64 / 16;
    const size_t group = (size_t)(row / 64) * (size_t)m->across + (size_t)(column / 64);
    const size_t lane = (size_t)(row % 8 * 4 + t);
    const uint32_t word = m->metadata[(group * 4 + (size_t)(row % 64 / 16)) * 32 + lane];
    const uint32_t half = row % 16 < 8 ? word & 0xffff : word >> 16;
    place[0] = (int)(half >> (column % 16) & 3);
    place[1] = (int)(half >> (column % 16 + 2) & 3);
}

/* A stored element by the figure of the ISA: a0 to a7 of a fragment of 32 columns. */
static uint16_t stored_value(const two_four *m, int row, int four_of_row, int which)
{
    const int column = four_of_row * 4, stored = column % 32 / 2 + which; /* of 16 */
    const size_t group = (size_t)(row / 64) * (size_t)m->across + (size_t)(column / 64);
    const size_t fragment = (group * 4 + (size_t)(row % 64 / 16)) * 2 + (size_t)(column % 64 / 32);
    const int lane = row % 8 * 4 + stored % 8 / 2;
    const int element = stored % 2 + (row % 16 < 8 ? 0 : 2) + (stored < 8 ? 0 : 4);
    return m->values[(fragment * 32 + (size_t)lane) * 8 + (size_t)element];
}

/* Reads the matrix back; the caller frees it. Rows and columns that only fill up groups must be empty. */
static element *decode(const two_four *m, int64_t *count)
{
    const int64_t most = (int64_t)m->down * m->across * GROUP_STORED + m->num_rest;
    element *found = malloc((size_t)most * sizeof *found + 1);
    assert_non_null(found);
    *count = 0;
    for (int row = 0; row < m->down * 64; row++)
        for (int four = 0; four < m->across * 16; four++) {
            int place[2];
            places_of(m, row, four, place);
            if (place[0] >= place[1]) fail_msg("row %d, four %d: places do not ascend", row, four);
            for (int which = 0; which < 2; which++) {
                const uint16_t value = stored_value(m, row, four, which);
                const int column = 4 * four + place[which];
                if (!value) continue; /* fills up */
                assert_true(row < m->rows && column < m->cols);
                found[(*count)++] = (element){row, column, value};
            }
        }
    for (int row = 0; row < m->rows; row++)
        for (int k = m->rest_ptr[row]; k < m->rest_ptr[row + 1]; k++)
            found[(*count)++] = (element){row, m->rest_col[k], m->rest_value[k]};
    return found;
}

static void assert_device_agrees(const sample *s, const two_four *want)
{
    tca_bme from;
    two_four m;
    spmm_matrix d_A = sample_to_device(s);
    const size_t groups = (size_t)want->down * (size_t)want->across, rest = (size_t)want->num_rest;
    assert_int_equal(tca_bme_create(&d_A, &from), cudaSuccess);
    assert_int_equal(two_four_build(ON_DEVICE, &from, &m), cudaSuccess);
    assert_int_equal(m.down, want->down);
    assert_int_equal(m.across, want->across);
    assert_int_equal(m.num_rest, want->num_rest);
    assert_on_device(m.values, want->values, groups * GROUP_STORED * 2, "values");
    assert_on_device(m.metadata, want->metadata, groups * GROUP_METADATA * 4, "metadata");
    assert_on_device(m.rest_ptr, want->rest_ptr, ((size_t)want->rows + 1) * 4, "rest_ptr");
    assert_on_device(m.rest_col, want->rest_col, rest * 4, "rest_col");
    assert_on_device(m.rest_value, want->rest_value, rest * 2, "rest_value");
    two_four_free(&m);
    tca_bme_destroy(&from);
    sample_free_on_device(&d_A);
}

/* Counts what must be left over: in each four all but two elements that are not +0, and all repeats. */
static int64_t rest_expected(const sample *s)
{
    const csr_matrix *A = &s->A;
    const size_t fours = (size_t)(A->cols + 3) / 4;
    int *kept = malloc(fours * sizeof *kept + 1), rest = 0;
    uint8_t *seen = malloc((size_t)A->cols + 1);
    assert_true(kept && seen);
    for (int64_t i = 0; i < A->rows; i++) {
        memset(kept, 0, fours * sizeof *kept);
        memset(seen, 0, (size_t)A->cols + 1);
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int column = A->col_idx[k];
            const bool fits = !seen[column] && s->values[k] != 0 && kept[column / 4] < 2;
            seen[column] = 1;
            kept[column / 4] += fits;
            rest += !fits;
        }
    }
    free(kept);
    free(seen);
    return rest;
}

static void check(sample s)
{
    error_text error;
    tca_bme from;
    two_four m;
    int64_t count;
    for (int64_t k = 0; k < s.A.nnz; k += 7)
        s.values[k] = k % 2 ? 0 : 0x8000; /* zeros that are stored */
    assert_int_equal(tca_bme_encode(&s.A, s.values, &from, &error), STATUS_OK);
    assert_int_equal(two_four_build(ON_HOST, &from, &m), cudaSuccess);
    assert_device_agrees(&s, &m);
    element *found = decode(&m, &count);
    assert_same_elements(&s, found, count);
    assert_int_equal(m.num_rest, rest_expected(&s));
    const int64_t groups = (s.A.rows + 63) / 64 * ((s.A.cols + 63) / 64);
    assert_int_equal(two_four_bytes(&m),
                     groups * 64 * 64 * 9 / 8 + 4 * (s.A.rows + 1) + 6 * (int64_t)m.num_rest);
    free(found);
    two_four_free(&m);
    tca_bme_free(&from);
    sample_free(&s);
}

static void both_encoders_and_the_definition_agree(void **state)
{
    (void)state;
    check_samples(check);
}

/* All 16 patterns of a four, a row each: which two are kept, where, and what is left over. */
static void each_pattern_of_a_four(void **state)
{
    (void)state;
    error_text error;
    sample s = sample_alloc(16, 4, 64);
    int64_t at = 0;
    for (int row = 0; row < 16; row++) {
        for (int place = 0; place < 4; place++)
            if (row >> place & 1) {
                s.A.col_idx[at] = place;
                s.values[at++] = (uint16_t)(100 + place);
            }
        s.A.row_ptr[row + 1] = at;
    }
    s.A.nnz = at;
    tca_bme from;
    two_four m;
    assert_int_equal(tca_bme_encode(&s.A, s.values, &from, &error), STATUS_OK);
    assert_int_equal(two_four_build(ON_HOST, &from, &m), cudaSuccess);
    /* Places and values that the two slots must have; 0 fills up. */
    static const int WANT[16][4] = {
        {2, 3, 0, 0},     {0, 3, 100, 0},   {1, 3, 101, 0},   {0, 1, 100, 101},
        {2, 3, 102, 0},   {0, 2, 100, 102}, {1, 2, 101, 102}, {0, 1, 100, 101},
        {2, 3, 0, 103},   {0, 3, 100, 103}, {1, 3, 101, 103}, {0, 1, 100, 101},
        {2, 3, 102, 103}, {0, 2, 100, 102}, {1, 2, 101, 102}, {0, 1, 100, 101}};
    for (int row = 0; row < 16; row++) {
        int place[2];
        places_of(&m, row, 0, place);
        for (int which = 0; which < 2; which++) {
            assert_int_equal(place[which], WANT[row][which]);
            assert_int_equal(stored_value(&m, row, 0, which), WANT[row][2 + which]);
        }
    }
    assert_int_equal(m.num_rest, 6); /* one of each of four patterns, two of the full one */
    two_four_free(&m);
    tca_bme_free(&from);
    sample_free(&s);
}

/* 9/8 bytes an element, and 4 times CSR's bytes is the border. */
static void sparse_matrices_are_unsuited(void **state)
{
    (void)state;
    assert_false(two_four_unsuited(3861, 3861, 0)); /* less than 16 MB */
    assert_true(two_four_unsuited(3862, 3862, 0));
    assert_true(two_four_unsuited(100000, 10000, 46803333));
    assert_false(two_four_unsuited(100000, 10000, 46810000));
    assert_true(two_four_unsuited(50000, 40000, INT64_C(2000000000)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_encoders_and_the_definition_agree),
        cmocka_unit_test(each_pattern_of_a_four),
        cmocka_unit_test(sparse_matrices_are_unsuited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
