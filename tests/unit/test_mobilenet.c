/*
 * test_mobilenet.c - apps/mobilenet without its program: shapes as published, folding, pruning, fp64 against hand-made sums,
 * and the kernels that are no product.
 */
#include "apps/mobilenet/check.h"
#include "apps/mobilenet/kernels.h"
#include "apps/mobilenet/model.h"
#include "apps/mobilenet/sample.h"
#include "tests/tap.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Output channels of the stem and of 1x1 layers 0, 1, 3, 5, 11 by width, from the source's kernel table. */
static void test_shapes(void)
{
    static const struct {
        double width;
        int channels[6];
    } PUBLISHED[] = {
        {1.0, {32, 64, 128, 256, 512, 1024}},  {1.2, {40, 76, 152, 304, 616, 1232}},
        {1.3, {40, 83, 168, 336, 664, 1328}},  {1.4, {48, 89, 176, 360, 720, 1432}},
        {1.5, {48, 96, 192, 384, 768, 1536}},  {1.6, {48, 102, 208, 408, 816, 1640}},
        {1.7, {56, 108, 216, 432, 872, 1744}}, {1.8, {56, 115, 232, 464, 920, 1840}},
    };
    static const int PLACES[] = {0, 2, 4, 8, 12, 24};
    for (size_t i = 0; i < sizeof PUBLISHED / sizeof *PUBLISHED; i++) {
        model m;
        bool ok = true;
        model_describe(&(model_shape){.width = PUBLISHED[i].width,
                                      .image = 224,
                                      .batch = 1,
                                      .classes = 1000,
                                      .sparsity = 0.9},
                       &m);
        for (int k = 0; k < 6; k++)
            ok = ok && m.layers[PLACES[k]].out == PUBLISHED[i].channels[k];
        int64_t sparse = 0, dense = 0, products = 0;
        for (int k = 0; k < NUM_LAYERS; k++) {
            const layer *l = &m.layers[k];
            if (l->kind != POINTWISE) continue;
            sparse += l->num_weights;
            dense += (int64_t)l->out * l->in;
            products += (int64_t)l->out * l->in * layer_out_columns(l, 1);
        }
        tap_ok(ok && sparse < 0.11 * dense, "width %g has the published channels",
               PUBLISHED[i].width);
        if (PUBLISHED[i].width == 1)
            tap_ok(llround(2e-7 * products) == 108, "width 1: 1.08 GFLOP in 1x1 layers");
    }
}

static void test_fold(void)
{
    float w[] = {1, -2}, bias;
    const batch_norm plain = {.gamma = 3, .beta = 0.5, .mean = 2, .variance = 4 - 1e-3};
    fold_batch_norm(&plain, 2, w, &bias);
    tap_ok(w[0] == 1.5f && w[1] == -3 && fabsf(bias + 2.5f) < 1e-6, "a batch norm is folded");
    /* max(0, norm(w x)) must be max(0, w' x + b') for any x. */
    const batch_norm still = {.gamma = -0.7, .beta = 0.1, .mean = 0.3, .variance = 0};
    float v[] = {0.25f};
    fold_batch_norm(&still, 1, v, &bias);
    const double x = 1.7, norm = -0.7 * (0.25 * x - 0.3) / sqrt(1e-3) + 0.1;
    tap_ok(fabs(v[0] * x + bias - norm) < 1e-5 * fabs(norm),
           "of variance 0, epsilon is divided by");
}

/* Keeps `keep` of many weights, most of which share few magnitudes, those of next to nothing among them. */
static bool keeps_largest(int64_t keep)
{
    enum { COUNT = 3000 };
    float w[COUNT], least_kept = INFINITY, most_dropped = -1;
    bool kept[COUNT];
    int64_t number = 0, last_tie = -1, first_tie = COUNT;
    for (int i = 0; i < COUNT; i++)
        w[i] = (i * 37 % 11 - 5) * (i % 7 ? 1.0f : 0x1p-140f) * (i % 5 ? 1 : 1.0001f);
    if (!prune_by_magnitude(w, COUNT, keep, kept)) return false;
    for (int i = 0; i < COUNT; i++) {
        number += kept[i];
        if (kept[i])
            least_kept = fminf(least_kept, fabsf(w[i]));
        else
            most_dropped = fmaxf(most_dropped, fabsf(w[i]));
    }
    for (int i = 0; i < COUNT && least_kept == most_dropped; i++) {
        if (fabsf(w[i]) != least_kept) continue;
        if (kept[i]) last_tie = i;
        if (!kept[i] && i < first_tie) first_tie = i;
    }
    return number == keep && most_dropped <= least_kept && last_tie < first_tie;
}

