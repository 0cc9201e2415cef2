/*
 * lines.c - the ladder with one line a lab: its idea, and how far it is ahead of the vendor.
 *
 * The idea is the second line of labs/NN_NAME/lab.cu. The figure is a geometric mean over all problems of the least
 * width: the time of the vendor's best algorithm over that of the lab, in fp32 with a warm L2. A lab without such rows is
 * shown in fp16: with a cold L2 beside the fastest dense product, where there are rows of set:llm, and else as in fp32.
 */
#include "rows/rows.h"

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

typedef struct ladder_rows {
    const char *machine;
    names operations, commits;
    numbers least_width; /* by "operation source" */
    numbers vendor;      /* the least ms by "file operation source N graph" */
    row_of *of_labs;
    long count, room;
} ladder_rows;

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

/* The second line of a lab.cu, " * Lab 4 - tuning: how much.", without what stands around the idea. */
static char *idea_of(const char *path)
{
    char line[512];
    FILE *in = fopen(path, "r");
    const bool is_there = in && fgets(line, sizeof line, in) && fgets(line, sizeof line, in);
    if (in) fclose(in);
    char *idea = is_there && starts_with(line, " * Lab ") ? strstr(line, " - ") : NULL;
    if (!idea) refuse(STATUS_DATASET, "%s:2: no line of the form \" * Lab 4 - idea.\"", path);
    idea[strcspn(idea, "\n")] = '\0';
    const size_t length = strlen(idea);
    if (idea[length - 1] == '.') idea[length - 1] = '\0';
    return text("%s", idea + strlen(" - "));
}

/* The lines of one lab: a line an operation with rows of a vendor, or one without a figure. */
static char *lines_of(ladder_rows *l, const char *path)
{
    size_t parts;
    char **part = parts_of(path, '/', &parts);
    const char *folder = part[parts - 2];
    const int lab = atoi(folder);
    char *lines = text("%s", "");
    /* SpMM comes first: its rows are the first file's. */
    for (long o = 0; o < l->operations.count; o++) {
        const char *operation = l->operations.name[o], *cells = NULL;
        for (int s = 0; s < NUM_SOURCES && !cells; s++)
            cells = figure(l, lab, operation, s);
        if (!cells) continue;
        char *name = text("its %s", operation);
        for (char *c = name + strlen("its "); *c; c++)
            if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
        lines = text("%s| [%d](labs/%s/README.md) | %s | %s |\n", lines, lab, folder,
                     *lines ? name : idea_of(path), cells);
    }
    if (*lines) return lines;
    bool has_rows = false;
    for (long i = 0; i < l->count && !has_rows; i++)
        has_rows = lab_of(l->of_labs[i]) == lab;
    return text("| [%d](labs/%s/README.md) | %s | - | - | %s |\n", lab, folder, idea_of(path),
                has_rows ? "no vendor has it" : "not measured yet");
}

enum status run_lines(const request *q)
{
    ladder_rows *l = calloc(1, sizeof *l);
    if (!l) refuse(STATUS_MEMORY, "out of memory");
    for (int i = 0; i < q->count; i++) {
        table *t = table_measured(q->files[i]);
        for (long row = 0; row < t->count; row++)
            take_row(l, (row_of){t, row});
    }
    glob_t labs;
    const char *pattern = text("%s/[0-9][0-9]_*/lab.cu", option(q, "labs", "labs"));
    if (glob(pattern, 0, NULL, &labs)) refuse(STATUS_DATASET, "%s: no labs", pattern);
    char *lines = text("%s", "");
    for (size_t i = 0; i < labs.gl_pathc; i++)
        lines = text("%s%s", lines, lines_of(l, labs.gl_pathv[i]));
    globfree(&labs);
    if (l->machine) fprintf(out, "%s, commit %s.\n\n", l->machine, names_sorted(&l->commits, "`"));
    fprintf(
        out,
        "| lab | idea | vendor's best over lab | ahead on | vendor |\n|---|---|---|---|---|\n%s",
        lines);
    return STATUS_OK;
}
