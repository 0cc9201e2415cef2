/*
 * generate_blocks.c - "blocks:in=5120,out=5120,block=32,density=0.1": layouts of block-sparse weights. An entry of the
 * matrix is a block, so it has in / block rows and out / block columns.
 *
 *   random     round(density * all) blocks at random places
 *   attach     preferential attachment: a new vertex joins `edges` others, those with more edges more likely. An edge
 *              is two blocks; the diagonal and the first edges x edges blocks exist as well. Networks of this kind have
 *              few hops between any two vertices. Source: Barabasi, Albert, Emergence of scaling in random networks, 1999
 *   band       round(density * columns) neighbouring blocks a row, around the diagonal
 *   diagonal   round(1 / density) dense squares along the diagonal, as experts or groups have
 */
#include "matrix/block_layout.h"
#include "matrix/generate.h"
#include "matrix/random.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum key { IN, OUT, BLOCK, DENSITY, KIND, EDGES, SEED };
enum kind { RANDOM, ATTACH, BAND, DIAGONAL };

/* More features than any layer has; a block row and column then are ints with room to spare. */
#define MOST_FEATURES 16777216.0

static const char *const sides[] = {"8", "16", "32", "64", NULL};
static const char *const kinds[] = {"random", "attach", "band", "diagonal", NULL};

static const generator_key keys[] = {
    [IN] = {"in", "input features, a multiple of block (default 5120)", 0, MOST_FEATURES, true,
            NULL},
    [OUT] = {"out", "output features, likewise (default: in)", 0, MOST_FEATURES, true, NULL},
    [BLOCK] = {"block", "side of a block: 8, 16, 32 (default), 64", 0, 0, false, sides},
    [DENSITY] = {"density", "share of the blocks that exist (default 0.1)", 0, 1, false, NULL},
    [KIND] = {"kind", "random (default), attach, band, diagonal", 0, 0, false, kinds},
    [EDGES] = {"edges", "attach: of a new vertex, in place of density", 1, MOST_FEATURES, true,
               NULL},
    [SEED] = {"seed", "of the random numbers (default 1)", 0, LARGEST_SEED, true, NULL},
};

static enum status refuse_ragged(const generator *g, int key, double features, int side,
                                 error_text *error)
{
    const double below = floor(features / side) * side;
    return fail(error, STATUS_DATASET,
                "%s: %s=%.10g: not a multiple of block=%d; try %.10g or %.10g", g->name,
                g->keys[key].name, features, side, below, below + side);
}

/* ---- kinds ----------------------------------------------------------------------------------- */

/* As pruned weights of so many rows, columns and nonzeros have them. */
static enum status make_random(int64_t rows, int64_t cols, const double *value, csr_matrix *A,
                               error_text *error)
{
    char spec[128], source[256];
    const double nnz = round(value[DENSITY] * (double)rows * (double)cols);
    snprintf(spec, sizeof spec, "weights:rows=%" PRId64 ",cols=%" PRId64 ",nnz=%.0f,seed=%.0f",
             rows, cols, nnz, value[SEED]);
    return generate(spec, A, source, sizeof source, error);
}

/* Blocks of n vertices that join m others each: the diagonal, two an edge, the first m x m. */
static double blocks_of_attachment(double n, double m)
{
    return n + 2 * m * (n - m) + m * (m - 1);
}

/* Chooses `edges` different vertices before `vertex`, each as likely as it has edges. last[t] is the last vertex that
 * chose t. */
static void choose_targets(const int *end, int64_t ends, int vertex, int edges, uint64_t stream,
                           uint64_t *draw, int *last, int *target)
{
    for (int found = 0; found < edges;) {
        const int t = end[random_below(stream, (*draw)++, (uint64_t)ends)];
        if (last[t] == vertex) continue;
        last[t] = vertex;
        target[found++] = t;
    }
}

/* Fills `list` with the blocks. end: room for 2 * edges * vertices; last, target: for a vertex each. */
static enum status attach(int n, int m, uint64_t seed, int *end, int *last, int *target,
                          coo_list *list, error_text *error)
{
    enum status status = STATUS_OK;
    int64_t ends = 0;
    uint64_t draw = 0;
    for (int i = 0; i < m && status == STATUS_OK; i++)
        for (int j = 0; j < m && status == STATUS_OK; j++)
            status = coo_push(list, i, j, 1, error);
    for (int v = m; v < n && status == STATUS_OK; v++) {
        if (v == m) /* nobody has an edge yet */
            for (int i = 0; i < m; i++)
                target[i] = i;
        else
            choose_targets(end, ends, v, m, seed, &draw, last, target);
        status = coo_push(list, v, v, 1, error);
        for (int i = 0; i < m && status == STATUS_OK; i++) {
            end[ends++] = target[i];
            end[ends++] = v;
            status = coo_push(list, v, target[i], 1, error);
            if (status == STATUS_OK) status = coo_push(list, target[i], v, 1, error);
        }
    }
    return status;
}

