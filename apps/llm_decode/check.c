#include "check.h"

#include "baselines/sums_rounded.h"
#include "harness/progress.h"
#include "ops/rounding.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double U = 0x1p-24; /* rounding to fp32 */

enum {
    ALL_ELEMENTS = 1 << 19, /* weights of a product that is checked in full */
    SAMPLED_ROWS = 16,
    MOST_PAIRS = 8 /* of a sequence and a head, whose attention is checked */
};

/* Arrays of the last parts on the host, column after column. */
typedef struct checker {
    watcher base;
    decoder *d;
    verdict *v;
    int columns, before; /* tokens in the cache */
    enum part last;      /* the part before */
    float *x, *normed, *qkv, *attended, *update, *up, *logits;
    int pairs;
    float *shadow; /* [layers][pairs][K, V][capacity][128] */
    void *room;    /* for the largest array: in fp32, and behind it in fp16 */
} checker;

/* ---- judging ----------------------------------------------------------------------------------- */

/* One number: `error` over `bound` goes into the verdict; what is not within its bound makes more than 1, NaN too. */
static enum status judge(checker *k, int layer, enum part part, int feature, int column, double got,
                         double want, double bound, error_text *error)
{
    const double off = fabs(got - want);
    double share = off == 0 ? 0 : off / bound;
    if (!(off <= bound) && !(share > 1)) share = INFINITY;
    double *const worst = &k->v->worst[part];
    if (isnan(*worst) || share > *worst) *worst = share;
    if (share <= 1) return STATUS_OK;
    return fail(error, STATUS_WRONG,
                "wrong %s: layer %d, feature %d of column %d at position %d is %.6g, not %.6g, "
                "%.3g times its bound",
                step_part_name(part), layer, feature, column,
                k->before + column % k->d->settings.tokens, got, want, share);
}

static double half_rounded(double x)
{
    return precision_round(PRECISION_FP16, (float)x);
}

/* ---- copies ------------------------------------------------------------------------------------ */

/* Copies an array of fp16 numbers, in whatever layout, to `to`, column after column. */
static enum status fetch(checker *k, const strided *from, int features, float *to,
                         error_text *error)
{
    const size_t count = (size_t)k->columns * features;
    float *const all = k->room;
    void *const halves = all + count;
    TRY_CUDA(cudaStreamSynchronize(k->d->pass.stream));
    TRY_CUDA(cudaMemcpy(halves, from->data, count * 2, cudaMemcpyDeviceToHost));
    const size_t piece =
        k->d->settings.shape->hidden; /* too small for threads, which wake too late */
    for (size_t i = 0; i < count; i += piece)
        precision_widen(PRECISION_FP16, (const uint16_t *)halves + i, all + i, piece);
    for (int c = 0; c < k->columns; c++)
        for (int f = 0; f < features; f++)
            to[(size_t)c * features + f] = all[f * from->feature + c * from->column];
    return STATUS_OK;
}

static float parameter(const checker *k, int layer, enum parameter which, int i)
{
    const float x = decoder_parameter(&k->d->settings, layer, which, i);
    return which == UP_BIAS ? x : precision_round(PRECISION_FP16, x);
}

static const product *product_at(const checker *k, int layer, enum layer_product which)
{
    return &k->d->products[layer * NUM_PRODUCTS + which];
}

/* Fills to[count] with a whole array: many columns ask for it. One thread does: to wake others takes longer. */
static void fill_parameters(const checker *k, int layer, enum parameter which, int count, float *to)
{
    for (int i = 0; i < count; i++)
        to[i] = parameter(k, layer, which, i);
}

/* ---- products ---------------------------------------------------------------------------------- */

/* The row of a product that is number i of those that are checked: first and last ones among them. */
static int sampled_row(int rows, int count, int i, int layer)
{
    if (count == rows) return i;
    if (i == 0 || i == count - 1) return i ? rows - 1 : 0;
    return (int)(((int64_t)i * rows / count + 7 * layer) % rows);
}

