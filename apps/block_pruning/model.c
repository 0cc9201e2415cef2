#include "model.h"

#include "matrix/generate.h"
#include "matrix/random.h"
#include "training/digits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Streams of random numbers. */
enum { OF_LAYOUT, OF_WEIGHTS = OF_LAYOUT + NUM_LAYERS };

static int whole_blocks(int features, int block)
{
    return (features + block - 1) / block * block;
}

enum status model_make(int hidden, int block, double density, uint64_t seed, model *m,
                       error_text *error)
{
    *m = (model){.block = block,
                 .features = {whole_blocks(DIGITS_PIXELS, block), hidden, hidden,
                              whole_blocks(DIGITS_CLASSES, block)}};
    for (int l = 0; l < NUM_LAYERS; l++) {
        char spec[128], source[1024];
        const unsigned long long own = random_substream(seed, OF_LAYOUT + l) % LARGEST_SEED;
        snprintf(spec, sizeof spec, "blocks:in=%d,out=%d,block=%d,density=%.9g,seed=%llu",
                 m->features[l], m->features[l + 1], block, l < NUM_PRUNED ? density : 1, own);
        const enum status status = generate(spec, &m->layout[l], source, sizeof source, error);
        if (status != STATUS_OK) return status;
    }
    return STATUS_OK;
}

void model_free(model *m)
{
    for (int l = 0; l < NUM_LAYERS; l++)
        csr_free(&m->layout[l]);
}

/* W and b of layer l, of which W has so many blocks. */
static int64_t add_tensors(const model *m, int l, int64_t blocks, int64_t first,
                           tensor_range *tensors)
{
    const int64_t counts[2] = {blocks * m->block * m->block, m->features[l + 1]};
    for (int part = 0; part < 2; part++) {
        tensor_range *t = &tensors[2 * l + part];
        snprintf(t->name, sizeof t->name, "%s of layer %d", part ? "b" : "W", l + 1);
        t->first = first;
        t->count = counts[part];
        first += t->count;
    }
    return first;
}

int64_t model_tensors(const model *m, const block_layout *const layout[NUM_LAYERS],
                      tensor_range tensors[NUM_TENSORS])
{
    int64_t count = 0;
    for (int l = 0; l < NUM_LAYERS; l++)
        count = add_tensors(m, l, layout[l]->blocks, count, tensors);
    return count;
}

void model_start(const model *m, uint64_t seed, float *parameters)
{
    int64_t at = 0;
    for (int l = 0; l < NUM_LAYERS; l++) {
        tensor_range tensors[NUM_TENSORS];
        const int64_t first = at;
        at = add_tensors(m, l, m->layout[l].nnz, first, tensors);
        const double per_input = (double)tensors[2 * l].count / m->features[l];
        const double per_output = (double)tensors[2 * l].count / m->features[l + 1];
        const float scale = (float)sqrt(6 / (per_input + per_output + 1e-9));
        const uint64_t stream = random_substream(seed, OF_WEIGHTS + l);
        for (int64_t i = 0; i < at - first; i++)
            parameters[first + i] =
                i < tensors[2 * l].count ? scale * random_symmetric(stream, i) : 0;
    }
}

/* Y [K][N] = W^T X + b. */
static void affine(const block_layout *l, int B, const double *W, const double *b, const double *X,
                   int N, double *Y)
{
#pragma omp parallel for schedule(static)
    for (int k = 0; k < l->cols * B; k++) {
        double *const y = Y + (int64_t)k * N;
        for (int n = 0; n < N; n++)
            y[n] = b[k];
        for (int at = l->col_ptr[k / B]; at < l->col_ptr[k / B + 1]; at++) {
            const int block = l->of_col[at];
            for (int i = 0; i < B; i++) {
                const double w = W[((int64_t)block * B + i) * B + k % B];
                const double *const x = X + ((int64_t)l->row[block] * B + i) * N;
                for (int n = 0; n < N; n++)
                    y[n] += w * x[n];
            }
        }
    }
}

double model_loss(const model *m, const block_layout *const layout[NUM_LAYERS], const float *X,
                  const int *label, int N, const double *parameters)
{
    tensor_range tensors[NUM_TENSORS];
    double loss = 0, *in = malloc((int64_t)m->features[0] * N * sizeof *in);
    model_tensors(m, layout, tensors);
    for (int64_t i = 0; in && i < (int64_t)m->features[0] * N; i++)
        in[i] = X[i];
    for (int l = 0; in && l < NUM_LAYERS; l++) {
        const int64_t outs = (int64_t)m->features[l + 1] * N;
        double *out = malloc(outs * sizeof *out);
        if (out)
            affine(layout[l], m->block, parameters + tensors[2 * l].first,
                   parameters + tensors[2 * l + 1].first, in, N, out);
        for (int64_t i = 0; out && l + 1 < NUM_LAYERS && i < outs; i++)
            out[i] = tanh(out[i]);
        free(in);
        in = out;
    }
    for (int n = 0; in && n < N; n++)
        loss += digits_entropy(in + n, N, label[n]) / N;
    const double result = in ? loss : NAN;
    free(in);
    return result;
}

double model_density(double from, double to, double at)
{
    const double left = 1 - fmin(fmax(at, 0), 1);
    return to + (from - to) * left * left * left;
}
