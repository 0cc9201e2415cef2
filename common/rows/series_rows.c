/*
 * series_rows.c - rows, times and published figures that figures take, and the lines they print: see series.h.
 */
#include "rows/series.h"
#include "rows/study.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------- */

/* Adds a row that was taken to what the small print says. */
static void use_in(figure *g, row_of r)
{
    const char *model = get_or(r, "model", ""), *driver = get_or(r, "driver", "-");
    const char *machine = get_or(r, "device", "");
    if (*model) machine = text("%s%smodel of %s", machine, *machine ? ", " : "", model);
    if (strcmp(driver, "-"))
        machine = text("%s, driver %s, CUDA %s", machine, driver, get(r, "toolkit"));
    names_add(&g->machines, machine);
    if (has(r, "commit")) names_add(&g->commits, get(r, "commit"));
    if (*get_or(r, "origin", ""))
        names_add(&g->pairs, text("%s" KEY "%s", get(r, "origin"), get(r, "dataset")));
    names_add(&g->files, r.table->name);
}

static bool is_taken(row_of r, const wanted *w)
{
    if (w->N && strcmp(get(r, "N"), w->N)) return false;
    if (w->labs && !strcmp(w->labs, "+") && !lab_of(r)) return false;
    if (w->labs && strcmp(w->labs, "+") && !is_among(text("%d", lab_of(r)), w->labs, ','))
        return false;
    if (w->plain &&
        (strcmp(get(r, "l2"), "warm") || *get(r, "flags") || strcmp(get(r, "precision"), "fp32")))
        return false;
    if (w->l2 && strcmp(get(r, "l2"), w->l2)) return false;
    if (w->flags && strcmp(get(r, "flags"), w->flags)) return false;
    if (w->status && strcmp(get(r, "status"), w->status)) return false;
    if (w->precision && strcmp(get(r, "precision"), w->precision)) return false;
    if (w->origin && strcmp(get(r, "origin"), w->origin)) return false;
    if (w->contender && strcmp(get(r, "contender"), w->contender)) return false;
    return !w->datasets || names_find(w->datasets, get(r, "dataset")) != NONE;
}

static char *said(const wanted *w)
{
    const char *list = "";
    if (w->N) list = text("N %s", w->N);
    if (w->labs) list = text("%s%slab %s", list, *list ? ", " : "", w->labs);
    if (w->plain) list = text("%s%sl2 warm, flags none, precision fp32", list, *list ? ", " : "");
    return text("%s", *list ? list : "any kind");
}

rows_taken peek_rows(const figure *g, const char *file, const wanted *w)
{
    rows_taken taken = {0};
    const char *path = text("%s/%s", g->folder, file);
    if (!is_readable(path)) return taken;
    table *t = table_read(path);
    taken.row = calloc((size_t)t->count + 1, sizeof *taken.row);
    if (!taken.row) refuse(STATUS_MEMORY, "out of memory");
    for (long row = 0; row < t->count; row++)
        if (is_taken((row_of){t, row}, w)) taken.row[taken.count++] = (row_of){t, row};
    return taken;
}

rows_taken find_rows(figure *g, const char *file, const wanted *w)
{
    const rows_taken taken = peek_rows(g, file, w);
    for (long i = 0; i < taken.count; i++)
        use_in(g, taken.row[i]);
    return taken;
}

rows_taken take_rows(figure *g, const char *file, wanted w)
{
    const rows_taken taken = find_rows(g, file, &w);
    const char *path = text("%s/%s", g->folder, file);
    if (!is_readable(path)) refuse(STATUS_DATASET, "no %s", path);
    if (!taken.count) refuse(STATUS_DATASET, "no rows of %s in %s", said(&w), path);
    return taken;
}

rows_taken find_all(figure *g, const char *pattern, wanted w)
{
    rows_taken all = {0};
    glob_t found;
    if (glob(text("%s/%s", g->folder, pattern), 0, NULL, &found)) return all;
    for (size_t f = 0; f < found.gl_pathc; f++) {
        const rows_taken own = find_rows(g, strrchr(found.gl_pathv[f], '/') + 1, &w);
        if (!own.count) continue;
        all.row = realloc(all.row, (size_t)(all.count + own.count) * sizeof *all.row);
        if (!all.row) refuse(STATUS_MEMORY, "out of memory");
        memcpy(all.row + all.count, own.row, (size_t)own.count * sizeof *own.row);
        all.count += own.count;
    }
    globfree(&found);
    return all;
}

