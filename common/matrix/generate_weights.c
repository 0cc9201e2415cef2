/*
 * generate_weights.c - "weights:rows=28672,cols=8192,sparsity=0.5": pruned weight matrices.
 *
 * Every kind has exactly round((1 - sparsity) * rows * cols) entries, or nnz if that is given; the
 * kinds differ in how the rows share them:
 *   uniform    each entry is kept with the same probability (pruning at random)
 *   magnitude  log-normal row lengths, as pruning the smallest weights leaves them: real layers of
 *              transformers and ResNet-50 have coefficients of variation from 0.15 to 0.4
 *   quota      every row keeps equally many (pruning within each output row)
 *   banded     as quota, all within `window` columns of the diagonal
 *   two_four   two of each four neighbours of a row, the pattern of sparse tensor cores: half of them
 */
#include "matrix/generate.h"
#include "matrix/generate_columns.h"
#include "matrix/generate_lengths.h"
#include "matrix/random.h"

#include <math.h>

enum key { ROWS, COLS, SPARSITY, NNZ, KIND, COV, WINDOW, SEED };
enum kind { UNIFORM, MAGNITUDE, QUOTA, BANDED, TWO_FOUR };

static const char *const kinds[] = {"uniform", "magnitude", "quota", "banded", "two_four", NULL};

static const generator_key keys[] = {
    [ROWS] = {"rows", "rows (default 2048)", 0, LARGEST_SIDE, true, NULL},
    [COLS] = {"cols", "columns (default 512)", 0, LARGEST_SIDE, true, NULL},
    [SPARSITY] = {"sparsity", "share of zeros (default 0.8)", 0, 1, false, NULL},
    [NNZ] = {"nnz", "nonzeros, in place of sparsity", 0, LARGEST_SEED, true, NULL},
    [KIND] = {"kind", "uniform (default), magnitude, quota, banded, two_four", 0, 0, false, kinds},
    [COV] = {"cov", "magnitude: variation of row lengths (default 0.25)", 0, 2, false, NULL},
    [WINDOW] = {"window", "banded: columns on either side", 0, LARGEST_SIDE, true, NULL},
    [SEED] = {"seed", "seed (default 1)", 0, LARGEST_SEED, true, NULL},
};

enum stream { LENGTHS, REPAIR, COLUMNS };

/* ---- row lengths -------------------------------------------------------------------------- */

/* How many of `trials` independent trials succeed, each with probability p / 2^32: 64 at a time, a
 * bit of `mask` each. Going up the binary digits of p, a random bit halves the probability reached
 * so far, and a digit 1 adds a half: after the last digit each bit of `mask` is 1 with
 * probability p. */
static int64_t successes(int64_t trials, uint64_t p, uint64_t seed)
{
    if (p >> 32) return trials;
    if (p == 0) return 0;
    int64_t count = 0;
    uint64_t next = 0;
    for (int64_t left = trials; left > 0; left -= 64) {
        uint64_t mask = 0;
        for (int digit = __builtin_ctzll(p); digit < 32; digit++) {
            uint64_t bits = random_bits(seed, next++);
            mask = p >> digit & 1 ? mask | bits : mask & bits;
        }
        if (left < 64) mask &= (UINT64_C(1) << left) - 1;
        count += __builtin_popcountll(mask);
    }
    return count;
}

/* Row lengths of a matrix whose nnz entries are any nnz cells, all choices equally likely: first
 * each cell is kept with probability nnz / cells, then cells picked at random are removed or added
 * until the number is right. Only lengths are known yet, so of a row's cells the first `length` may
 * stand for those kept. */
static void uniform_lengths(csr_matrix *A, uint64_t seed)
{
    int64_t *length = A->row_ptr + 1, total = 0;
    double share = (double)A->nnz / ((double)A->rows * (double)A->cols);
    uint64_t p = (uint64_t)(share * 0x1p32 + 0.5), rows_seed = random_substream(seed, LENGTHS);
#pragma omp parallel for reduction(+ : total)
    for (int64_t i = 0; i < A->rows; i++) {
        length[i] = successes(A->cols, p, random_substream(rows_seed, (uint64_t)i));
        total += length[i];
    }
    uint64_t repair = random_substream(seed, REPAIR);
    for (uint64_t next = 0; total != A->nnz; next += 2) {
        int64_t row = (int64_t)random_below(repair, next, (uint64_t)A->rows);
        bool kept = (int64_t)random_below(repair, next + 1, (uint64_t)A->cols) < length[row];
        if (kept != (total > A->nnz)) continue;
        int step = kept ? -1 : 1;
        length[row] += step;
        total += step;
    }
}

