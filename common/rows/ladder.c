/*
 * ladder.c - the table of a ladder: all labs of an operation, or one lab beside the step before.
 *
 * Rows with options, or with a cold cache, are other tables' business. Rows in 16 bits count where a lab
 * has none in fp32; their rivals have the same precision.
 */
#include "rows/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAB = 100 };

/* Times of one precision: of labs by "N graph lab", of the vendor by "N graph". */
typedef struct times {
    numbers lab, standard, best;
    texts best_name;
    bool known[MAX_LAB];
    names commits;
} times;

typedef struct ladder {
    const char *machine, *operation;
    names graphs;  /* keys "N graph" with rows in fp32 */
    numbers width; /* the widths, in the order of their coming */
    times fp32, fp16, bf16;
    int last; /* the last lab with rows in fp32 */
    mean before, over_default, over_best;
} ladder;

static char *of_lab(const char *key, int lab)
{
    return text("%s" KEY "%d", key, lab);
}

static void take_row(ladder *l, row_of r)
{
    if (strcmp(get(r, "l2"), "warm") || *get(r, "flags")) return;
    one_machine(&l->machine, r);
    one_operation(&l->operation, r);
    const char *precision = get(r, "precision"), *contender = get(r, "contender");
    const bool is_wide = !strcmp(precision, "fp32");
    times *t = is_wide ? &l->fp32 : !strcmp(precision, "fp16") ? &l->fp16 : &l->bf16;
    const char *N = digits(strtod(get(r, "N"), NULL));
    const char *key = text("%s" KEY "%s (%s)", N, get(r, "dataset"), get(r, "origin"));
    const int lab = lab_of(r);
    const double ms = time_of_row(r);
    if (lab < 0 || lab >= MAX_LAB) refuse(STATUS_DATASET, "%s: lab %d", place_of_row(r), lab);
    if (is_wide) {
        names_add(&l->graphs, key);
        numbers_at(&l->width, N, 0);
    }
    names_add(&t->commits, get(r, "commit"));
    if (lab) {
        *numbers_at(&t->lab, of_lab(key, lab), 0) = ms;
        t->known[lab] = true;
        if (is_wide && lab > l->last) l->last = lab;
    } else if (ms) {
        if (!strcmp(contender, get(r, "vendor_default"))) *numbers_at(&t->standard, key, 0) = ms;
        if (!strcmp(contender, get(r, "vendor_best"))) {
            *numbers_at(&t->best, key, 0) = ms;
            *texts_at(&t->best_name, key) = short_name(contender);
        }
    }
}

/* In ms; 0 where there is none. */
static double ms_of(const numbers *map, const char *key)
{
    const double *ms = numbers_find(map, key);
    return ms ? *ms : 0;
}

/* The time of a lab as a cell: "-" where it has no right result, "not measured" where it has no row. */
static const char *time_cell(const ladder *l, const char *key, int lab)
{
    const double *ms = numbers_find(&l->fp32.lab, of_lab(key, lab));
    return ms ? show_ms(*ms) : "not measured";
}

/* The vendor's best and which it is. */
static const char *best_cell(const times *t, const char *key)
{
    const double ms = ms_of(&t->best, key);
    return ms ? text("%s (%s)", show_ms(ms), texts_find(&t->best_name, key)) : "-";
}

/* A ratio as a cell, which enters a mean. Where the vendor is ahead it says so. */
static const char *ratio(ladder *l, mean *m, double other, double own)
{
    if (!other || !own) return "-";
    mean_add(m, other / own);
    return text("%.2f%s", other / own, m != &l->before && other < own ? " (behind)" : "");
}

static const char *end_cell(const mean *m)
{
    return m->count ? text("**%.2f**, %ld of %ld", mean_of(m), m->ahead, m->count) : "-";
}

/* The nearest ancestor with rows in fp32; 0 if there is none. */
static int step_before(const ladder *l, int lab)
{
    do {
        const int parent = parent_of_lab(l->operation, lab);
        lab = parent < lab ? parent : 0;
    } while (lab && !l->fp32.known[lab]);
    return lab;
}

