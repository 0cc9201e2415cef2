/*
 * generate_graph.c - "graph:", "words:" and "banded:": matrices whose row lengths and columns follow a law.
 *
 *   graph:   a social or web graph. The r-th longest row has in proportion to (r + flat)^-skew entries; who has
 *            many also is in many rows; a share of the entries is near the diagonal, as in communities
 *            that are numbered together. Rows come in random order.
 *   words:   documents and their words. Lengths are log-normal; the r-th most frequent word is used in
 *            proportion to (r + flat)^(1/power - 1), Zipf's law with a flat head.
 *   banded:  finite elements, numbered along the body. Blocks of dofs x dofs within a window of the diagonal;
 *            lengths of block rows are log-normal.
 */
#include "matrix/generate.h"
#include "matrix/generate_columns.h"
#include "matrix/generate_lengths.h"
#include "matrix/generate_math.h"
#include "matrix/pattern.h"
#include "matrix/random.h"

#include <math.h>

enum stream { LENGTHS, ORDER, COLUMNS };

/* Gives `filled` rows one entry and shares the rest among them; no row gets more than `longest`. */
static void draw_lengths(csr_matrix *A, int64_t filled, int64_t longest, row_weight weight,
                         const void *model)
{
    int64_t *length = A->row_ptr + 1;
    if (filled == 0) return;
    lengths_share(length, filled, A->nnz - filled, longest - 1, weight, model);
    for (int64_t i = 0; i < filled; i++)
        length[i]++;
}

/* ---- graph: ----------------------------------------------------------------------------------- */

enum graph_key { ROWS, DEG, NNZ, SKEW, FLAT, EMPTY, NEAR, WINDOW, SEED };

static const generator_key graph_keys[] = {
    [ROWS] = {"rows", "rows and columns (default 4096)", 0, LARGEST_SIDE, true, NULL},
    [DEG] = {"deg", "mean nonzeros a row (default 8)", 0, LARGEST_SIDE, false, NULL},
    [NNZ] = {"nnz", "nonzeros, in place of deg", 0, LARGEST_SEED, true, NULL},
    [SKEW] = {"skew", "r-th longest row ~ (r + flat)^-skew (default 0.7)", 0, 4, false, NULL},
    [FLAT] = {"flat", "rows of about the greatest length (default 8)", 1, LARGEST_SIDE, true, NULL},
    [EMPTY] = {"empty", "share of empty rows (default 0)", 0, 1, false, NULL},
    [NEAR] = {"near", "share of entries near the diagonal (default 0.5)", 0, 1, false, NULL},
    [WINDOW] = {"window", "how near, in columns (default rows/64)", 1, LARGEST_SIDE, true, NULL},
    [SEED] = {"seed", "seed (default 1)", 0, LARGEST_SEED, true, NULL},
};

typedef struct zipf {
    double skew, flat;
} zipf;

static double zipf_weight(const void *model, int64_t row)
{
    const zipf *m = model;
    return portable_exp(-m->skew * portable_log((double)row + m->flat));
}

static enum status make_graph(const generator *self, double *value, csr_matrix *A,
                              error_text *error)
{
    const int64_t rows = (int64_t)generator_value(value, ROWS, 4096);
    const double empty = generator_value(value, EMPTY, 0);
    const int64_t filled = rows - (int64_t)(empty * (double)rows + 0.5);
    const int64_t longest = rows > 0 ? rows - 1 : 0; /* all but the diagonal */
    int64_t nnz;
    enum status status =
        generator_count(self, value, NNZ, DEG, 8, rows, longest > 0 ? (double)filled : 0,
                        (double)filled * (double)longest, &nnz, error);
    if (status != STATUS_OK) return status;
    const zipf law = {generator_value(value, SKEW, 0.7), generator_value(value, FLAT, 8)};
    const double near = generator_value(value, NEAR, 0.5);
    if (near == 0 && !isnan(value[WINDOW]))
        return fail(error, STATUS_DATASET, "%s: window needs near=, the share inside it",
                    self->name);
    if (near > 0) generator_value(value, WINDOW, fmax(1, (double)(rows / 64)));
    const uint64_t seed = (uint64_t)generator_value(value, SEED, 1);

    status = csr_alloc(A, rows, rows, nnz, false, error);
    if (status != STATUS_OK || nnz == 0) return status;
    draw_lengths(A, filled, longest, zipf_weight, &law);
    lengths_shuffle(A->row_ptr + 1, rows, random_substream(seed, ORDER));
    lengths_to_offsets(A);
    const column_model model = {.popularity = COLUMNS_BY_LENGTH,
                                .near = near,
                                .window = near > 0 ? (int64_t)value[WINDOW] : 0,
                                .empty_diagonal = true};
    return columns_draw(A, &model, random_substream(seed, COLUMNS), error);
}