static int sampled_rows(int rows, int cols)
{
    return (int64_t)rows * cols <= ALL_ELEMENTS || rows < SAMPLED_ROWS ? rows : SAMPLED_ROWS;
}

/* Sum of a row of weights times a column of x. */
static product_sum row_times(const float *weight, const float *x, int cols)
{
    product_sum s = {0, 0, 0, 0, 0};
    for (int i = 0; i < cols; i++) {
        if (weight[i] == 0) continue;
        const double p = (double)weight[i] * x[i], size = fabs(p);
        s.n++;
        s.result += p;
        s.size += size;
        s.squares += p * p;
        s.largest = size > s.largest ? size : s.largest;
    }
    return s;
}

/* Fills a row of weights as the device has it. A NULL w: of the embedding. */
static void fill_row(const checker *k, const weight_spec *w, int row, int cols, float *weight)
{
    for (int c = 0; c < cols; c++)
        weight[c] = precision_round(PRECISION_FP16, w ? weights_element(w, row, c)
                                                      : decoder_embedding(&k->d->settings, row, c));
}

/* Applies the epilogue to an exact sum, and to its bound: a sum in fp32 more. ReLU enlarges no error. */
static void finish(const checker *k, int layer, int row, double *sum, double *bound)
{
    const double bias = parameter(k, layer, UP_BIAS, row);
    *bound += U * (fabs(*sum) + *bound + fabs(bias));
    *sum = fmax(*sum + bias, 0);
}

/* Checks y = W x, and what an epilogue makes of it. Vendors may round sums to fp16 where they split rows (baselines/sums_rounded.h), if y is fp16. */
static enum status check_product(checker *k, int layer, enum part part, const weight_spec *w,
                                 int rows, int cols, const float *x, const float *y, size_t y_pitch,
                                 error_text *error)
{
    const int count = sampled_rows(rows, cols);
    const bool vendor = w && k->d->settings.kind == KERNEL_DENSE;
    const bool finished = part == PART_UP && product_finishes(product_at(k, layer, PRODUCT_UP));
    double *const found = malloc(2 * (size_t)count * k->columns * sizeof *found);
    bool made = found != NULL;
#pragma omp parallel for schedule(dynamic) reduction(&& : made)
    for (int i = 0; i < count; i++) {
        float *const weight = malloc((size_t)cols * sizeof *weight);
        made = made && weight;
        if (!made) continue;
        fill_row(k, w, sampled_row(rows, count, i, layer), cols, weight);
        for (int c = 0; c < k->columns; c++) {
            const product_sum s = row_times(weight, x + (size_t)c * cols, cols);
            double *const place = found + 2 * ((size_t)i * k->columns + c);
            place[0] = s.result;
            place[1] = rounding_bound(&s) * (vendor ? FP16_SUMS_ROUNDED : 1);
            if (finished)
                finish(k, layer, sampled_row(rows, count, i, layer), &place[0], &place[1]);
            if (w) place[1] = rounding_stored(PRECISION_FP16, place[0], place[1]);
        }
        free(weight);
    }
    enum status status = made ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory for a check");
    for (int i = 0; i < count && status == STATUS_OK; i++)
        for (int c = 0; c < k->columns && status == STATUS_OK; c++) {
            const int row = sampled_row(rows, count, i, layer);
            const double *const place = found + 2 * ((size_t)i * k->columns + c);
            status = judge(k, layer, part, row, c, y[c * y_pitch + row], place[0], place[1], error);
        }
    free(found);
    return status;
}

static enum status check_layer_product(checker *k, int layer, enum part part,
                                       enum layer_product which, const float *x,
                                       const strided *from, float *y, error_text *error)
{
    const weight_spec w = decoder_weights(&k->d->settings, layer, which);
    TRY(fetch(k, from, w.rows, y, error));
    return check_product(k, layer, part, &w, w.rows, w.cols, x, y, w.rows, error);
}