/* The next graph of a width from *i on, as a key; NULL: no more. */
static const char *next_graph(const ladder *l, const char *N, long *i)
{
    const char *prefix = text("%s" KEY, N);
    while (*i < l->graphs.count) {
        const char *key = l->graphs.name[(*i)++];
        if (starts_with(key, prefix)) return key;
    }
    return NULL;
}

static void print_all(ladder *l, const char *N)
{
    fprintf(out, "\n%s = %s\n\n| graph |", width_name(l->operation), N);
    for (int lab = 1; lab <= l->last; lab++)
        if (l->fp32.known[lab]) fprintf(out, " lab%d |", lab);
    fprintf(out,
            " cuSPARSE default | cuSPARSE best (which) | lab%d over default | over best |\n|---|",
            l->last);
    for (int lab = 1; lab <= l->last; lab++)
        if (l->fp32.known[lab]) fputs("---|", out);
    fputs("---|---|---|---|\n", out);
    const char *key;
    for (long i = 0; (key = next_graph(l, N, &i));) {
        const double own = ms_of(&l->fp32.lab, of_lab(key, l->last));
        const double standard = ms_of(&l->fp32.standard, key);
        fprintf(out, "| %s |", key_part(key, 1));
        for (int lab = 1; lab <= l->last; lab++)
            if (l->fp32.known[lab]) fprintf(out, " %s |", time_cell(l, key, lab));
        fprintf(out, " %s | %s |", show_ms(standard), best_cell(&l->fp32, key));
        fprintf(out, " %s |", ratio(l, &l->over_default, standard, own));
        fprintf(out, " %s |\n", ratio(l, &l->over_best, ms_of(&l->fp32.best, key), own));
    }
    fputs("| geometric mean, how many ahead |", out);
    for (int lab = 1; lab <= l->last; lab++)
        if (l->fp32.known[lab]) fputs(" |", out);
    fprintf(out, " | | %s | %s |\n", end_cell(&l->over_default), end_cell(&l->over_best));
}

static void print_lab(ladder *l, const char *N, int lab)
{
    const int before = step_before(l, lab);
    const bool has_vendor = l->fp32.standard.key.count > 0; /* a softmax, for one, has none */
    fprintf(out, "\n%s = %s\n\n| graph |", width_name(l->operation), N);
    if (before) fprintf(out, " lab%d ms |", before);
    fprintf(out, " lab%d ms |", lab);
    if (before) fprintf(out, " lab%d over lab%d |", lab, before);
    if (has_vendor) fprintf(out, " lab%d over cuSPARSE default |", lab);
    fprintf(out, "\n|---|---|%s%s\n", before ? "---|---|" : "", has_vendor ? "---|" : "");
    const char *key;
    names missing = {0};
    for (long i = 0; (key = next_graph(l, N, &i));) {
        const double own = ms_of(&l->fp32.lab, of_lab(key, lab));
        if (!numbers_find(&l->fp32.lab, of_lab(key, lab))) names_add(&missing, key_part(key, 1));
        if (!own) continue; /* a graph that the lab cannot take, or without a row */
        fprintf(out, "| %s |", key_part(key, 1));
        if (before) fprintf(out, " %s |", time_cell(l, key, before));
        fprintf(out, " %s |", time_cell(l, key, lab));
        if (before) {
            const double other = ms_of(&l->fp32.lab, of_lab(key, before));
            fprintf(out, " %s |", ratio(l, &l->before, other, own));
        }
        if (has_vendor)
            fprintf(out, " %s |", ratio(l, &l->over_default, ms_of(&l->fp32.standard, key), own));
        putc('\n', out);
    }
    if (before || has_vendor) {
        fprintf(out, "| geometric mean, how many ahead |%s |", before ? " |" : "");
        if (before) fprintf(out, " %s |", end_cell(&l->before));
        if (has_vendor) fprintf(out, " %s |", end_cell(&l->over_default));
        putc('\n', out);
    }
    if (missing.count) fprintf(out, "\nNot measured: %s.\n", names_sorted(&missing, ""));
}

