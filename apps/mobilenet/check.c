#include "check.h"

#include "baselines/sums_rounded.h"
#include "ops/rounding.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>

/* Products of a layer that are formed again at most, and the fewest columns: where a layer has more, columns evenly
 * spaced are checked. */
static const double MOST_PRODUCTS = 3e7;
enum { FEWEST_COLUMNS = 24 };

/* Relative error of an operand that is cut to the 11 significant bits of TF32. */
static const double TF32_CUT = 0x1p-10;

static bool is_product(const layer *l)
{
    return l->kind == POINTWISE || l->kind == CLASSIFIER;
}

/* The largest error of an output of that size, in fp32 before it is stored. TF32 cuts both operands. Tensor cores cut
 * sums where others round them, which is off by twice as much, and the vendor's may add up in 16 bits. Who stores a product
 * before its bias is added rounds it once more. */
static double layer_bound(const layer *l, const variant *v, double exact, double size)
{
    const double terms = (double)layer_terms(l) + 5;
    const bool dense = is_product(l) && !l->sparse;
    const double store = precision_format(v->precision)->unit_roundoff;
    double bound = ROUNDOFF * terms * size;
    if (dense && v->tf32) bound += 2.1 * TF32_CUT * size;
    if (v->precision == PRECISION_FP32) return bound;
    if (is_product(l)) bound = (dense ? FP16_SUMS_ROUNDED : 2) * bound + store * (size + bound);
    return rounding_stored(v->precision, exact, bound);
}

double scores_bound(const model *m, const variant *v)
{
    const double store = precision_format(v->precision)->unit_roundoff;
    double squares = 0, cuts = 0;
    for (int i = 0; i < NUM_LAYERS; i++) {
        const layer *l = &m->layers[i];
        squares += ROUNDOFF * ROUNDOFF * layer_terms(l);
        if (v->precision != PRECISION_FP32) squares += 2 * store * store;
        if (is_product(l) && v->tf32) cuts += TF32_CUT;
    }
    return 2 * sqrt(squares) + cuts;
}

