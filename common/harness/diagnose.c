/*
 * diagnose.c - from what the wrong elements have in common to the bug a student should look for.
 */
#include "harness/verify.h"

#include <stdio.h>
#include <string.h>

/* Names the kind of the wrong values. */
static const char *kind(const comparison *c)
{
    const int64_t bad = c->which_bad;
    if (c->unwritten == bad) return "never written";
    if (c->not_finite + c->unwritten == bad) return "NaN or infinity computed";
    if (c->zero == bad) return "all of them 0";
    if (c->doubled == bad)
        return "twice the right value (counted twice, or added to an old result)";
    return "wrong values";
}

/* Which columns of a dense output they are in; "" when that tells nothing. */
static void columns(const output *o, const comparison *c, char *text, size_t bytes)
{
    if (c->bad_places == o->cols) return;
    if (c->bad_places == c->last_place - c->first_place + 1 && c->last_place == o->cols - 1)
        snprintf(text, bytes, "only columns >= %lld of %lld", (long long)c->first_place,
                 (long long)o->cols);
    else if (c->bad_places == 1)
        snprintf(text, bytes, "only column %lld", (long long)c->first_place);
}

/* Which nonzeros of the pattern they are, and where in their rows, from 0; "" when that tells nothing. */
static void nonzeros(const output *o, const comparison *c, char *text, size_t bytes)
{
    const int64_t all = output_elements(o); /* of which a sample may be all that was compared */
    const bool run = c->which_bad == c->last_at - c->first_at + 1;
    if (run && c->last_at == all - 1 && c->first_at > 0)
        snprintf(text, bytes, "only the last %lld of %lld nonzeros", (long long)c->which_bad,
                 (long long)all);
    else if (c->which_bad == 1)
        snprintf(text, bytes, "only nonzero %lld", (long long)c->first_at);
    else if (c->bad_rows > 1 && c->first_place > 0)
        snprintf(text, bytes, "only from nonzero %lld of a row on", (long long)c->first_place);
}

/* Which rows they are in; "" when that tells nothing. */
static void rows(const output *o, const comparison *c, char *text, size_t bytes)
{
    const long long first = c->first_row, last = c->last_row;
    const bool run_of_rows = c->bad_rows == last - first + 1;
    if (c->bad_rows == o->rows)
        snprintf(text, bytes, "in every row");
    else if (c->longest_good < 0)
        snprintf(text, bytes, "in every row that was compared");
    else if (run_of_rows && last == o->rows - 1 && c->bad_rows == 1)
        snprintf(text, bytes, "only the last row, %lld", last);
    else if (run_of_rows && last == o->rows - 1)
        snprintf(text, bytes, "only the last %lld rows, from row %lld on", (long long)c->bad_rows,
                 first);
    else if (c->longest_bad == 0)
        snprintf(text, bytes, "only empty rows");
    else if (c->longest_good == 0 && c->shortest_bad > 0)
        snprintf(text, bytes, "in every row that is not empty");
    else if (c->shortest_bad > c->longest_good)
        snprintf(text, bytes, "only rows longer than %lld nonzeros", (long long)c->longest_good);
    else if (c->longest_bad < c->shortest_good)
        snprintf(text, bytes, "only rows shorter than %lld nonzeros", (long long)c->shortest_good);
    else if (c->bad_rows == 1)
        snprintf(text, bytes, "only row %lld, of %lld nonzeros", first, (long long)c->longest_bad);
    else if (c->shortest_bad > 1)
        snprintf(text, bytes, "only in rows of %lld or more nonzeros, though not in all of them",
                 (long long)c->shortest_bad);
}

/* Asks the operation to explain the wrong values: a text that fits all elements shown; else "". */
static void explain(const problem *p, const comparison *c, char *text, size_t bytes)
{
    char again[160];
    text[0] = 0;
    if (!p->operation->explain) return;
    for (int i = 0; i < SHOWN_ERRORS && i < c->which_bad; i++) {
        const wrong_element *e = &c->shown[i];
        char *const to = i ? again : text;
        p->operation->explain(p, c->which, e->row, e->place, e->got, to, i ? sizeof again : bytes);
        if (i && strcmp(again, text) != 0) text[0] = 0;
        if (!*text) return;
    }
}

void diagnose(const problem *p, const comparison *c, char *text, size_t bytes)
{
    char where[120] = "", why[160], name[40] = "";
    const output *o = &p->outputs[c->which];
    if (p->num_outputs > 1) snprintf(name, sizeof name, "%s: ", o->name);
    if (c->unwritten == c->which_elements) {
        snprintf(text, bytes, "%snothing was written", name);
        return;
    }
    if (o->row_ptr)
        nonzeros(o, c, where, sizeof where);
    else
        columns(o, c, where, sizeof where);
    if (!*where) rows(o, c, where, sizeof where);
    explain(p, c, why, sizeof why);
    snprintf(text, bytes, "%s%s%s%s%s%s", name, kind(c), *where ? ": " : "", where,
             *why ? "; " : "", why);
}
