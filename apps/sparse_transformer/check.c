#include "check.h"

#include "device/cuda_try.h"
#include "harness/device.h"
#include "kernels.h"
#include "matrix/memory.h"
#include "ops/attention_problem.h"
#include "ops/rounding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[NUM_CHECKED] = {
    [CHECKED_NORM] = "norm",
    [CHECKED_QKV] = "qkv",
    [CHECKED_ATTENTION] = "attention",
    [CHECKED_MASKED] = "dense with the mask",
    [CHECKED_PROJECTION] = "projection",
    [CHECKED_UP] = "up",
    [CHECKED_BIAS] = "bias",
    [CHECKED_DOWN] = "down",
};

const char *checked_name(enum checked what)
{
    return NAMES[what];
}

/* ---- rows -------------------------------------------------------------------------------------- */

enum { ALL_ROWS = 256, SAMPLE = 64 };

static int sampled_rows(int rows)
{
    return rows <= ALL_ROWS ? rows : SAMPLE;
}

static int sampled_row(int rows, int i)
{
    const int count = sampled_rows(rows);
    return count == 1 ? 0 : (int)((int64_t)i * (rows - 1) / (count - 1));
}

/* The largest error over its bound among n numbers. Whatever is not within its bound makes more than 1, NaN too. */
static double worst_of(int n, const float *got, const double *want, const double *bound)
{
    double worst = 0;
    for (int c = 0; c < n; c++) {
        const double error = fabs(got[c] - want[c]);
        double share = error <= bound[c] ? (bound[c] > 0 ? error / bound[c] : 0) : INFINITY;
        if (isinf(share) && isfinite(error) && bound[c] > 0) share = error / bound[c];
        worst = share > worst ? share : worst;
    }
    return worst;
}

/* Which row has the worst of `worst`, one a sampled row. */
static double gather_worst(int rows, const double *worst, int *row)
{
    int most = 0;
    for (int i = 1; i < sampled_rows(rows); i++)
        if (worst[i] > worst[most]) most = i;
    *row = sampled_row(rows, most);
    return worst[most];
}

/* ---- attention --------------------------------------------------------------------------------- */

static void round_all(enum precision precision, float *x, size_t count)
{
    if (precision == PRECISION_FP32) return;
#pragma omp parallel for
    for (size_t i = 0; i < count; i++)
        x[i] = precision_round(precision, x[i]);
}

double check_attention(const csr_matrix *pattern, enum precision precision, int heads, int d,
                       float *Q, float *K, float *V, const float *O, int *row)
{
    const int rows = (int)pattern->rows, wide = heads * d;
    const size_t count = (size_t)rows * wide;
    round_all(precision, Q, count);
    round_all(precision, K, count);
    round_all(precision, V, count);
    const problem p = {
        .operation = &attention_operation, .A = pattern, .width = d, .precision = precision};
    const attention_problem own = {.mode = ATTENTION_DOT,
                                   .heads = heads,
                                   .d = d,
                                   .scale = 1 / sqrt((double)d),
                                   .Q = {.precision = precision, .count = count, .floats = Q},
                                   .K = {.precision = precision, .count = count, .floats = K},
                                   .V = {.precision = precision, .count = count, .floats = V}};
    double worst[ALL_ROWS];
    bool made = true;
#pragma omp parallel for schedule(dynamic) reduction(&& : made)
    for (int i = 0; i < sampled_rows(rows); i++) {
        const int at = sampled_row(rows, i);
        double *want = malloc(2 * (size_t)d * sizeof *want), lse, lse_bound;
        made = made && want;
        worst[i] = 0;
        for (int h = 0; h < heads && made; h++) {
            made = attention_row(&p, &own, at, h, want, want + d, &lse, &lse_bound);
            const double of_head =
                made ? worst_of(d, O + (size_t)at * wide + h * d, want, want + d) : 0;
            worst[i] = of_head > worst[i] ? of_head : worst[i];
        }
        free(want);
    }
    return made ? gather_worst(rows, worst, row) : -1;
}

/* ---- parts of a layer -------------------------------------------------------------------------- */

/* A row of a part on the host: its inputs, and what the device made of them. */
typedef struct row_part {
    const float *x, *before; /* the left factor; what the product is added to, or NULL */
    const float *W, *bias;   /* of a product; the bias may be NULL */
    const float *got;
    int in, out;
} row_part;