/* An array of the net's precision as fp64; the caller frees it. NULL: no memory, or the copy failed. */
static double *fetch(const void *from, size_t count, enum precision precision)
{
    const size_t bytes = precision_format(precision)->bytes;
    double *wide = malloc((count + 1) * sizeof *wide);
    float *floats = malloc((count + 1) * sizeof *floats);
    void *raw = malloc((count + 1) * bytes);
    const bool ok = wide && floats && raw &&
                    cudaMemcpy(raw, from, count * bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
    if (ok) {
        precision_widen(precision, raw, floats, count);
        for (size_t i = 0; i < count; i++)
            wide[i] = floats[i];
    }
    free(raw);
    free(floats);
    if (ok) return wide;
    free(wide);
    return NULL;
}

/* A layer's arrays on the host. */
typedef struct observed {
    const layer *l;
    const variant *v;
    int batch;
    double *x, *y;
    int64_t columns; /* of y */
} observed;

/* Returns the largest error of a column over its bound; infinity where a number is not finite. */
static double worst_of(const observed *o, int64_t column, double *exact, double *size)
{
    double worst = 0;
    layer_exact(o->l, o->batch, o->x, column, exact, size);
    for (int i = 0; i < o->l->out; i++) {
        const double got = o->y[i * o->columns + column];
        const double share =
            fabs(got - exact[i]) / (layer_bound(o->l, o->v, exact[i], size[i]) + 1e-300);
        if (!(share <= worst)) worst = isnan(share) ? INFINITY : share;
    }
    return worst;
}

static enum status check_columns(const observed *o, double *worst, error_text *error)
{
    const layer *l = o->l;
    int64_t checked = (int64_t)(MOST_PRODUCTS / ((double)l->out * layer_terms(l))) + FEWEST_COLUMNS;
    if (checked > o->columns) checked = o->columns;
    bool ok = true;
    double most = 0;
#pragma omp parallel for schedule(dynamic) reduction(max : most)
    for (int64_t i = 0; i < checked; i++) {
        double *exact = malloc(2 * l->out * sizeof *exact);
        if (!exact) {
#pragma omp atomic write
            ok = false;
            continue;
        }
        const int64_t column = checked > 1 ? i * (o->columns - 1) / (checked - 1) : 0;
        most = fmax(most, worst_of(o, column, exact, exact + l->out));
        free(exact);
    }
    for (int64_t i = 0; i < l->out * o->columns; i++)
        if (!isfinite(o->y[i])) most = INFINITY;
    *worst = most;
    return ok ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory to check a layer");
}

/* Runs a layer into an array of NaN. */
static enum status check_layer(network *net, int number, double *worst, error_text *error)
{
    const model *m = network_model(net);
    const layer *l = &m->layers[number];
    const int batch = m->shape.batch;
    const enum precision precision = m->shape.precision;
    observed o = {
        .l = l, .v = network_variant(net), .batch = batch, .columns = layer_out_columns(l, batch)};
    const size_t outputs = (size_t)l->out * o.columns;
    TRY_CUDA(cudaMemset((void *)network_output(net, number), 0xff,
                        outputs * precision_format(precision)->bytes));
    TRY_CUDA(network_layer(net, number, NULL));
    o.x = fetch(network_input(net, number), (size_t)l->in * layer_in_columns(l, batch), precision);
    o.y = fetch(network_output(net, number), outputs, precision);
    const enum status status =
        o.x && o.y ? check_columns(&o, worst, error)
                   : fail(error, STATUS_RUNTIME, "layer %d (%s) cannot be read back", number,
                          layer_name(l));
    free(o.x);
    free(o.y);
    return status;
}

/* ---- scores ------------------------------------------------------------------------------------ */

static int highest(const double *scores, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (scores[i] > scores[best]) best = i;
    return best;
}

/* Compares the scores of the last image of the batch. */
static void judge_scores(const model *m, const double *got, const double *want, net_verdict *v)
{
    const int classes = m->shape.classes, batch = m->shape.batch;
    double off = 0, all = 0;
    double *own = malloc(classes * sizeof *own);
    if (!own) return;
    for (int i = 0; i < classes; i++) {
        own[i] = got[(int64_t)i * batch + batch - 1];
        off += (own[i] - want[i]) * (own[i] - want[i]);
        all += want[i] * want[i];
    }
    v->error = sqrt(off / all);
    const int a = highest(own, classes), b = highest(want, classes);
    v->same_class = a == b || want[b] - want[a] <= 2 * v->bound * sqrt(all);
    free(own);
}

enum status network_check(network *net, const double *scores, net_verdict *v, error_text *error)
{
    const model *m = network_model(net);
    const variant *how = network_variant(net);
    *v = (net_verdict){.bound = scores_bound(m, how), .error = NAN};
    for (int i = 0; i < NUM_LAYERS; i++) {
        double worst = INFINITY;
        TRY(check_layer(net, i, &worst, error));
        if (worst > v->worst) {
            v->worst = worst;
            v->worst_layer = i;
        }
    }
    if (!(v->worst <= 1))
        return fail(error, STATUS_WRONG, "%s: layer %d (%s) is off by %.3g times its bound",
                    how->name, v->worst_layer, layer_name(&m->layers[v->worst_layer]), v->worst);
    double *got = fetch(network_output(net, NUM_LAYERS - 1),
                        (size_t)m->shape.classes * m->shape.batch, m->shape.precision);
    if (!got) return fail(error, STATUS_RUNTIME, "the scores cannot be read back");
    judge_scores(m, got, scores, v);
    free(got);
    if (!(v->error <= v->bound))
        return fail(error, STATUS_WRONG, "%s: the scores are off by %.3g, at most %.3g is rounding",
                    how->name, v->error, v->bound);
    return v->same_class
               ? STATUS_OK
               : fail(error, STATUS_WRONG, "%s: another class has the highest score", how->name);
}