const generator graph_generator = {
    .name = "graph",
    .summary = "a social or web graph: skewed rows, popular columns, neighbours near",
    .keys = graph_keys,
    .num_keys = sizeof graph_keys / sizeof graph_keys[0],
    .make = make_graph,
};

/* ---- words: ----------------------------------------------------------------------------------- */

enum words_key {
    DOCUMENTS,
    WORDS,
    WORDS_DEG,
    WORDS_NNZ,
    WORDS_COV,
    SINGLE,
    LONGEST,
    POWER,
    HEAD,
    WORDS_SEED
};

static const generator_key words_keys[] = {
    [DOCUMENTS] = {"rows", "documents (default 4096)", 0, LARGEST_SIDE, true, NULL},
    [WORDS] = {"cols", "words (default 8192)", 0, LARGEST_SIDE, true, NULL},
    [WORDS_DEG] = {"deg", "mean words of a document (default 32)", 0, LARGEST_SIDE, false, NULL},
    [WORDS_NNZ] = {"nnz", "nonzeros, in place of deg", 0, LARGEST_SEED, true, NULL},
    [WORDS_COV] = {"cov", "variation of document lengths (default 0.8)", 0, 4, false, NULL},
    [SINGLE] = {"single", "share of documents of one word (default 0)", 0, 1, false, NULL},
    [LONGEST] = {"longest", "words of the longest document (default cols)", 0, LARGEST_SIDE, true,
                 NULL},
    [POWER] = {"power", "word r ~ (r + flat)^(1/power - 1) (default 8)", 1, 64, true, NULL},
    [HEAD] = {"flat", "words of about the greatest frequency (default 8)", 0, 1000000, true, NULL},
    [WORDS_SEED] = {"seed", "seed (default 1)", 0, LARGEST_SEED, true, NULL},
};

static enum status make_words(const generator *self, double *value, csr_matrix *A,
                              error_text *error)
{
    const int64_t rows = (int64_t)generator_value(value, DOCUMENTS, 4096);
    const int64_t cols = (int64_t)generator_value(value, WORDS, 8192);
    const double longest = generator_value(value, LONGEST, (double)cols);
    if (longest > (double)cols)
        return generator_refuse(self, LONGEST, longest, 0, (double)cols,
                                "there are only so many words", error);
    const double single = generator_value(value, SINGLE, 0);
    const int64_t short_rows = (int64_t)(single * (double)rows + 0.5), others = rows - short_rows;
    if (short_rows > 0 && longest < 1)
        return generator_refuse(self, SINGLE, single, 0, 0, "no document has a word", error);
    int64_t nnz;
    enum status status =
        generator_count(self, value, WORDS_NNZ, WORDS_DEG, 32, rows, (double)short_rows,
                        (double)short_rows + (double)others * longest, &nnz, error);
    if (status != STATUS_OK) return status;
    const double cov = generator_value(value, WORDS_COV, 0.8);
    const int power = (int)generator_value(value, POWER, 8);
    const int flat = (int)generator_value(value, HEAD, 8);
    const uint64_t seed = (uint64_t)generator_value(value, WORDS_SEED, 1);

    status = csr_alloc(A, rows, cols, nnz, false, error);
    if (status != STATUS_OK || nnz == 0) return status;
    const log_normal law = log_normal_of(cov, random_substream(seed, LENGTHS));
    int64_t *length = A->row_ptr + 1;
    if (others > 0)
        lengths_share(length, others, nnz - short_rows, (int64_t)longest, log_normal_weight, &law);
    for (int64_t i = others; i < rows; i++)
        length[i] = 1;
    if (short_rows > 0) lengths_shuffle(length, rows, random_substream(seed, ORDER));
    lengths_to_offsets(A);
    const column_model model = {.popularity = COLUMNS_RANKED, .power = power, .flat = flat};
    return columns_draw(A, &model, random_substream(seed, COLUMNS), error);
}

const generator words_generator = {
    .name = "words",
    .summary = "documents and their words: a few words are everywhere",
    .keys = words_keys,
    .num_keys = sizeof words_keys / sizeof words_keys[0],
    .make = make_words,
};

/* ---- banded: ---------------------------------------------------------------------------------- */