static enum status check_head(checker *k, int layer, error_text *error)
{
    const llm_shape *m = k->d->settings.shape;
    const size_t pitch = shape_padded(m), bytes = k->columns * pitch * sizeof *k->logits;
    TRY_CUDA(cudaStreamSynchronize(k->d->pass.stream));
    TRY_CUDA(cudaMemcpy(k->logits, k->d->d_logits, bytes, cudaMemcpyDeviceToHost));
    return check_product(k, layer, PART_HEAD, NULL, m->vocabulary, m->hidden, k->normed, k->logits,
                         pitch, error);
}

/* ---- element by element ------------------------------------------------------------------------ */

static int token_at(const checker *k, int sequence, int at)
{
    const decoder_settings *s = &k->d->settings;
    int token = 0;
    if (at < s->prompt) return decoder_prompt(s, sequence, at);
    cudaMemcpy(&token, k->d->pass.chosen + (size_t)sequence * s->capacity + at - 1, sizeof token,
               cudaMemcpyDeviceToHost);
    return token;
}

/* One sum in fp32 of two fp16 numbers, rounded to fp16: the host does the same, to the bit. */
static enum status check_embed(checker *k, error_text *error)
{
    const decoder_settings *s = &k->d->settings;
    const int h = s->shape->hidden;
    TRY(fetch(k, &k->d->x, h, k->x, error));
    for (int c = 0; c < k->columns; c++) {
        const int at = k->before + c % s->tokens, token = token_at(k, c / s->tokens, at);
        for (int f = 0; f < h; f++) {
            const float sum = precision_round(PRECISION_FP16, decoder_embedding(s, token, f)) +
                              precision_round(PRECISION_FP16, decoder_position(s, at, f));
            TRY(judge(k, 0, PART_EMBED, f, c, k->x[(size_t)c * h + f], half_rounded(sum), 0,
                      error));
        }
    }
    return STATUS_OK;
}

/* LayerNorm of a column, given x as the device has it. A sum has up to 16 additions in a thread, 5 in a warp, 32 over warps
 * and 8 over blocks: d = 61.
 * The mean: off by m = u (d + 1) mean|x|; so x - mean by u |x - mean| + m.
 * The variance: each block sums up squares around its own mean, then come the squares of the means' distances. The blocks'
 * means are off by m in their weighted mean. So squares around them lack up to 2 r m of those around the mean, where r is
 * the largest |x - mean|. The mean's own error adds m^2: w = 2 r m + m^2. Each square rounds 3 times, its sum d times, a
 * product and the division once: off by w + u (d + 5) (variance + w). Let that be a share t of variance + epsilon, with t
 * up to a tenth. Then the inverse of its root is off by 0.6 t + 4 u of itself: sum, root and division round. Two products
 * and a sum follow, and the rounding to fp16. */
static enum status check_normed(checker *k, int layer, const float *gains, const float *shifts,
                                int c, error_text *error)
{
    const int h = k->d->settings.shape->hidden;
    const float *const x = k->x + (size_t)c * h;
    const double depth = 16 + 5 + 32 + 8;
    double mean = 0, size = 0, variance = 0, largest = 0;
    for (int f = 0; f < h; f++) {
        mean += (double)x[f] / h;
        size += fabs((double)x[f]) / h;
    }
    const double mean_off = U * (depth + 1) * size;
    for (int f = 0; f < h; f++) {
        const double y = x[f] - mean;
        variance += y * y / h;
        largest = fmax(largest, fabs(y));
    }
    const double around = 2 * largest * mean_off + mean_off * mean_off;
    const double off = around + U * (depth + 5) * (variance + around);
    const double under = variance + (double)NORM_EPSILON, t = off / under, scale = 1 / sqrt(under);
    const double scale_off = t <= 0.1 ? 0.6 * t + 4 * U : NAN;
    for (int f = 0; f < h; f++) {
        const double gain = gains[f], shift = shifts[f];
        const double y = x[f] - mean, e = U * fabs(y) + mean_off, product = y * scale * gain;
        const double bound = fabs(product) * scale_off + fabs(scale * gain) * e * (1 + scale_off) +
                             U * 4 * (fabs(product) + fabs(shift));
        TRY(judge(k, layer, PART_NORM, f, c, k->normed[(size_t)c * h + f], product + shift,
                  rounding_stored(PRECISION_FP16, product + shift, bound), error));
    }
    return STATUS_OK;
}

