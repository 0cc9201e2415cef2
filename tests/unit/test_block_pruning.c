/*
 * test_block_pruning.c - apps/block_pruning: what a change of a layout drops, grows and keeps, and the schedule of densities.
 */
#include "apps/block_pruning/layer.h"
#include "apps/block_pruning/model.h"
#include "matrix/generate.h"
#include "matrix/random.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { B = 8, N = 5, EACH = B * B };

/* A layer with its weights on the host as a dense matrix. */
typedef struct sample {
    block_layer layer;
    float *dense;
    int64_t rows, cols; /* blocks */
} sample;

static bool fetch_dense(sample *s)
{
    const int64_t count = block_layer_weights(&s->layer);
    float *W = malloc((count + 1) * sizeof *W);
    const bool copied =
        W && cudaMemcpy(W, s->layer.W, count * sizeof *W, cudaMemcpyDeviceToHost) == cudaSuccess;
    if (copied) block_to_dense(&s->layer.layout, B, W, s->dense);
    free(W);
    return copied;
}

static bool make(sample *s, const char *spec, error_text *error)
{
    csr_matrix pattern;
    char source[512];
    *s = (sample){0};
    if (generate(spec, &pattern, source, sizeof source, error) != STATUS_OK) return false;
    s->rows = pattern.rows;
    s->cols = pattern.cols;
    float *W = malloc(pattern.nnz * EACH * sizeof *W);
    for (int64_t i = 0; i < pattern.nnz * EACH; i++)
        W[i] = random_symmetric(3, i) * (1 + (float)(i / EACH));
    s->dense = malloc(pattern.nnz * EACH * 100 * sizeof *s->dense);
    const enum status status = block_layer_make(&s->layer, &pattern, B, N, "l2", W, error);
    free(W);
    csr_free(&pattern);
    return status == STATUS_OK && fetch_dense(s);
}

static void destroy(sample *s)
{
    block_layer_free(&s->layer);
    free(s->dense);
}

/* The L2 norm of block (r, c) of a dense form, and whether two forms have the same block. */
static double norm_of(const sample *s, const float *dense, int64_t r, int64_t c)
{
    double squares = 0;
    for (int i = 0; i < B; i++)
        for (int j = 0; j < B; j++) {
            const double w = dense[(r * B + i) * s->cols * B + c * B + j];
            squares += w * w;
        }
    return sqrt(squares);
}

static bool is_same_block(const sample *s, const float *a, const float *b, int64_t r, int64_t c)
{
    for (int i = 0; i < B; i++) {
        const size_t at = (size_t)((r * B + i) * s->cols * B + c * B);
        if (memcmp(a + at, b + at, B * sizeof *a)) return false;
    }
    return true;
}

static bool *existing(const block_layout *l)
{
    bool *there = calloc((size_t)l->rows * l->cols + 1, sizeof *there);
    for (int b = 0; b < l->blocks; b++)
        there[(int64_t)l->row[b] * l->cols + l->col[b]] = true;
    return there;
}

/* X and dY whose importance of block (r, c) is (r + 1) * (c + 1): one token, one feature of each block. */
static float *features(int64_t lines)
{
    float *host = calloc(lines * B * N, sizeof *host), *device = NULL;
    for (int64_t line = 0; line < lines; line++)
        host[line * B * N] = (float)(line + 1);
    if (cudaMalloc((void **)&device, lines * B * N * sizeof *host) == cudaSuccess)
        cudaMemcpy(device, host, lines * B * N * sizeof *host, cudaMemcpyHostToDevice);
    free(host);
    return device;
}

static void test_change(const char *spec, int drops, int grows, bool by_importance)
{
    sample s;
    error_text error = {""};
    const bool made = make(&s, spec, &error);
    if (!made) {
        tap_ok(false, "%s: %s", spec, error.text);
        destroy(&s);
        return;
    }
    const size_t bytes = (size_t)s.rows * s.cols * EACH * sizeof *s.dense;
    float *before = malloc(bytes), *X = features(s.rows), *dY = features(s.cols);
    memcpy(before, s.dense, bytes);
    bool *was = existing(&s.layer.layout);
    const int blocks = s.layer.layout.blocks;
    block_change c = {.drops = drops, .grows = grows, .by_importance = by_importance, .seed = 7};
    const bool changed =
        block_layer_change(&s.layer, X, dY, &c, &error) == STATUS_OK && fetch_dense(&s);
    bool *is = existing(&s.layer.layout);
    int dropped = 0, grown = 0, moved = 0;
    double least_kept = INFINITY, most_dropped = 0;
    int64_t least_grown = INT64_MAX, most_absent = 0;
    for (int64_t r = 0; r < s.rows; r++)
        for (int64_t k = 0; k < s.cols; k++) {
            const int64_t at = r * s.cols + k, importance = (r + 1) * (k + 1);
            const double norm = norm_of(&s, before, r, k);
            if (was[at] && is[at]) {
                moved += !is_same_block(&s, before, s.dense, r, k);
                least_kept = fmin(least_kept, norm);
            } else if (was[at]) {
                dropped++;
                most_dropped = fmax(most_dropped, norm);
            } else if (is[at]) {
                grown++;
                moved += norm_of(&s, s.dense, r, k) != 0;
                if (importance < least_grown) least_grown = importance;
            } else if (importance > most_absent) {
                most_absent = importance;
            }
        }
    const bool best = !by_importance || most_absent <= least_grown;
    tap_ok(changed && dropped == drops && grown == grows && moved == 0 && best &&
               most_dropped <= least_kept && s.layer.layout.blocks == blocks - drops + grows,
           "%s, %s: %d of %d blocks go, %d grow with 0, the others keep their weights%s%s", spec,
           by_importance ? "by importance" : "at random", dropped, blocks, grown,
           *error.text ? ": " : "", error.text);
    free(before);
    free(was);
    free(is);
    cudaFree(X);
    cudaFree(dY);
    destroy(&s);
}

static void test_schedule(void)
{
    bool falls = true;
    for (int i = 0; i < 20; i++)
        falls = falls && model_density(1, .1, i / 20.) > model_density(1, .1, (i + 1) / 20.);
    tap_ok(falls && model_density(1, .1, 0) == 1 && model_density(1, .1, 1) == .1 &&
               model_density(1, .1, 7) == .1 && fabs(model_density(.9, .1, .5) - .2) < 1e-12,
           "the density falls like a cube, and stays where it should end");
    tap_ok(model_density(.3, .3, .4) == .3, "a density that does not change");
}

int main(void)
{
    test_change("blocks:in=96,out=64,block=8,density=0.4", 9, 5, true);
    test_change("blocks:in=96,out=64,block=8,density=0.4", 5, 5, false);
    test_change("blocks:in=64,out=96,block=8,density=0.3,seed=3", 7, 7, true);
    test_change("blocks:in=64,block=8,density=1", 40, 0, true);
    test_change("blocks:in=64,block=8,density=0.2", 12, 12, false);
    test_schedule();
    return tap_done();
}
