/*
 * generate_rand.c - "rand:rows=1000,deg=8,skew=1.5": random matrices with a stated skew.
 *
 * All rows but a stated share have at least one entry; what is left over goes to the r-th longest
 * row in proportion to (r + 1)^-skew (Zipf's law; skew 0 is even), as far as a row has columns. The
 * order of the rows is random, the columns even or near the diagonal.
 */
#include "matrix/generate.h"
#include "matrix/generate_columns.h"
#include "matrix/generate_lengths.h"
#include "matrix/generate_math.h"
#include "matrix/random.h"

#include <math.h>

enum key { ROWS, COLS, DEG, SKEW, EMPTY, NEAR, WINDOW, SEED };

static const generator_key keys[] = {
    [ROWS] = {"rows", "rows", 0, LARGEST_SIDE, true, NULL},
    [COLS] = {"cols", "columns (default: rows)", 0, LARGEST_SIDE, true, NULL},
    [DEG] = {"deg", "mean nonzeros a row (default 8)", 0, LARGEST_SIDE, false, NULL},
    [SKEW] = {"skew", "r-th longest row ~ r^-skew (default 0)", 0, 4, false, NULL},
    [EMPTY] = {"empty", "share of empty rows (default 0)", 0, 1, false, NULL},
    [NEAR] = {"near", "share of entries near the diagonal (default 0)", 0, 1, false, NULL},
    [WINDOW] = {"window", "how near, in columns (default cols/64)", 0, LARGEST_SIDE, true, NULL},
    [SEED] = {"seed", "seed (default 1)", 0, LARGEST_SEED, true, NULL},
};

enum stream { ORDER, COLUMNS };

/* The longest row is the first one. */
static double zipf_weight(const void *model, int64_t row)
{
    double skew = *(const double *)model;
    return portable_exp(-skew * portable_log((double)(row + 1)));
}

static enum status make(const generator *self, double *value, csr_matrix *A, error_text *error)
{
    int64_t rows = (int64_t)generator_value(value, ROWS, 1000);
    int64_t cols = (int64_t)generator_value(value, COLS, (double)rows);
    double usual = rows == 0 || cols == 0 ? 0 : cols < 8 ? (double)cols : 8;
    double deg = generator_value(value, DEG, usual);
    double skew = generator_value(value, SKEW, 0);
    double empty = generator_value(value, EMPTY, deg < 1 ? 1 - deg : 0);
    double near = generator_value(value, NEAR, 0);
    if (near == 0 && !isnan(value[WINDOW]))
        return fail(error, STATUS_DATASET, "%s: window needs near=, the share inside it",
                    self->name);
    if (near > 0) generator_value(value, WINDOW, (double)(cols / 64));
    uint64_t seed = (uint64_t)generator_value(value, SEED, 1);

    int64_t nnz = (int64_t)(deg * (double)rows + 0.5);
    int64_t filled = rows - (int64_t)(empty * (double)rows + 0.5);
    if (nnz < filled || nnz > filled * cols)
        return generator_refuse(self, DEG, deg, rows ? (double)filled / (double)rows : 0,
                                rows ? (double)filled * (double)cols / (double)rows : 0,
                                "every row that is not empty holds 1 to cols entries", error);

    enum status status = csr_alloc(A, rows, cols, nnz, false, error);
    if (status != STATUS_OK) return status;
    int64_t *length = A->row_ptr + 1;
    if (filled > 0)
        lengths_share(length, filled, nnz - filled, cols - 1, skew > 0 ? zipf_weight : equal_weight,
                      &skew);
    for (int64_t i = 0; i < filled; i++)
        length[i]++;
    lengths_shuffle(length, rows, random_substream(seed, ORDER));
    lengths_to_offsets(A);

    column_model model = {.near = near, .window = near > 0 ? (int64_t)value[WINDOW] : 0};
    return columns_draw(A, &model, random_substream(seed, COLUMNS), error);
}

const generator rand_generator = {
    .name = "rand",
    .summary = "random rows, as skewed and as local as asked",
    .keys = keys,
    .num_keys = sizeof keys / sizeof keys[0],
    .make = make,
};