/* x, to which the update before and its bias are added: two sums in fp32, then fp16. */
static enum status check_sum(checker *k, int layer, bool adds, const float *before,
                             const float *bias, error_text *error)
{
    const size_t h = k->d->settings.shape->hidden, count = k->columns * h;
    for (size_t i = 0; i < count; i++) {
        const double update = adds ? k->update[i] : 0, b = adds ? bias[i % h] : 0;
        const double size = fabs((double)before[i]) + fabs(update) + fabs(b);
        const double want = before[i] + update + b;
        TRY(judge(k, layer, PART_NORM, (int)(i % h), (int)(i / h), k->x[i], want,
                  adds ? rounding_stored(PRECISION_FP16, want, 2 * U * size) : 0, error));
    }
    return STATUS_OK;
}

/* room: for x as it was, and three arrays of parameters. The update before is that of the layer's output product, of the
 * last layer's second product, or there is none. */
static enum status check_norm_in(checker *k, int layer, bool second, float *room, error_text *error)
{
    const int h = k->d->settings.shape->hidden;
    const bool adds = second || layer > 0;
    float *const bias = room, *const gains = bias + h, *const shifts = gains + h;
    float *const before = shifts + h;
    memcpy(before, k->x, (size_t)k->columns * h * sizeof *before);
    if (adds)
        fill_parameters(k, second ? layer : layer - 1, second ? OUT_BIAS : DOWN_BIAS, h, bias);
    fill_parameters(k, layer, second ? SECOND_GAIN : FIRST_GAIN, h, gains);
    fill_parameters(k, layer, second ? SECOND_SHIFT : FIRST_SHIFT, h, shifts);
    TRY(fetch(k, &k->d->x, h, k->x, error));
    TRY(check_sum(k, layer, adds, before, bias, error));
    TRY(fetch(k, &k->d->normed, h, k->normed, error));
    for (int c = 0; c < k->columns; c++)
        TRY(check_normed(k, layer, gains, shifts, c, error));
    return STATUS_OK;
}

static enum status check_norm(checker *k, int layer, bool second, error_text *error)
{
    const size_t h = k->d->settings.shape->hidden;
    float *const room = malloc((k->columns + 3) * h * sizeof *room);
    const enum status status = room ? check_norm_in(k, layer, second, room, error)
                                    : fail(error, STATUS_MEMORY, "no memory for a check");
    free(room);
    return status;
}

/* max(0, y + bias) of y as the product stored it: ReLU enlarges no error. */
static enum status check_relu(checker *k, int layer, error_text *error)
{
    const int features = shape_rows(k->d->settings.shape, PRODUCT_UP);
    const size_t count = (size_t)k->columns * features;
    float *const before = malloc((count + features) * sizeof *before), *const bias = before + count;
    if (!before) return fail(error, STATUS_MEMORY, "no memory for a check");
    memcpy(before, k->up, count * sizeof *before);
    fill_parameters(k, layer, UP_BIAS, features, bias);
    enum status status = fetch(k, &k->d->up, features, k->up, error);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        const int f = (int)(i % features);
        const double sum = (double)before[i] + bias[f], want = sum > 0 ? sum : 0;
        status = judge(k, layer, PART_RELU, f, (int)(i / features), k->up[i], want,
                       rounding_stored(PRECISION_FP16, want, U * fabs(sum)), error);
    }
    free(before);
    return status;
}

/* ---- attention --------------------------------------------------------------------------------- */

/* Pairs of a sequence and a head: all of them, or some evenly spaced, the first and the last among them. */
static int pair_place(const checker *k, int pair)
{
    const int64_t all = (int64_t)k->d->settings.sequences * k->d->attention.heads;
    return (int)(k->pairs > 1 ? pair * (all - 1) / (k->pairs - 1) : 0);
}
static int pair_sequence(const checker *k, int pair)
{
    return pair_place(k, pair) / k->d->attention.heads;
}
static int pair_head(const checker *k, int pair)
{
    return pair_place(k, pair) % k->d->attention.heads;
}