/* A product: sums of `in` terms, to which up to two are added, in whatever order. `room` holds 2 out numbers. */
static double worst_of_product(const row_part *r, double *room)
{
    double *const want = room, *const size = room + r->out;
    for (int c = 0; c < r->out; c++) {
        const double before = r->before ? r->before[c] : 0, bias = r->bias ? r->bias[c] : 0;
        want[c] = before + bias;
        size[c] = fabs(before) + fabs(bias);
    }
    for (int k = 0; k < r->in; k++)
        for (int c = 0; c < r->out; c++) {
            const double term = (double)r->x[k] * r->W[(size_t)k * r->out + c];
            want[c] += term;
            size[c] += fabs(term);
        }
    for (int c = 0; c < r->out; c++)
        size[c] *= ROUNDOFF * (r->in + 4);
    return worst_of(r->out, r->got, want, size);
}

/* LayerNorm of a row; W is the gain. With u = ROUNDOFF and n = in:
 * the mean is a sum of n terms and a division, off by u (n + 2) mean|x|; so x - mean is off by e = u |x - mean| + that;
 * the variance, a mean of squares, is off by 2 mean(|x - mean| e) + mean(e^2) + u (n + 3) mean((|x - mean| + e)^2). Let
 * that be a share t of variance + epsilon, with t up to a tenth. Then its root's inverse is off by a share of
 * 0.6 t + 4 u: the sum, the root and the division round. The last two products and the sum round once each. */
static double worst_of_norm(const row_part *r, double *room)
{
    const int n = r->in;
    double *const want = room, *const bound = room + n;
    double mean = 0, size = 0, variance = 0, off = 0;
    for (int c = 0; c < n; c++) {
        mean += (double)r->x[c] / n;
        size += fabs((double)r->x[c]) / n;
    }
    const double mean_off = ROUNDOFF * (n + 2) * size;
    for (int c = 0; c < n; c++) {
        const double x = r->x[c] - mean, e = ROUNDOFF * fabs(x) + mean_off;
        variance += x * x / n;
        off += (2 * fabs(x) * e + e * e + ROUNDOFF * (n + 3) * (fabs(x) + e) * (fabs(x) + e)) / n;
    }
    const double under = variance + (double)NORM_EPSILON, t = off / under;
    const double scale = 1 / sqrt(under), scale_off = t <= 0.1 ? 0.6 * t + 4 * ROUNDOFF : NAN;
    for (int c = 0; c < n; c++) {
        const double x = r->x[c] - mean, e = ROUNDOFF * fabs(x) + mean_off;
        const double product = fabs(x * scale * r->W[c]), shift = r->bias[c];
        want[c] = x * scale * r->W[c] + shift;
        bound[c] = product * scale_off + fabs(scale * r->W[c]) * e * (1 + scale_off) +
                   ROUNDOFF * 4 * (product + fabs(shift));
    }
    return worst_of(n, r->got, want, bound);
}

/* Bias and ReLU: one sum, rounded once. */
static double worst_of_relu(const row_part *r, double *room)
{
    double *const want = room, *const bound = room + r->out;
    for (int c = 0; c < r->out; c++) {
        const double sum = (double)r->x[c] + r->bias[c];
        want[c] = sum > 0 ? sum : 0;
        bound[c] = ROUNDOFF * fabs(sum);
    }
    return worst_of(r->out, r->got, want, bound);
}

/* ---- looking on -------------------------------------------------------------------------------- */

/* Copies of the device's arrays, as they were after the last part that changed them. */
typedef struct checker {
    watcher base;
    model *m;
    const csr_matrix *pattern;
    float *weights;
    layer_weights own;
    float *x, *x_new, *normed, *O, *qkv, *inside, *inside_new;
    int norms, casts; /* that have been seen */
    bool out_of_memory;
    verdict *v;
} checker;

static cudaError_t fetch(float *to, const float *d_from, size_t count)
{
    return cudaMemcpy(to, d_from, count * sizeof *to, cudaMemcpyDeviceToHost);
}

static void note(checker *c, enum checked what, double worst, int row)
{
    if (worst < 0) c->out_of_memory = true;
    if (worst > 1 && c->v->first < 0) c->v->first = what;
    if (worst <= c->v->worst[what]) return;
    c->v->worst[what] = worst;
    c->v->row[what] = row;
}

