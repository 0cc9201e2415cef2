/*
 * compare.c - what changed between two files of rows: two commits, two drivers, two GPUs.
 *
 * A line a row that changed; with all=1 of the others, too. Rows are the same case where operation,
 * contender, dataset, its origin, N, precision, L2 state, seed and flags are, in a sweep also the tuning; of
 * several the last counts. A time has changed if the medians differ by more than the noise, and by more than
 * 2 %: two sittings differ by as much. The noise is the root of the sum of the squares of both interquartile
 * ranges. Then for each lab the counts, and the geometric mean of old over new time: above 1 is faster.
 */
#include "rows/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LEAST_SHARE = 0.02;

enum verdict { SAME, FASTER, SLOWER, STATUS, NEW, GONE, NUM_VERDICTS };
static const char *const WORDS[] = {"same", "faster", "slower", "status", "new", "gone"};

/* A case: its place in the output, and its rows of the two files, -1 where there is none. */
typedef struct change {
    const char *key;
    const char *operation, *contender, *precision, *dataset, *rest;
    int lab; /* VENDOR_LAB: the vendor's, which comes last */
    double N;
    row_of r[2];
} change;
enum { VENDOR_LAB = 1000 };

/* A line of the sums: of one lab of one operation. */
typedef struct group {
    const char *operation;
    int lab;
    long count[NUM_VERDICTS];
    mean ratio;
} group;

static bool is_swept(const char *flags)
{
    return is_among("sweep", flags, ';');
}

static char *case_key(row_of r)
{
    const bool swept = is_swept(get(r, "flags"));
    return text("%s" KEY "%s" KEY "%s" KEY "%s", cell_key(r), get(r, "contender"), get(r, "origin"),
                swept ? get(r, "tuning") : "");
}

static int by_place(const void *a, const void *b)
{
    const change *x = a, *y = b;
    int order = strcmp(x->operation, y->operation);
    if (!order) order = x->lab - y->lab;
    if (!order) order = strcmp(x->contender, y->contender);
    if (!order) order = strcmp(x->precision, y->precision);
    if (!order) order = strcmp(x->dataset, y->dataset);
    if (!order) order = (x->N > y->N) - (x->N < y->N);
    return order ? order : strcmp(x->rest, y->rest);
}

static double ms_of(row_of r, const char *column)
{
    return *get(r, column) ? number(r, column) : 0;
}

/* The verdict of a case, and its ratio of times, 0 where there are not two. */
static enum verdict judge(const change *c, double *ratio)
{
    *ratio = 0;
    if (!c->r[0].table) return NEW;
    if (!c->r[1].table) return GONE;
    if (strcmp(get(c->r[0], "status"), get(c->r[1], "status"))) return STATUS;
    const double old = ms_of(c->r[0], "median_ms"), new = ms_of(c->r[1], "median_ms");
    if (old <= 0 || new <= 0) return SAME;
    const double noise = hypot(ms_of(c->r[0], "iqr_ms"), ms_of(c->r[1], "iqr_ms"));
    *ratio = old / new;
    if (new - old > noise &&new - old > LEAST_SHARE * old) return SLOWER;
    if (old - new > noise && old - new > LEAST_SHARE *old) return FASTER;
    return SAME;
}

static const char *ms_cell(row_of r)
{
    return r.table && *get(r, "median_ms") ? text("%.4g", number(r, "median_ms")) : "-";
}

static void print_change(const change *c, enum verdict verdict, double ratio)
{
    const row_of r = c->r[1].table ? c->r[1] : c->r[0];
    const char *seed = get(r, "seed"), *flags = get(r, "flags");
    const char *tuning = is_swept(flags) ? get(r, "tuning") : "";
    const char *extra =
        text("%s%s%s%s%s", strcmp(get(r, "l2"), "cold") ? "" : "cold ",
             strcmp(seed, "1") ? text("seed %s ", seed) : "", flags, *tuning ? " " : "", tuning);
    const char *said = verdict != STATUS
                           ? WORDS[verdict]
                           : text("%s -> %s", get(c->r[0], "status"), get(c->r[1], "status"));
    fprintf(out, "%-8s %-32s %-24s %6s %-5s %9s %9s %8s  %s%s\n", c->operation,
            c->lab == VENDOR_LAB ? c->contender : text("lab%d %s", c->lab, c->contender),
            text("%s%s", c->dataset, strcmp(get(r, "origin"), "stand-in") ? "" : " (stand-in)"),
            get(r, "N"), c->precision, ms_cell(c->r[0]), ms_cell(c->r[1]),
            ratio ? text("%.3f", ratio) : "-", said, *extra ? text("  [%s]", extra) : "");
}

