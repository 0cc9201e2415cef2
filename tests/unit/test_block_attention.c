/*
 * test_block_attention.c - apps/block_attention: which blocks the pattern has, for one head and for all, and what the arrays of each
 * variant take.
 */
#include "apps/block_attention/attend.h"
#include "tests/tap.h"

#include <string.h>

/* The drawing of pattern.h: 8 block rows, a band of 2, and the last of every 4 block columns. */
static const char *const DRAWING[] = {"1.......", "11......", ".11.....", "..11....",
                                      "...11...", "...111..", "...1.11.", "...1..11"};
static const block_pattern DRAWN = {.length = 8 * 32, .block = 32, .band = 2, .stride = 4};

static void test_drawing(void)
{
    int wrong = 0;
    for (int row = 0; row < 8; row++)
        for (int col = 0; col < 8; col++)
            wrong += pattern_has(&DRAWN, row, col) != (DRAWING[row][col] == '1');
    tap_ok(wrong == 0, "the pattern is the drawn one, but for %d blocks", wrong);
    tap_ok(pattern_blocks(&DRAWN) == 18, "which has 18 blocks");
}

/* Among other things the published size: blocks of the band are 4 * 128 - 6; column k = 7, 15, ..., 119 has 124 - k below it. */
static void test_counts(void)
{
    const block_pattern published = {8192, 64, 4, 8}, band = {640, 64, 3, 0}, one = {64, 64, 1, 0};
    const block_pattern all = pattern_dense(&published), every = {320, 32, 1, 1};
    tap_ok(pattern_blocks(&published) == 4 * 128 - 6 + 15 * 124 - 15 * 63, "1421 blocks at 8192");
    tap_ok(pattern_blocks(&all) == 128 * 129 / 2, "all causal blocks");
    tap_ok(pattern_blocks(&band) == 3 * 10 - 3, "a band alone");
    tap_ok(pattern_blocks(&every) == 10 * 11 / 2, "a stride of 1 has every block column");
    tap_ok(pattern_blocks(&one) == 1, "one block");
}

static void test_attends(void)
{
    int wrong = 0;
    const block_pattern all = pattern_dense(&DRAWN);
    for (int query = 0; query < DRAWN.length; query++)
        for (int key = 0; key < DRAWN.length; key++) {
            const bool has = DRAWING[query / 32][key / 32] == '1';
            wrong += pattern_attends(&DRAWN, query, key) != (has && key <= query);
            wrong += pattern_attends(&all, query, key) != (key <= query);
        }
    tap_ok(wrong == 0, "inside a block a query attends to keys up to itself");
}

static void test_layout(int heads)
{
    csr_matrix A;
    error_text error = {""};
    const enum status status = pattern_make(&DRAWN, heads, &A, &error);
    int wrong = status != STATUS_OK || A.rows != 8 * heads || A.cols != 8 * heads ||
                A.nnz != 18 * heads || A.block != 32;
    for (int row = 0; row < 8 * heads && !wrong; row++) {
        int64_t at = A.row_ptr[row];
        for (int col = 0; col < 8; col++)
            if (DRAWING[row % 8][col] == '1') wrong += A.col_idx[at++] != row / 8 * 8 + col;
        wrong += at != A.row_ptr[row + 1];
    }
    tap_ok(!wrong, "the layout of %d heads: squares along the diagonal%s", heads, error.text);
    csr_free(&A);
}

/* Bytes that a variant says that it takes, and those that it should. */
static void test_bytes(enum variant variant, enum precision precision, size_t scores, size_t lists)
{
    attend_settings is = {.variant = variant,
                          .precision = precision,
                          .pattern = DRAWN,
                          .heads = 3,
                          .d = 32,
                          .unit = NUM_ONE_PASS_UNITS};
    attend a;
    error_text error = {""};
    const char *why = attend_unsuited(&is);
    const enum status status = why ? STATUS_SKIPPED : attend_open(&a, &is, &error);
    if (status != STATUS_OK) {
        tap_ok(false, "%s: %s", variant_name(variant), why ? why : error.text);
        return;
    }
    const size_t each = 3 * 256 * 32 * precision_format(precision)->bytes;
    tap_ok(attend_score_bytes(&a) == scores, "%s in %s: %zu bytes of scores, %zu expected",
           variant_name(variant), precision_name(precision), attend_score_bytes(&a), scores);
    tap_ok(rooms_bytes(&a.rooms) == 4 * each + scores + lists &&
               attend_bytes(&a) >= rooms_bytes(&a.rooms),
           "and Q, K, V, O and lists: %zu", rooms_bytes(&a.rooms));
    attend_close(&a);
}

/* Too large a problem is refused with the sum, before anything is taken. */
static void test_too_large(void)
{
    const attend_settings is = {
        .variant = DENSE, .pattern = {1 << 20, 64, 4, 8}, .heads = 1024, .d = 64};
    attend a;
    error_text error = {""};
    const enum status status = attend_open(&a, &is, &error);
    tap_ok(status == STATUS_MEMORY && strstr(error.text, "dense takes 4504699.") &&
               strstr(error.text, "(scores: 4503599.63 GB)") && !a.d_Q,
           "2^20 tokens and 1024 heads: %s", error.text);
}

int main(void)
{
    test_drawing();
    test_counts();
    test_attends();
    test_layout(1);
    test_layout(3);
    test_bytes(THREE_STEPS, PRECISION_FP16, 3 * 18 * 2048, (3 * 8 + 1 + 3 * 18) * 4);
    test_bytes(THREE_STEPS, PRECISION_FP32, 3 * 18 * 4096, (3 * 8 + 1 + 3 * 18) * 4);
    test_bytes(ONE_PASS, PRECISION_BF16, 0, (8 + 1 + 18) * 4);
    test_bytes(DENSE, PRECISION_FP16, 3 * 256 * 256 * 2, 0);
    test_bytes(DENSE_ONE_PASS, PRECISION_FP16, 0, (8 + 1 + 36) * 4);
    test_too_large();
    return tap_done();
}