static void test_prune(void)
{
    bool all = true;
    for (int64_t keep = 0; keep <= 3000; keep += keep % 50 == 0 || keep == 2999 ? 1 : 49)
        all = all && keeps_largest(keep) && keeps_largest(3000 - keep);
    tap_ok(all, "of 3000 weights, many of them alike, the largest are kept, however many");
    const float w[] = {1, -3, 3, 0.5f, -3, 2};
    const bool want[] = {false, true, true, false, false, false};
    bool kept[6];
    tap_ok(prune_by_magnitude(w, 6, 2, kept) && !memcmp(kept, want, sizeof want),
           "of equal magnitudes the first are kept");
    model m;
    error_text error;
    const model_shape shape = {.width = 0.3, .image = 8, .batch = 1, .classes = 3, .sparsity = 0.9};
    bool ok = model_open(&shape, 4, &m, &error) == STATUS_OK;
    for (int i = 0; i < NUM_LAYERS && ok; i++) {
        const layer *l = &m.layers[i];
        if (l->sparse) ok = l->row_ptr[l->out] == llround(0.1 * l->out * l->in);
        ok = ok && l->sparse == (l->kind == POINTWISE && i > 2);
    }
    tap_ok(ok, "every 1x1 layer but the first keeps a tenth of its weights, exactly");
    model_close(&m);
}

/* ---- what a check reads ---------------------------------------------------------------------------- */

enum { CHANNELS = 2, BATCH = 9, PIXELS = 3, IMAGES = 4, NUMBERS = CHANNELS * BATCH * PIXELS };

/* Numbers have their own place as value. Takes four images of nine from the seventh on: 7, 0, 2, and the last one for 4. */
static bool takes_images(const activation *a, float *d_to)
{
    static const int WANT[IMAGES] = {7, 0, 2, 8};
    float got[CHANNELS * IMAGES * PIXELS];
    bool ok = sample_take(a, IMAGES, 7, d_to, NULL) == cudaSuccess &&
              cudaMemcpy(got, d_to, sizeof got, cudaMemcpyDeviceToHost) == cudaSuccess;
    for (int i = 0; i < CHANNELS * IMAGES * PIXELS && ok; i++) {
        const int channel = i / PIXELS / IMAGES, image = WANT[i / PIXELS % IMAGES];
        ok = got[i] == (channel * BATCH + image) * PIXELS + i % PIXELS;
    }
    return ok;
}