static float *shadow_at(const checker *k, int layer, int pair, int which, int at)
{
    const size_t row = ((size_t)layer * k->pairs + pair) * 2 + which;
    return k->shadow + (row * k->d->settings.capacity + at) * HEAD_WIDTH;
}

/* Number f of q (0), k (1) or v (2) of a head and column, with its bias, in fp32. */
static float with_bias(const checker *k, int layer, int which, int head, int f, int column)
{
    const int h = k->d->settings.shape->hidden, feature = which * h + head * HEAD_WIDTH + f;
    return k->qkv[(size_t)column * 3 * h + feature] + parameter(k, layer, QKV_BIAS, feature);
}

/* Softmax over positions 0 to `last`, and its bound. With A(p) = sum |q k| / sqrt(128) at position p:
 * A score: q is rounded with the scale, 3 u; eight products in a lane and 4 sums over lanes, 12 u: off by 16 u A(p).
 * A weight exp(s - most): `most` is the same number in all weights, so only s counts; the difference rounds, u |s - most|;
 * expf is off by 2 places at most, 4 u. It is multiplied again whenever `most` grows: once for each of up to n batches of a
 * lane, and in two merges, each 6 u, and the differences add up to `spread`. So a weight is off by the share
 *     r(p) = 16 u A(p) + 2 u spread + 6 u (n + 3).
 * The result is sum w v / sum w: off by sum p (|v| + |result|) r(p), and by the roundings of both sums, 4 n and as many as
 * sides and splits. Terms of second order are less than a hundredth of it. */
static void attend(const checker *k, int layer, int pair, const double *q, int last, double *want,
                   double *bound)
{
    const int batches = last / 32 + 1;
    const double share = 16 * U, sums = U * (4 * batches + 8 + k->d->attention.splits + 4);
    double *const score = malloc(2 * ((size_t)last + 1) * sizeof *score), *const size =
                                                                              score + last + 1;
    double most = -INFINITY, least = INFINITY, total = 0;
    for (int p = 0; score && p <= last; p++) {
        const float *const key = shadow_at(k, layer, pair, 0, p);
        score[p] = size[p] = 0;
        for (int f = 0; f < HEAD_WIDTH; f++) {
            score[p] += q[f] * key[f];
            size[p] += fabs(q[f] * key[f]);
        }
        most = fmax(most, score[p]);
        least = fmin(least, score[p]);
    }
    for (int p = 0; score && p <= last; p++)
        total += exp(score[p] - most);
    for (int f = 0; f < HEAD_WIDTH; f++) {
        double result = 0, absolute = 0, off = 0;
        for (int p = 0; score && p <= last; p++) {
            const double v = shadow_at(k, layer, pair, 1, p)[f];
            const double weight = exp(score[p] - most) / total;
            result += weight * v;
            absolute += weight * fabs(v);
        }
        for (int p = 0; score && p <= last; p++) {
            const double v = fabs((double)shadow_at(k, layer, pair, 1, p)[f]);
            const double r = share * size[p] + 2 * U * (most - least) + 6 * U * (batches + 3);
            off += exp(score[p] - most) / total * (v + fabs(result)) * r;
        }
        want[f] = score ? result : NAN;
        bound[f] = rounding_stored(PRECISION_FP16, result,
                                   1.01 * (off + sums * (absolute + fabs(result))));
    }
    free(score);
}

