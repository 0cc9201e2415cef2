#include "graph.h"

#include "matrix/memory.h"
#include "matrix/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float SIGNAL = 0.2f;

/* Streams of random numbers. */
enum { OF_CENTRES, OF_LABELS, OF_VECTORS, OF_FEATURES, OF_SPLIT };

/* Removes what a row names twice; columns ascend. */
static void keep_each_once(csr_matrix *A)
{
    int64_t to = 0, from = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t end = A->row_ptr[i + 1], begin = to;
        for (; from < end; from++)
            if (to == begin || A->col_idx[to - 1] != A->col_idx[from])
                A->col_idx[to++] = A->col_idx[from];
        A->row_ptr[i + 1] = to;
    }
    A->nnz = to;
}

static enum status make_edges(const csr_matrix *M, csr_matrix *A, const char *name,
                              error_text *error)
{
    coo_list list;
    enum status status = coo_init(&list, 2 * M->nnz + M->rows, false, error);
    for (int64_t i = 0; i < M->rows && status == STATUS_OK; i++) {
        status = coo_push(&list, (int32_t)i, (int32_t)i, 1, error);
        for (int64_t k = M->row_ptr[i]; k < M->row_ptr[i + 1] && status == STATUS_OK; k++) {
            status = coo_push(&list, (int32_t)i, M->col_idx[k], 1, error);
            if (status == STATUS_OK) status = coo_push(&list, M->col_idx[k], (int32_t)i, 1, error);
        }
    }
    if (status == STATUS_OK) status = csr_from_coo(&list, M->rows, M->rows, A, name, error);
    coo_free(&list);
    if (status == STATUS_OK) keep_each_once(A);
    return status;
}

/* Gives the label of vertex `from` to all that are reached before another centre does: a step of a breadth-first search
 * over the queue. */
static int64_t spread(const csr_matrix *A, int *label, int32_t *queue, int64_t head, int64_t tail)
{
    for (; head < tail; head++) {
        const int32_t i = queue[head];
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int32_t j = A->col_idx[k];
            if (label[j] >= 0) continue;
            label[j] = label[i];
            queue[tail++] = j;
        }
    }
    return tail;
}

static bool make_labels(graph *g, uint64_t seed)
{
    const int64_t n = g->A.rows;
    const uint64_t of_centres = random_substream(seed, OF_CENTRES);
    const uint64_t of_labels = random_substream(seed, OF_LABELS);
    const uint64_t of_split = random_substream(seed, OF_SPLIT);
    int32_t *queue = malloc(n * sizeof *queue);
    int64_t tail = 0;
    if (!queue) return false;
    for (int64_t i = 0; i < n; i++)
        g->label[i] = -1;
    for (uint64_t draw = 0; tail < g->classes; draw++) {
        const int32_t centre = (int32_t)random_below(of_centres, draw, n);
        if (g->label[centre] >= 0) continue;
        g->label[centre] = (int)tail;
        queue[tail++] = centre;
    }
    tail = spread(&g->A, g->label, queue, 0, tail);
    for (int32_t i = 0; i < n; i++) {
        if (g->label[i] >= 0) continue;
        g->label[i] = (int)random_below(of_labels, i, g->classes);
        queue[tail] = i;
        tail = spread(&g->A, g->label, queue, tail, tail + 1);
    }
    free(queue);
    for (int64_t i = 0; i < n; i++) {
        const bool is_trained = random_bits(of_split, i) & 1;
        g->trained[i] = is_trained ? g->label[i] : -1;
        g->num_trained += is_trained;
    }
    return true;
}

static void make_features(graph *g, uint64_t seed)
{
    const uint64_t of_vectors = random_substream(seed, OF_VECTORS);
    const uint64_t of_features = random_substream(seed, OF_FEATURES);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < g->A.rows; i++)
        for (int f = 0; f < g->features; f++) {
            const uint64_t at = (uint64_t)i * g->features + f;
            const uint64_t of_class = (uint64_t)g->label[i] * g->features + f;
            const float vector = random_bits(of_vectors, of_class) & 1 ? 1 : -1;
            g->X[at] = random_symmetric(of_features, at) + SIGNAL * vector;
        }
}