/* Whether a number is found that is not finite, of NUMBERS whose number `at` is x. */
static bool finds(const activation *a, int at, float x, int *d_found)
{
    float numbers[NUMBERS];
    int found = 0;
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = i == at ? x : (float)i;
    cudaMemcpy((void *)a->at, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    cudaMemset(d_found, 0, sizeof *d_found);
    const bool ok =
        sample_not_finite(a, d_found, NULL) == cudaSuccess &&
        cudaMemcpy(&found, d_found, sizeof found, cudaMemcpyDeviceToHost) == cudaSuccess;
    return ok && found;
}

static void test_sample(void)
{
    float *d_numbers, *d_to;
    int *d_found;
    cudaMalloc((void **)&d_numbers, NUMBERS * sizeof *d_numbers);
    cudaMalloc((void **)&d_to, NUMBERS * sizeof *d_to);
    cudaMalloc((void **)&d_found, sizeof *d_found);
    const activation a = {.at = d_numbers, .channels = CHANNELS, .batch = BATCH, .pixels = PIXELS};
    tap_ok(!finds(&a, 0, -FLT_MAX, d_found), "finite numbers are no finding");
    tap_ok(finds(&a, 3, NAN, d_found) && finds(&a, NUMBERS - 1, -INFINITY, d_found),
           "a NaN or an infinity is found in any image");
    finds(&a, -1, 0, d_found);
    tap_ok(takes_images(&a, d_to), "images are taken evenly, and the last one always");
    cudaFree(d_numbers);
    cudaFree(d_to);
    cudaFree(d_found);
}

/* ---- kernels ------------------------------------------------------------------------------------- */

enum { MOST = 70 * 70 * 40 };

/* Images of ones, weights of ones: an output counts the pixels that its window has inside the image. */
static bool windows_are_right(int side, int stride, int channels, int batch, bool is_stem)
{
    const int out_side = (side - 1) / stride + 1, in = is_stem ? 3 : channels;
    const int64_t inputs = (int64_t)in * batch * side * side;
    const int64_t outputs = (int64_t)channels * batch * out_side * out_side;
    const int taps = is_stem ? 27 : 9;
    float *x, *w, *b, *y, *host = malloc(MOST * sizeof *host);
    bool ok = host && inputs <= MOST && outputs <= MOST;
    cudaMalloc((void **)&x, inputs * sizeof *x);
    cudaMalloc((void **)&y, outputs * sizeof *y);
    cudaMalloc((void **)&w, (size_t)channels * taps * sizeof *w);
    cudaMalloc((void **)&b, channels * sizeof *b);
    for (int i = 0; i < MOST; i++)
        host[i] = 1;
    cudaMemcpy(x, host, inputs * sizeof *x, cudaMemcpyHostToDevice);
    cudaMemcpy(w, host, (size_t)channels * taps * sizeof *w, cudaMemcpyHostToDevice);
    for (int i = 0; i < channels; i++)
        host[i] = (float)-i;
    cudaMemcpy(b, host, channels * sizeof *b, cudaMemcpyHostToDevice);
    cudaMemset(y, 0xff, outputs * sizeof *y);
    const planes p = {.in = in,
                      .out = channels,
                      .batch = batch,
                      .in_side = side,
                      .out_side = out_side,
                      .stride = stride,
                      .x = x,
                      .weights = w,
                      .bias = b,
                      .y = y};
    ok = ok && (is_stem ? stem_run(&p, NULL) : depthwise_run(&p, NULL)) == cudaSuccess;
    ok = ok && cudaMemcpy(host, y, outputs * sizeof *y, cudaMemcpyDeviceToHost) == cudaSuccess;
    for (int64_t i = 0; i < outputs && ok; i++) {
        const int r = (int)(i / out_side % out_side) * stride, c = (int)(i % out_side) * stride;
        const int rows = 3 - (r == 0) - (r == side - 1), columns = 3 - (c == 0) - (c == side - 1);
        const int channel = (int)(i / ((int64_t)batch * out_side * out_side));
        const int want = rows * columns * (is_stem ? 3 : 1) - channel;
        ok = host[i] == (want < 0 ? 0 : want);
    }
    cudaFree(x);
    cudaFree(y);
    cudaFree(w);
    cudaFree(b);
    free(host);
    return ok;
}

static void test_windows(void)
{
    static const int SIDES[] = {1, 2, 3, 7, 8, 9, 16, 17, 31, 32, 33, 34, 64, 65, 70};
    for (int stride = 1; stride <= 2; stride++) {
        bool depthwise = true, stem = true;
        for (size_t i = 0; i < sizeof SIDES / sizeof *SIDES; i++) {
            const int side = SIDES[i], channels = side > 30 ? 5 : 13;
            depthwise = depthwise && windows_are_right(side, stride, channels, 3, false);
            stem = stem && windows_are_right(side, stride, channels, 2, true);
        }
        tap_ok(depthwise, "depthwise of stride %d: borders of every size, negative sums are 0",
               stride);
        tap_ok(stem, "the stem of stride %d likewise", stride);
    }
}

static void test_exact(void)
{
    model m;
    error_text error;
    const model_shape shape = {.width = 0.1, .image = 5, .batch = 2, .classes = 4, .sparsity = 0.5};
    double scores[2][4];
    bool ok = model_open(&shape, 2, &m, &error) == STATUS_OK &&
              model_exact(&m, 0, scores[0], &error) == STATUS_OK &&
              model_exact(&m, 1, scores[1], &error) == STATUS_OK;
    tap_ok(ok && memcmp(scores[0], scores[1], sizeof scores[0]) != 0,
           "images have scores of their own");
    /* The depthwise layer on an image of a single pixel uses the middle weight alone. */
    float w[TAPS] = {9, 9, 9, 9, 2, 9, 9, 9, 9}, bias[] = {-1};
    const layer l = {.kind = DEPTHWISE,
                     .in = 1,
                     .out = 1,
                     .stride = 1,
                     .in_side = 1,
                     .out_side = 1,
                     .relu = true,
                     .weights = w,
                     .bias = bias};
    double x = 3, y, size;
    layer_exact(&l, 1, &x, 0, &y, &size);
    tap_ok(y == 5 && size == 7, "a window of one pixel, its bias, and the sum of magnitudes");
    x = 0.25;
    layer_exact(&l, 1, &x, 0, &y, &size);
    tap_ok(y == 0 && size == 1.5, "a negative sum is 0");
    model_close(&m);
}

int main(void)
{
    test_shapes();
    test_fold();
    test_prune();
    test_sample();
    test_windows();
    test_exact();
    return tap_done();
}
