/*
 * merge.c - puts newly measured rows into a file of rows.
 *
 * The new file takes the place of what the old one has of it: rows of the same operation, dataset, N,
 * precision, L2 state, seed, flags and contender, whatever their tuning or commit. Other rows stay as and
 * where they are; new cases come last. Columns are those of the file that has more of them; if it lacks one of the
 * other's, nothing is done. Both files may be of schema 1 or 2: a row of schema 1 beside rows of schema 2 becomes
 * one of them without a bound. Its roofline_share is no bound; scripts/rows-to-schema-2 gives it a bound. The old
 * file need not be there. It is whole at every moment.
 */
#include "rows/rows.h"

#include "matrix/files.h"
#include "results/csv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads rows that begin with their schema. */
static table *read_rows(const char *path)
{
    table *t = is_readable(path) ? table_read(path) : NULL;
    if (!t) refuse(STATUS_DATASET, "%s: cannot be read", path);
    if (!t->columns.count || strcmp(t->columns.name[0], "schema"))
        refuse(STATUS_DATASET, "%s: no rows of this suite", path);
    return t;
}

static bool is_new_schema(const table *t)
{
    return names_find(&t->columns, "bound_ms") != NONE;
}

/* Whether a column of `t` is none of the output's: schema 1's roofline_share beside schema 2. */
static bool is_retired(const table *t, const table *wider, const char *column)
{
    return is_new_schema(wider) && !is_new_schema(t) && !strcmp(column, "roofline_share");
}

/* Every column of a file is one of the output's, which are those of the wider file. */
static void check_fit(const table *t, const table *wider)
{
    for (long i = 0; i < t->columns.count; i++)
        if (names_find(&wider->columns, t->columns.name[i]) == NONE &&
            !is_retired(t, wider, t->columns.name[i]))
            refuse(STATUS_DATASET, "%s: %s has no place for its column %s", t->path, wider->path,
                   t->columns.name[i]);
}

static void write_row(FILE *to, const table *shape, row_of r)
{
    for (long i = 0; i < shape->columns.count; i++) {
        const char *column = shape->columns.name[i];
        const bool is_schema = i == 0 && is_new_schema(shape);
        if (i) putc(',', to);
        csv_text(to, is_schema ? "2" : get_or(r, column, ""));
    }
    putc('\n', to);
}

/* Writes the rows of one key. */
static void write_all(FILE *to, const table *shape, const table *new, const long *key_of_row,
                      long key)
{
    for (long row = 0; row < new->count; row++)
        if (key_of_row[row] == key) write_row(to, shape, (row_of){new, row});
}

static char *key_of(row_of r)
{
    return text("%s" KEY "%s", cell_key(r), get(r, "contender"));
}

enum status run_merge(const request *q)
{
    const char *path = q->files[0];
    table *new = read_rows(q->files[1]), *old = access(path, F_OK) ? NULL : read_rows(path);
    const table *shape = new;
    if (old) {
        shape = new->columns.count - is_retired(new, old, "roofline_share") >
                        old->columns.count - is_retired(old, new, "roofline_share")
                    ? new
                    : old;
        if (is_new_schema(new) != is_new_schema(old)) shape = is_new_schema(new) ? new : old;
        check_fit(shape == new ? old : new, shape);
    }
    names keys = {0}, done = {0};
    long *key_of_row = calloc((size_t) new->count + 1, sizeof *key_of_row);
    if (!key_of_row) refuse(STATUS_MEMORY, "out of memory");
    for (long row = 0; row < new->count; row++)
        key_of_row[row] = names_add(&keys, key_of((row_of){new, row}));
    output_file file;
    error_text error;
    if (output_open(&file, path, &error) != STATUS_OK) refuse(STATUS_RUNTIME, "%s", error.text);
    for (long i = 0; i < shape->columns.count; i++)
        fprintf(file.stream, "%s%s", i ? "," : "", shape->columns.name[i]);
    putc('\n', file.stream);
    for (long row = 0; old && row < old->count; row++) {
        const char *key = key_of((row_of){old, row});
        const long place = names_find(&keys, key);
        if (place == NONE)
            write_row(file.stream, shape, (row_of){old, row});
        else if (names_find(&done, key) == NONE)
            write_all(file.stream, shape, new, key_of_row, place);
        if (place != NONE) names_add(&done, key);
    }
    for (long place = 0; place < keys.count; place++)
        if (names_find(&done, keys.name[place]) == NONE)
            write_all(file.stream, shape, new, key_of_row, place);
    if (output_close(&file, &error) != STATUS_OK) refuse(STATUS_RUNTIME, "%s", error.text);
    return STATUS_OK;
}
