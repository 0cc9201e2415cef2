/*
 * formats.c - bytes of matrices in each format, as `labstat --formats --csv` counts them: a table, with formats told over
 * CSR with values of as many bits.
 */
#include "rows/rows.h"

#include <string.h>

/* Whether the format is the one that those of its group are told over. */
static bool is_base(row_of r)
{
    return !strcmp(get(r, "format"), "CSR");
}

/* Rows of a matrix stand together, and all matrices have the same formats in the same order. */
static long formats_of(const table *t)
{
    long count = 0;
    while (count < t->count &&
           !strcmp(get((row_of){t, count}, "dataset"), get((row_of){t, 0}, "dataset")))
        count++;
    return count;
}

static void print_titles(const table *t, long formats)
{
    fputs("| matrix | nonzeros |", out);
    for (long f = 0; f < formats; f++) {
        const row_of r = {t, f};
        if (is_base(r))
            fprintf(out, " CSR, %s-bit values, MB |", get(r, "value_bits"));
        else
            fprintf(out, " %s |", get(r, "format"));
    }
    fputs("\n|---|---|", out);
    for (long f = 0; f < formats; f++)
        fputs("---|", out);
    putc('\n', out);
}

static void print_matrix(const table *t, long first, long formats)
{
    const row_of matrix = {t, first};
    const bool is_stand_in = !strcmp(get(matrix, "origin"), "stand-in");
    fprintf(out, "| %s%s | %s |", get(matrix, "dataset"), is_stand_in ? " (stand-in)" : "",
            get(matrix, "nnz"));
    for (long f = 0; f < formats; f++) {
        const row_of r = {t, first + f};
        if (strcmp(get(r, "format"), get((row_of){t, f}, "format")))
            refuse(STATUS_DATASET, "%s: format %s where that of %s has %s", place_of_row(r),
                   get(r, "format"), get((row_of){t, 0}, "dataset"), get((row_of){t, f}, "format"));
        if (is_base(r))
            fprintf(out, " %.2f |", 1e-6 * number(r, "bytes"));
        else if (*get(r, "bytes"))
            fprintf(out, " %.2f |", number(r, "over_csr"));
        else
            fputs(" - |", out);
    }
    putc('\n', out);
}

enum status run_formats(const request *q)
{
    const table *t = table_read(q->files[0]);
    if (!t->count) refuse(STATUS_DATASET, "no rows in %s", q->files[0]);
    const long formats = formats_of(t);
    if (t->count % formats)
        refuse(STATUS_DATASET, "%s: %ld rows are no multiple of %ld formats", q->files[0], t->count,
               formats);
    print_titles(t, formats);
    for (long first = 0; first < t->count; first += formats)
        print_matrix(t, first, formats);
    return STATUS_OK;
}
