/*
 * generate_mask.c - "mask:rows=12288,band=256": the mask of a sparse transformer, which keys a query attends to.
 *
 * Causal: row i holds columns up to i. Those less than `band` behind i are all there, the diagonal among them. Of the
 * others a share is, the sooner the nearer: column j with probability c / (i - j), at most 1. The constant c follows
 * from the share, or from the number of nonzeros.
 *
 * The number is exact, for diagonal i - j = k gets its (rows - k) c / k places to within one: each is rounded down, and
 * the largest remainders are rounded up. Places of a diagonal are drawn without replacement, every choice equally
 * likely. With 12,288 rows, a band of 256 and a share of 0.05 these are the 6,732,614 nonzeros of T. Gale, M. Zaharia,
 * C. Young, E. Elsen: Sparse GPU Kernels for Deep Learning, SC 2020.
 */
#include "matrix/generate.h"
#include "matrix/generate_lengths.h"
#include "matrix/memory.h"
#include "matrix/random.h"

#include <math.h>
#include <stdlib.h>

enum key { ROWS, BAND, SHARE, NNZ, SEED };

/* Each place below the band is asked: 2^33 of them take a core about half a minute. */
#define MOST_ROWS 131072

static const generator_key keys[] = {
    [ROWS] = {"rows", "rows and columns (default 1024)", 1, MOST_ROWS, true, NULL},
    [BAND] = {"band", "diagonals that are full (default 256)", 1, MOST_ROWS, true, NULL},
    [SHARE] = {"share", "of the places beyond them (default 0.05)", 0, 1, false, NULL},
    [NNZ] = {"nnz", "nonzeros, in place of share", 0, LARGEST_SEED, true, NULL},
    [SEED] = {"seed", "seed (default 1)", 0, LARGEST_SEED, true, NULL},
};

/* Places of the first so many diagonals of a triangle. */
static int64_t places_up_to(int64_t rows, int64_t diagonals)
{
    return rows * diagonals - diagonals * (diagonals - 1) / 2;
}

/* ---- quotas ----------------------------------------------------------------------------------- */

/* Places that diagonal k should have, not rounded. */
static double quota(int64_t rows, int64_t k, double c)
{
    const double places = (double)(rows - k);
    return c < (double)k ? places * c / (double)k : places;
}

static double all_quotas(int64_t rows, int64_t band, double c)
{
    double sum = 0;
    for (int64_t k = band; k < rows; k++)
        sum += quota(rows, k, c);
    return sum;
}

/* The largest c, to the last bit, whose quotas add up to `wanted` at most; they grow with c, and at c = rows all
 * diagonals are full. */
