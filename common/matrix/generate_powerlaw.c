/*
 * generate_powerlaw.c - "powerlaw:": a graph by generate_powerlaw.h, as large as memory is.
 */
#include "matrix/generate_powerlaw.h"

#include "matrix/generate.h"
#include "matrix/generate_lengths.h"
#include "matrix/memory.h"
#include "matrix/random.h"
#include "matrix/row_sort.h"

#include <math.h>
#include <stdlib.h>

enum stream { FACTORS, TERMS, COLUMNS };

/* ---- lengths --------------------------------------------------------------------------------- */

/* R(x) above: entries of the rows from rank x on. */
static double entries_from(const powerlaw *law, double x)
{
    const double share = (law->a - sqrt(x + law->flat)) / (law->a - law->root_flat);
    return (double)law->nnz * (share * share);
}

static void set_flat(powerlaw *law, double flat)
{
    law->flat = flat;
    law->root_flat = sqrt(flat);
    law->a = sqrt((double)law->rows + flat);
}

static double first_length(powerlaw *law, double flat)
{
    set_flat(law, flat);
    return (double)law->nnz - entries_from(law, 1);
}

void powerlaw_longest(int64_t rows, int64_t nnz, double *low, double *high)
{
    powerlaw law = {.rows = rows, .nnz = nnz};
    *high = first_length(&law, 0);
    /* f = infinity: lengths fall in a straight line, R(x) = nnz (1 - x / rows)^2. */
    const double first = 1 / (double)rows;
    *low = (double)nnz * (first * (2 - first));
}

/* The longest row gets shorter as f grows: f is halved in, until nothing lies between. */
static void fit_flat(powerlaw *law, double longest)
{
    double low = 0, high = 1;
    while (high < 0x1p40 && first_length(law, high) > longest)
        high *= 2;
    for (int i = 0; i < 200 && first_length(law, low) > longest; i++) {
        const double middle = (low + high) / 2;
        if (first_length(law, middle) > longest)
            low = middle;
        else
            high = middle;
    }
    set_flat(law, first_length(law, low) > longest ? high : low);
}

/* ---- the permutation ------------------------------------------------------------------------- */

/* Multiplying by an odd number and folding the upper half onto the lower can both be undone modulo 2^bits. */
static void make_rounds(powerlaw *law)
{
    int bits = 1;
    while (INT64_C(1) << bits < law->rows)
        bits++;
    law->mask = (UINT64_C(1) << bits) - 1;
    law->shift = (bits + 1) / 2;
    for (int i = 0; i < POWERLAW_ROUNDS; i++) {
        const uint64_t factor = random_bits(random_substream(law->seed, FACTORS), (uint64_t)i) | 1;
        uint64_t inverse = factor; /* right in 3 bits; each step doubles them */
        for (int step = 0; step < 5; step++)
            inverse *= 2 - factor * inverse;
        law->factor[i] = factor;
        law->inverse[i] = inverse;
        law->term[i] = random_bits(random_substream(law->seed, TERMS), (uint64_t)i);
    }
}

/* Steps through the permutation of 2^bits numbers, fewer than twice the rows, until a row's number comes. */
static int64_t rank_of(const powerlaw *law, int64_t row)
{
    uint64_t x = (uint64_t)row;
    do
        for (int i = 0; i < POWERLAW_ROUNDS; i++) {
            x = (x * law->factor[i] + law->term[i]) & law->mask;
            x ^= x >> law->shift;
        }
    while (x >= (uint64_t)law->rows);
    return (int64_t)x;
}

static int64_t row_of(const powerlaw *law, int64_t rank)
{
    uint64_t x = (uint64_t)rank;
    do
        for (int i = POWERLAW_ROUNDS - 1; i >= 0; i--) {
            x ^= x >> law->shift;
            x = (x - law->term[i]) * law->inverse[i] & law->mask;
        }
    while (x >= (uint64_t)law->rows);
    return (int64_t)x;
}

powerlaw powerlaw_of(int64_t rows, int64_t nnz, double longest, enum powerlaw_columns columns,
                     uint64_t seed)
{
    powerlaw law = {.rows = rows, .nnz = nnz, .columns = columns, .seed = seed};
    fit_flat(&law, longest);
    make_rounds(&law);
    return law;
}

int64_t powerlaw_length(const powerlaw *law, int64_t row)
{
    const int64_t rank = rank_of(law, row);
    const double from = entries_from(law, (double)rank),
                 after = entries_from(law, (double)rank + 1);
    return (int64_t)(from + 0.5) - (int64_t)(after + 0.5);
}

/* ---- columns --------------------------------------------------------------------------------- */

static int64_t draw_column(const powerlaw *law, uint64_t stream, uint64_t number)
{
    if (law->columns == POWERLAW_EVEN)
        return (int64_t)random_below(stream, number, (uint64_t)law->rows);
    const double root = law->a - (law->a - law->root_flat) * sqrt(random_unit(stream, number));
    const int64_t rank = (int64_t)(root * root - law->flat);
    return row_of(law, rank < law->rows ? rank : law->rows - 1);
}

/* Sorts columns, and keeps each once; returns how many are left. */
static int64_t sort_once(int32_t *columns, int64_t n, int64_t cols, int32_t *scratch)
{
    int64_t kept = 0;
    columns_sort(columns, n, cols, scratch);
    for (int64_t k = 0; k < n; k++)
        if (kept == 0 || columns[kept - 1] != columns[k]) columns[kept++] = columns[k];
    return kept;
}

