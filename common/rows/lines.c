/*
 * lines.c - the ladder with one line a lab: its idea, and how far it is ahead of the vendor.
 *
 * The idea is the second line of labs/NN_NAME/lab.cu; a network that is a lab has it in apps/NAME/NAME.c. The figure is a
 * geometric mean over all problems of the least width: the time of the vendor's best algorithm over that of the lab, in
 * fp32 with a warm L2. A lab without such rows is shown in fp16: with a cold L2 beside the fastest dense product, where
 * there are rows of set:llm, and else as in fp32. A network's figure is of whole steps, over all its problems; its vendor is
 * cuBLAS where cuSPARSE has no such step. Apps with rows of their own columns name the report, and so do labs whose rows
 * all have settings (flags).
 */
#include "rows/networks.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rows that a figure is made of, in the order in which a lab looks for its own. */
typedef struct source {
    const char *precision, *l2, *vendor;
} source;

static const source SOURCES[] = {
    {"fp32", "warm", "cuSPARSE"},
    {"fp16", "cold", "cuBLAS, dense, fp16"},
    {"fp16", "warm", "cuSPARSE, fp16"},
};

enum { NUM_SOURCES = sizeof SOURCES / sizeof *SOURCES };

#define LAB " * Lab "

typedef struct ladder_rows {
    const char *machine;
    names operations, commits;
    numbers least_width; /* by "operation source" */
    numbers vendor;      /* the least ms by "file operation source N graph" */
    row_of *of_labs;
    long count, room;
    network_cases networks;
    names other_apps; /* with rows, which have columns of their own */
    names seen;       /* numbers of labs with any rows */
} ladder_rows;

/* A lab's source, whose second line is its own. */
typedef struct lab_source {
    int lab;
    const char *path, *folder;
    bool is_network;
} lab_source;

/* NONE: the row is of no source. */
static int source_of(row_of r)
{
    for (int s = 0; s < NUM_SOURCES; s++)
        if (!strcmp(get(r, "precision"), SOURCES[s].precision) &&
            !strcmp(get(r, "l2"), SOURCES[s].l2) &&
            (strcmp(SOURCES[s].l2, "cold") || starts_with(get(r, "dataset"), "llm.")))
            return s;
    return NONE;
}

static char *group_of(const char *operation, int source)
{
    return text("%s" KEY "%d", operation, source);
}

/* The problem of a row, among the rows of its file: times that are compared are of one sitting. */
static char *problem_of(row_of r, int source)
{
    return text("%s" KEY "%s" KEY "%d" KEY "%s" KEY "%s", r.table->path, operation_of(r), source,
                get(r, "N"), get(r, "dataset"));
}

static void take_row(ladder_rows *l, row_of r)
{
    const int source = source_of(r);
    const char *contender = get(r, "contender");
    if (lab_of(r) && is_ok(r)) names_add(&l->seen, text("%d", lab_of(r)));
    if (source == NONE || !is_ok(r) || *get(r, "flags")) return;
    one_machine(&l->machine, r);
    const double N = number(r, "N");
    double *width = numbers_at(&l->least_width, group_of(operation_of(r), source), N);
    if (N < *width) *width = N;
    if (lab_of(r)) {
        if (l->count == l->room) {
            l->room = 2 * l->room + 256;
            l->of_labs = realloc(l->of_labs, (size_t)l->room * sizeof *l->of_labs);
            if (!l->of_labs) refuse(STATUS_MEMORY, "out of memory");
        }
        l->of_labs[l->count++] = r;
        names_add(&l->operations, operation_of(r));
        return;
    }
    const bool is_cold = !strcmp(get(r, "l2"), "cold");
    if (is_cold ? !strstr(contender, "(dense)") : strcmp(contender, get(r, "vendor_best")) != 0)
        return;
    double *best = numbers_at(&l->vendor, problem_of(r, source), INFINITY);
    if (time_of_row(r) < *best) *best = time_of_row(r);
}