/* Notes K and V of this pass, then checks the pair's columns. */
static enum status check_pair(checker *k, int layer, int pair, error_text *error)
{
    const int tokens = k->d->settings.tokens, h = k->d->settings.shape->hidden;
    const int head = pair_head(k, pair), first = pair_sequence(k, pair) * tokens;
    for (int i = 0; i < tokens; i++)
        for (int which = 1; which <= 2; which++)
            for (int f = 0; f < HEAD_WIDTH; f++)
                shadow_at(k, layer, pair, which - 1, k->before + i)[f] =
                    precision_round(PRECISION_FP16, with_bias(k, layer, which, head, f, first + i));
    for (int i = 0; i < tokens; i++) {
        double q[HEAD_WIDTH], want[HEAD_WIDTH], bound[HEAD_WIDTH];
        for (int f = 0; f < HEAD_WIDTH; f++)
            q[f] = with_bias(k, layer, 0, head, f, first + i) / sqrt((double)HEAD_WIDTH);
        attend(k, layer, pair, q, k->before + i, want, bound);
        for (int f = 0; f < HEAD_WIDTH; f++) {
            const int feature = head * HEAD_WIDTH + f;
            TRY(judge(k, layer, PART_ATTENTION, feature, first + i,
                      k->attended[(size_t)(first + i) * h + feature], want[f], bound[f], error));
        }
    }
    return STATUS_OK;
}

static enum status check_attention(checker *k, int layer, error_text *error)
{
    TRY(fetch(k, &k->d->attended, k->d->settings.shape->hidden, k->attended, error));
    for (int pair = 0; pair < k->pairs; pair++)
        TRY(check_pair(k, layer, pair, error));
    return STATUS_OK;
}

/* ---- argmax ------------------------------------------------------------------------------------ */

