/*
 * test_mlp.c - what apps/mlp shares with others that train, without kernels: what drops and grows, and the digits.
 */
#include "matrix/random.h"
#include "tests/tap.h"
#include "training/digits.h"
#include "training/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 2 x 4:  .5  0 -.1  0      G: 9 -3 9 2
 *          0  2   0 .2         1  9 4 9 */
static int64_t row_ptr[] = {0, 2, 4};
static int32_t col_idx[] = {0, 2, 3, 1};
static float values[] = {.5f, -.1f, .2f, 2};
static const csr_matrix SMALL = {
    .rows = 2, .cols = 4, .nnz = 4, .row_ptr = row_ptr, .col_idx = col_idx, .values = values};
static const float G[] = {9, -3, 9, 2, 1, 9, 4, 9};

/* Whether the dense form of `A` is `expected`; its columns ascend; NAN is a weight of 0. */
static bool is(const csr_matrix *A, const float *expected)
{
    bool equal = A->row_ptr[A->rows] == A->nnz;
    int64_t z = 0;
    for (int64_t place = 0; place < A->rows * A->cols; place++) {
        const int64_t i = place / A->cols, j = place % A->cols;
        const bool there = z < A->row_ptr[i + 1] && A->col_idx[z] == j;
        const float value = there ? A->values[z] : 0;
        equal = equal && there == (isnan(expected[place]) || expected[place] != 0) &&
                (isnan(expected[place]) ? value == 0 : value == expected[place]);
        z += there;
    }
    return equal && z == A->nnz;
}

static void test_change(const char *what, int drops, int grows, const float *expected)
{
    csr_matrix next;
    error_text error;
    const enum status status = topology_change(&SMALL, drops, grows, G, 1, &next, &error);
    tap_ok(status == STATUS_OK && is(&next, expected), "%s", what);
    csr_free(&next);
}

/* A large one, whose answer is counted: as many weights, the dropped ones gone, none of them grown again. */
static void test_random(uint64_t seed, const float *of, int64_t rows, int64_t cols)
{
    csr_matrix W, next;
    error_text error;
    int64_t z = 0;
    if (csr_alloc(&W, rows, cols, rows * cols / 4, true, &error) != STATUS_OK) return;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j += 4, z++) {
            W.col_idx[z] = (int32_t)(j + random_below(seed, z, 4));
            W.values[z] = random_symmetric(seed + 1, z);
        }
        W.row_ptr[i + 1] = z;
    }
    const int64_t k = llround(.3 * W.nnz);
    const enum status status = topology_change(&W, k, k, of, seed, &next, &error);
    int64_t same = 0, grown = 0, again = 0;
    double least_kept = 2, most_dropped = 0;
    for (int64_t i = 0; i < rows && status == STATUS_OK; i++)
        for (int64_t a = W.row_ptr[i], b = next.row_ptr[i]; a < W.row_ptr[i + 1]; a++) {
            while (b < next.row_ptr[i + 1] && next.col_idx[b] < W.col_idx[a])
                b++;
            const bool stays = b < next.row_ptr[i + 1] && next.col_idx[b] == W.col_idx[a];
            if (stays && next.values[b] == W.values[a]) {
                same++;
                least_kept = fmin(least_kept, fabs((double)W.values[a]));
            } else {
                again += stays;
                most_dropped = fmax(most_dropped, fabs((double)W.values[a]));
            }
        }
    for (int64_t b = 0; b < next.nnz; b++)
        grown += next.values[b] == 0;
    tap_ok(status == STATUS_OK && next.nnz == W.nnz && same == W.nnz - k && grown == k &&
               again == 0 && most_dropped <= least_kept,
           "%lld x %lld, %s: %lld of %lld stay, %lld grow", (long long)rows, (long long)cols,
           of ? "by gradient" : "at random", (long long)same, (long long)W.nnz, (long long)grown);
    csr_free(&W);
    csr_free(&next);
}

static void test_digits(void)
{
    static float a[DIGITS_PIXELS], b[2 * DIGITS_PIXELS];
    int seen[DIGITS_CLASSES] = {0}, bright = 0;
    bool same = true, in_range = true;
    for (int number = 0; number < 500; number++) {
        const int digit = digits_draw(3, number, a, 1);
        same = same && digits_draw(3, number, b, 2) == digit;
        int inked = 0;
        for (int p = 0; p < DIGITS_PIXELS; p++) {
            same = same && a[p] == b[2 * p];
            in_range = in_range && a[p] >= 0 && a[p] <= 1;
            inked += a[p] > .6f;
        }
        bright += inked >= 15 && inked < 300;
        seen[digit]++;
    }
    int least = 500;
    for (int c = 0; c < DIGITS_CLASSES; c++)
        least = seen[c] < least ? seen[c] : least;
    tap_ok(same, "an image depends on seed and number alone, and not on its stride");
    tap_ok(in_range && bright == 500, "pixels lie in [0, 1], and each image has some ink");
    tap_ok(least >= 25, "every digit comes, at least %d times of 500", least);
}

int main(void)
{
    float *of = malloc(64 * 100 * sizeof *of);
    for (int i = 0; of && i < 64 * 100; i++)
        of[i] = random_symmetric(9, i);
    /* Two of four: -.1 and .2 go, and where they were nothing grows. */
    test_change("smallest weights go, and those of the largest gradient grow", 2, 2,
                (const float[]){.5f, NAN, 0, 0, 0, 2, NAN, 0});
    test_change("one of them", 1, 1, (const float[]){.5f, 0, 0, 0, 0, 2, NAN, .2f});
    test_change("nothing", 0, 0, (const float[]){.5f, 0, -.1f, 0, 0, 2, 0, .2f});
    test_change("all of them", 4, 4, (const float[]){0, NAN, 0, NAN, NAN, 0, NAN, 0});
    test_change("more go than grow", 3, 1, (const float[]){0, 0, 0, 0, 0, 2, NAN, 0});
    test_change("more grow than go, but no more than there is room", 1, 9,
                (const float[]){.5f, NAN, 0, NAN, NAN, 2, NAN, .2f});
    test_random(4, of, 64, 100);
    test_random(5, NULL, 64, 100);
    test_random(6, NULL, 1, 4);
    test_digits();
    free(of);
    return tap_done();
}