static enum status fill(graph *g, uint64_t seed, error_text *error)
{
    const size_t n = g->A.rows, numbers = n * g->features;
    const enum status status = memory_check((int64_t)(numbers * sizeof *g->X), "features", error);
    if (status != STATUS_OK) return status;
    g->X = malloc(numbers * sizeof *g->X + 1);
    g->label = malloc(n * sizeof *g->label + 1);
    g->trained = malloc(n * sizeof *g->trained + 1);
    if (!g->X || !g->label || !g->trained || !make_labels(g, seed))
        return fail(error, STATUS_MEMORY, "no memory for features and labels");
    if (g->num_trained == 0 || g->num_trained == (int64_t)n)
        return fail(error, STATUS_DATASET, "%s: too few vertices to hold some out", g->name);
    make_features(g, seed);
    return STATUS_OK;
}

enum status graph_open(const char *spec, const char *data_dir, int features, int classes,
                       uint64_t seed, graph *g, error_text *error)
{
    dataset data;
    *g = (graph){.features = features, .classes = classes};
    enum status status = dataset_open(spec, data_dir, &data, error);
    if (status != STATUS_OK) return status;
    const csr_matrix *M = &data.matrix;
    memcpy(g->name, data.name, sizeof g->name);
    memcpy(g->source, data.source, sizeof g->source);
    g->origin = data.origin;
    if (M->rows != M->cols)
        status = fail(error, STATUS_DATASET,
                      "%s: %lld x %lld is no graph; rows and columns must be its vertices", g->name,
                      (long long)M->rows, (long long)M->cols);
    else if (M->rows < 2 * classes)
        status = fail(error, STATUS_DATASET, "%s: %lld vertices are too few for %d classes",
                      g->name, (long long)M->rows, classes);
    else
        status = make_edges(M, &g->A, g->name, error);
    dataset_close(&data);
    if (status == STATUS_OK) status = fill(g, seed, error);
    if (status != STATUS_OK) graph_close(g);
    return status;
}

void graph_close(graph *g)
{
    csr_free(&g->A);
    free(g->X);
    free(g->label);
    free(g->trained);
    *g = (graph){0};
}

float *graph_gcn_values(const graph *g)
{
    const int64_t *const row_ptr = g->A.row_ptr;
    float *values = malloc(g->A.nnz * sizeof *values + 1);
    for (int64_t i = 0; values && i < g->A.rows; i++)
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            const int32_t j = g->A.col_idx[k];
            const double degrees =
                (double)(row_ptr[i + 1] - row_ptr[i]) * (double)(row_ptr[j + 1] - row_ptr[j]);
            values[k] = (float)(1 / sqrt(degrees));
        }
    return values;
}

enum status graph_of_heads(const graph *g, int heads, csr_matrix *E, error_text *error)
{
    const csr_matrix *A = &g->A;
    if (A->rows * heads > INT32_MAX || A->nnz * heads > INT32_MAX)
        return fail(error, STATUS_MEMORY, "%s: with %d heads a pattern's numbers are no ints",
                    g->name, heads);
    const enum status status =
        csr_alloc(E, A->rows * heads, A->cols * heads, A->nnz * heads, false, error);
    if (status != STATUS_OK) return status;
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t first = A->row_ptr[i], length = A->row_ptr[i + 1] - first;
        for (int h = 0; h < heads; h++) {
            const int64_t to = first * heads + h * length;
            E->row_ptr[i * heads + h + 1] = to + length;
            for (int64_t k = 0; k < length; k++)
                E->col_idx[to + k] = A->col_idx[first + k] * heads + h;
        }
    }
    return STATUS_OK;
}