static int first_largest(const float *logits, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

static enum status check_argmax(checker *k, int layer, error_text *error)
{
    const decoder_settings *s = &k->d->settings;
    TRY_CUDA(cudaStreamSynchronize(k->d->pass.stream));
    for (int c = 0; c < k->columns; c++) {
        int got;
        const int *const from =
            k->d->pass.chosen + (size_t)(c / s->tokens) * s->capacity + k->before + c % s->tokens;
        TRY_CUDA(cudaMemcpy(&got, from, sizeof got, cudaMemcpyDeviceToHost));
        TRY(judge(
            k, layer, PART_ARGMAX, 0, c, got,
            first_largest(k->logits + (size_t)c * shape_padded(s->shape), s->shape->vocabulary), 0,
            error));
    }
    return STATUS_OK;
}

/* ---- looking on -------------------------------------------------------------------------------- */

static enum status check_part(checker *k, int layer, enum part part, error_text *error)
{
    decoder *const d = k->d;
    switch (part) {
    case PART_EMBED:
        return check_embed(k, error);
    case PART_NORM:
        return check_norm(k, layer, k->last == PART_OUT, error);
    case PART_QKV:
        return check_layer_product(k, layer, part, PRODUCT_QKV, k->normed, &d->qkv, k->qkv, error);
    case PART_ATTENTION:
        return check_attention(k, layer, error);
    case PART_OUT:
        return check_layer_product(k, layer, part, PRODUCT_OUT, k->attended, &d->update, k->update,
                                   error);
    case PART_UP:
        return check_layer_product(k, layer, part, PRODUCT_UP, k->normed, &d->up, k->up, error);
    case PART_RELU:
        return check_relu(k, layer, error);
    case PART_DOWN:
        return check_layer_product(k, layer, part, PRODUCT_DOWN, k->up, &d->update, k->update,
                                   error);
    case PART_HEAD:
        return check_head(k, layer, error);
    default:
        return check_argmax(k, layer, error);
    }
}

static enum status after(watcher *self, int layer, enum part part, error_text *error)
{
    checker *const k = (checker *)self;
    const enum status status = check_part(k, layer, part, error);
    k->last = part;
    return status;
}

static size_t numbers_of(const checker *k)
{
    const size_t h = k->d->settings.shape->hidden;
    return k->columns * (h * 11 + shape_padded(k->d->settings.shape));
}

/* Makes room for all copies in one piece; k->x is its address. */
static bool make_room(checker *k)
{
    const decoder_settings *s = &k->d->settings;
    const size_t h = s->shape->hidden, C = k->columns;
    const size_t shadow =
        (size_t)s->shape->layers * k->pairs * 2 * s->capacity * HEAD_WIDTH * sizeof(float);
    k->x = malloc(numbers_of(k) * sizeof(float));
    k->shadow = malloc(shadow);
    k->room = malloc(C * h * 4 * (2 + sizeof(float)));
    if (!k->x || !k->shadow || !k->room) return false;
    k->normed = k->x + C * h;
    k->qkv = k->normed + C * h;
    k->attended = k->qkv + C * 3 * h;
    k->update = k->attended + C * h;
    k->up = k->update + C * h;
    k->logits = k->up + C * 4 * h;
    return true;
}

static enum status run_passes(checker *k, int passes, float *logits, error_text *error)
{
    const llm_shape *m = k->d->settings.shape;
    const size_t vocabulary = m->vocabulary, pitch = shape_padded(m);
    TRY(decoder_reset(k->d, error));
    for (int i = 0; i < passes; i++) {
        progress_show(i, passes, "checking");
        TRY(decoder_enqueue(k->d, ALL_PARTS, &k->base, error));
        k->before += k->d->settings.tokens;
        for (int c = 0; logits && c < k->columns; c++)
            memcpy(logits + ((size_t)i * k->columns + c) * vocabulary, k->logits + c * pitch,
                   vocabulary * sizeof *logits);
    }
    return STATUS_OK;
}

enum status check_decoder(decoder *d, int passes, float *logits, verdict *v, error_text *error)
{
    const decoder_settings *s = &d->settings;
    const int all = s->sequences * d->attention.heads;
    checker k = {.base = {after},
                 .d = d,
                 .v = v,
                 .columns = s->sequences * s->tokens,
                 .pairs = all < MOST_PAIRS ? all : MOST_PAIRS};
    for (int i = 0; i < NUM_PARTS; i++)
        v->worst[i] = NAN;
    enum status status = make_room(&k) ? run_passes(&k, passes, logits, error)
                                       : fail(error, STATUS_MEMORY, "no memory for a check");
    progress_clear();
    free(k.x);
    free(k.shadow);
    free(k.room);
    return status;
}

/* ---- two decoders ------------------------------------------------------------------------------ */

/* Every number that is stored in fp16 is off by a share of up to 2^-11, and by an independent one. LayerNorm makes the
 * size of x one again, and random weights keep the size of what they multiply. So an error that is a share of a stored
 * number is about that share of what follows, and independent ones add in squares. A layer stores 11 times: norm, qkv, the
 * cache's k and v, attention, out, sum; norm, up, ReLU, down, sum. The ends store 3 times. Two decoders have twice the
 * squares, and among some million logits none is 6 standard deviations off. */
double check_apart(const llm_shape *s, double rms)
{
    const double stored = 11.0 * s->layers + 3;
    return 6 * sqrt(2 * stored) * 0x1p-11 * rms;
}

enum status check_agreement(const llm_shape *s, int rows, const float *expected, const float *got,
                            const char *whose, agreement *a, error_text *error)
{
    const size_t vocabulary = s->vocabulary, count = rows * vocabulary;
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (double)expected[i] * expected[i];
    *a = (agreement){.rms = sqrt(squares / (double)count), .rows = rows};
    a->allowed = check_apart(s, a->rms);
    for (size_t i = 0; i < count; i++) {
        const double off = fabs((double)expected[i] - got[i]);
        a->most = off > a->most ? off : a->most;
        if (!(off <= a->allowed))
            return fail(error, STATUS_WRONG,
                        "%s: logit %zu of row %zu is %.5g, not %.5g: %.2g times the bound", whose,
                        i % vocabulary, i / vocabulary, got[i], expected[i], off / a->allowed);
    }
    for (int r = 0; r < rows; r++) {
        const float *const want = expected + r * vocabulary;
        const int best = first_largest(want, s->vocabulary);
        double second = -INFINITY;
        for (int i = 0; i < s->vocabulary; i++)
            if (i != best && want[i] > second) second = want[i];
        if (!(want[best] - second > 2 * a->allowed)) continue;
        a->decided++;
        if (first_largest(got + r * vocabulary, s->vocabulary) != best)
            return fail(error, STATUS_WRONG, "%s: row %d has another largest logit", whose, r);
    }
    return STATUS_OK;
}
