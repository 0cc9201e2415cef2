#include "check.h"

#include "baselines/sums_rounded.h"
#include "ops/rounding.h"
#include "sample.h"
#include "training/arrays.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>

/* Products of a layer that are formed again at most, and the fewest columns: where a layer has more, columns evenly
 * spaced are checked. They are those of a few images, for reading all back would take minutes. The last image
 * is always one of them, for tails go wrong there; the others differ from layer to layer. */
static const double MOST_PRODUCTS = 3e7;
enum { FEWEST_COLUMNS = 24, MOST_IMAGES = 4 };

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

/* ---- what a layer has read and written ----------------------------------------------------------- */

/* Holds images of the largest layer: as fp32 on the device and on the host, then as fp64. Made once, since new memory is slow
 * to touch. */
typedef struct room {
    device_arrays arrays;
    float *sample, *floats;
    int *found; /* on the device: 1 if a number is not finite */
    double *x, *y;
} room;

static int images_of(const model *m)
{
    return m->shape.batch < MOST_IMAGES ? m->shape.batch : MOST_IMAGES;
}

static enum status room_make(const model *m, room *r, error_text *error)
{
    size_t most = 0;
    for (int i = 0; i < NUM_LAYERS; i++) {
        const layer *l = &m->layers[i];
        const size_t in = (size_t)l->in * layer_in_columns(l, images_of(m)),
                     out = (size_t)l->out * layer_out_columns(l, images_of(m));
        most = in > most ? in : most;
        most = out > most ? out : most;
    }
    *r = (room){.floats = malloc(most * sizeof *r->floats),
                .x = malloc(most * sizeof *r->x),
                .y = malloc(most * sizeof *r->y)};
    if (!r->floats || !r->x || !r->y) return fail(error, STATUS_MEMORY, "no memory for a check");
    TRY(arrays_allocate(&r->arrays, &r->sample, most, error));
    return arrays_allocate(&r->arrays, &r->found, 1, error);
}

static void room_free(room *r)
{
    arrays_free(&r->arrays);
    free(r->floats);
    free(r->x);
    free(r->y);
}

/* Copies images of an activation, as sample_take has them, to fp64 on the host. */
static enum status take(room *r, const activation *a, int images, int first, double *to,
                        error_text *error)
{
    const size_t count = (size_t)a->channels * images * a->pixels;
    TRY_CUDA(sample_take(a, images, first, r->sample, NULL));
    TRY_CUDA(cudaMemcpy(r->floats, r->sample, count * sizeof *r->floats, cudaMemcpyDeviceToHost));
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++)
        to[i] = r->floats[i];
    return STATUS_OK;
}

static enum status require_finite(room *r, const activation *a, double *worst, error_text *error)
{
    int found = 0;
    TRY_CUDA(cudaMemset(r->found, 0, sizeof *r->found));
    TRY_CUDA(sample_not_finite(a, r->found, NULL));
    TRY_CUDA(cudaMemcpy(&found, r->found, sizeof found, cudaMemcpyDeviceToHost));
    if (found) *worst = INFINITY;
    return STATUS_OK;
}

/* Describes an array of the net: `pixels` of each image in each of the channels. */
static activation activation_of(const network *net, const void *at, int channels, int64_t pixels)
{
    const model_shape *shape = &network_model(net)->shape;
    return (activation){.at = at,
                        .precision = shape->precision,
                        .channels = channels,
                        .batch = shape->batch,
                        .pixels = (int)pixels};
}

static activation output_of(const network *net, int number)
{
    const layer *l = &network_model(net)->layers[number];
    return activation_of(net, network_output(net, number), l->out, layer_out_columns(l, 1));
}

/* ---- layers ------------------------------------------------------------------------------------ */

/* Holds images of a layer on the host. */
typedef struct observed {
    const layer *l;
    const variant *v;
    int images;
    const double *x, *y;
    int64_t columns; /* of y */
} observed;

/* Returns the largest error of a column over its bound; infinity where a number is not finite. */
static double worst_of(const observed *o, int64_t column, double *exact, double *size)
{
    double worst = 0;
    layer_exact(o->l, o->images, o->x, column, exact, size);
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
    *worst = most;
    return ok ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory to check a layer");
}

/* Runs a layer into an array of NaN. */
static enum status check_layer(network *net, int number, room *r, double *worst, error_text *error)
{
    const model *m = network_model(net);
    const layer *l = &m->layers[number];
    const int images = images_of(m), first = number % m->shape.batch;
    const activation in = activation_of(net, network_input(net, number), l->in,
                                        layer_in_columns(l, 1)),
                     out = output_of(net, number);
    const observed o = {.l = l,
                        .v = network_variant(net),
                        .images = images,
                        .x = r->x,
                        .y = r->y,
                        .columns = layer_out_columns(l, images)};
    TRY_CUDA(cudaMemset((void *)out.at, 0xff,
                        l->out * layer_out_columns(l, m->shape.batch) *
                            precision_format(out.precision)->bytes));
    TRY_CUDA(network_layer(net, number, NULL));
    TRY(take(r, &in, images, first, r->x, error));
    TRY(take(r, &out, images, first, r->y, error));
    TRY(check_columns(&o, worst, error));
    return require_finite(r, &out, worst, error);
}

/* ---- scores ------------------------------------------------------------------------------------ */

static int highest(const double *scores, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (scores[i] > scores[best]) best = i;
    return best;
}

/* Compares the scores of an image. */
static void judge_scores(int classes, const double *got, const double *want, net_verdict *v)
{
    double off = 0, all = 0;
    for (int i = 0; i < classes; i++) {
        off += (got[i] - want[i]) * (got[i] - want[i]);
        all += want[i] * want[i];
    }
    v->error = sqrt(off / all);
    const int a = highest(got, classes), b = highest(want, classes);
    v->same_class = a == b || want[b] - want[a] <= 2 * v->bound * sqrt(all);
}

static enum status check_in(network *net, room *r, const double *scores, net_verdict *v,
                            error_text *error)
{
    const model *m = network_model(net);
    const variant *how = network_variant(net);
    for (int i = 0; i < NUM_LAYERS; i++) {
        double worst = INFINITY;
        TRY(check_layer(net, i, r, &worst, error));
        if (worst > v->worst) {
            v->worst = worst;
            v->worst_layer = i;
        }
    }
    if (!(v->worst <= 1))
        return fail(error, STATUS_WRONG, "%s: layer %d (%s) is off by %.3g times its bound",
                    how->name, v->worst_layer, layer_name(&m->layers[v->worst_layer]), v->worst);
    const activation last = output_of(net, NUM_LAYERS - 1);
    TRY(take(r, &last, 1, m->shape.batch - 1, r->y, error));
    judge_scores(m->shape.classes, r->y, scores, v);
    if (!(v->error <= v->bound))
        return fail(error, STATUS_WRONG, "%s: the scores are off by %.3g, at most %.3g is rounding",
                    how->name, v->error, v->bound);
    return v->same_class
               ? STATUS_OK
               : fail(error, STATUS_WRONG, "%s: another class has the highest score", how->name);
}

enum status network_check(network *net, const double *scores, net_verdict *v, error_text *error)
{
    const model *m = network_model(net);
    *v = (net_verdict){.bound = scores_bound(m, network_variant(net)), .error = NAN};
    room r = {0};
    enum status status = room_make(m, &r, error);
    if (status == STATUS_OK) status = check_in(net, &r, scores, v, error);
    room_free(&r);
    return status;
}
