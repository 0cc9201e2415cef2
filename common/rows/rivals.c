/*
 * rivals.c - labs beside rivals outside the suite, whose rows are in files of their own (report/rivals), problem by problem.
 */
#include "rows/study.h"

#include <string.h>

/* The fastest lab of a problem; NULL: none has a right result. */
static const char *fastest_lab(const study *s, const problem *p)
{
    const char *best = NULL;
    for (int lab = 1; lab <= s->last_lab; lab++) {
        const char *who = text("lab%d", lab);
        const timing *t = timing_of(s, p, who);
        if (t && (!best || t->ms < timing_of(s, p, best)->ms)) best = who;
    }
    return best;
}

static const char *best_cell(study *s, const problem *p)
{
    const double ms = time_of(s, p, "best");
    return ms ? text("%s (%s)", us(ms), short_name(timing_of(s, p, "best")->contender)) : "-";
}

/* The row of a rival on a problem; without a table where there is none. */
static row_of row_of_rival(const problem *p, const char *rival)
{
    for (long i = 0; i < p->laters; i++)
        if (!strcmp(get(p->later[i], "contender"), rival)) return p->later[i];
    return (row_of){NULL, 0};
}

/* The time, or the first words of why there is none: "not supported". */
static const char *rival_cell(study *s, row_of r)
{
    if (!r.table) return "-";
    if (!is_ok(r)) {
        const char *message = get(r, "message");
        return starts_with(message, "not ") ? text("%.*s", (int)strcspn(message, ":"), message)
                                            : get(r, "status");
    }
    use_row(s, r);
    return us(time_of_row(r));
}

static void print_problem(study *s, const problem *p, const names *rivals)
{
    const char *lab = fastest_lab(s, p);
    const double own = time_of(s, p, lab);
    double least = 0;
    fprintf(out, "| %s | %s | %s (%s) | %s | %s |", p->label, p->N, us(own), heading(lab),
            dense_cell(s, p, "dense"), best_cell(s, p));
    for (long i = 0; i < rivals->count; i++) {
        const row_of r = row_of_rival(p, rivals->name[i]);
        const double ms = r.table ? time_of_row(r) : 0;
        fprintf(out, " %s |", rival_cell(s, r));
        if (ms && !strstr(rivals->name[i], "(dense)") && (!least || ms < least)) least = ms;
    }
    fprintf(out, " %s |\n", least ? show_ratio(least / own) : "-");
}

/* Rivals of every problem of which both a lab and a rival have rows, all of one device. */
static names rivals_of(const study *s)
{
    names rivals = {0};
    for (long i = 0; i < s->problems; i++) {
        const problem *p = &s->problem[i];
        if (!fastest_lab(s, p)) continue;
        for (long j = 0; j < p->laters; j++) {
            const row_of r = p->later[j];
            const char *from = timing_of(s, p, fastest_lab(s, p))->from;
            const char *device = get(r, "device");
            if (!starts_with(from, text("%s,", device)))
                refuse(STATUS_DATASET, "%s: measured on %s, the labs on %s", place_of_row(r),
                       device, key_part(from, 0));
            names_add(&rivals, get(r, "contender"));
        }
    }
    return rivals;
}

/* The fastest lab beside the vendor's fastest dense and sparse products and each rival. Dense rivals are shown, and the
 * last column leaves them out. */
void rivals_table(study *s)
{
    const names rivals = rivals_of(s);
    s->measured_by = "make rivals";
    if (!rivals.count) nothing(s, "rivals on problems of the labs");
    fprintf(out,
            "| matrix | %s | fastest lab, us (which) | cuBLAS, us (which) | cuSPARSE, us (which) |",
            common_width(s));
    for (long i = 0; i < rivals.count; i++)
        fprintf(out, " %s, us |", rivals.name[i]);
    fputs(" lab over the fastest rival |\n|---|---:|---|---|---|", out);
    for (long i = 0; i < rivals.count; i++)
        fputs("---:|", out);
    fputs("---:|\n", out);
    for (long i = 0; i < s->problems; i++)
        if (s->problem[i].laters && fastest_lab(s, &s->problem[i]))
            print_problem(s, &s->problem[i], &rivals);
}