/* A lab in 16 bits beside the step before in fp32 and the vendor in fp16. */
static void print_narrow(ladder *l, const char *N, int lab)
{
    const int before = step_before(l, lab);
    fprintf(
        out,
        "\n%s = %s\n\n| graph | lab%d fp32 ms | lab%d fp16 ms | lab%d bf16 ms | fp16 over lab%d |"
        " cuSPARSE fp16 best (which) | over fp16 default | over fp16 best |\n"
        "|---|---|---|---|---|---|---|---|\n",
        width_name(l->operation), N, before, lab, lab, before);
    const char *key;
    for (long i = 0; (key = next_graph(l, N, &i));) {
        const double half = ms_of(&l->fp16.lab, of_lab(key, lab));
        const double brain = ms_of(&l->bf16.lab, of_lab(key, lab));
        if (!half && !brain) continue;
        fprintf(out, "| %s | %s | %s | %s |", key_part(key, 1), time_cell(l, key, before),
                show_ms(half), show_ms(brain));
        const double other = ms_of(&l->fp32.lab, of_lab(key, before));
        fprintf(out, " %s | %s |", ratio(l, &l->before, other, half), best_cell(&l->fp16, key));
        fprintf(out, " %s |", ratio(l, &l->over_default, ms_of(&l->fp16.standard, key), half));
        fprintf(out, " %s |\n", ratio(l, &l->over_best, ms_of(&l->fp16.best, key), half));
    }
    fprintf(out, "| geometric mean, how many ahead | | | | %s | | %s | %s |\n",
            end_cell(&l->before), end_cell(&l->over_default), end_cell(&l->over_best));
}

enum status run_ladder(const request *q)
{
    ladder *l = calloc(1, sizeof *l);
    if (!l) refuse(STATUS_MEMORY, "out of memory");
    const int lab = atoi(option(q, "lab", "0"));
    if (is_option(q, "lab") && (lab < 1 || lab >= MAX_LAB))
        refuse(STATUS_USAGE, "lab=%s: not a lab's number", option(q, "lab", ""));
    if (!q->count) {
        fputs("Not measured yet.\n", out);
        return STATUS_OK;
    }
    for (int i = 0; i < q->count; i++) {
        table *t = table_measured(q->files[i]);
        for (long row = 0; row < t->count; row++)
            take_row(l, (row_of){t, row});
    }
    if (!l->width.key.count) refuse(STATUS_DATASET, "no rows of plain runs with a warm cache");
    if (lab && !l->fp32.known[lab] && !l->fp16.known[lab] && !l->bf16.known[lab]) {
        fputs("Not measured yet.\n", out); /* others of the operation were */
        return STATUS_OK;
    }
    const bool is_narrow = lab && !l->fp32.known[lab] && (l->fp16.known[lab] || l->bf16.known[lab]);
    names commits = l->fp32.commits;
    if (is_narrow) {
        for (long i = 0; i < l->fp16.commits.count; i++)
            names_add(&commits, l->fp16.commits.name[i]);
        for (long i = 0; i < l->bf16.commits.count; i++)
            names_add(&commits, l->bf16.commits.name[i]);
    }
    fprintf(out, "%s, commit %s; %swarm L2, median ms.\n", l->machine, names_sorted(&commits, "`"),
            is_narrow ? "" : "fp32, ");
    /* Two widths show what the width does: the first and the last. The rows have the others. */
    const long widths = l->width.key.count;
    for (long w = 0; w<widths; w += widths> 1 ? widths - 1 : 1) {
        const char *N = l->width.key.name[w];
        l->before = l->over_default = l->over_best = (mean){0};
        if (is_narrow)
            print_narrow(l, N, lab);
        else if (lab)
            print_lab(l, N, lab);
        else
            print_all(l, N);
    }
    return STATUS_OK;
}
