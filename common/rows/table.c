/*
 * table.c - files of rows, their cells by name, and the keys that all commands share: see rows.h.
 */
#include "rows/rows.h"

#include "results/csv.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reading ---------------------------------------------------------------------------------- */

bool is_readable(const char *path)
{
    return access(path, R_OK) == 0;
}

/* Takes the cells of one line, which begins in `line`. */
static const char **take_cells(const csv_line *split)
{
    const char **cells = malloc((size_t)split->count * sizeof *cells);
    if (!cells) refuse(STATUS_MEMORY, "out of memory");
    for (int i = 0; i < split->count; i++)
        cells[i] = split->cells[i];
    return cells;
}

table *table_read(const char *path)
{
    FILE *in = fopen(path, "r");
    table *t = calloc(1, sizeof *t);
    long room = 0;
    if (!t) refuse(STATUS_MEMORY, "out of memory");
    if (!in) refuse(STATUS_DATASET, "%s: cannot be read", path);
    *t = (table){.path = path, .name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path};
    for (long line_number = 1;; line_number++) {
        char *line = NULL;
        size_t bytes = 0;
        csv_line split;
        if (getline(&line, &bytes, in) < 0) break;
        csv_split(line, &split);
        if (line_number == 1) {
            for (int i = 0; i < split.count; i++)
                if (names_add(&t->columns, split.cells[i]) != i)
                    refuse(STATUS_DATASET, "%s: two columns %s", path, split.cells[i]);
            continue;
        }
        if (split.count != t->columns.count)
            refuse(STATUS_DATASET, "%s:%ld: not the %ld cells of the first line", path, line_number,
                   t->columns.count);
        if (t->count == room) {
            room = 2 * room + 64;
            t->cells = realloc(t->cells, (size_t)room * sizeof *t->cells);
            if (!t->cells) refuse(STATUS_MEMORY, "out of memory");
        }
        t->cells[t->count++] = take_cells(&split);
    }
    if (ferror(in)) refuse(STATUS_DATASET, "%s: cannot be read", path);
    fclose(in);
    if (!t->columns.count) refuse(STATUS_DATASET, "%s: an empty file: no rows of this suite", path);
    return t;
}

table *table_measured(const char *path)
{
    if (!is_readable(path))
        refuse(STATUS_DATASET, "%s: no such rows; make bench PLAN=full measures them", path);
    return table_read(path);
}

void table_needs(const table *t, const char *columns)
{
    size_t count;
    char **needed = parts_of(columns, ' ', &count);
    for (size_t i = 0; i < count; i++)
        if (names_find(&t->columns, needed[i]) == NONE)
            refuse(STATUS_DATASET, "%s: no column %s: no rows of this suite", t->path, needed[i]);
}

/* ---- cells ------------------------------------------------------------------------------------ */

bool has(row_of r, const char *column)
{
    return names_find(&r.table->columns, column) != NONE;
}

const char *get_or(row_of r, const char *column, const char *otherwise)
{
    const long place = names_find(&r.table->columns, column);
    return place == NONE ? otherwise : r.table->cells[r.row][place];
}

const char *get(row_of r, const char *column)
{
    const char *cell = get_or(r, column, NULL);
    if (!cell) refuse(STATUS_DATASET, "%s: no column %s", r.table->path, column);
    return cell;
}

char *place_of_row(row_of r)
{
    return text("%s:%ld", r.table->path, r.row + 2);
}

double number(row_of r, const char *column)
{
    static regex_t pattern;
    static bool compiled;
    const char *cell = get(r, column);
    if (!compiled)
        compiled = !regcomp(&pattern, "^-?[0-9]+(\\.[0-9]*)?([eE][-+]?[0-9]+)?$",
                            REG_EXTENDED | REG_NOSUB);
    if (regexec(&pattern, cell, 0, NULL, 0))
        refuse(STATUS_DATASET, "%s: %s is no number: '%s'", place_of_row(r), column, cell);
    return strtod(cell, NULL);
}

int lab_of(row_of r)
{
    return atoi(get_or(r, "lab", ""));
}

const char *operation_of(row_of r)
{
    return get_or(r, "operation", "spmm");
}

bool is_ok(row_of r)
{
    return !strcmp(get(r, "status"), "ok");
}

double time_of_row(row_of r)
{
    return is_ok(r) && *get(r, "median_ms") ? number(r, "median_ms") : 0;
}

/* ---- what the suite is made of ----------------------------------------------------------------- */

/* OPERATIONS and PARENTS come from scripts/operations and scripts/parent-of when this file is compiled. */
const char *width_name(const char *operation)
{
    size_t count;
    char **word = parts_of(OPERATIONS, ' ', &count);
    for (size_t i = 0; i + 1 < count; i += 2)
        if (!strcmp(word[i], operation)) return word[i + 1];
    return "N";
}

int parent_of_lab(const char *operation, int lab)
{
    size_t count;
    char **word = parts_of(PARENTS, ' ', &count);
    for (size_t i = 0; i + 2 < count; i += 3)
        if (!strcmp(word[i], operation) && atoi(word[i + 1]) == lab) return atoi(word[i + 2]);
    return 0;
}

/* ---- keys ------------------------------------------------------------------------------------- */

char *cell_key(row_of r)
{
    return text("%s" KEY "%s" KEY "%s" KEY "%s" KEY "%s" KEY "%s" KEY "%s", operation_of(r),
                get(r, "dataset"), get(r, "N"), get(r, "precision"), get(r, "l2"), get(r, "seed"),
                get(r, "flags"));
}

char *machine_of(row_of r)
{
    return text("%s, driver %s, CUDA %s", get(r, "device"), get(r, "driver"), get(r, "toolkit"));
}

static void one(const char **first, const char *own)
{
    if (!*first) *first = own;
    if (strcmp(*first, own))
        refuse(STATUS_DATASET, "rows of %s and of %s in one table", *first, own);
}

void one_machine(const char **first, row_of r)
{
    one(first, machine_of(r));
}

void one_operation(const char **first, row_of r)
{
    one(first, operation_of(r));
}

char *setting_of(const char *contender, const char *tuning)
{
    if (!starts_with(tuning, "KERNEL="))
        return text("KERNEL=%s%s%s", contender, *tuning ? " " : "", tuning);
    const char *as_they_come = strstr(tuning, " SWIZZLE=0");
    if (!as_they_come) return text("%s", tuning);
    return text("%.*s%s", (int)(as_they_come - tuning), tuning,
                as_they_come + strlen(" SWIZZLE=0"));
}

char *show_ms(double ms)
{
    return !ms ? "-" : text(ms < 1 ? "%.4f" : ms < 100 ? "%.3f" : "%.1f", ms);
}

const char *short_name(const char *contender)
{
    return without(contender, "cuSPARSE ");
}