static bool holds(const int32_t *columns, int64_t n, int32_t column)
{
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (columns[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && columns[low] == column;
}

/* Fills a row of n different columns, which ascend. What is drawn twice is drawn again; a row so full that this goes on
 * gets the next free columns after the last one drawn. */
static void draw_row(const powerlaw *law, int64_t row, int32_t *columns, int64_t n,
                     int32_t *scratch)
{
    enum { TIMES = 16 };
    const uint64_t stream = random_substream(random_substream(law->seed, COLUMNS), (uint64_t)row);
    uint64_t number = 0;
    int64_t kept = 0, column = row;
    for (int times = 0; times < TIMES && kept < n; times++) {
        int64_t drawn = kept;
        for (int64_t k = kept; k < n; k++) {
            column = draw_column(law, stream, number++);
            if (column != row) columns[drawn++] = (int32_t)column;
        }
        kept = sort_once(columns, drawn, law->rows, scratch);
    }
    for (int64_t all = kept; all < n;) {
        column = column + 1 < law->rows ? column + 1 : 0;
        if (column != row && !holds(columns, kept, (int32_t)column))
            columns[all++] = (int32_t)column;
    }
    if (kept < n) columns_sort(columns, n, law->rows, scratch);
}

static enum status draw_rows(const powerlaw *law, int64_t first, csr_matrix *A, error_text *error)
{
    int64_t longest = 0;
    bool failed = false;
#pragma omp parallel for reduction(max : longest) schedule(static)
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t length = A->row_ptr[i + 1] - A->row_ptr[i];
        longest = length > longest ? length : longest;
    }
#pragma omp parallel reduction(|| : failed)
    {
        int32_t *scratch = malloc((size_t)(longest + 1) * sizeof *scratch);
        failed = !scratch;
        /* Few rows at a time: one of them may hold a hundredth of all entries. */
#pragma omp for schedule(dynamic, 64)
        for (int64_t i = 0; i < A->rows; i++)
            if (scratch)
                draw_row(law, first + i, A->col_idx + A->row_ptr[i],
                         A->row_ptr[i + 1] - A->row_ptr[i], scratch);
        free(scratch);
    }
    return failed ? fail(error, STATUS_MEMORY, "no memory to draw columns") : STATUS_OK;
}

enum status powerlaw_make(const powerlaw *law, int64_t first, int64_t end, csr_matrix *A,
                          error_text *error)
{
    const bool whole = first == 0 && end == law->rows;
    int64_t nnz = whole ? law->nnz : 0; /* known before anything is computed */
#pragma omp parallel for reduction(+ : nnz) schedule(static) if (!whole)
    for (int64_t row = whole ? end : first; row < end; row++)
        nnz += powerlaw_length(law, row);
    enum status status = csr_alloc(A, end - first, law->rows, nnz, false, error);
    if (status != STATUS_OK) return status;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < A->rows; i++)
        A->row_ptr[i + 1] = powerlaw_length(law, first + i);
    lengths_to_offsets(A);
    status = draw_rows(law, first, A, error);
    if (status != STATUS_OK) csr_free(A);
    return status;
}

/* ---- the generator --------------------------------------------------------------------------- */

enum key { ROWS, NNZ, LONGEST, COLUMNS_KEY, SEED };

static const char *const column_words[] = {
    [POWERLAW_EVEN] = "even", [POWERLAW_BY_LENGTH] = "by-length", NULL};

static const generator_key keys[] = {
    [ROWS] = {"rows", "rows and columns (default 4096)", 0, LARGEST_SIDE, true, NULL},
    [NNZ] = {"nnz", "nonzeros (default 8 a row)", 0, LARGEST_SEED, true, NULL},
    [LONGEST] = {"longest", "nonzeros of the longest row (default: without a flat head)", 0,
                 LARGEST_SIDE, true, NULL},
    [COLUMNS_KEY] = {"columns", "all alike, or popular as their rows are long (default)", 0, 1,
                     true, column_words},
    [SEED] = {"seed", "seed (default 1)", 0, LARGEST_SEED, true, NULL},
};

static enum status make(const generator *self, double *value, csr_matrix *A, error_text *error)
{
    const int64_t rows = (int64_t)generator_value(value, ROWS, 4096);
    const double mean = rows > 8 ? 8 : rows > 1 ? 1 : 0;
    const double others = rows > 0 ? (double)rows - 1 : 0; /* columns, but for the diagonal */
    const double full = floor((double)rows * others / 2);  /* as full as it gets */
    const int64_t nnz = (int64_t)generator_value(value, NNZ, fmin(mean * (double)rows, full));
    const uint64_t seed = (uint64_t)generator_value(value, SEED, 1);
    const enum powerlaw_columns columns =
        (enum powerlaw_columns)generator_value(value, COLUMNS_KEY, POWERLAW_BY_LENGTH);
    double low = (double)nnz, high = 0;
    if (rows > 0) powerlaw_longest(rows, nnz, &low, &high);
    if (low > others)
        return generator_refuse(self, NNZ, (double)nnz, 0, full,
                                "the longest row has twice the mean, or more", error);
    const double most = fmin(ceil(high), others);
    const double longest = generator_value(value, LONGEST, most);
    if (longest < floor(low) || longest > most)
        return generator_refuse(self, LONGEST, longest, floor(low), most, "the law has no such row",
                                error);
    if (nnz == 0) return csr_alloc(A, rows, rows, 0, false, error);
    const powerlaw law = powerlaw_of(rows, nnz, longest, columns, seed);
    return powerlaw_make(&law, 0, rows, A, error);
}

const generator powerlaw_generator = {
    .name = "powerlaw",
    .summary = "a graph of any size by a power law, made on all cores",
    .keys = keys,
    .num_keys = sizeof keys / sizeof keys[0],
    .make = make,
};