static enum status make_attach(const generator *g, int64_t n, double *value, csr_matrix *A,
                               error_text *error)
{
    if (isnan(value[EDGES])) {
        value[EDGES] = n > 0;
        while (value[EDGES] < (double)n && blocks_of_attachment((double)n, value[EDGES]) <
                                               value[DENSITY] * (double)n * (double)n)
            value[EDGES]++;
    }
    if (value[EDGES] > (double)n)
        return generator_refuse(g, EDGES, value[EDGES], 1, (double)n,
                                "a vertex cannot join more than there are", error);
    const int m = (int)value[EDGES];
    const int64_t ends = 2 * m * (n - m);
    coo_list list = {0};
    int *end = malloc(((size_t)ends + 1) * sizeof *end);
    int *last = calloc((size_t)n + 1, sizeof *last), *target = calloc((size_t)m + 1, sizeof *last);
    enum status status = end && last && target
                             ? coo_init(&list, n + ends + (int64_t)m * m, false, error)
                             : fail(error, STATUS_MEMORY, "no memory for the edges");
    const uint64_t stream = random_substream((uint64_t)value[SEED], 1);
    if (status == STATUS_OK) status = attach((int)n, m, stream, end, last, target, &list, error);
    if (status == STATUS_OK) status = csr_from_coo(&list, n, n, A, g->name, error);
    coo_free(&list);
    free(end);
    free(last);
    free(target);
    return status;
}

/* Rows whose blocks are neighbours: the columns from first[r] to before end[r]. */
typedef struct neighbours {
    int64_t first, end;
} neighbours;

static neighbours row_of_band(int64_t row, int64_t rows, int64_t cols, double density)
{
    const int64_t wide = llround(density * (double)cols);
    int64_t first = row * cols / rows - wide / 2;
    if (first > cols - wide) first = cols - wide;
    if (first < 0) first = 0;
    return (neighbours){first, first + wide};
}

/* Row r is of group r * groups / rows, and so are the columns k with k * groups / cols the same. */
static neighbours row_of_diagonal(int64_t row, int64_t rows, int64_t cols, double density)
{
    const int64_t most = rows < cols ? rows : cols;
    const double wanted = density * (double)most > 1 ? round(1 / density) : (double)most;
    const int64_t groups = (int64_t)wanted, group = row * groups / rows;
    return (neighbours){(group * cols + groups - 1) / groups,
                        ((group + 1) * cols + groups - 1) / groups};
}

static enum status make_neighbours_of(int64_t rows, int64_t cols, const double *value,
                                      csr_matrix *A, error_text *error)
{
    neighbours (*const row_of)(int64_t, int64_t, int64_t, double) =
        value[KIND] == BAND ? row_of_band : row_of_diagonal;
    int64_t nnz = 0;
    for (int64_t r = 0; r < rows && cols > 0; r++) {
        const neighbours n = row_of(r, rows, cols, value[DENSITY]);
        nnz += n.end - n.first;
    }
    enum status status = csr_alloc(A, rows, cols, nnz, false, error);
    if (status != STATUS_OK) return status;
    nnz = 0;
    for (int64_t r = 0; r < rows && cols > 0; r++) {
        const neighbours n = row_of(r, rows, cols, value[DENSITY]);
        for (int64_t k = n.first; k < n.end; k++)
            A->col_idx[nnz++] = (int32_t)k;
        A->row_ptr[r + 1] = nnz;
    }
    return STATUS_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static enum status make(const generator *self, double *value, csr_matrix *A, error_text *error)
{
    const double in = generator_value(value, IN, 5120), out = generator_value(value, OUT, in);
    const int side = 8 << (int)generator_value(value, BLOCK, 2);
    const enum kind kind = (enum kind)generator_value(value, KIND, RANDOM);
    const bool by_edges = !isnan(value[EDGES]);
    const int64_t rows = (int64_t)in / side, cols = (int64_t)out / side;
    enum status status;
    if (fmod(in, side)) return refuse_ragged(self, IN, in, side, error);
    if (fmod(out, side)) return refuse_ragged(self, OUT, out, side, error);
    if (by_edges && kind != ATTACH)
        return fail(error, STATUS_DATASET, "%s: edges needs kind=attach", self->name);
    if (by_edges && !isnan(value[DENSITY]))
        return fail(error, STATUS_DATASET, "%s: give density or edges, not both", self->name);
    if (kind == ATTACH && rows != cols)
        return fail(error, STATUS_DATASET,
                    "%s: kind=attach makes square layouts; got in=%.0f and out=%.0f", self->name,
                    in, out);
    if (!by_edges) generator_value(value, DENSITY, 0.1);
    generator_value(value, SEED, 1);
    if (kind == RANDOM)
        status = make_random(rows, cols, value, A, error);
    else if (kind == ATTACH)
        status = make_attach(self, rows, value, A, error);
    else
        status = make_neighbours_of(rows, cols, value, A, error);
    if (status == STATUS_OK && by_edges == false && kind == ATTACH) value[EDGES] = NAN;
    A->block = side;
    return status;
}

const generator blocks_generator = {
    .name = "blocks",
    .summary = "a layout of block-sparse weights: an entry is a block",
    .keys = keys,
    .num_keys = sizeof keys / sizeof keys[0],
    .make = make,
};
