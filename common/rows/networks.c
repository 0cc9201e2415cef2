/*
 * networks.c - see networks.h.
 */
#include "rows/networks.h"

#include <stdlib.h>
#include <string.h>

static const char VENDOR[] = "cuSPARSE";

bool is_of_networks(const table *t)
{
    return names_find(&t->columns, "app") != NONE && names_find(&t->columns, "network") != NONE;
}

double network_ms(row_of r, const char *part)
{
    const char *column = text("%s_ms", part);
    return r.table && *get(r, column) ? number(r, column) : 0;
}

static char *problem_of(row_of r)
{
    const table *t = r.table;
    char *key = text("%s", get(r, "app"));
    for (long i = names_find(&t->columns, "kernels") + 1; i <= names_find(&t->columns, "seed"); i++)
        key = text("%s" KEY "%s", key, t->cells[r.row][i]);
    return key;
}

static network_case *case_of(network_cases *c, row_of r)
{
    const long room = c->problems.room, before = c->problems.count;
    const long place = names_add(&c->problems, problem_of(r));
    if (c->problems.room != room) {
        c->at = realloc(c->at, (size_t)c->problems.room * sizeof *c->at);
        if (!c->at) refuse(STATUS_MEMORY, "out of memory");
    }
    if (place == before) c->at[place] = (network_case){.suite = {NULL, 0}};
    return &c->at[place];
}

row_of network_sparse(const network_case *c, const char *part)
{
    row_of fastest = {NULL, 0};
    for (long i = 0; i < c->num_sparse; i++) {
        const double ms = network_ms(c->sparse[i], part);
        if (ms && (!fastest.table || ms < network_ms(fastest, part))) fastest = c->sparse[i];
    }
    return fastest;
}

static void add_sparse(network_case *c, row_of r)
{
    c->sparse = realloc(c->sparse, ((size_t)c->num_sparse + 1) * sizeof *c->sparse);
    if (!c->sparse) refuse(STATUS_MEMORY, "out of memory");
    c->sparse[c->num_sparse++] = r;
}

void networks_read(network_cases *c, const table *t)
{
    table_needs(t, "app network kernels seed status step_ms device driver toolkit commit");
    for (long row = 0; row < t->count; row++) {
        const row_of r = {t, row};
        const char *network = get(r, "network");
        if (!is_ok(r) || !network_ms(r, "step")) continue;
        network_case *k = case_of(c, r);
        if (!strcmp(network, "suite") && !k->suite.table) k->suite = r;
        if (!strcmp(network, "dense") && !k->dense.table) k->dense = r;
        if (starts_with(network, VENDOR)) add_sparse(k, r);
    }
    c->count = c->problems.count;
}