/* Judges the sampled rows of a part. Pointers of `first` are those of row 0; x, before and got move on by a row each. */
static void judge(checker *c, enum checked what, double (*worst_of_row)(const row_part *, double *),
                  row_part first)
{
    const int rows = c->m->shape.rows;
    double worst[ALL_ROWS];
    bool made = true;
#pragma omp parallel for schedule(dynamic) reduction(&& : made)
    for (int i = 0; i < sampled_rows(rows); i++) {
        const size_t at = (size_t)sampled_row(rows, i);
        row_part r = first;
        r.x += at * first.in;
        r.got += at * first.out;
        if (r.before) r.before += at * first.out;
        double *room = malloc(2 * (size_t)first.out * sizeof *room);
        made = made && room;
        worst[i] = room ? worst_of_row(&r, room) : 0;
        free(room);
    }
    int row;
    const double all = gather_worst(rows, worst, &row);
    note(c, what, made ? all : -1, row);
}

static cudaError_t after_norm(checker *c)
{
    const model_shape *s = &c->m->shape;
    const int which = c->norms++;
    CUDA_TRY(fetch(c->normed, c->m->d_normed, (size_t)s->rows * s->hidden));
    judge(c, CHECKED_NORM, worst_of_norm,
          (row_part){.x = c->x,
                     .W = c->own.gain[which],
                     .bias = c->own.shift[which],
                     .got = c->normed,
                     .in = s->hidden,
                     .out = s->hidden});
    return cudaSuccess;
}

static cudaError_t after_qkv(checker *c)
{
    const model_shape *s = &c->m->shape;
    const size_t h = (size_t)s->hidden, apart = attend_stride(s->rows, s->heads, (int)h / s->heads);
    for (int i = 0; i < 3; i++) {
        float *const mine = c->qkv + i * apart;
        CUDA_TRY(fetch(mine, c->m->d_scratch + i * apart, s->rows * h));
        judge(c, CHECKED_QKV, worst_of_product,
              (row_part){.x = c->normed,
                         .W = c->own.qkv + i * h * h,
                         .got = mine,
                         .in = s->hidden,
                         .out = s->hidden});
    }
    return cudaSuccess;
}

/* Judges O by the pattern; rounds Q, K and V on the way. */
static void judge_attention(checker *c, enum checked what, const float *O)
{
    const attend_settings *is = &c->m->attention.is;
    const size_t apart = attend_stride(is->rows, is->heads, is->d);
    int row = 0;
    const double worst = check_attention(c->pattern, is->precision, is->heads, is->d, c->qkv,
                                         c->qkv + apart, c->qkv + 2 * apart, O, &row);
    note(c, what, worst, row);
}

enum { MOST_MASKED = 2048 }; /* tokens, for which logits are small beside the model */

/* Dense attention with the sparse one's mask, on the same inputs. It replaces O on the device, which is put back. */
static cudaError_t try_masked(checker *c)
{
    const model_shape *s = &c->m->shape;
    attend_settings is = c->m->attention.is;
    const size_t count = (size_t)s->rows * s->hidden;
    if (!is.sparse || s->rows > MOST_MASKED) return cudaSuccess;
    rooms r = {0};
    attend dense;
    error_text error;
    is.sparse = NULL;
    is.in_place = true;
    attend_plan_rooms(&dense, &is, &r);
    if (rooms_open(&r, "dense attention", "fewer rows of the mask", &error) != STATUS_OK)
        return cudaErrorMemoryAllocation;
    cudaError_t e = cudaErrorMemoryAllocation;
    float *O = malloc(count * sizeof *O);
    if (O && attend_open(&dense, &error) == STATUS_OK)
        e = attend_run(&dense, c->m->cublas, c->m->d_scratch, c->m->d_normed, NULL);
    if (e == cudaSuccess) e = fetch(O, c->m->d_normed, count);
    if (e == cudaSuccess) judge_attention(c, CHECKED_MASKED, O);
    if (e == cudaSuccess)
        e = cudaMemcpy(c->m->d_normed, c->O, count * sizeof *O, cudaMemcpyHostToDevice);
    attend_close(&dense);
    rooms_close(&r);
    free(O);
    return e;
}

static cudaError_t after_attention(checker *c)
{
    const model_shape *s = &c->m->shape;
    CUDA_TRY(fetch(c->O, c->m->d_normed, (size_t)s->rows * s->hidden));
    judge_attention(c, CHECKED_ATTENTION, c->O);
    return try_masked(c);
}