rows_taken take_all(figure *g, const char *pattern, wanted w)
{
    const rows_taken all = find_all(g, pattern, w);
    const char *path = text("%s/%s", g->folder, pattern);
    glob_t found;
    if (all.count) return all;
    if (glob(path, 0, NULL, &found)) refuse(STATUS_DATASET, "no %s", path);
    refuse(STATUS_DATASET, "no rows of %s in %s", said(&w), path);
}

const names *pair_of(const char *first, const char *second)
{
    names *pair = calloc(1, sizeof *pair);
    if (!pair) refuse(STATUS_MEMORY, "out of memory");
    names_add(pair, first);
    names_add(pair, second);
    return pair;
}

names datasets_of(const rows_taken *rows)
{
    names found = {0};
    for (long i = 0; i < rows->count; i++)
        names_add(&found, get(rows->row[i], "dataset"));
    return found;
}

char *label_of(row_of r)
{
    return text("%s%s", get(r, "dataset"), strcmp(get(r, "origin"), "real") ? "" : " (real)");
}

static int by_number(const void *a, const void *b)
{
    const double x = strtod(*(char *const *)a, NULL), y = strtod(*(char *const *)b, NULL);
    return (x > y) - (x < y);
}

void sort_by_number(char **list, long count)
{
    qsort(list, (size_t)count, sizeof *list, by_number);
}

char **widths_of(const rows_taken *rows, long *count)
{
    names found = {0};
    for (long i = 0; i < rows->count; i++)
        names_add(&found, get(rows->row[i], "N"));
    char **list = names_in_order(&found);
    sort_by_number(list, found.count);
    *count = found.count;
    return list;
}

/* ---- times ------------------------------------------------------------------------------------ */

void keep_least(numbers *map, const char *key, double value)
{
    double *least = numbers_at(map, key, value);
    if (value < *least) *least = value;
}

static void take_time(times *t, const char *who, row_of r, double ms)
{
    names_add(&t->who, who);
    keep_least(&t->ms, text("%s" KEY "%s", who, get(r, "dataset")), ms);
}

times times_of(const rows_taken *rows, const char *N)
{
    times t = {0};
    for (long i = 0; i < rows->count; i++) {
        const row_of r = rows->row[i];
        const char *first = operation_of(rows->row[0]);
        if (strcmp(operation_of(r), first))
            refuse(STATUS_DATASET, "%s:%ld: times of %s and %s in one", rows->row[0].table->name,
                   rows->row[0].row + 2, first, operation_of(r));
        if (N && strcmp(get(r, "N"), N)) continue;
        const char *dataset = get(r, "dataset");
        names_add(&t.graphs, dataset);
        *texts_at(&t.label, dataset) = label_of(r);
        if (!is_ok(r) || !*get(r, "median_ms")) continue;
        char *end;
        const double ms = strtod(get(r, "median_ms"), &end);
        if (*end || !(ms > 0 && ms < INFINITY))
            refuse(STATUS_DATASET, "%s:%ld: median_ms is '%s'", r.table->name, r.row + 2,
                   get(r, "median_ms"));
        if (lab_of(r))
            take_time(&t, text("%d", lab_of(r)), r, ms);
        else if (!strcmp(get(r, "contender"), get(r, "vendor_best")))
            take_time(&t, "best", r, ms);
        if (!lab_of(r) && !strcmp(get(r, "contender"), get(r, "vendor_default")))
            take_time(&t, "default", r, ms);
    }
    return t;
}

bool is_timed(const times *t, const char *who)
{
    return names_find(&t->who, who) != NONE;
}

void need_time(const times *t, const char *who)
{
    if (is_timed(t, who)) return;
    refuse(STATUS_DATASET, "no time of %s in its rows",
           *who >= '0' && *who <= '9' ? text("lab %s", who) : text("the %s of the vendor", who));
}

const double *ms_of(const times *t, const char *who, const char *dataset)
{
    return numbers_find(&t->ms, text("%s" KEY "%s", who, dataset));
}

/* ---- lines ------------------------------------------------------------------------------------ */

void print_point(const char *panel, const char *series, const char *name, double value)
{
    fprintf(out, "point\t%s\t%s\t%s\t%.17g\n", panel, series, name, value);
}

void print_mean(const char *panel, const char *series, const mean *m)
{
    if (m->count)
        fprintf(out, "mean\t%s\t%s\t%.17g\t%ld\t%ld\n", panel, series, mean_of(m), m->ahead,
                m->count);
}

