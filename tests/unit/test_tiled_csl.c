/*
 * test_tiled_csl.c - Tiled-CSL. Host and device make the same bits. What they make is the matrix again, read by the
 * definition in tiled_csl.h. Its order meets no bank twice. The bytes are those of the formula.
 */
#include "formats/tiled_csl.h"
#include "pruned_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* Reads the matrix back; the caller frees it. What fills up tiles must be zero, and beside them. */
static element *decode(const tiled_csl *m, const tca_bme *repeats, int64_t *count)
{
    const int64_t most = (int64_t)m->num_words + repeats->num_repeats;
    element *found = malloc((size_t)most * sizeof *found + 1);
    assert_non_null(found);
    *count = 0;
    for (int tile = 0; tile < m->down * m->across; tile++) {
        int filling = 0;
        for (int k = m->offset[tile]; k < m->offset[tile + 1]; k++) {
            const int place = (int)(m->word[k] & 0xffff), row = place / 72, column = place % 72;
            if (column >= 64) {
                assert_int_equal(column, 64);
                assert_int_equal(row, filling++);
                assert_int_equal(m->word[k] >> 16, 0);
                continue;
            }
            assert_int_equal(filling, 0); /* only at the end */
            found[(*count)++] =
                (element){tile / m->across * 64 + row, tile % m->across * 64 + column,
                          (uint16_t)(m->word[k] >> 16)};
        }
        assert_in_range(filling, 0, 3);
        assert_true(m->offset[tile + 1] - m->offset[tile] <= m->longest);
    }
    for (int row = 0; row < repeats->rows; row++)
        for (int k = repeats->repeat_ptr[row]; k < repeats->repeat_ptr[row + 1]; k++)
            found[(*count)++] = (element){row, repeats->repeat_col[k], repeats->repeat_value[k]};
    return found;
}

static void assert_device_agrees(const sample *s, const tiled_csl *want)
{
    tca_bme from;
    tiled_csl m;
    spmm_matrix d_A = sample_to_device(s);
    const size_t tiles = (size_t)want->down * (size_t)want->across;
    assert_int_equal(tca_bme_create(&d_A, &from), cudaSuccess);
    assert_int_equal(tiled_csl_build(ON_DEVICE, &from, &m), cudaSuccess);
    assert_int_equal(m.down, want->down);
    assert_int_equal(m.across, want->across);
    assert_int_equal(m.longest, want->longest);
    assert_int_equal(m.num_words, want->num_words);
    assert_on_device(m.offset, want->offset, (tiles + 1) * 4, "offsets");
    assert_on_device(m.word, want->word, (size_t)m.num_words * 4, "words");
    tiled_csl_free(&m);
    tca_bme_destroy(&from);
    sample_free_on_device(&d_A);
}

static void check(sample s)
{
    error_text error;
    tca_bme from;
    tiled_csl m;
    int64_t count;
    assert_int_equal(tca_bme_encode(&s.A, s.values, &from, &error), STATUS_OK);
    assert_int_equal(tiled_csl_build(ON_HOST, &from, &m), cudaSuccess);
    assert_device_agrees(&s, &m);
    element *found = decode(&m, &from, &count);
    assert_same_elements(&s, found, count);
    const int64_t tiles = (s.A.rows + 63) / 64 * ((s.A.cols + 63) / 64);
    const int64_t formula = 4 * (tiles + 1) + 4 * (s.A.nnz - from.num_repeats);
    const int64_t more = tiled_csl_bytes(&m) - formula;
    assert_true(more >= 0 && more <= 12 * tiles && more % 4 == 0);
    free(found);
    tiled_csl_free(&m);
    tca_bme_free(&from);
    sample_free(&s);
}

static void both_encoders_and_the_definition_agree(void **state)
{
    (void)state;
    check_samples(check);
}

/* Wavefronts that stores of 32 neighbouring words take, beyond one each: words of one bank, other than those of one
 * 32-bit word, take turns. */
static int conflicts(const tiled_csl *m)
{
    int more = 0;
    for (int first = 0; first < m->num_words; first += 32) {
        int words_of[32] = {0}, most = 1;
        uint8_t seen[64 * 36] = {0};
        for (int k = first; k < first + 32 && k < m->num_words; k++) {
            const int word = (int)(m->word[k] & 0xffff) / 2;
            if (!seen[word]) words_of[word % 32]++;
            seen[word] = 1;
            if (words_of[word % 32] > most) most = words_of[word % 32];
        }
        more += most - 1;
    }
    return more;
}

static int word_order(const void *a, const void *b)
{
    const int x = (int)(*(const uint32_t *)a & 0xffff), y = (int)(*(const uint32_t *)b & 0xffff);
    return x - y;
}

/* A full tile has no conflict at all; others less than half of those that row after row would have. */
static void neighbours_go_to_different_banks(void **state)
{
    (void)state;
    static const double SPARSITIES[] = {0, .5, .6, .7};
    for (int i = 0; i < 4; i++) {
        error_text error;
        tca_bme from;
        tiled_csl m;
        sample s = make(64, 64, SPARSITIES[i], 0, false, 3);
        assert_int_equal(tca_bme_encode(&s.A, s.values, &from, &error), STATUS_OK);
        assert_int_equal(tiled_csl_build(ON_HOST, &from, &m), cudaSuccess);
        const int dealt = conflicts(&m);
        qsort(m.word, (size_t)m.num_words, sizeof *m.word, word_order);
        const int by_rows = conflicts(&m);
        if (i == 0) assert_int_equal(dealt, 0);
        if (i > 0 && dealt * 2 >= by_rows)
            fail_msg("%d conflicts, and %d row after row", dealt, by_rows);
        tiled_csl_free(&m);
        tca_bme_free(&from);
        sample_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_encoders_and_the_definition_agree),
        cmocka_unit_test(neighbours_go_to_different_banks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
