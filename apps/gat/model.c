#include "model.h"

#include "matrix/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNED_FLOATS = 64 };

static void add_tensor(model *m, int layer, const char *name, int64_t count, int rows)
{
    m->tensors[m->num_tensors++] = (tensor){layer, name, m->floats, count, rows};
    m->floats += (count + ALIGNED_FLOATS - 1) / ALIGNED_FLOATS * ALIGNED_FLOATS;
}

model model_make(enum model_kind kind, int num_layers, int heads, int hidden, int features,
                 int classes)
{
    model m = {.kind = kind, .num_layers = num_layers};
    const bool is_gat = kind == MODEL_GAT;
    for (int l = 0; l < num_layers; l++) {
        const bool is_last = l == num_layers - 1;
        layer *own = &m.layers[l];
        own->in = l ? m.layers[l - 1].out : features;
        own->heads = is_gat && !is_last ? heads : 1;
        own->d = is_last ? classes : is_gat ? hidden : heads * hidden;
        own->out = own->heads * own->d;
        own->f = is_last ? ACTIVATION_NONE : is_gat ? ACTIVATION_ELU : ACTIVATION_RELU;
        add_tensor(&m, l, "W", (int64_t)own->in * own->out, own->in);
        if (is_gat) add_tensor(&m, l, "left", own->out, own->d);
        if (is_gat) add_tensor(&m, l, "right", own->out, own->d);
    }
    return m;
}

int64_t model_part(const model *m, int layer, enum part which)
{
    const int of_layer = m->kind == MODEL_GAT ? 3 : 1;
    return m->tensors[layer * of_layer + which].first;
}

int64_t model_parameters(const model *m)
{
    int64_t count = 0;
    for (int t = 0; t < m->num_tensors; t++)
        count += m->tensors[t].count;
    return count;
}

void model_start(const model *m, uint64_t seed, float *parameters)
{
    memset(parameters, 0, m->floats * sizeof *parameters);
    for (int t = 0; t < m->num_tensors; t++) {
        const tensor *own = &m->tensors[t];
        const uint64_t stream = random_substream(seed, 1000 + t);
        const double scale = sqrt(6. / (double)(own->rows + own->count / own->rows));
        for (int64_t i = 0; i < own->count; i++)
            parameters[own->first + i] = (float)(scale * random_symmetric(stream, i));
    }
}

/* ---- the loss -------------------------------------------------------------------------------- */

/* Arrays of a forward pass, as wide as the widest layer needs. */
typedef struct pass {
    double *X, *Z, *left, *right;
} pass;

static double *numbers_of(int64_t rows, int columns)
{
    return malloc((size_t)(rows * columns + 1) * sizeof(double));
}

static void dense_layer(const layer *own, const double *W, int64_t vertices, const pass *p)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < vertices; i++) {
        const double *x = p->X + i * own->in;
        double *z = p->Z + i * own->out;
        memset(z, 0, own->out * sizeof *z);
        for (int f = 0; f < own->in; f++)
            for (int c = 0; c < own->out; c++)
                z[c] += x[f] * W[(int64_t)f * own->out + c];
    }
}

static void score_halves(const layer *own, const double *left, const double *right,
                         int64_t vertices, const pass *p)
{
#pragma omp parallel for schedule(static)
    for (int64_t at = 0; at < vertices * own->heads; at++) {
        const double *z = p->Z + at * own->d;
        const int64_t head = at % own->heads * own->d;
        double l = 0, r = 0;
        for (int f = 0; f < own->d; f++) {
            l += z[f] * left[head + f];
            r += z[f] * right[head + f];
        }
        p->left[at] = l;
        p->right[at] = r;
    }
}

/* The weight of an edge before it is divided by the row's sum; of GCN, whose sum is 1, the whole weight. Scores are
 * sums of a few products, so that no exponential overflows in fp64. */
static double weight(const model *m, const layer *own, const graph *g, int64_t i, int64_t j,
                     int head, const pass *p)
{
    const int64_t *const row_ptr = g->A.row_ptr;
    if (m->kind == MODEL_GCN)
        return 1 /
               sqrt((double)(row_ptr[i + 1] - row_ptr[i]) * (double)(row_ptr[j + 1] - row_ptr[j]));
    const double x = p->left[i * own->heads + head] + p->right[j * own->heads + head];
    return exp(x > 0 ? x : 0.2 * x);
}

static double activated(enum activation f, double x)
{
    if (f == ACTIVATION_NONE || x > 0) return x;
    return f == ACTIVATION_ELU ? expm1(x) : 0;
}

/* Writes the layer's output over X. */
static void sparse_layer(const model *m, const layer *own, const graph *g, const pass *p)
{
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t i = 0; i < g->A.rows; i++)
        for (int h = 0; h < own->heads; h++) {
            double *o = p->X + i * own->out + h * own->d, total = 0;
            memset(o, 0, own->d * sizeof *o);
            for (int64_t k = g->A.row_ptr[i]; k < g->A.row_ptr[i + 1]; k++) {
                const int64_t j = g->A.col_idx[k];
                const double w = weight(m, own, g, i, j, h, p);
                total += w;
                for (int f = 0; f < own->d; f++)
                    o[f] += w * p->Z[j * own->out + h * own->d + f];
            }
            for (int f = 0; f < own->d; f++)
                o[f] = activated(own->f, m->kind == MODEL_GAT ? o[f] / total : o[f]);
        }
}

static double mean_cross_entropy(const graph *g, const double *logits)
{
    double sum = 0;
    for (int64_t i = 0; i < g->A.rows; i++) {
        const double *x = logits + i * g->classes;
        double total = 0;
        if (g->trained[i] < 0) continue;
        for (int c = 0; c < g->classes; c++)
            total += exp(x[c] - x[g->trained[i]]);
        sum += log(total);
    }
    return sum / (double)g->num_trained;
}

double model_loss(const model *m, const graph *g, const double *parameters)
{
    const int64_t n = g->A.rows;
    int widest = g->features, heads = 1;
    double loss = NAN;
    for (int l = 0; l < m->num_layers; l++) {
        if (m->layers[l].out > widest) widest = m->layers[l].out;
        if (m->layers[l].heads > heads) heads = m->layers[l].heads;
    }
    const pass p = {numbers_of(n, widest), numbers_of(n, widest), numbers_of(n, heads),
                    numbers_of(n, heads)};
    if (p.X && p.Z && p.left && p.right) {
        for (int64_t at = 0; at < n * g->features; at++)
            p.X[at] = g->X[at];
        for (int l = 0; l < m->num_layers; l++) {
            const layer *own = &m->layers[l];
            dense_layer(own, parameters + model_part(m, l, PART_W), n, &p);
            if (m->kind == MODEL_GAT)
                score_halves(own, parameters + model_part(m, l, PART_LEFT),
                             parameters + model_part(m, l, PART_RIGHT), n, &p);
            sparse_layer(m, own, g, &p);
        }
        loss = mean_cross_entropy(g, p.X);
    }
    free(p.X);
    free(p.Z);
    free(p.left);
    free(p.right);
    return loss;
}
