/*
 * check.c - differences of the loss in fp64, against the gradient in fp32.
 *
 * A central difference (L(x + h v) - L(x - h v)) / 2h is off by h^2, 2^-40, times the third derivative, and by the
 * rounding of L, about 2^-50 / h = 2^-30. What remains is the network's own rounding. Its longest sums have a term for
 * each vertex. Rounding errors have both signs, so that a sum of n terms is off by about 2^-24 sqrt(n) of the terms' norm:
 * 2^-14 of it at a million vertices. This is an estimate, no bound. It leaves a right gradient far below 2^-10 of the
 * tensor's norm; one that lacks a term, or has that of another head, is off by more. Terms may cancel: of a vertex with
 * one neighbour the share is 1, whatever its score, and the gradient by `left` is 0. So 2^-20 of the norm of the whole
 * gradient passes everywhere.
 */
#include "check.h"

#include "matrix/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double STEP = 0x1p-20, SHARE = 0x1p-10, SHARE_OF_ALL = 0x1p-20, ROUNDING = 0x1p-30;
static const double LOSS_SHARE = 0x1p-14; /* of a loss */

/* Everything that one check works on. */
typedef struct differences {
    const model *m;
    const graph *g;
    double *at; /* the parameters; moved and put back */
    const float *gradient;
    double floor; /* of every bound */
    verdict *v;
} differences;

static double loss_at(const differences *d)
{
    return model_loss(d->m, d->g, d->at);
}

/* Notes an error and its bound: of a derivative by tensor t, or of the loss where t is NULL. Accepts nothing that is no
 * number. */
static void judge(verdict *v, double error, double bound, const tensor *t, const char *how)
{
    const double share = fabs(error) / bound;
    v->checked++;
    v->passed = v->passed && share <= 1;
    if (share <= v->worst) return;
    v->worst = share;
    if (t)
        snprintf(v->where, sizeof v->where, "%s of layer %d, %s", t->name, t->layer + 1, how);
    else
        snprintf(v->where, sizeof v->where, "%s", how);
}

/* Moves every element of the tensor by `by`, up or down as the direction says. */
static void move(const differences *d, const tensor *t, uint64_t stream, double by)
{
    for (int64_t i = 0; i < t->count; i++)
        d->at[t->first + i] += random_bits(stream, i) & 1 ? by : -by;
}

static void check_direction(const differences *d, const tensor *t, uint64_t stream)
{
    double along = 0, squares = 0;
    for (int64_t i = 0; i < t->count; i++) {
        const double g = d->gradient[t->first + i];
        along += random_bits(stream, i) & 1 ? g : -g;
        squares += g * g;
    }
    move(d, t, stream, STEP);
    const double above = loss_at(d);
    move(d, t, stream, -2 * STEP);
    const double below = loss_at(d);
    move(d, t, stream, STEP);
    judge(d->v, (above - below) / (2 * STEP) - along, SHARE * sqrt(squares) + d->floor, t,
          "along a direction");
}

static void check_element(const differences *d, const tensor *t, int64_t at, double bound)
{
    double *const x = &d->at[t->first + at], before = *x;
    *x = before + STEP;
    const double above = loss_at(d);
    *x = before - STEP;
    const double below = loss_at(d);
    *x = before;
    judge(d->v, (above - below) / (2 * STEP) - d->gradient[t->first + at], bound, t, "one element");
}

static void check_tensor(const differences *d, const tensor *t, amount how_much, uint64_t seed)
{
    double largest = 0;
    for (int64_t i = 0; i < t->count; i++)
        largest = fmax(largest, fabs((double)d->gradient[t->first + i]));
    for (int i = 0; i < how_much.directions; i++)
        check_direction(d, t, random_substream(seed, t->first * how_much.directions + i));
    const int64_t elements = how_much.elements < t->count ? how_much.elements : t->count;
    for (int64_t i = 0; i < elements; i++)
        check_element(d, t, i * t->count / elements, SHARE * largest + d->floor);
}

/* Leaves out what lies between tensors. */
static double norm_of(const model *m, const float *gradient)
{
    double squares = 0;
    for (int t = 0; t < m->num_tensors; t++)
        for (int64_t i = 0; i < m->tensors[t].count; i++) {
            const double g = gradient[m->tensors[t].first + i];
            squares += g * g;
        }
    return sqrt(squares);
}

enum status check_gradient(network *net, const model *m, const graph *g, const float *parameters,
                           amount how_much, uint64_t seed, verdict *v, error_text *error)
{
    double held_out;
    float *gradient = malloc(m->floats * sizeof *gradient);
    double *at = malloc(m->floats * sizeof *at);
    enum status status = STATUS_OK;
    *v = (verdict){.passed = true};
    if (!gradient || !at) status = fail(error, STATUS_MEMORY, "no memory for a gradient");
    if (status == STATUS_OK) status = network_set(net, parameters, error);
    if (status == STATUS_OK) status = network_gradients(net, error);
    if (status == STATUS_OK) status = network_fetch_loss(net, &v->loss, &held_out, error);
    if (status == STATUS_OK) status = network_fetch_gradient(net, gradient, error);
    if (status == STATUS_OK) {
        const double norm = norm_of(m, gradient);
        const differences d = {m, g, at, gradient, SHARE_OF_ALL * norm + ROUNDING, v};
        for (int64_t i = 0; i < m->floats; i++)
            at[i] = parameters[i];
        v->exact_loss = loss_at(&d);
        judge(v, v->loss - v->exact_loss, LOSS_SHARE * v->exact_loss, NULL, "the loss");
        for (int t = 0; t < m->num_tensors; t++)
            check_tensor(&d, &m->tensors[t], how_much, seed);
    }
    free(gradient);
    free(at);
    return status;
}
