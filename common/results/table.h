/*
 * table.h - results for people.
 */
#ifndef RESULTS_TABLE_H
#define RESULTS_TABLE_H

#include "harness/workbench.h"
#include "results/row.h"

/* Everything about one matrix at one width: the heading, a line a contender, and for each wrong
 * contender its first wrong elements with the diagnosis. rows[i] belongs to outcomes[i]. */
void table_print(FILE *out, const problem *p, const row *rows, const outcome *outcomes,
                 size_t count);

#endif
