/*
 * networks.h - rows of networks, which programs of apps/ leave: a step on the suite's kernels, and beside it on those of
 * others.
 *
 * Column `app` names the program, `network` whose kernels a row is of: suite, dense, or a rival's name. The cells behind
 * `kernels`, up to `seed`, describe the problem. `step_ms` is the median of a step, PART_ms the mean of a part of it.
 * Docs: docs/rows.md; the writer is common/training/contest.c.
 */
#ifndef ROWS_NETWORKS_H
#define ROWS_NETWORKS_H

#include "rows/rows.h"

/* Times on one problem. A row's table is NULL where there is none: without the suite's, rivals say nothing. */
typedef struct network_case {
    row_of suite, dense;
    row_of *sparse; /* the vendor's pipelines */
    long num_sparse;
} network_case;

typedef struct network_cases {
    network_case *at;
    long count;
    names problems;
} network_cases;

/* The program of apps/ that left a file; NULL: none did, or it has no rows. */
const char *app_of(const table *t);

/* Whether a file holds rows of networks: other programs of apps/ have columns of their own. */
bool is_of_networks(const table *t);

/* Adds a file. Rows without a right result and a time are left out; of two rows of one network and problem the first
 * counts. */
void networks_read(network_cases *c, const table *t);

/* The vendor's pipeline with the least time of a part; without a table where none has it. */
row_of network_sparse(const network_case *c, const char *part);

/* A time of a row in ms, as "step", "move" or another part; 0 where the row, or its cell, is not there. */
double network_ms(row_of r, const char *part);

#endif
