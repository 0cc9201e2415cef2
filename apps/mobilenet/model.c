#include "model.h"

#include "matrix/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_BLOCKS = 13, DIGITS = 1 << 16 };

/* Streams of random numbers; those of layer i begin at i * OF_A_LAYER. */
enum { OF_WEIGHTS, OF_NORM, OF_A_LAYER, OF_IMAGES = 1000 };

/* ---- shapes ------------------------------------------------------------------------------------ */

/* The nearest multiple of 8, but not less than nine tenths of it. */
static int to_eight(double channels)
{
    int rounded = (int)(channels + 4) / 8 * 8;
    if (rounded < 8) rounded = 8;
    return rounded < 0.9 * channels ? rounded + 8 : rounded;
}

static int side_after(int side, int stride)
{
    return (side - 1) / stride + 1;
}

/* Shapes a layer of so many output channels behind one of `in` channels and images of `side` pixels. */
static layer shaped(enum layer_kind kind, int in, int out, int stride, int side)
{
    const int next = kind == POOL ? 1 : side_after(side, stride);
    return (layer){.kind = kind,
                   .in = in,
                   .out = out,
                   .stride = stride,
                   .in_side = side,
                   .out_side = next,
                   .relu = kind < POOL};
}

/* Weights of one output channel with its zeros. */
static int64_t inputs_of(const layer *l)
{
    switch (l->kind) {
    case STEM:
        return COLORS * TAPS;
    case DEPTHWISE:
        return TAPS;
    case POOL:
        return 0;
    default:
        return l->in;
    }
}

void model_describe(const model_shape *shape, model *m)
{
    static const int CHANNELS[NUM_BLOCKS] = {64,  128, 128, 256, 256,  512, 512,
                                             512, 512, 512, 512, 1024, 1024};
    static const int STRIDES[NUM_BLOCKS] = {1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1};
    const double width = shape->width;
    *m = (model){.shape = *shape};
    layer *l = m->layers;
    int side = shape->image;
    *l = shaped(STEM, COLORS, to_eight(32 * width), 2, side);
    for (int b = 0; b < NUM_BLOCKS; b++) {
        const int channels = l->out, wanted = (int)(CHANNELS[b] * width);
        side = l->out_side;
        *++l = shaped(DEPTHWISE, channels, channels, STRIDES[b], side);
        side = l->out_side;
        *++l = shaped(POINTWISE, channels, b ? to_eight(wanted) : wanted, 1, side);
    }
    const int channels = l->out;
    *++l = shaped(POOL, channels, channels, 1, side);
    *++l = shaped(CLASSIFIER, channels, shape->classes, 1, 1);
    for (int i = 0; i < NUM_LAYERS; i++) {
        l = &m->layers[i];
        const int64_t count = l->out * inputs_of(l);
        l->sparse = l->kind == POINTWISE && i > 2 && shape->sparsity > 0;
        l->num_weights = l->sparse ? llround((1 - shape->sparsity) * (double)count) : count;
    }
}

const char *layer_name(const layer *l)
{
    static const char *const NAMES[] = {"stem", "depthwise", "1x1", "pool", "classifier"};
    return NAMES[l->kind];
}

int64_t layer_terms(const layer *l)
{
    int64_t longest = l->kind == POOL ? (int64_t)l->in_side * l->in_side : inputs_of(l);
    if (!l->sparse) return longest;
    longest = 0;
    for (int i = 0; i < l->out; i++)
        if (l->row_ptr[i + 1] - l->row_ptr[i] > longest)
            longest = l->row_ptr[i + 1] - l->row_ptr[i];
    return longest;
}

int64_t layer_in_columns(const layer *l, int batch)
{
    return (int64_t)batch * l->in_side * l->in_side;
}

int64_t layer_out_columns(const layer *l, int batch)
{
    return (int64_t)batch * l->out_side * l->out_side;
}

/* ---- weights ----------------------------------------------------------------------------------- */

void fold_batch_norm(const batch_norm *n, int64_t count, float *weights, float *bias)
{
    const double scale = n->gamma / sqrt(n->variance + BATCH_NORM_EPSILON);
    for (int64_t k = 0; k < count; k++)
        weights[k] = (float)(weights[k] * scale);
    *bias = (float)(n->beta - n->mean * scale);
}

/* Returns the magnitude of a weight as a whole number of the same order: its bits without the sign. */
static uint32_t magnitude_of(float weight)
{
    uint32_t bits;
    memcpy(&bits, &weight, sizeof bits);
    return bits & 0x7fffffff;
}

/* Returns the magnitude that stands at place `keep`, 1 or more, when the largest comes first; *above are larger. Finds its upper
 * 16 bits, then the lower ones, by how many weights have each: two passes, where sorting takes 20. */