void print_graphs(const char *panel, const times *t)
{
    for (long i = 0; i < t->graphs.count; i++)
        fprintf(out, "graph\t%s\t%s\t%s\n", panel, t->graphs.name[i],
                texts_find(&t->label, t->graphs.name[i]));
}

mean print_ratios(const char *panel, const char *series, const times *above, const char *who,
                  const times *below, const char *over)
{
    mean m = {0};
    for (long i = 0; i < above->graphs.count; i++) {
        const char *graph = above->graphs.name[i];
        const double *a = ms_of(above, who, graph), *b = ms_of(below, over, graph);
        if (!a || !b) continue;
        print_point(panel, series, graph, *a / *b);
        mean_add(&m, *a / *b);
    }
    print_mean(panel, series, &m);
    return m;
}

int next_lab(const times *t, int lab)
{
    for (lab++; lab < 100; lab++)
        if (is_timed(t, text("%d", lab))) return lab;
    return 0;
}

/* ---- against zeros ---------------------------------------------------------------------------- */

int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_x(const void *a, const void *b)
{
    const place *p = a, *q = b;
    return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->y > q->y) - (p->y < q->y);
}

line line_of(const numbers *ms, const char *who, const names *datasets, const numbers *zeros)
{
    line l = {.at = calloc((size_t)datasets->count + 1, sizeof(place))};
    if (!l.at) refuse(STATUS_MEMORY, "out of memory");
    for (long i = 0; i < datasets->count; i++) {
        const double *own = numbers_find(ms, text("%s" KEY "%s", who, datasets->name[i]));
        if (own) l.at[l.count++] = (place){*numbers_find(zeros, datasets->name[i]), 1000 * *own};
    }
    qsort(l.at, (size_t)l.count, sizeof *l.at, by_x);
    return l;
}

void print_line(const char *panel, const char *series, const line *l)
{
    for (long i = 0; i < l->count; i++)
        print_point(panel, series, text("%.17g", l->at[i].x), l->at[i].y);
}

/* ---- the machine ------------------------------------------------------------------------------ */

numbers read_limits(figure *g)
{
    const char *limits = text("%s/limits.tsv", g->folder);
    char *files[] = {(char *)limits};
    if (!is_readable(limits)) refuse(STATUS_DATASET, "no %s", limits);
    const study *machine = study_read(&(request){.files = files, .count = 1}, false);
    if (!numbers_find(&machine->limit, "fp32_gflops") || !numbers_find(&machine->limit, "copy_gbs"))
        refuse(STATUS_DATASET, "%s: not both of copy_gbs and fp32_gflops are there", limits);
    names_add(&g->notes, "limits of limits.tsv");
    return machine->limit;
}

/* ---- published figures ------------------------------------------------------------------------ */

const char *home_of(const figure *g)
{
    const char *slash = strrchr(g->published_path, '/');
    return slash ? text("%.*s", (int)(slash - g->published_path), g->published_path) : ".";
}

published read_published(figure *g, const char *experiments)
{
    published p = {0};
    FILE *in = fopen(g->published_path, "r");
    char *line = NULL;
    size_t bytes = 0, count;
    if (!in) refuse(STATUS_DATASET, "%s: cannot be read", g->published_path);
    while (getline(&line, &bytes, in) >= 0) {
        line[strcspn(line, "\n")] = 0;
        char **cell = parts_of(line, '\t', &count);
        if (!count || *line == '#' || count < 7 || !is_among(cell[0], experiments, ',')) continue;
        names_add(&p.devices, cell[1]);
        names_add(&p.matrices, cell[2]);
        *texts_at(&p.value, text("%s" KEY "%s" KEY "%s" KEY "%s", cell[0], cell[2], cell[4],
                                 cell[5])) = cell[6];
    }
    fclose(in);
    const char *label = text("published, %s", names_sorted(&p.devices, ""));
    const char *list = "";
    char **name = parts_of(experiments, ',', &count);
    for (size_t i = 0; i < count; i++)
        list = text("%s%s%s", list, i ? ", " : "", name[i]);
    fprintf(out, "word\tpublished\t%s\n", label);
    names_add(&g->notes, text("%s: %s of published.tsv", label, list));
    return p;
}

double published_value(const published *p, const char *experiment, const char *matrix,
                       const char *setting, const char *quantity)
{
    const char *value = texts_find(
        &p->value, text("%s" KEY "%s" KEY "%s" KEY "%s", experiment, matrix, setting, quantity));
    return value ? strtod(value, NULL) : 0;
}