static double find_constant(int64_t rows, int64_t band, int64_t wanted)
{
    double low = 0, high = (double)rows;
    if (all_quotas(rows, band, high) <= (double)wanted) return high;
    for (double middle = high / 2; middle > low && middle < high; middle = low + (high - low) / 2) {
        if (all_quotas(rows, band, middle) <= (double)wanted)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Part of a place that rounding down took from a diagonal. */
typedef struct part_left {
    double size;
    int64_t diagonal;
} part_left;

/* The largest first; of equal ones the nearer diagonal. */
static int compare_remainders(const void *a, const void *b)
{
    const part_left *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return (x->diagonal > y->diagonal) - (x->diagonal < y->diagonal);
}

/* Fills first[0 .. rows - band]: entries of diagonal band + d are numbers first[d] .. first[d + 1] - 1 of `wanted`. */
static bool share_among_diagonals(int64_t rows, int64_t band, int64_t wanted, int64_t *first)
{
    const int64_t count = rows - band;
    part_left *rest = malloc(((size_t)count + 1) * sizeof *rest);
    if (!rest) return false;
    const double c = find_constant(rows, band, wanted);
    int64_t left = wanted;
    for (int64_t d = 0; d < count; d++) {
        const double exact = quota(rows, band + d, c);
        first[d + 1] = (int64_t)exact;
        rest[d] = (part_left){exact - (double)first[d + 1], d};
        left -= first[d + 1];
    }
    qsort(rest, (size_t)count, sizeof *rest, compare_remainders);
    for (int64_t n = 0; left > 0; n = (n + 1) % count) {
        const int64_t d = rest[n].diagonal;
        if (first[d + 1] == rows - band - d) continue; /* it is full */
        first[d + 1]++;
        left--;
    }
    free(rest);
    first[0] = 0;
    for (int64_t d = 0; d < count; d++)
        first[d + 1] += first[d];
    return true;
}

/* ---- places ----------------------------------------------------------------------------------- */

/* Draws `count` of `places` numbers, in ascending order, each choice equally likely: number t is taken with the
 * probability that it is among those still wanted of those still left. */
static void draw_places(int64_t places, int64_t count, uint64_t seed, int32_t *place)
{
    for (int64_t t = 0, taken = 0; taken < count; t++) {
        if ((int64_t)random_below(seed, (uint64_t)t, (uint64_t)(places - t)) < count - taken)
            place[taken++] = (int32_t)t;
    }
}

/* Writes the columns of all rows, ascending: first those drawn, from the farthest diagonal on, then the band. Place t
 * of diagonal k is row k + t, column t. */
static void fill(csr_matrix *A, int64_t band, const int64_t *first, const int32_t *place)
{
    int64_t *next = A->row_ptr; /* moves through row i, and ends where row i + 1 begins */
    for (int64_t d = A->rows - band - 1; d >= 0; d--)
        for (int64_t n = first[d]; n < first[d + 1]; n++)
            A->col_idx[next[band + d + place[n]]++] = place[n];
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t j = i < band ? 0 : i - band + 1; j <= i; j++)
            A->col_idx[next[i]++] = (int32_t)j;
    for (int64_t i = A->rows; i > 0; i--)
        A->row_ptr[i] = A->row_ptr[i - 1];
    A->row_ptr[0] = 0;
}

/* A has room for the band and `beyond` entries more. */
static enum status draw(csr_matrix *A, int64_t band, int64_t beyond, uint64_t seed,
                        error_text *error)
{
    const int64_t rows = A->rows, bytes = beyond * (int64_t)sizeof(int32_t);
    enum status status = memory_check(bytes, "drawing the mask", error);
    if (status != STATUS_OK) return status;
    int64_t *first = malloc((size_t)(rows - band + 1) * sizeof *first);
    int32_t *place = malloc((size_t)bytes + 1);
    if (!first || !place || !share_among_diagonals(rows, band, beyond, first)) {
        free(first);
        free(place);
        return fail(error, STATUS_MEMORY, "no memory to draw the mask");
    }
#pragma omp parallel for schedule(dynamic, 16)
    for (int64_t d = 0; d < rows - band; d++)
        draw_places(rows - band - d, first[d + 1] - first[d], random_substream(seed, (uint64_t)d),
                    place + first[d]);

    for (int64_t d = 0; d < rows - band; d++)
        for (int64_t n = first[d]; n < first[d + 1]; n++)
            A->row_ptr[band + d + place[n] + 1]++;
    for (int64_t i = 0; i < rows; i++)
        A->row_ptr[i + 1] += i < band ? i + 1 : band;
    lengths_to_offsets(A);
    fill(A, band, first, place);
    free(first);
    free(place);
    return STATUS_OK;
}

/* ---- the generator ------------------------------------------------------------------------ */

static enum status make(const generator *self, double *value, csr_matrix *A, error_text *error)
{
    const int64_t rows = (int64_t)generator_value(value, ROWS, 1024);
    const int64_t band = (int64_t)generator_value(value, BAND, rows < 256 ? (double)rows : 256);
    if (band > rows)
        return generator_refuse(self, BAND, (double)band, 1, (double)rows,
                                "there are only so many diagonals", error);
    const int64_t least = places_up_to(rows, band), most = places_up_to(rows, rows);
    int64_t nnz;
    if (isnan(value[NNZ])) {
        const double share = generator_value(value, SHARE, 0.05);
        nnz = least + (int64_t)(share * (double)(most - least) + 0.5);
    } else if (!isnan(value[SHARE])) {
        return fail(error, STATUS_DATASET, "%s: share and nnz exclude each other", self->name);
    } else if (value[NNZ] < (double)least || value[NNZ] > (double)most) {
        return generator_refuse(self, NNZ, value[NNZ], (double)least, (double)most,
                                "the band is full, and above the diagonal is nothing", error);
    } else {
        nnz = (int64_t)value[NNZ];
    }
    const uint64_t seed = (uint64_t)generator_value(value, SEED, 1);
    enum status status = csr_alloc(A, rows, rows, nnz, false, error);
    if (status != STATUS_OK) return status;
    return draw(A, band, nnz - least, seed, error);
}

const generator mask_generator = {
    .name = "mask",
    .summary = "a sparse transformer's causal mask: a band, and beyond it the nearer the denser",
    .keys = keys,
    .num_keys = sizeof keys / sizeof keys[0],
    .make = make,
};
