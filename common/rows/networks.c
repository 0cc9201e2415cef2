/*
 * networks.c - see networks.h.
 */
#include "rows/networks.h"

#include "rows/study.h"

#include <stdlib.h>
#include <string.h>

static const char VENDOR[] = "cuSPARSE";

const char *app_of(const table *t)
{
    const row_of first = {t, 0};
    return t->count ? get_or(first, "app", get_or(first, "application", NULL)) : NULL;
}

bool is_of_networks(const table *t)
{
    return names_find(&t->columns, "app") != NONE && names_find(&t->columns, "network") != NONE &&
           names_find(&t->columns, "step_ms") != NONE;
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

/* ---- the table --------------------------------------------------------------------------------- */

/* Problems of one line. */
typedef struct line {
    double *shares;     /* of each part, sums */
    mean sparse, dense; /* steps of rivals over the suite's */
    double moved;       /* sum of shares */
    long count;
    double step_ms; /* the only problem's */
} line;

static const char MOVE[] = "move";

/* The parts of a step: columns PART_ms behind `runs`, but for the values' way, which is in one of them. */
static names parts_of_step(const table *t)
{
    names parts = {0};
    for (long i = names_find(&t->columns, "runs") + 1; i < t->columns.count; i++) {
        const char *column = t->columns.name[i];
        const size_t length = strlen(column);
        if (length < 3 || strcmp(column + length - 3, "_ms")) break;
        const char *part = text("%.*s", (int)length - 3, column);
        if (strcmp(part, MOVE)) names_add(&parts, part);
    }
    return parts;
}

static void add_problem(line *l, const network_case *c, const names *parts)
{
    const double step = network_ms(c->suite, "step");
    const row_of sparse = network_sparse(c, "step");
    double sum = 0;
    for (long p = 0; p < parts->count; p++)
        sum += network_ms(c->suite, parts->name[p]);
    for (long p = 0; p < parts->count && sum > 0; p++)
        l->shares[p] += network_ms(c->suite, parts->name[p]) / sum;
    if (has(c->suite, "move_ms")) l->moved += network_ms(c->suite, MOVE) / step; /* 0: they stay */
    if (sparse.table) mean_add(&l->sparse, network_ms(sparse, "step") / step);
    if (c->dense.table) mean_add(&l->dense, network_ms(c->dense, "step") / step);
    l->step_ms = step;
    l->count++;
}

static const char *over_cell(const mean *m)
{
    if (!m->count) return "-";
    const char *ratio = show_ratio(mean_of(m));
    return m->count == 1 ? ratio : text("%s, %ld of %ld", ratio, m->ahead, m->count);
}

static void print_titles(const char *by, const names *parts, bool moves)
{
    size_t count;
    char **column = parts_of(by, ',', &count);
    fputs("|", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, " %s |", column[i]);
    fputs(" problems | step, ms |", out);
    for (long p = 0; p < parts->count; p++) {
        char *title = text("%s", parts->name[p]);
        for (char *at = title; *at; at++)
            if (*at == '_') *at = ' ';
        fprintf(out, " %s |", title);
    }
    fprintf(out, "%s over cuSPARSE's best | over dense |\n|",
            moves ? " values to the transpose |" : "");
    for (size_t i = 0; i < count; i++)
        fputs("---|", out);
    for (long i = 0; i < parts->count + 4 + moves; i++)
        fputs("---:|", out);
    putc('\n', out);
}

/* The cells of a network that its line begins with. */
static char *group_of(row_of r, const char *by)
{
    size_t count;
    char **column = parts_of(by, ',', &count), *group = text("%s", "");
    for (size_t i = 0; i < count; i++)
        group = text("%s %s |", group, get(r, column[i]));
    return group;
}

/* The suite's networks: the share of each part of a step, and whole steps of others over theirs. A line has all problems
 * with the same cells in some columns. A share is the arithmetic mean of its problems; that of the values' way to the
 * transpose is measured apart, and is in a part as well. Options: by (columns, with commas between them). */
void networks_table(study *s)
{
    network_cases c = {0};
    for (int f = 0; f < s->files; f++)
        networks_read(&c, s->file[f]);
    const char *by = option(s->request, "by", "dataset");
    names groups = {0};
    for (long i = 0; i < c.count; i++) {
        if (c.at[i].suite.table) names_add(&groups, group_of(c.at[i].suite, by));
    }
    if (!groups.count) nothing(s, "networks with times");
    const names parts = parts_of_step(s->file[0]);
    bool moves = false; /* without such times a column of zeros would be untrue */
    for (long i = 0; i < c.count; i++)
        moves |= network_ms(c.at[i].suite, MOVE) > 0;
    print_titles(by, &parts, moves);
    for (long g = 0; g < groups.count; g++) {
        line l = {.shares = calloc((size_t)parts.count + 1, sizeof *l.shares)};
        if (!l.shares) refuse(STATUS_MEMORY, "out of memory");
        for (long i = 0; i < c.count; i++) {
            if (!c.at[i].suite.table || strcmp(group_of(c.at[i].suite, by), groups.name[g]))
                continue;
            add_problem(&l, &c.at[i], &parts);
            use_row(s, c.at[i].suite);
        }
        fprintf(out, "|%s %ld | %s |", groups.name[g], l.count,
                l.count == 1 ? show_ms(l.step_ms) : "-");
        for (long p = 0; p < parts.count; p++)
            fprintf(out, " %.0f %% |", 100 * l.shares[p] / (double)l.count);
        if (moves) fprintf(out, " %.1f %% |", 100 * l.moved / (double)l.count);
        fprintf(out, " %s |", over_cell(&l.sparse));
        fprintf(out, " %s |\n", over_cell(&l.dense));
        free(l.shares);
    }
}