/* Two of each four elements of a row: one of six pairs, all equally likely. */
static void draw_pairs(csr_matrix *A, uint64_t seed)
{
    static const unsigned char PAIRS[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    for (int64_t i = 0; i < A->rows; i++)
        A->row_ptr[i + 1] = (i + 1) * (A->cols / 2);
#pragma omp parallel for
    for (int64_t pair = 0; pair < A->nnz / 2; pair++) {
        const unsigned char *places = PAIRS[random_below(seed, (uint64_t)pair, 6)];
        const int64_t first = pair % (A->cols / 4) * 4;
        A->col_idx[2 * pair] = (int32_t)(first + places[0]);
        A->col_idx[2 * pair + 1] = (int32_t)(first + places[1]);
    }
}

/* ---- the generator ------------------------------------------------------------------------ */

static enum status count_nonzeros(const generator *self, double *value, int64_t *nnz,
                                  error_text *error)
{
    double cells = value[ROWS] * value[COLS];
    if (isnan(value[NNZ])) {
        *nnz = (int64_t)((1 - generator_value(value, SPARSITY, 0.8)) * cells + 0.5);
        return STATUS_OK;
    }
    if (!isnan(value[SPARSITY]))
        return fail(error, STATUS_DATASET, "%s: sparsity and nnz exclude each other", self->name);
    if (value[NNZ] > cells)
        return generator_refuse(self, NNZ, value[NNZ], 0, cells,
                                "there are only rows * cols entries", error);
    *nnz = (int64_t)value[NNZ];
    return STATUS_OK;
}

static enum status check_shape(const generator *self, double *value, enum kind kind, int64_t nnz,
                               error_text *error)
{
    double rows = value[ROWS], cols = value[COLS];
    if (kind == TWO_FOUR && fmod(cols, 4) != 0)
        return fail(error, STATUS_DATASET,
                    "%s: kind=two_four needs columns in fours, and %.0f are not", self->name, cols);
    /* 2^34 cells take a core about a minute; larger matrices are graphs. */
    if (kind == UNIFORM && rows * cols > 0x1p34)
        return generator_refuse(self, ROWS, rows, 0, floor(0x1p34 / cols),
                                "kind=uniform asks each cell, at most 2^34", error);
    if (kind != BANDED || rows == 0) return STATUS_OK;

    double longest = ceil((double)nnz / rows), fullest = ceil((longest - 1) / 2);
    double window = generator_value(value, WINDOW, longest < cols ? longest : cols);
    if (window < fullest)
        return generator_refuse(self, WINDOW, window, fullest, cols,
                                "the band is narrower than a row is long", error);
    return STATUS_OK;
}

static enum status make(const generator *self, double *value, csr_matrix *A, error_text *error)
{
    int64_t rows = (int64_t)generator_value(value, ROWS, 2048);
    int64_t cols = (int64_t)generator_value(value, COLS, 512);
    enum kind kind = (enum kind)generator_value(value, KIND, UNIFORM);
    if (kind != MAGNITUDE && !isnan(value[COV]))
        return fail(error, STATUS_DATASET, "%s: cov needs kind=magnitude", self->name);
    if (kind != BANDED && !isnan(value[WINDOW]))
        return fail(error, STATUS_DATASET, "%s: window needs kind=banded", self->name);
    if (kind == MAGNITUDE) generator_value(value, COV, 0.25);
    uint64_t seed = (uint64_t)generator_value(value, SEED, 1);

    if (kind == TWO_FOUR && (generator_value(value, SPARSITY, 0.5) != 0.5 || !isnan(value[NNZ])))
        return fail(error, STATUS_DATASET, "%s: kind=two_four has a sparsity of 0.5", self->name);
    int64_t nnz = 0;
    enum status status = count_nonzeros(self, value, &nnz, error);
    if (status == STATUS_OK) status = check_shape(self, value, kind, nnz, error);
    if (status == STATUS_OK) status = csr_alloc(A, rows, cols, nnz, false, error);
    if (status != STATUS_OK || nnz == 0) return status;

    if (kind == TWO_FOUR) {
        draw_pairs(A, random_substream(seed, COLUMNS));
        return STATUS_OK;
    }
    if (kind == UNIFORM) {
        uniform_lengths(A, seed);
    } else if (kind == MAGNITUDE) {
        const log_normal model = log_normal_of(value[COV], random_substream(seed, LENGTHS));
        lengths_share(A->row_ptr + 1, rows, nnz, cols, log_normal_weight, &model);
    } else {
        lengths_share(A->row_ptr + 1, rows, nnz, cols, equal_weight, NULL);
    }
    lengths_to_offsets(A);

    column_model model = {.near = kind == BANDED ? 1 : 0,
                          .window = kind == BANDED ? (int64_t)value[WINDOW] : 0};
    return columns_draw(A, &model, random_substream(seed, COLUMNS), error);
}

const generator weights_generator = {
    .name = "weights",
    .summary = "a pruned weight matrix with an exact number of nonzeros",
    .keys = keys,
    .num_keys = sizeof keys / sizeof keys[0],
    .make = make,
};