/* The figure of a lab as cells; NULL: it has no rows of that source. */
static const char *figure(ladder_rows *l, int lab, const char *operation, int source)
{
    mean m = {0};
    const double *width = numbers_find(&l->least_width, group_of(operation, source));
    for (long i = 0; i < l->count; i++) {
        const row_of r = l->of_labs[i];
        if (lab_of(r) != lab || source_of(r) != source || strcmp(operation_of(r), operation) ||
            number(r, "N") != *width)
            continue;
        const double *vendor = numbers_find(&l->vendor, problem_of(r, source));
        if (!vendor) continue;
        mean_add(&m, *vendor / time_of_row(r));
        names_add(&l->commits, get(r, "commit"));
    }
    if (!m.count) return NULL;
    return text("%.2f | %ld of %ld | %s, %s = %s", mean_of(&m), m.ahead, m.count,
                SOURCES[source].vendor, width_name(operation), digits(*width));
}

/* The same of a network. */
static const char *network_figure(ladder_rows *l, const char *app)
{
    mean m = {0};
    bool is_sparse = false;
    for (long i = 0; i < l->networks.count; i++) {
        const network_case *k = &l->networks.at[i];
        if (k->suite.table && !strcmp(get(k->suite, "app"), app)) is_sparse |= k->num_sparse > 0;
    }
    for (long i = 0; i < l->networks.count; i++) {
        const network_case *k = &l->networks.at[i];
        const row_of vendor = is_sparse ? network_sparse(k, "step") : k->dense;
        if (!k->suite.table || !vendor.table || strcmp(get(k->suite, "app"), app)) continue;
        one_machine(&l->machine, k->suite);
        mean_add(&m, network_ms(vendor, "step") / network_ms(k->suite, "step"));
        names_add(&l->commits, get(k->suite, "commit"));
    }
    if (!m.count) return NULL;
    return text("%.2f | %ld of %ld | %s, a step", mean_of(&m), m.ahead, m.count,
                is_sparse ? "cuSPARSE" : "cuBLAS, dense");
}

/* The second line of a source, " * Lab 4 - tuning: how much.", from "4 - " on; NULL: there is none of that form. */
static char *lab_line(const char *path)
{
    char line[512];
    FILE *in = fopen(path, "r");
    const bool is_there = in && fgets(line, sizeof line, in) && fgets(line, sizeof line, in);
    if (in) fclose(in);
    if (!is_there || !starts_with(line, LAB) || !strstr(line, " - ")) return NULL;
    line[strcspn(line, "\n")] = '\0';
    const size_t length = strlen(line);
    if (line[length - 1] == '.') line[length - 1] = '\0';
    return text("%s", line + strlen(LAB));
}

static const char *idea_of(const lab_source *lab)
{
    return strstr(lab_line(lab->path), " - ") + strlen(" - ");
}

/* The lines of one lab: a line an operation with rows of a vendor, or one without a figure. */
static char *lines_of(ladder_rows *l, const lab_source *lab)
{
    char *lines = text("%s", "");
    const char *app = lab->is_network ? strrchr(lab->folder, '/') + 1 : "";
    const char *cells = lab->is_network ? network_figure(l, app) : NULL;
    if (!cells && names_find(&l->other_apps, app) != NONE)
        cells = "- | - | [in the report](report/report.md)";
    if (cells)
        return text("| [%d](%s/README.md) | %s | %s |\n", lab->lab, lab->folder, idea_of(lab),
                    cells);
    /* SpMM comes first: its rows are the first file's. */
    for (long o = 0; o < l->operations.count; o++) {
        const char *operation = l->operations.name[o];
        cells = NULL;
        for (int s = 0; s < NUM_SOURCES && !cells; s++)
            cells = figure(l, lab->lab, operation, s);
        if (!cells) continue;
        char *name = text("its %s", operation);
        for (char *c = name + strlen("its "); *c; c++)
            if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
        lines = text("%s| [%d](%s/README.md) | %s | %s |\n", lines, lab->lab, lab->folder,
                     *lines ? name : idea_of(lab), cells);
    }
    if (*lines) return lines;
    bool has_rows = false;
    for (long i = 0; i < l->count && !has_rows; i++)
        has_rows = lab_of(l->of_labs[i]) == lab->lab;
    return text("| [%d](%s/README.md) | %s | - | - | %s |\n", lab->lab, lab->folder, idea_of(lab),
                has_rows ? "no vendor has it"
                : names_find(&l->seen, text("%d", lab->lab)) != NONE
                    ? "[in the report](report/report.md)"
                    : "not measured yet");
}

