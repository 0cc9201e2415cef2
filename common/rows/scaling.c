/*
 * scaling.c - how fast a product is on several GPUs.
 *
 *     rows table scaling bus=360 spmm.csv spmm-parts.csv      by a model
 *     rows table ranks flags=devices=8 spmm-devices.csv       measured
 *
 * The model: each rank's rows were timed alone on one GPU, as the dataset products@3/8. The exchange is assumed: the rate
 * of the bus, and nothing else of it. With t of the slowest part, and g of gathering B, whose rows of 4 N bytes each
 * rank lacks (P - 1) / P of:
 *
 *     B replicated          t
 *     gathered before       t + g                       g = (P - 1) / P * 4 N V / bus
 *     gathered in K chunks  max(t, g) + min(t, g) / K
 *
 * The efficiency is the time of one GPU over P times that. Weak scaling has a graph of P times the rows on P ranks: its
 * efficiency is the time of the small graph on one over that of a part.
 */
#include "rows/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The same dataset under another name, at the width of `p`; NULL: it was not measured. */
static const problem *other_dataset(const study *s, const problem *p, const char *dataset)
{
    for (long i = 0; i < s->problems; i++) {
        const problem *q = &s->problem[i];
        if (!strcmp(q->dataset, dataset) && !strcmp(q->N, p->N) &&
            !strcmp(q->operation, p->operation))
            return q;
    }
    return NULL;
}

/* Times of all parts of a problem. */
typedef struct parts {
    int ranks;
    double slowest, sum; /* in ms */
} parts;

/* False: some part was not measured. */
static bool find_parts(study *s, const problem *p, const char *of, int ranks, parts *all)
{
    *all = (parts){.ranks = ranks};
    for (int r = 0; r < ranks; r++) {
        const problem *part = other_dataset(s, p, text("%s@%d/%d", p->dataset, r, ranks));
        const double ms = part ? time_of(s, part, of) : 0;
        if (!ms) return false;
        all->sum += ms;
        all->slowest = fmax(all->slowest, ms);
    }
    return true;
}

/* Assumptions of the model. */
typedef struct assumed {
    double bus, chunks; /* bus: bytes a ms into each GPU */
} assumed;

static double positive(const study *s, const char *name, const char *otherwise)
{
    const char *value = option(s->request, name, otherwise);
    char *end;
    const double number = strtod(value, &end);
    if (*end || !(number > 0) || !isfinite(number))
        refuse(STATUS_USAGE, "%s=%s: a number above 0 is needed", name, value);
    return number;
}

/* A line of the table; t1: what one GPU takes for a P-th of the work, times P. */
static void print_model(const problem *p, const parts *all, double t1, const assumed *a)
{
    const double P = all->ranks, t = all->slowest;
    const double whole = 4 * strtod(p->N, NULL) * p->B_rows, g = (P - 1) / P * whole / a->bus;
    const double ideal = t1 / P, chunked = fmax(t, g) + fmin(t, g) / a->chunks;
    fprintf(out, "| %s | %s | %d | %s | %.3f | %.0f %% | %s | %.0f %% | %.0f %% |\n", p->label,
            p->N, all->ranks, us(t), t * P / all->sum, 100 * ideal / t, us(g),
            100 * ideal / (t + g), 100 * ideal / chunked);
}

/* The graph of a P-th of the rows: rand:rows=R,... is made of rand:rows=R/P,... NULL: none was measured. */
static const problem *smaller(const study *s, const problem *p, int ranks)
{
    long rows;
    int used = 0;
    if (sscanf(p->dataset, "rand:rows=%ld%n", &rows, &used) != 1 || rows % ranks) return NULL;
    return other_dataset(s, p, text("rand:rows=%ld%s", rows / ranks, p->dataset + used));
}

static bool is_part(const problem *p)
{
    return strchr(p->dataset, '@');
}

/* The problem of which this one is a part. For weak scaling it need not be measured itself. */
static problem whole_of(const problem *part)
{
    problem whole = *part;
    whole.dataset = text("%.*s", (int)strcspn(part->dataset, "@"), part->dataset);
    /* "g@0/8 (real)" */
    const char *const blank = strrchr(part->label, ' ');
    whole.label = text("%s%s", whole.dataset, blank ? blank : "");
    return whole;
}

/* Options: of (lab99), bus (360 GB/s), chunks (4), weak=1: graphs that grow with the ranks. */
void scaling_table(study *s)
{
    const char *of = option(s->request, "of", "lab99");
    const bool weak = *option(s->request, "weak", "");
    const assumed a = {.bus = 1e6 * positive(s, "bus", "360"),
                       .chunks = positive(s, "chunks", "4")};
    long shown = 0;
    if (a.chunks != floor(a.chunks))
        refuse(STATUS_USAGE, "chunks=%s: a whole number is needed",
               option(s->request, "chunks", "4"));
    if (!is_known(s, of)) nothing(s, "%s", of);
    fprintf(
        out,
        "| matrix | %s | ranks | model: slowest part, us | slowest over mean | model: efficiency, "
        "B replicated | model: exchange, us | model: efficiency, B gathered | model: the same in "
        "%.0f chunks |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        common_width(s), a.chunks);
    for (long i = 0; i < s->problems; i++) {
        int ranks = 0;
        if (!is_part(&s->problem[i]) ||
            sscanf(strchr(s->problem[i].dataset, '@'), "@0/%d", &ranks) != 1)
            continue;
        const problem p = whole_of(&s->problem[i]);
        const problem *const alone = weak ? smaller(s, &p, ranks) : other_dataset(s, &p, p.dataset);
        const double t1 = alone ? time_of(s, alone, of) : 0;
        parts all;
        if (!t1 || !find_parts(s, &p, of, ranks, &all)) continue;
        print_model(&p, &all, weak ? ranks * t1 : t1, &a);
        shown++;
    }
    if (!shown) nothing(s, "%s on all parts of a matrix, and on one GPU", of);
}

/* Labs 70 and 71 on several GPUs beside one. Options: of (lab99), which one GPU runs; flags=devices=P chooses the rows. */
void ranks_table(study *s)
{
    const char *of = option(s->request, "of", "lab99");
    const char *flags = option(s->request, "flags", "");
    const double P = strtod(without(flags, "devices="), NULL);
    long shown = 0;
    if (!starts_with(flags, "devices=") || !(P >= 1))
        refuse(STATUS_USAGE, "flags=devices=P says on how many GPUs");
    fprintf(
        out,
        "| matrix | %s | %s on one GPU, us | lab 70 on %.0f, measured, us | efficiency | lab 71 on "
        "%.0f, measured, us | efficiency |\n|---|---:|---:|---:|---:|---:|---:|\n",
        common_width(s), heading(of), P, P);
    for (long i = 0; i < s->problems; i++) {
        const problem *p = &s->problem[i];
        const double t1 = time_of(s, p, of);
        if (!t1 || (!timing_of(s, p, "lab70") && !timing_of(s, p, "lab71"))) continue;
        fprintf(out, "| %s | %s | %s |", p->label, p->N, us(t1));
        for (int lab = 70; lab <= 71; lab++) {
            const double ms = time_of(s, p, text("lab%d", lab));
            fprintf(out, " %s | %s |", us(ms), ms ? text("%.0f %%", 100 * t1 / P / ms) : "-");
        }
        putc('\n', out);
        shown++;
    }
    if (!shown) nothing(s, "lab 70 or lab 71 on %.0f GPUs", P);
}
