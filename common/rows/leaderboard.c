/*
 * leaderboard.c - who is fastest: labs, the vendor's algorithms, and rivals from files of their own.
 *
 * The first file is the suite's: fp32, warm L2, no options; its cases are the cases. Dense products are left
 * out: they work on A's zeros, or round its values. Of a rival's file five columns are needed.
 */
#include "rows/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { LAB, VENDOR, RIVAL };

typedef struct board {
    const char *device, *operation;
    texts label;  /* of a case, "N graph" */
    names widths; /* in the order of their coming */
    texts winner; /* of a case */
    numbers best; /* of a case, ms */
    numbers time; /* by "case who" */
    numbers kind; /* of who: known with a time */
    names who;
} board;

static const double *ms_of(const board *b, const char *key, const char *who)
{
    return numbers_find(&b->time, text("%s" KEY "%s", key, who));
}

static void take_row(board *b, row_of r, bool is_rival)
{
    if (strcmp(get_or(r, "precision", "fp32"), "fp32") || strcmp(get_or(r, "l2", "warm"), "warm"))
        return;
    const char *contender = get(r, "contender"), *origin = get_or(r, "origin", "");
    if (*get_or(r, "flags", "") || strstr(contender, "(dense)")) return;
    if (!is_rival) one_operation(&b->operation, r);
    if (strcmp(operation_of(r), b->operation)) return;
    if (!b->device) b->device = get(r, "device");
    if (strcmp(get(r, "device"), b->device))
        refuse(STATUS_DATASET, "%s: measured on %s, the others on %s", place_of_row(r),
               get(r, "device"), b->device);
    const char *key = text("%s" KEY "%s", get(r, "N"), get(r, "dataset"));
    const char *who = lab_of(r) ? text("lab %d", lab_of(r)) : contender;
    const char *label = text(*origin ? "%s (%s)" : "%s", get(r, "dataset"), origin);
    const enum kind kind = is_rival ? RIVAL : lab_of(r) ? LAB : VENDOR;
    if (is_rival) {
        const char *known = texts_find(&b->label, key);
        if (!known) return;
        if (*origin && strcmp(known, label))
            refuse(STATUS_DATASET, "%s: other data than in the first file: %s", place_of_row(r),
                   origin);
    } else {
        const char **own = texts_at(&b->label, key);
        if (!*own) *own = label;
        names_add(&b->widths, get(r, "N"));
    }
    if (strcmp(get_or(r, "status", "ok"), "ok") || !*get(r, "median_ms")) return;
    const double ms = number(r, "median_ms");
    if (ms <= 0) return;
    names_add(&b->who, who);
    *numbers_at(&b->kind, who, kind) = kind;
    *numbers_at(&b->time, text("%s" KEY "%s", key, who), 0) = ms;
    double *best = numbers_at(&b->best, key, INFINITY);
    if (ms < *best) {
        *best = ms;
        *texts_at(&b->winner, key) = who;
    }
}

/* The fastest of a kind in a case, as "lab 10 0.0253"; *ms is 0 where there is none. */
static const char *fastest(const board *b, const char *key, enum kind kind, double *ms)
{
    const char *name = NULL;
    *ms = 0;
    for (long i = 0; i < b->who.count; i++) {
        const double *own = ms_of(b, key, b->who.name[i]);
        if (*numbers_find(&b->kind, b->who.name[i]) != kind || !own || (*ms && *own >= *ms))
            continue;
        *ms = *own;
        name = b->who.name[i];
    }
    return name ? text("%s %s", short_name(name), show_ms(*ms)) : "-";
}

/* Says who is missing: without rows of others the first place says little. */
static void print_absent(const board *b)
{
    bool there[3] = {false};
    for (long i = 0; i < b->who.count; i++)
        there[(int)*numbers_find(&b->kind, b->who.name[i])] = true;
    if (there[RIVAL]) return;
    fprintf(out,
            "\n%s: there are no rows of other rivals yet (`make leaderboard RIVAL_ROWS=FOLDER`).\n",
            there[VENDOR] ? "Beside the labs only the vendor's library is on it"
                          : "Only the labs are on it");
}

static void print_cases(const board *b, const char *N)
{
    fprintf(
        out,
        "\n%s = %s\n\n| graph | fastest | best lab | best of the vendor | best rival | lab over the"
        " others |\n|---|---|---|---|---|---|\n",
        width_name(b->operation), N);
    for (long i = 0; i < b->label.key.count; i++) {
        const char *key = b->label.key.name[i], *winner = texts_find(&b->winner, key);
        if (strcmp(key_part(key, 0), N)) continue;
        double lab_ms, vendor_ms, rival_ms;
        const char *lab = fastest(b, key, LAB, &lab_ms);
        const char *vendor = fastest(b, key, VENDOR, &vendor_ms);
        const char *rival = fastest(b, key, RIVAL, &rival_ms);
        const double others =
            rival_ms && (!vendor_ms || rival_ms < vendor_ms) ? rival_ms : vendor_ms;
        fprintf(out, "| %s | %s | %s | %s | %s | %s |\n", b->label.value[i], winner ? winner : "-",
                lab, vendor, rival, lab_ms && others ? text("%.2f", others / lab_ms) : "-");
    }
}

typedef struct standing {
    const char *who;
    long cases, wins;
    double share;
} standing;

/* Sorts by cases, then by share: who has fewer cases stands behind, whatever the mean of the others is. */
static bool stands_behind(const standing *a, const standing *b)
{
    return a->cases < b->cases || (a->cases == b->cases && a->share <= b->share);
}

static void print_standings(const board *b)
{
    standing *place = calloc((size_t)b->who.count, sizeof *place);
    if (!place) refuse(STATUS_MEMORY, "out of memory");
    for (long i = 0; i < b->who.count; i++) {
        standing own = {.who = b->who.name[i]};
        mean share = {0};
        for (long k = 0; k < b->label.key.count; k++) {
            const char *key = b->label.key.name[k];
            const double *ms = ms_of(b, key, own.who);
            if (!ms) continue;
            own.wins += !strcmp(texts_find(&b->winner, key), own.who);
            mean_add(&share, *numbers_find(&b->best, key) / *ms);
        }
        own.cases = share.count;
        own.share = mean_of(&share);
        long j = i;
        for (; j > 0 && !stands_behind(&own, &place[j - 1]); j--)
            place[j] = place[j - 1];
        place[j] = own;
    }
    fputs("\n| place | contender | cases | fastest in | speed, share of the fastest |\n"
          "|---|---|---|---|---|\n",
          out);
    for (long i = 0; i < b->who.count; i++)
        fprintf(out, "| %ld | %s | %ld | %ld | %.1f %% |\n", i + 1, place[i].who, place[i].cases,
                place[i].wins, 100 * place[i].share);
}

enum status run_leaderboard(const request *q)
{
    board *b = calloc(1, sizeof *b);
    if (!b) refuse(STATUS_MEMORY, "out of memory");
    for (int i = 0; i < q->count; i++) {
        table *t = table_measured(q->files[i]);
        table_needs(t, "contender dataset N device median_ms");
        for (long row = 0; row < t->count; row++)
            take_row(b, (row_of){t, row}, i > 0);
    }
    if (!b->who.count) refuse(STATUS_DATASET, "no rows of plain runs with a warm cache");
    fprintf(out, "%s; fp32, warm L2, median ms.\n", b->device);
    print_absent(b);
    for (long w = 0; w < b->widths.count; w++)
        print_cases(b, b->widths.name[w]);
    print_standings(b);
    return STATUS_OK;
}