static uint32_t magnitude_at(const float *weights, int64_t count, int64_t keep, int64_t *counts,
                             int64_t *above)
{
    uint32_t found = 0;
    *above = 0;
    for (int shift = 16; shift >= 0; shift -= 16) {
        memset(counts, 0, DIGITS * sizeof *counts);
        for (int64_t i = 0; i < count; i++) {
            const uint32_t m = magnitude_of(weights[i]);
            if (shift == 16 || m >> 16 == found) counts[m >> shift & (DIGITS - 1)]++;
        }
        uint32_t digit = DIGITS - 1;
        while (*above + counts[digit] < keep)
            *above += counts[digit--];
        found = found << 16 | digit;
    }
    return found;
}

bool prune_by_magnitude(const float *weights, int64_t count, int64_t keep, bool *kept)
{
    if (keep <= 0 || keep >= count) {
        memset(kept, keep > 0, count * sizeof *kept);
        return true;
    }
    int64_t *counts = malloc(DIGITS * sizeof *counts), above;
    if (!counts) return false;
    const uint32_t threshold = magnitude_at(weights, count, keep, counts, &above);
    int64_t ties = keep - above; /* of those at the threshold, the first ones */
    for (int64_t i = 0; i < count; i++) {
        const uint32_t m = magnitude_of(weights[i]);
        kept[i] = m > threshold || (m == threshold && ties-- > 0);
    }
    free(counts);
    return true;
}

/* A norm as training leaves it: scales about 1, small means and shifts. */
static batch_norm random_norm(uint64_t stream, int64_t channel)
{
    return (batch_norm){.gamma = 1 + 0.3 * random_symmetric(stream, 4 * channel),
                        .beta = 0.1 * random_symmetric(stream, 4 * channel + 1),
                        .mean = 0.1 * random_symmetric(stream, 4 * channel + 2),
                        .variance = 1 + 0.5 * random_symmetric(stream, 4 * channel + 3)};
}

/* Replaces the dense weights of a layer by those that are kept, in CSR. */
static bool compress(layer *l, const bool *kept)
{
    const int64_t keep = l->num_weights;
    float *values = malloc((keep + 1) * sizeof *values);
    l->row_ptr = malloc((l->out + 1) * sizeof *l->row_ptr);
    l->col_idx = malloc((keep + 1) * sizeof *l->col_idx);
    if (!values || !l->row_ptr || !l->col_idx) {
        free(values);
        return false;
    }
    int64_t z = 0;
    for (int i = 0; i < l->out; i++) {
        l->row_ptr[i] = z;
        for (int k = 0; k < l->in; k++)
            if (kept[(int64_t)i * l->in + k]) {
                values[z] = l->weights[(int64_t)i * l->in + k];
                l->col_idx[z++] = k;
            }
    }
    l->row_ptr[l->out] = z;
    free(l->weights);
    l->weights = values;
    return true;
}

/* Prunes, then folds, then rounds. The variance of weights is 2 over the kept inputs, which leaves that of activations
 * behind a ReLU as it was. */
static bool fill_layer(layer *l, int number, const model_shape *s, uint64_t seed)
{
    const uint64_t first = (uint64_t)number * OF_A_LAYER;
    const uint64_t of_weights = random_substream(seed, first + OF_WEIGHTS);
    const uint64_t of_norm = random_substream(seed, first + OF_NORM);
    const int64_t inputs = inputs_of(l), count = l->out * inputs;
    bool *kept = malloc((count + 1) * sizeof *kept);
    l->weights = malloc((count + 1) * sizeof *l->weights);
    l->bias = malloc((l->out + 1) * sizeof *l->bias);
    bool ok = kept && l->weights && l->bias;
    for (int64_t i = 0; i < count && ok; i++)
        l->weights[i] = random_symmetric(of_weights, i);
    ok = ok && prune_by_magnitude(l->weights, count, l->num_weights, kept);
    double squares = 0;
    for (int64_t i = 0; i < count && ok; i++) {
        if (!kept[i]) l->weights[i] = 0;
        squares += (double)l->weights[i] * l->weights[i];
    }
    const double scale = squares > 0 ? sqrt(2.0 * l->out / squares) : 1;
    for (int64_t i = 0; i < count && ok; i++)
        l->weights[i] = (float)(l->weights[i] * scale);
    for (int i = 0; i < l->out && ok; i++) {
        const batch_norm norm = random_norm(of_norm, i);
        if (l->kind == CLASSIFIER)
            l->bias[i] = (float)norm.beta;
        else
            fold_batch_norm(&norm, inputs, l->weights + i * inputs, &l->bias[i]);
    }
    for (int64_t i = 0; i < count && ok; i++)
        l->weights[i] = precision_round(s->precision, l->weights[i]);
    ok = ok && (!l->sparse || compress(l, kept));
    free(kept);
    return ok;
}

