/*
 * curve.c - how a network's loss falls, as numbers of a figure: common/training/draw-loss draws it.
 *
 * CURVE.csv is what --curve of an app writes: step, loss, held_out (the share of right answers so far), and of a network
 * that changes its blocks the density.
 */
#include "rows/rows.h"

/* Steps of which the loss is a mean: that of one minibatch is as much chance as loss. */
enum { STEPS_OF_MEAN = 16 };

/* A name in which no blank ends it for gnuplot: no-break spaces. */
static const char *unbroken(const char *name)
{
    const char *result = "";
    for (; *name; name++)
        result = *name == ' ' ? text("%s\302\240", result) : text("%s%c", result, *name);
    return result;
}

/* Prints points of `loss`, of `density` where there is one, and of `end`: the last share of right answers, in per cent. */
enum status run_curve(const request *q)
{
    const table *t = table_read(q->files[0]);
    const char *name = unbroken(option(q, "name", "loss"));
    table_needs(t, "step loss held_out");
    if (!t->count) refuse(STATUS_DATASET, "%s: no steps", t->path);
    for (long row = 0; row < t->count; row++) {
        const long first = row < STEPS_OF_MEAN ? 0 : row - STEPS_OF_MEAN + 1;
        double sum = 0;
        for (long i = first; i <= row; i++)
            sum += number((row_of){t, i}, "loss");
        fprintf(out, "point\tloss\t%s\t%s\t%.6f\n", name, get((row_of){t, row}, "step"),
                sum / (double)(row - first + 1));
    }
    for (long row = 0; row < t->count && names_find(&t->columns, "density") != NONE; row++)
        fprintf(out, "point\tdensity\t%s\t%s\t%.3f\n", name, get((row_of){t, row}, "step"),
                100 * number((row_of){t, row}, "density"));
    const row_of last = {t, t->count - 1};
    fprintf(out, "point\tend\t%s\t%s\t%.1f\n", name, get(last, "step"),
            100 * number(last, "held_out"));
    return STATUS_OK;
}