enum banded_key { BAND_ROWS, BAND_DEG, BAND_NNZ, BAND_WINDOW, DOFS, BAND_COV, BAND_SEED };
enum { MOST_DOFS = 64 };

static const generator_key banded_keys[] = {
    [BAND_ROWS] = {"rows", "rows and columns (default 4096)", 0, LARGEST_SIDE, true, NULL},
    [BAND_DEG] = {"deg", "mean nonzeros a row (default 32)", 0, LARGEST_SIDE, false, NULL},
    [BAND_NNZ] = {"nnz", "nonzeros, in place of deg", 0, LARGEST_SEED, true, NULL},
    [BAND_WINDOW] = {"window", "columns on either side (default: 4 rows full)", 0, LARGEST_SIDE,
                     true, NULL},
    [DOFS] = {"dofs", "side of the blocks; divides rows (default 1)", 1, MOST_DOFS, true, NULL},
    [BAND_COV] = {"cov", "variation of block rows' lengths (default 0.3)", 0, 4, false, NULL},
    [BAND_SEED] = {"seed", "seed (default 1)", 0, LARGEST_SEED, true, NULL},
};

/* Blocks: an entry of `nodes` stands for one. */
typedef struct blocks {
    const csr_matrix *nodes;
    int dofs;
} blocks;

static int64_t block_columns(const void *shape, int64_t row, int32_t *columns)
{
    const blocks *b = shape;
    const int64_t node = row / b->dofs, begin = b->nodes->row_ptr[node];
    const int64_t count = (b->nodes->row_ptr[node + 1] - begin) * b->dofs;
    for (int64_t k = 0; columns && k < count; k++)
        columns[k] = (int32_t)(b->nodes->col_idx[begin + k / b->dofs] * b->dofs + k % b->dofs);
    return count;
}

static enum status make_banded(const generator *self, double *value, csr_matrix *A,
                               error_text *error)
{
    const int64_t rows = (int64_t)generator_value(value, BAND_ROWS, 4096);
    const int dofs = (int)generator_value(value, DOFS, 1);
    if (rows % dofs)
        return fail(error, STATUS_DATASET, "%s: rows=%.10g: with dofs=%d rows is a multiple of %d",
                    self->name, value[BAND_ROWS], dofs, dofs);
    int64_t nnz;
    enum status status = generator_count(self, value, BAND_NNZ, BAND_DEG, 32, rows, (double)rows,
                                         (double)rows * (double)rows, &nnz, error);
    if (status != STATUS_OK) return status;
    const int64_t nodes = rows / dofs, block = (int64_t)dofs * dofs;
    const int64_t wanted = (nnz + block - 1) / block, full = wanted > nodes ? wanted : nodes;
    const double mean = nodes > 0 ? (double)full / (double)nodes : 0;
    const double window =
        generator_value(value, BAND_WINDOW, fmin((double)rows, ceil(4 * mean) * dofs));
    const int64_t reach = (int64_t)window / dofs;
    const int64_t longest = 2 * reach + 1 < nodes ? 2 * reach + 1 : nodes;
    if (full > nodes * longest)
        return generator_refuse(self, BAND_WINDOW, window, ceil((mean - 1) / 2) * dofs,
                                (double)rows, "the band is narrower than a row is long", error);
    const double cov = generator_value(value, BAND_COV, 0.3);
    const uint64_t seed = (uint64_t)generator_value(value, BAND_SEED, 1);

    csr_matrix of_nodes;
    status = csr_alloc(&of_nodes, nodes, nodes, full, false, error);
    if (status != STATUS_OK) return status;
    const log_normal law = log_normal_of(cov, random_substream(seed, LENGTHS));
    draw_lengths(&of_nodes, nodes, longest, log_normal_weight, &law);
    lengths_to_offsets(&of_nodes);
    const column_model model = {.near = 1, .window = reach};
    status = columns_draw(&of_nodes, &model, random_substream(seed, COLUMNS), error);
    if (status == STATUS_OK) {
        const blocks b = {&of_nodes, dofs};
        const row_pattern pattern = {&b, block_columns, rows, rows};
        status = pattern_fill(&pattern, full * block, nnz, random_substream(seed, ORDER), A, error);
    }
    csr_free(&of_nodes);
    return status;
}

const generator banded_generator = {
    .name = "banded",
    .summary = "finite elements: blocks within a band of the diagonal",
    .keys = banded_keys,
    .num_keys = sizeof banded_keys / sizeof banded_keys[0],
    .make = make_banded,
};
