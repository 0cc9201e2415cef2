/*
 * differences.c - differences of the loss in fp64, against the gradient in fp32.
 *
 * A central difference (L(x + h v) - L(x - h v)) / 2h is off by h^2, 2^-40, times the third derivative. The rounding of L
 * adds about 2^-50 / h = 2^-30. What remains is the network's own rounding. Rounding errors have both signs, so that a sum
 * of n terms is off by about 2^-24 sqrt(n) of the terms' norm: 2^-14 of it for a million terms. This is an estimate, no
 * bound. It leaves a right gradient far below 2^-10 of the tensor's norm; one that lacks a term, or has another's, is off
 * by more. Terms may cancel, and then a derivative can be 0. So 2^-20 of the norm of the whole gradient passes everywhere.
 */
#include "training/differences.h"

#include "matrix/random.h"

#include <math.h>
#include <stdio.h>

static const double STEP = 0x1p-20, SHARE = 0x1p-10, SHARE_OF_ALL = 0x1p-20, ROUNDING = 0x1p-30;
static const double LOSS_SHARE = 0x1p-14; /* of a loss */

/* A check under way. */
typedef struct check {
    const differences *d;
    double floor; /* of every bound */
    verdict *v;
} check;

static double loss_at(const check *c)
{
    return c->d->loss(c->d->context, c->d->at);
}

/* Notes an error and its bound. Accepts nothing that is no number. */
static void judge(const check *c, double error, double bound, const char *what, const char *how)
{
    verdict *v = c->v;
    const double share = fabs(error) / bound;
    v->checked++;
    v->passed = v->passed && share <= 1;
    if (share <= v->worst || isnan(v->worst)) return; /* nothing is worse than no number */
    v->worst = share;
    snprintf(v->where, sizeof v->where, "%s%s", what, how);
}

/* Moves every element of the tensor by `by`, up or down as the direction says. */
static void move(const check *c, const tensor_range *t, uint64_t stream, double by)
{
    for (int64_t i = 0; i < t->count; i++)
        c->d->at[t->first + i] += random_bits(stream, i) & 1 ? by : -by;
}

static void check_direction(const check *c, const tensor_range *t, uint64_t stream)
{
    double along = 0, squares = 0;
    for (int64_t i = 0; i < t->count; i++) {
        const double g = c->d->gradient[t->first + i];
        along += random_bits(stream, i) & 1 ? g : -g;
        squares += g * g;
    }
    move(c, t, stream, STEP);
    const double above = loss_at(c);
    move(c, t, stream, -2 * STEP);
    const double below = loss_at(c);
    move(c, t, stream, STEP);
    judge(c, (above - below) / (2 * STEP) - along, SHARE * sqrt(squares) + c->floor, t->name,
          ", along a direction");
}

static void check_element(const check *c, const tensor_range *t, int64_t at, double bound)
{
    double *const x = &c->d->at[t->first + at], before = *x;
    *x = before + STEP;
    const double above = loss_at(c);
    *x = before - STEP;
    const double below = loss_at(c);
    *x = before;
    judge(c, (above - below) / (2 * STEP) - c->d->gradient[t->first + at], bound, t->name,
          ", one element");
}

static void check_tensor(const check *c, const tensor_range *t, amount how_much, uint64_t seed)
{
    double largest = 0;
    for (int64_t i = 0; i < t->count; i++)
        largest = fmax(largest, fabs((double)c->d->gradient[t->first + i]));
    for (int i = 0; i < how_much.directions; i++)
        check_direction(c, t, random_substream(seed, t->first * how_much.directions + i));
    const int64_t elements = how_much.elements < t->count ? how_much.elements : t->count;
    for (int64_t i = 0; i < elements; i++)
        check_element(c, t, i * t->count / elements, SHARE * largest + c->floor);
}

/* Leaves out what lies between tensors. */
static double norm_of(const differences *d)
{
    double squares = 0;
    for (int t = 0; t < d->num_tensors; t++)
        for (int64_t i = 0; i < d->tensors[t].count; i++) {
            const double g = d->gradient[d->tensors[t].first + i];
            squares += g * g;
        }
    return sqrt(squares);
}

void differences_check(const differences *d, amount how_much, uint64_t seed, verdict *v)
{
    const check c = {d, SHARE_OF_ALL * norm_of(d) + ROUNDING, v};
    *v = (verdict){.passed = true, .loss = d->computed_loss};
    v->exact_loss = loss_at(&c);
    judge(&c, v->loss - v->exact_loss, LOSS_SHARE * v->exact_loss, "the loss", "");
    for (int t = 0; t < d->num_tensors; t++)
        check_tensor(&c, &d->tensors[t], how_much, seed);
}
