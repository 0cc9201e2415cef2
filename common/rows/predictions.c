/*
 * predictions.c - estimates beside measured times.
 *
 * COUNTED.csv holds rows with predicted_ms (scripts/predict-rows), MEASURED.csv rows of a GPU. Prints one
 * CSV line for each lab, dataset and width in both: of the same data (real or stand-in), with the same
 * tuning, measured plainly and with a warm L2. With summary=1 it prints a Markdown table of how well the
 * estimates order the measured times. It has Spearman's rank correlation, and the share of pairs of rows
 * that they put in the right order. Both are over all rows, and among the labs of one dataset and width.
 */
#include "rows/rows.h"

#include "results/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pair {
    double predicted, measured;
    row_of estimate, timed;
    const char *where; /* operation, dataset and width */
} pair;

typedef struct pairs {
    pair *pair;
    long count, samples, alone;
    const char *model;
} pairs;

static char *key_of(row_of r)
{
    return text("%s" KEY "%s" KEY "%s" KEY "%s" KEY "%s" KEY "%s", operation_of(r),
                get(r, "dataset"), get(r, "origin"), get(r, "N"), get(r, "lab"), get(r, "tuning"));
}

static pairs read_pairs(const request *q)
{
    table *counted = table_read(q->files[0]), *measured = table_read(q->files[1]);
    pairs p = {.pair = calloc((size_t)measured->count + 1, sizeof(pair))};
    names keys = {0};
    long *row_of_key = calloc((size_t)counted->count + 1, sizeof *row_of_key);
    if (!p.pair || !row_of_key) refuse(STATUS_MEMORY, "out of memory");
    for (long row = 0; row < counted->count; row++) {
        const row_of r = {counted, row};
        if (!*get(r, "predicted_ms")) continue;
        row_of_key[names_add(&keys, key_of(r))] = row;
        p.model = get(r, "model");
    }
    for (long row = 0; row < measured->count; row++) {
        const row_of r = {measured, row};
        /* Options change what is measured; times of such rows are not meant. */
        if (!lab_of(r) || !is_ok(r) || strcmp(get(r, "l2"), "warm") || *get(r, "flags")) continue;
        const long key = names_find(&keys, key_of(r));
        if (key == NONE) {
            p.alone++;
            continue;
        }
        if (strcmp(get(r, "device"), p.model))
            refuse(STATUS_DATASET, "estimates are of %s, times of %s", p.model, get(r, "device"));
        const row_of estimate = {counted, row_of_key[key]};
        p.pair[p.count++] = (pair){
            .predicted = number(estimate, "predicted_ms"),
            .measured = number(r, "median_ms"),
            .estimate = estimate,
            .timed = r,
            .where = text("%s" KEY "%s" KEY "%s", operation_of(r), get(r, "dataset"), get(r, "N")),
        };
        p.samples += strtod(get(estimate, "sampled"), NULL) < 1;
    }
    return p;
}

/* The place of a value among all, from 1; equal ones share the mean of their places. */
static double rank_of(const pairs *p, double (*value)(const pair *), double own)
{
    long less = 0, same = 0;
    for (long i = 0; i < p->count; i++) {
        less += value(&p->pair[i]) < own;
        same += value(&p->pair[i]) == own;
    }
    return (double)less + (double)(same + 1) / 2;
}

static double predicted(const pair *p)
{
    return p->predicted;
}

static double measured(const pair *p)
{
    return p->measured;
}

/* Spearman: the correlation of the ranks. */
static double spearman(const pairs *p)
{
    const double middle = (double)(p->count + 1) / 2;
    double both = 0, squares_p = 0, squares_m = 0;
    for (long i = 0; i < p->count; i++) {
        const double a = rank_of(p, predicted, p->pair[i].predicted) - middle;
        const double b = rank_of(p, measured, p->pair[i].measured) - middle;
        both += a * b;
        squares_p += a * a;
        squares_m += b * b;
    }
    return both / sqrt(squares_p * squares_m);
}