/* ---- which labs there are ------------------------------------------------------------------------ */

/* Labs have the number of their folder, and their line must be there. */
static lab_source lab_at(const char *path)
{
    size_t parts;
    char **part = parts_of(path, '/', &parts);
    if (!lab_line(path))
        refuse(STATUS_DATASET, "%s:2: no line of the form \"" LAB "4 - idea.\"", path);
    return (lab_source){
        .lab = atoi(part[parts - 2]), .path = path, .folder = text("labs/%s", part[parts - 2])};
}

/* Programs of apps/ are labs where their line says so: lab 0 is none. */
static lab_source network_at(const char *path)
{
    size_t parts;
    char **part = parts_of(path, '/', &parts);
    const char *name = part[parts - 2];
    const bool is_main = !strcmp(part[parts - 1], text("%s.c", name));
    const char *line = is_main ? lab_line(path) : NULL;
    return (lab_source){.lab = line ? atoi(line) : 0,
                        .path = path,
                        .folder = text("apps/%s", name),
                        .is_network = true};
}

static int by_number(const void *a, const void *b)
{
    return ((const lab_source *)a)->lab - ((const lab_source *)b)->lab;
}

/* All labs in the order of their numbers, ended by lab 0. */
static lab_source *labs_in_order(const request *q)
{
    glob_t found;
    const char *labs = text("%s/[0-9][0-9]_*/lab.cu", option(q, "labs", "labs"));
    if (glob(labs, 0, NULL, &found)) refuse(STATUS_DATASET, "%s: no labs", labs);
    const size_t folders = found.gl_pathc;
    glob(text("%s/*/*.c", option(q, "apps", "apps")), GLOB_APPEND, NULL, &found); /* or none */
    lab_source *all = calloc(found.gl_pathc + 1, sizeof *all);
    size_t count = 0;
    if (!all) refuse(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        all[count] = i < folders ? lab_at(found.gl_pathv[i]) : network_at(found.gl_pathv[i]);
        count += all[count].lab > 0;
    }
    all[count] = (lab_source){0};
    qsort(all, count, sizeof *all, by_number);
    return all; /* the paths stay with it */
}

enum status run_lines(const request *q)
{
    ladder_rows *l = calloc(1, sizeof *l);
    if (!l) refuse(STATUS_MEMORY, "out of memory");
    for (int i = 0; i < q->count; i++) {
        table *t = table_measured(q->files[i]);
        if (is_of_networks(t))
            networks_read(&l->networks, t);
        else if (app_of(t))
            names_add(&l->other_apps, app_of(t));
        else
            for (long row = 0; row < t->count; row++)
                take_row(l, (row_of){t, row});
    }
    char *lines = text("%s", "");
    for (const lab_source *lab = labs_in_order(q); lab->lab; lab++)
        lines = text("%s%s", lines, lines_of(l, lab));
    if (l->machine) fprintf(out, "%s, commit %s.\n\n", l->machine, names_sorted(&l->commits, "`"));
    fprintf(
        out,
        "| lab | idea | vendor's best over lab | ahead on | vendor |\n|---|---|---|---|---|\n%s",
        lines);
    return STATUS_OK;
}
