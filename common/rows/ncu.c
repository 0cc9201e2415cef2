/*
 * ncu.c - what ncu printed of kernels (--page raw --csv), as rows.
 *
 * ncu prints a wide table among other lines: a line of names, which begins with "ID", a line of units, then a line for
 * each kernel, which begins with a number in quotes.
 */
#include "rows/rows.h"

#include "results/csv.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* A number of the table: 1,280 without its commas. */
typedef struct counted {
    const char *kernel, *metric, *value;
} counted;

typedef struct printed {
    counted *at;
    long count;
} printed;

/* A text without all that is the word `word`. */
static char *less(const char *from, const char *word)
{
    char *result = text("%s", from), *to = result;
    for (const char *c = result; *c;) {
        if (starts_with(c, word))
            c += strlen(word);
        else
            *to++ = *c++;
    }
    *to = 0;
    return result;
}

/* The kernel's name without its type and its arguments. ncu may write "<(int)8>" for "<8>". */
static const char *kernel_of(const char *cell)
{
    const char *name = less(without(cell, "void "), "(int)");
    return text("%.*s", (int)strcspn(name, "("), name);
}

/* Whether a column is a number that was counted: of the kernel, and not of how it was launched. */
static bool is_metric(const char *name)
{
    const size_t unit = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
    return unit && !strncmp(name + unit, "__", 2) && !starts_with(name, "device__") &&
           !starts_with(name, "launch__") && !starts_with(name, "profiler__");
}

/* Reads the numbers of all kernels whose metric's name fits the expression. */
static printed read_printed(const char *path, const char *wanted)
{
    FILE *in = fopen(path, "r");
    printed p = {0};
    regex_t fits;
    if (!in) refuse(STATUS_DATASET, "%s: cannot be read", path);
    if (regcomp(&fits, wanted, REG_EXTENDED | REG_NOSUB))
        refuse(STATUS_USAGE, "wanted=%s: no expression", wanted);
    csv_line names = {.count = 0};
    for (;;) {
        char *line = NULL;
        size_t bytes = 0;
        if (getline(&line, &bytes, in) < 0) break;
        if (starts_with(line, "\"ID\"")) {
            csv_split(line, &names);
            if (names.count == MAX_CELLS)
                refuse(STATUS_DATASET, "%s: %d columns and more", path, MAX_CELLS);
            continue;
        }
        if (*line != '"' || !isdigit((unsigned char)line[1])) continue;
        csv_line cells;
        csv_split(line, &cells);
        const char *kernel = csv_cell(&names, &cells, "Kernel Name");
        for (int i = 0; kernel && i < names.count && i < cells.count; i++) {
            const char *name = names.cells[i];
            if (!is_metric(name) || regexec(&fits, name, 0, NULL, 0)) continue;
            p.at = realloc(p.at, (size_t)(p.count + 1) * sizeof *p.at);
            if (!p.at) refuse(STATUS_MEMORY, "out of memory");
            p.at[p.count++] = (counted){kernel_of(kernel), name, less(cells.cells[i], ",")};
        }
    }
    fclose(in);
    return p;
}

/* Prints a line for each kernel and metric (wanted: an expression, sums if it is not given), with the matrix and the
 * machine that ROWS.csv has of the same run. */
enum status run_ncu(const request *q)
{
    const table *t = table_read(q->files[0]);
    const printed p = read_printed(q->files[1], option(q, "wanted", "\\.sum$"));
    const row_of r = {t, 0};
    if (!t->count) refuse(STATUS_DATASET, "%s: no rows", q->files[0]);
    if (!p.count) refuse(STATUS_DATASET, "no kernel in what ncu printed");
    if (strcmp(option(q, "header", "1"), "0"))
        fputs("dataset,origin,N,kernel,metric,value,device,driver,toolkit,commit\n", out);
    for (long i = 0; i < p.count; i++) {
        csv_text(out, get(r, "dataset"));
        csv_add_text(out, get(r, "origin"));
        csv_add_text(out, get(r, "N"));
        csv_add_text(out, p.at[i].kernel);
        fprintf(out, ",%s,%s", p.at[i].metric, p.at[i].value);
        csv_add_text(out, get(r, "device"));
        csv_add_text(out, get(r, "driver"));
        csv_add_text(out, get(r, "toolkit"));
        csv_add_text(out, get(r, "commit"));
        putc('\n', out);
    }
    return STATUS_OK;
}

/* ---- patterns --------------------------------------------------------------------------------- */

/* A number's key: either side may leave blanks out of a kernel's name. */
static char *place_of(const char *kernel, const char *metric)
{
    return text("%s" KEY "%s", less(kernel, " "), metric);
}

/* Prints what tests/counters expects of each of its kernels beside what ncu counted, and says on standard error what
 * differs. Atomics whose result is used have a metric of their own in ncu, which is added. Options: device, driver. */
enum status run_patterns(const request *q)
{
    const printed p = read_printed(q->files[0], "\\.sum$");
    const table *t = table_read(q->files[1]);
    texts value = {0};
    names missing = {0};
    long total = 0, agreed = 0;
    const char *differing = "";
    for (long i = 0; i < p.count; i++) {
        const char **first = texts_at(&value, place_of(p.at[i].kernel, p.at[i].metric));
        if (!*first) *first = p.at[i].value;
    }
    table_needs(t, "kernel metric expected toolkit commit");
    fputs("kernel,metric,expected,ncu,same,device,driver,toolkit,commit,origin\n", out);
    for (long row = 0; row < t->count; row++) {
        const row_of r = {t, row};
        const char *kernel = get(r, "kernel"), *metric = get(r, "metric"),
                   *expected = get(r, "expected");
        const char *ncu = texts_find(&value, place_of(kernel, metric));
        const char *red = strstr(metric, "_op_red"), *atom = NULL;
        if (red)
            atom = texts_find(&value, place_of(kernel, text("%.*s_op_atom%s", (int)(red - metric),
                                                            metric, red + strlen("_op_red"))));
        if (atom) ncu = text("%.0f", strtod(ncu ? ncu : "0", NULL) + strtod(atom, NULL));
        if (!ncu) {
            names_add(&missing, metric);
            continue;
        }
        const bool same = strtod(ncu, NULL) == strtod(expected, NULL);
        total++;
        agreed += same;
        if (!same)
            differing =
                text("%s\n  %s %s: expected %s, ncu %s", differing, kernel, metric, expected, ncu);
        csv_text(out, kernel);
        fprintf(out, ",%s,%s,%s,%s", metric, expected, ncu, same ? "yes" : "no");
        csv_add_text(out, option(q, "device", ""));
        csv_add_text(out, option(q, "driver", ""));
        fprintf(out, ",%s,%s,tests/counters\n", get(r, "toolkit"), get(r, "commit"));
    }
    for (long i = 0; i < missing.count; i++)
        differing = text("%s\n  not measured by ncu: %s", differing, missing.name[i]);
    fprintf(stderr, "%ld of %ld values as expected%s\n", agreed, total, differing);
    return STATUS_OK;
}