/* After a product that was added to x. */
static cudaError_t after_added(checker *c, enum checked what, const float *left, int in,
                               const float *W, const float *bias)
{
    const model_shape *s = &c->m->shape;
    CUDA_TRY(fetch(c->x_new, c->m->d_x, (size_t)s->rows * s->hidden));
    judge(c, what, worst_of_product,
          (row_part){.x = left,
                     .before = c->x,
                     .W = W,
                     .bias = bias,
                     .got = c->x_new,
                     .in = in,
                     .out = s->hidden});
    float *const old = c->x;
    c->x = c->x_new;
    c->x_new = old;
    return cudaSuccess;
}

/* In 16 bits the second cast is the last part of attention. */
static bool ends_attention(checker *c, enum part part)
{
    if (c->m->attention.is.precision != PRECISION_FP32) return part == PART_CAST && ++c->casts == 2;
    return part == PART_ATTENTION || part == PART_SUM;
}

static cudaError_t after(watcher *self, enum part part)
{
    checker *c = (checker *)self;
    const model_shape *s = &c->m->shape;
    const size_t inside = (size_t)s->rows * s->filter;
    if (ends_attention(c, part)) return after_attention(c);
    switch (part) {
    case PART_INPUT:
        return fetch(c->x, c->m->d_x, (size_t)s->rows * s->hidden);
    case PART_NORM:
        return after_norm(c);
    case PART_QKV:
        return after_qkv(c);
    case PART_PROJECTION:
        return after_added(c, CHECKED_PROJECTION, c->O, s->hidden, c->own.out, NULL);
    case PART_UP:
        CUDA_TRY(fetch(c->inside, c->m->d_scratch, inside));
        judge(c, CHECKED_UP, worst_of_product,
              (row_part){.x = c->normed,
                         .W = c->own.up,
                         .got = c->inside,
                         .in = s->hidden,
                         .out = s->filter});
        return cudaSuccess;
    case PART_BIAS:
        CUDA_TRY(fetch(c->inside_new, c->m->d_scratch, inside));
        judge(c, CHECKED_BIAS, worst_of_relu,
              (row_part){.x = c->inside,
                         .bias = c->own.up_bias,
                         .got = c->inside_new,
                         .in = s->filter,
                         .out = s->filter});
        return cudaSuccess;
    case PART_DOWN:
        return after_added(c, CHECKED_DOWN, c->inside_new, s->filter, c->own.down,
                           c->own.down_bias);
    default:
        return cudaSuccess;
    }
}

/* ---- the layer --------------------------------------------------------------------------------- */

static enum status run(checker *c, error_text *error)
{
    cudaError_t e = model_input(c->m, &c->base);
    if (e == cudaSuccess) e = model_layer(c->m, 0, &c->base);
    if (e == cudaSuccess) e = cudaDeviceSynchronize();
    if (e != cudaSuccess) return device_fail(e, "running a layer", error);
    if (c->out_of_memory) return fail(error, STATUS_MEMORY, "no memory for the checks");
    const int first = c->v->first;
    if (first >= 0)
        return fail(error, STATUS_WRONG, "%s: row %d is off by %.3g times its bound", NAMES[first],
                    c->v->row[first], c->v->worst[first]);
    return STATUS_OK;
}

enum status check_layer(model *m, uint64_t seed, const csr_matrix *pattern, verdict *v,
                        error_text *error)
{
    const model_shape *s = &m->shape;
    const size_t x = (size_t)s->rows * s->hidden, inside = (size_t)s->rows * s->filter;
    const size_t qkv = 3 * attend_stride(s->rows, s->heads, s->hidden / s->heads);
    const size_t floats = layer_floats(s) + 4 * x + qkv + 2 * inside;
    v->first = -1;
    for (int i = 0; i < NUM_CHECKED; i++)
        v->worst[i] = -1;
    enum status status = memory_check((int64_t)(floats * sizeof(float)), "the check", error);
    if (status != STATUS_OK) return status;
    float *all = malloc(floats * sizeof *all);
    if (!all) return fail(error, STATUS_MEMORY, "no memory for the check");
    checker c = {.base = {after}, .m = m, .pattern = pattern, .weights = all, .v = v};
    layer_fill(s, seed, 0, c.weights);
    c.own = layer_in(s, c.weights);
    c.x = c.weights + layer_floats(s);
    c.x_new = c.x + x;
    c.normed = c.x_new + x;
    c.O = c.normed + x;
    c.qkv = c.O + x;
    c.inside = c.qkv + qkv;
    c.inside_new = c.inside + inside;
    status = run(&c, error);
    free(all);
    return status;
}