enum status model_open(const model_shape *shape, uint64_t seed, model *m, error_text *error)
{
    model_describe(shape, m);
    const int64_t numbers = (int64_t)COLORS * shape->batch * shape->image * shape->image;
    bool ok = (m->images = malloc((numbers + 1) * sizeof *m->images)) != NULL;
    const uint64_t stream = random_substream(seed, OF_IMAGES);
    for (int64_t i = 0; i < numbers && ok; i++)
        m->images[i] = precision_round(shape->precision, random_symmetric(stream, i));
    for (int i = 0; i < NUM_LAYERS && ok; i++)
        if (m->layers[i].kind != POOL) ok = fill_layer(&m->layers[i], i, shape, seed);
    return ok ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory for the weights of a net");
}

void model_close(model *m)
{
    for (int i = 0; i < NUM_LAYERS; i++) {
        free(m->layers[i].weights);
        free(m->layers[i].bias);
        free(m->layers[i].row_ptr);
        free(m->layers[i].col_idx);
    }
    free(m->images);
}

/* ---- fp64 -------------------------------------------------------------------------------------- */

/* A sum and that of its terms' magnitudes. */
typedef struct exact_sum {
    double value, size;
} exact_sum;

static void add(exact_sum *s, double term)
{
    s->value += term;
    s->size += fabs(term);
}

/* Adds the 3x3 window of a plane around output (row, column); outside the image there are zeros. */
static void add_window(exact_sum *s, const layer *l, const float *weights, const double *plane,
                       int row, int column)
{
    for (int t = 0; t < TAPS; t++) {
        const int r = row * l->stride + t / 3 - 1, c = column * l->stride + t % 3 - 1;
        if (r >= 0 && r < l->in_side && c >= 0 && c < l->in_side)
            add(s, (double)weights[t] * plane[(int64_t)r * l->in_side + c]);
    }
}

/* The sum of one output before its bias. */
static exact_sum sum_of(const layer *l, int batch, const double *x, int64_t column, int channel)
{
    const int64_t pixels = (int64_t)l->in_side * l->in_side, N = batch * pixels;
    const int64_t of_image = (int64_t)l->out_side * l->out_side, image = column / of_image;
    const int row = (int)(column % of_image / l->out_side), at = (int)(column % l->out_side);
    const double *const planes = x + image * pixels;
    exact_sum s = {0};
    switch (l->kind) {
    case STEM:
        for (int k = 0; k < l->in; k++)
            add_window(&s, l, l->weights + ((int64_t)channel * l->in + k) * TAPS, planes + k * N,
                       row, at);
        break;
    case DEPTHWISE:
        add_window(&s, l, l->weights + (int64_t)channel * TAPS, planes + channel * N, row, at);
        break;
    case POOL:
        for (int64_t i = 0; i < pixels; i++)
            add(&s, planes[channel * N + i] / (double)pixels);
        break;
    default:
        if (l->sparse)
            for (int64_t z = l->row_ptr[channel]; z < l->row_ptr[channel + 1]; z++)
                add(&s, (double)l->weights[z] * x[l->col_idx[z] * N + column]);
        else
            for (int k = 0; k < l->in; k++)
                add(&s, (double)l->weights[(int64_t)channel * l->in + k] * x[k * N + column]);
    }
    return s;
}

void layer_exact(const layer *l, int batch, const double *x, int64_t column, double *y,
                 double *size)
{
    for (int i = 0; i < l->out; i++) {
        exact_sum s = sum_of(l, batch, x, column, i);
        if (l->bias) add(&s, l->bias[i]);
        y[i] = l->relu && s.value < 0 ? 0 : s.value;
        size[i] = s.size;
    }
}

/* A layer of one image: y[out][pixels]. False: no memory. */
static bool exact_image(const layer *l, const double *x, double *y)
{
    const int64_t columns = layer_out_columns(l, 1);
    bool ok = true;
#pragma omp parallel for schedule(dynamic, 16)
    for (int64_t j = 0; j < columns; j++) {
        double *column = malloc(2 * l->out * sizeof *column);
        if (!column) {
#pragma omp atomic write
            ok = false;
            continue;
        }
        layer_exact(l, 1, x, j, column, column + l->out);
        for (int i = 0; i < l->out; i++)
            y[i * columns + j] = column[i];
        free(column);
    }
    return ok;
}

enum status model_exact(const model *m, int image, double *scores, error_text *error)
{
    const int64_t pixels = (int64_t)m->shape.image * m->shape.image;
    double *x = malloc(COLORS * pixels * sizeof *x);
    for (int64_t i = 0; i < COLORS * pixels && x; i++)
        x[i] = m->images[(i / pixels * m->shape.batch + image) * pixels + i % pixels];
    for (int i = 0; i < NUM_LAYERS && x; i++) {
        const layer *l = &m->layers[i];
        double *y = malloc(l->out * layer_out_columns(l, 1) * sizeof *y);
        if (y && !exact_image(l, x, y)) {
            free(y);
            y = NULL;
        }
        free(x);
        x = y;
    }
    if (!x) return fail(error, STATUS_MEMORY, "no memory for the net in fp64");
    memcpy(scores, x, m->shape.classes * sizeof *scores);
    free(x);
    return STATUS_OK;
}
