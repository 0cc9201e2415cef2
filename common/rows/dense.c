/*
 * dense.c - labs on pruned weights (set:llm, cold L2) beside the fastest dense product of the same problem in the
 * same file: geometric means over the shapes, by contender, pruning, N and sparsity.
 */
#include "rows/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct dense {
    const char *machine;
    names commits;
    numbers ms;        /* of the fastest dense product of a problem */
    texts fastest;     /* which it is */
    names groups, own; /* own: "group problem shape row" of labs, with own_ms beside */
    double *own_ms;
    long room;
} dense;

/* Takes a row. Its dataset, llm.28672x8192-random-0.5, has the shape, the pruning and the share of zeros. */
static void take_row(dense *d, row_of r)
{
    const char *dataset = get(r, "dataset"), *contender = get(r, "contender");
    if (strcmp(get(r, "l2"), "cold") || !starts_with(dataset, "llm.") || !is_ok(r)) return;
    size_t count;
    char **part = parts_of(dataset, '-', &count);
    if (count != 3) refuse(STATUS_DATASET, "%s: dataset %s", place_of_row(r), dataset);
    const char *problem = text("%s" KEY "%s" KEY "%s" KEY "%s" KEY "%s", r.table->path,
                               operation_of(r), dataset, get(r, "N"), get(r, "precision"));
    const double ms = number(r, "median_ms");
    one_machine(&d->machine, r);
    names_add(&d->commits, get(r, "commit"));
    if (strstr(contender, "(dense)")) {
        double *best = numbers_at(&d->ms, problem, INFINITY);
        if (ms >= *best) return;
        *best = ms;
        *texts_at(&d->fastest, problem) = contender;
    } else if (lab_of(r)) {
        const char *group = text("lab%d %s | %s | %s | %s %%", lab_of(r), contender, part[1],
                                 get(r, "N"), digits(100 * strtod(part[2], NULL)));
        names_add(&d->groups, group);
        const long place = names_add(&d->own, text("%s\001%s\001%s\001%ld", group, problem,
                                                   part[0] + strlen("llm."), r.row));
        if (place >= d->room) {
            d->room = 2 * d->room + 64;
            d->own_ms = realloc(d->own_ms, (size_t)d->room * sizeof *d->own_ms);
            if (!d->own_ms) refuse(STATUS_MEMORY, "out of memory");
        }
        d->own_ms[place] = ms;
    }
}

enum status run_dense(const request *q)
{
    dense *d = calloc(1, sizeof *d);
    if (!d) refuse(STATUS_MEMORY, "out of memory");
    if (!q->count) {
        fputs("Not measured yet.\n", out);
        return STATUS_OK;
    }
    for (int i = 0; i < q->count; i++) {
        table *t = table_measured(q->files[i]);
        for (long row = 0; row < t->count; row++)
            take_row(d, (row_of){t, row});
    }
    if (!d->machine) refuse(STATUS_DATASET, "no rows of set:llm with a cold cache");
    mean *m = calloc((size_t)d->groups.count + 1, sizeof *m);
    texts least_at = {0}, most_at = {0};
    names counted = {0};
    numbers first = {0};
    if (!m) refuse(STATUS_MEMORY, "out of memory");
    for (long i = 0; i < d->own.count; i++) {
        size_t count;
        char **part = parts_of(d->own.name[i], '\001', &count);
        const double *ms = numbers_find(&d->ms, part[1]);
        if (!ms) continue;
        mean *own = &m[names_find(&d->groups, part[0])];
        const double ratio = *ms / d->own_ms[i];
        if (!own->count || ratio < own->least) *texts_at(&least_at, part[0]) = part[2];
        if (!own->count || ratio > own->most) *texts_at(&most_at, part[0]) = part[2];
        mean_add(own, ratio);
        if (names_find(&counted, part[1]) == NONE)
            ++*numbers_at(&first, texts_find(&d->fastest, part[1]), 0);
        names_add(&counted, part[1]);
    }
    fprintf(out, "%s, commit %s; cold L2. Time of the fastest dense product over that of:\n\n",
            d->machine, names_sorted(&d->commits, "`"));
    fputs("| contender | pruning | N | sparsity | geometric mean | ahead | least (shape) | most "
          "(shape) |\n"
          "|---|---|---|---|---|---|---|---|\n",
          out);
    for (long g = 0; g < d->groups.count; g++) {
        const char *group = d->groups.name[g];
        if (!m[g].count) continue;
        fprintf(out, "| %s | **%.2f** | %ld of %ld | %.2f (%s) | %.2f (%s) |\n", group,
                mean_of(&m[g]), m[g].ahead, m[g].count, m[g].least, texts_find(&least_at, group),
                m[g].most, texts_find(&most_at, group));
    }
    names shares = {0};
    for (long i = 0; i < first.key.count; i++)
        names_add(&shares, text("%s in %.0f", first.key.name[i], first.value[i]));
    if (counted.count)
        fprintf(out, "\nThe fastest dense product of the %ld problems: %s.\n", counted.count,
                names_sorted(&shares, ""));
    return STATUS_OK;
}
