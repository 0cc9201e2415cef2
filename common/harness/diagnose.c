/*
 * diagnose.c - from what the wrong elements have in common to the bug a student should look for.
 */
#include "harness/verify.h"

#include <stdio.h>
#include <string.h>

/* What the wrong values are. */
static const char *kind(const comparison *c)
{
    if (c->unwritten == c->bad) return "never written";
    if (c->not_finite + c->unwritten == c->bad) return "NaN or infinity computed";
    if (c->zero == c->bad) return "all of them 0";
    if (c->doubled == c->bad)
        return "twice the right value (counted twice, or added to an old result)";
    return "wrong values";
}

/* Which rows or columns they are in; "" when that tells nothing. */
static void place(const problem *p, const comparison *c, char *text, size_t bytes)
{
    const long long first = c->first_row, last = c->last_row;
    const bool all_rows = c->bad_rows == p->out_rows, all_cols = c->bad_cols == p->out_cols;
    const bool run_of_rows = c->bad_rows == last - first + 1;
    text[0] = 0;
    if (!all_cols && c->bad_cols == c->last_col - c->first_col + 1 &&
        c->last_col == p->out_cols - 1)
        snprintf(text, bytes, "only columns >= %lld of %lld", (long long)c->first_col,
                 (long long)p->out_cols);
    else if (!all_cols && c->bad_cols == 1)
        snprintf(text, bytes, "only column %lld", (long long)c->first_col);
    else if (all_rows)
        snprintf(text, bytes, "in every row");
    else if (run_of_rows && last == p->out_rows - 1 && c->bad_rows == 1)
        snprintf(text, bytes, "only the last row, %lld", last);
    else if (run_of_rows && last == p->out_rows - 1)
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

void diagnose(const problem *p, const comparison *c, char *text, size_t bytes)
{
    char where[160];
    if (c->unwritten == c->elements) {
        snprintf(text, bytes, "nothing was written");
        return;
    }
    place(p, c, where, sizeof where);
    snprintf(text, bytes, "%s%s%s", kind(c), *where ? ": " : "", where);
}
