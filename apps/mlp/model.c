#include "model.h"

#include "matrix/generate.h"
#include "matrix/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Streams of random numbers. */
enum { OF_PATTERN, OF_WEIGHTS = OF_PATTERN + NUM_LAYERS, OF_IMAGES = OF_WEIGHTS + NUM_LAYERS };

enum status model_make(int hidden, double sparsity, uint64_t seed, model *m, error_text *error)
{
    const int size[NUM_LAYERS + 1] = {DIGITS_PIXELS, hidden, DIGITS_CLASSES};
    *m = (model){.hidden = hidden};
    for (int l = 0; l < NUM_LAYERS; l++) {
        char spec[128], source[1024];
        const unsigned long long own = random_substream(seed, OF_PATTERN + l) % LARGEST_SEED;
        snprintf(spec, sizeof spec, "weights:rows=%d,cols=%d,sparsity=%.9g,seed=%llu", size[l + 1],
                 size[l], sparsity, own);
        const enum status status = generate(spec, &m->W[l], source, sizeof source, error);
        if (status != STATUS_OK) return status;
        const int64_t counts[2] = {m->W[l].nnz, m->W[l].rows};
        for (int part = 0; part < 2; part++) {
            tensor_range *t = &m->tensors[2 * l + part];
            snprintf(t->name, sizeof t->name, "%s of layer %d", part ? "b" : "W", l + 1);
            t->first = m->parameters;
            t->count = counts[part];
            m->parameters += t->count;
        }
    }
    return STATUS_OK;
}

void model_free(model *m)
{
    for (int l = 0; l < NUM_LAYERS; l++)
        csr_free(&m->W[l]);
}

void model_start(const model *m, uint64_t seed, float *parameters)
{
    for (int l = 0; l < NUM_LAYERS; l++) {
        const csr_matrix *W = &m->W[l];
        const tensor_range *w = &m->tensors[2 * l], *b = &m->tensors[2 * l + 1];
        const double per_row = (double)W->nnz / W->rows, per_column = (double)W->nnz / W->cols;
        const float scale = (float)sqrt(6 / (per_row + per_column + 1e-9));
        const uint64_t stream = random_substream(seed, OF_WEIGHTS + l);
        for (int64_t z = 0; z < w->count; z++)
            parameters[w->first + z] = scale * random_symmetric(stream, z);
        for (int64_t i = 0; i < b->count; i++)
            parameters[b->first + i] = 0;
    }
}

enum status model_images(int N, int batches, int held_out, uint64_t seed, images *d,
                         error_text *error)
{
    return images_make(N, DIGITS_PIXELS, batches, held_out, random_substream(seed, OF_IMAGES), d,
                       error);
}

/* Y [rows][N] = W X + b. */
static void affine(const csr_matrix *W, const double *w, const double *b, const double *X, int N,
                   double *Y)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < W->rows; i++) {
        double *const y = Y + i * N;
        for (int n = 0; n < N; n++)
            y[n] = b[i];
        for (int64_t z = W->row_ptr[i]; z < W->row_ptr[i + 1]; z++) {
            const double *const x = X + (int64_t)W->col_idx[z] * N;
            for (int n = 0; n < N; n++)
                y[n] += w[z] * x[n];
        }
    }
}

double model_loss(const model *m, const csr_matrix *W, const float *X, const int *label, int N,
                  const double *parameters)
{
    const int64_t hidden = (int64_t)m->hidden * N, pixels = (int64_t)DIGITS_PIXELS * N;
    double *x = malloc((pixels + hidden + (int64_t)DIGITS_CLASSES * N) * sizeof *x), loss = 0;
    if (!x) return NAN;
    double *const H = x + pixels, *const logits = H + hidden;
    for (int64_t i = 0; i < pixels; i++)
        x[i] = X[i];
    affine(&W[0], parameters + m->tensors[0].first, parameters + m->tensors[1].first, x, N, H);
    for (int64_t i = 0; i < hidden; i++)
        H[i] = tanh(H[i]);
    affine(&W[1], parameters + m->tensors[2].first, parameters + m->tensors[3].first, H, N, logits);
    for (int n = 0; n < N; n++)
        loss += digits_entropy(logits + n, N, label[n]) / N;
    free(x);
    return loss;
}