static void print_summary(const pairs *p)
{
    long all = 0, right = 0, all_within = 0, right_within = 0;
    for (long i = 0; i < p->count; i++)
        for (long j = 0; j < i; j++) {
            const pair *a = &p->pair[i], *b = &p->pair[j];
            const bool ok = (a->predicted - b->predicted) * (a->measured - b->measured) > 0;
            all++;
            right += ok;
            if (strcmp(a->where, b->where)) continue;
            all_within++;
            right_within += ok;
        }
    fprintf(
        out,
        "| over | pairs | in the right order |\n|---|---|---|\n| all %ld rows | %ld | %.1f %% |\n",
        p->count, all, 100.0 * (double)right / (double)all);
    if (all_within)
        fprintf(out, "| labs of one dataset and width | %ld | %.1f %% |\n", all_within,
                100.0 * (double)right_within / (double)all_within);
    fprintf(out,
            "\nSpearman's rank correlation over all rows: %.3f. Estimates and times are of %s;\n"
            "%ld of %ld estimates are of a sample of the blocks.\n",
            spearman(p), p->model, p->samples, p->count);
}

static void print_pair(const pair *p, const char *model)
{
    csv_text(out, get(p->timed, "dataset"));
    fprintf(out, ",%s,%s,%s,%s,%s,%s,%s,%s,%.3f,%s,%s,%s\n", get(p->timed, "origin"),
            get(p->timed, "N"), get(p->timed, "lab"), get(p->timed, "contender"),
            get(p->estimate, "sampled"), digits(p->predicted), get(p->estimate, "predicted_limit"),
            digits(p->measured), p->measured / p->predicted, model, get(p->estimate, "commit"),
            get(p->timed, "commit"));
}

enum status run_predictions(const request *q)
{
    const pairs p = read_pairs(q);
    if (!p.count) refuse(STATUS_DATASET, "no lab has both an estimate and a measured time");
    if (p.alone) warn("%ld measured rows without an estimate of the same data and tuning", p.alone);
    if (!strcmp(option(q, "summary", "0"), "1")) {
        print_summary(&p);
        return STATUS_OK;
    }
    fputs("dataset,origin,N,lab,contender,sampled,predicted_ms,predicted_limit,measured_ms,"
          "measured_over_predicted,model,counted_commit,measured_commit\n",
          out);
    for (long i = 0; i < p.count; i++)
        print_pair(&p.pair[i], p.model);
    return STATUS_OK;
}

/* ---- traces ----------------------------------------------------------------------------------- */

typedef struct trace {
    double work;
    const char *line;
} trace;

static int shortest_first(const void *a, const void *b)
{
    const trace *x = a, *y = b;
    const int order = (x->work > y->work) - (x->work < y->work);
    return order ? order : strcmp(x->line, y->line);
}

/* Prints the cases that scripts/predict-rows traces, the shortest first: DATASET N SHARE FILE. What is too large is
 * traced in part, about `budget` million nonzeros for every 32 columns. But where the longest row holds more
 * than 0.2 % of the nonzeros it decides, and a sample may miss it: such a graph is traced in full. */
enum status run_traces(const request *q)
{
    const double budget = strtod(option(q, "budget", "6"), NULL), least_share = 0.001;
    table *t = table_read(q->files[0]);
    trace *traces = calloc((size_t)t->count + 1, sizeof *traces);
    names seen = {0};
    if (!traces) refuse(STATUS_MEMORY, "out of memory");
    for (long row = 0; row < t->count; row++) {
        const row_of r = {t, row};
        const char *dataset = get(r, "dataset"), *N = get(r, "N");
        const long before = seen.count;
        if (!lab_of(r) || names_add(&seen, text("%s" KEY "%s", dataset, N)) != before) continue;
        const double work = number(r, "nnz") / 1e6 * number(r, "N") / 32;
        const bool whole = work <= budget || number(r, "max_row") > 0.002 * number(r, "nnz");
        const double part = whole ? 1 : budget / work;
        const double share = part < least_share ? least_share : part;
        traces[before].work = work * share;
        traces[before].line = text("%s %s %.3g %s/%s-%s-%.3g.csv", dataset, N, share,
                                   option(q, "folder", "."), dataset, N, share);
    }
    qsort(traces, (size_t)seen.count, sizeof *traces, shortest_first);
    for (long i = 0; i < seen.count; i++)
        fprintf(out, "%s\n", traces[i].line);
    return STATUS_OK;
}