static void print_group(const group *g)
{
    long rows = 0;
    const char *counts = "";
    for (int v = 0; v < NUM_VERDICTS; v++) {
        rows += g->count[v];
        if (g->count[v])
            counts = text("%s%s %ld %s", counts, *counts ? "," : "", g->count[v], WORDS[v]);
    }
    fprintf(out, "%-8s %-8s %5ld rows:%s%s\n", g->operation,
            g->lab == VENDOR_LAB ? "vendor" : text("lab%d", g->lab), rows, counts,
            g->ratio.count ? text("; old over new %.3f", mean_of(&g->ratio)) : "");
}

/* Reads both files; returns the cases and sets their count. */
static change *read_cases(const request *q, size_t *count)
{
    names keys = {0};
    long room = 0;
    change *cases = NULL;
    names machines[2] = {{0}};
    const char *said[2] = {"", ""};
    for (int f = 0; f < 2; f++)
        if (!is_readable(q->files[f])) refuse(STATUS_DATASET, "%s: cannot be read", q->files[f]);
    for (int f = 0; f < 2; f++) {
        table *t = table_read(q->files[f]);
        table_needs(
            t, "lab contender dataset origin N precision l2 seed flags tuning device driver toolkit"
               " median_ms iqr_ms status");
        for (long row = 0; row < t->count; row++) {
            const row_of r = {t, row};
            const long known = keys.count, place = names_add(&keys, case_key(r));
            if (place >= room) {
                room = 2 * room + 256;
                cases = realloc(cases, (size_t)room * sizeof *cases);
                if (!cases) refuse(STATUS_MEMORY, "out of memory");
            }
            if (place == known)
                cases[place] = (change){
                    .operation = operation_of(r),
                    .contender = get(r, "contender"),
                    .precision = get(r, "precision"),
                    .dataset = get(r, "dataset"),
                    .rest =
                        text("%s%s%s%s%s", get(r, "origin"), get(r, "l2"), get(r, "seed"),
                             get(r, "flags"), is_swept(get(r, "flags")) ? get(r, "tuning") : ""),
                    .lab = lab_of(r) ? lab_of(r) : VENDOR_LAB,
                    .N = strtod(get(r, "N"), NULL),
                };
            cases[place].r[f] = r;
            const long seen = machines[f].count;
            if (names_add(&machines[f], machine_of(r)) == seen)
                said[f] = text("%s%s%s", said[f], *said[f] ? "; " : "", machine_of(r));
        }
    }
    if (strcmp(said[0], said[1]))
        warn("other machines, %s and %s: what differs need not be the code", said[0], said[1]);
    *count = (size_t)keys.count;
    return cases;
}

enum status run_compare(const request *q)
{
    const bool all = !strcmp(option(q, "all", "0"), "1");
    size_t count, groups = 0;
    change *cases = read_cases(q, &count);
    group *g = calloc(count + 1, sizeof *g), total = {.operation = "all"};
    if (!g) refuse(STATUS_MEMORY, "out of memory");
    if (count) qsort(cases, count, sizeof *cases, by_place);
    fprintf(out, "%-8s %-32s %-24s %6s %-5s %9s %9s %8s  %s\n", "operation", "contender", "dataset",
            "width", "type", "old ms", "new ms", "old/new", "verdict");
    for (size_t i = 0; i < count; i++) {
        double ratio;
        const enum verdict verdict = judge(&cases[i], &ratio);
        if (!groups || strcmp(g[groups - 1].operation, cases[i].operation) ||
            g[groups - 1].lab != cases[i].lab)
            g[groups++] = (group){.operation = cases[i].operation, .lab = cases[i].lab};
        g[groups - 1].count[verdict]++;
        total.count[verdict]++;
        if (ratio) mean_add(&g[groups - 1].ratio, ratio);
        if (verdict != SAME || all) print_change(&cases[i], verdict, ratio);
    }
    putc('\n', out);
    for (size_t i = 0; i < groups; i++)
        print_group(&g[i]);
    fprintf(out, "%-8s %-8s %5zu rows:", "all", "", count);
    for (int v = 0; v < NUM_VERDICTS; v++)
        fprintf(out, "%s %ld %s", v ? "," : "", total.count[v], WORDS[v]);
    fprintf(out, "\nchanged: by more than both interquartile ranges and %g %%\n",
            100 * LEAST_SHARE);
    return STATUS_OK;
}
