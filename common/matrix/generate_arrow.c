/*
 * generate_arrow.c - "arrow:rows=100000,border=20" and "islands:rows=1000,block=50": two shapes of systems
 * that are joined from parts.
 *
 * An arrow has a band along the diagonal, and at its end `border` rows and columns that are full: the
 * supply of a circuit, or the constraints that all parts of a plan share. The longest rows come last.
 *
 * Islands are full blocks along the diagonal, and nothing between them: graphs of a batch, one after the
 * other, or systems solved together. Their sizes lie evenly between block / spread and block * spread.
 */
#include "matrix/generate.h"
#include "matrix/pattern.h"
#include "matrix/random.h"

#include <math.h>
#include <stdlib.h>

/* ---- arrow: ----------------------------------------------------------------------------------- */

enum arrow_key { ROWS, BORDER, BAND, NNZ, SEED };

static const generator_key arrow_keys[] = {
    [ROWS] = {"rows", "rows and columns (default 4096)", 0, LARGEST_SIDE, true, NULL},
    [BORDER] = {"border", "full rows and columns at the end (default 16)", 0, LARGEST_SIDE, true,
                NULL},
    [BAND] = {"band", "diagonals on either side of the main one (default 2)", 0, LARGEST_SIDE, true,
              NULL},
    [NNZ] = {"nnz", "nonzeros: so many of them (default: all)", 0, LARGEST_SEED, true, NULL},
    [SEED] = {"seed", "seed (default 1)", 0, LARGEST_SEED, true, NULL},
};

typedef struct arrow {
    int64_t rows, border, band;
} arrow;

/* Columns first .. last - 1, then the border. */
static int64_t arrow_columns(const void *shape, int64_t row, int32_t *columns)
{
    const arrow *a = shape;
    const int64_t body = a->rows - a->border;
    const int64_t first = row >= body || row < a->band ? 0 : row - a->band;
    const int64_t last = row >= body || row + a->band + 1 > body ? body : row + a->band + 1;
    const int64_t count = last - first + a->border;
    for (int64_t k = 0; columns && k < count; k++)
        columns[k] = (int32_t)(k < last - first ? first + k : body + k - (last - first));
    return count;
}

static enum status make_arrow(const generator *self, double *value, csr_matrix *A,
                              error_text *error)
{
    const double rows = generator_value(value, ROWS, 4096);
    const arrow a = {.rows = (int64_t)rows,
                     .border = (int64_t)generator_value(value, BORDER, fmin(rows, 16)),
                     .band = (int64_t)generator_value(value, BAND, 2)};
    if (a.border > a.rows)
        return generator_refuse(self, BORDER, value[BORDER], 0, rows, "there are only so many rows",
                                error);
    const row_pattern pattern = {&a, arrow_columns, a.rows, a.rows};
    return generate_part(self, value, &pattern, NNZ, SEED, A, error);
}

const generator arrow_generator = {
    .name = "arrow",
    .summary = "a band with full rows and columns at its end",
    .keys = arrow_keys,
    .num_keys = sizeof arrow_keys / sizeof arrow_keys[0],
    .make = make_arrow,
};

/* ---- islands: --------------------------------------------------------------------------------- */

enum islands_key { ISLAND_ROWS, BLOCK, SPREAD, ISLAND_NNZ, ISLAND_SEED };

static const generator_key islands_keys[] = {
    [ISLAND_ROWS] = {"rows", "rows and columns (default 4096)", 0, LARGEST_SIDE, true, NULL},
    [BLOCK] = {"block", "rows of a block (default 32)", 1, LARGEST_SIDE, true, NULL},
    [SPREAD] = {"spread", "largest and smallest block are so many times that (default 1)", 1, 1000,
                false, NULL},
    [ISLAND_NNZ] = {"nnz", "nonzeros: so many of them (default: all)", 0, LARGEST_SEED, true, NULL},
    [ISLAND_SEED] = {"seed", "seed (default 1)", 0, LARGEST_SEED, true, NULL},
};

enum stream { SIZES = 1 };

/* Row i belongs to the block of rows begin[i] .. end[i] - 1. */
typedef struct islands {
    int32_t *begin, *end;
} islands;

static int64_t island_columns(const void *shape, int64_t row, int32_t *columns)
{
    const islands *s = shape;
    const int64_t begin = s->begin[row], count = s->end[row] - begin;
    for (int64_t k = 0; columns && k < count; k++)
        columns[k] = (int32_t)(begin + k);
    return count;
}

static void cut_islands(const islands *s, int64_t rows, double block, double spread, uint64_t seed)
{
    const int64_t least = (int64_t)fmax(1, floor(block / spread + 0.5));
    const int64_t most = (int64_t)fmax((double)least, floor(block * spread + 0.5));
    uint64_t number = 0;
    for (int64_t begin = 0, end; begin < rows; begin = end) {
        const int64_t more = (int64_t)random_below(seed, number++, (uint64_t)(most - least + 1));
        end = begin + least + more < rows ? begin + least + more : rows;
        for (int64_t i = begin; i < end; i++) {
            s->begin[i] = (int32_t)begin;
            s->end[i] = (int32_t)end;
        }
    }
}

static enum status make_islands(const generator *self, double *value, csr_matrix *A,
                                error_text *error)
{
    const int64_t rows = (int64_t)generator_value(value, ISLAND_ROWS, 4096);
    const double block = generator_value(value, BLOCK, 32);
    const double spread = generator_value(value, SPREAD, 1);
    const uint64_t seed = (uint64_t)generator_value(value, ISLAND_SEED, 1);
    csr_matrix room; /* asks for the memory of the offsets, which is more than that of the blocks */
    enum status status = csr_alloc(&room, rows, rows, 0, false, error);
    csr_free(&room);
    if (status != STATUS_OK) return status;
    islands s = {malloc((size_t)(rows + 1) * sizeof(int32_t)),
                 malloc((size_t)(rows + 1) * sizeof(int32_t))};
    if (s.begin && s.end) {
        cut_islands(&s, rows, block, spread, random_substream(seed, SIZES));
        const row_pattern pattern = {&s, island_columns, rows, rows};
        status = generate_part(self, value, &pattern, ISLAND_NNZ, ISLAND_SEED, A, error);
    } else {
        status = fail(error, STATUS_MEMORY, "no memory for the blocks");
    }
    free(s.begin);
    free(s.end);
    return status;
}

const generator islands_generator = {
    .name = "islands",
    .summary = "full blocks along the diagonal, of equal or different sizes",
    .keys = islands_keys,
    .num_keys = sizeof islands_keys / sizeof islands_keys[0],
    .make = make_islands,
};
