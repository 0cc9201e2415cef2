/*
 * convert.c - from any dataset that the labs take to the form they load fastest (.csr).
 *
 * datasets/fetch turns downloads into datasets with it; `convert --info` shows what is in one.
 */
#include "matrix/dataset.h"
#include "matrix/dataset_recipe.h"
#include "matrix/files.h"
#include "matrix/nearest.h"
#include "matrix/reader.h"
#include "matrix/stats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN (-1) /* a count that is not expected to be anything */

typedef struct arguments {
    dataset_recipe recipe;
    int64_t expected_rows, expected_nnz;
    bool info, help;
    const char *name[2]; /* DATASET, OUT.csr */
    int num_names;
} arguments;

static const char help_text[] =
    "usage: convert [OPTION...] DATASET OUT.csr\n"
    "       convert --info DATASET\n"
    "\n"
    "Reads a DATASET as the labs do (a name, a file or a generator: ./labN --list), applies the\n"
    "options in this order, and writes it in the suite's own format. A stand-in is written only "
    "to\n"
    "a name with \"stand-in\" in it.\n"
    "\n"
    "  --pattern            forget the values\n"
    "  --rows N             make it N x N\n"
    "  --transpose          rows become columns\n"
    "  --add-reverse        for every entry (i, j) also (j, i)\n"
    "  --drop-self-loops    no entries (i, i)\n"
    "  --coalesce           entries of the same place become one\n"
    "  --expect-rows N      fail unless the result has N rows ...\n"
    "  --expect-nnz N       ... and N nonzeros\n"
    "  --info               show sizes and row statistics\n"
    "\n"
    "exit status: 0 ok, 2 usage, 3 dataset, 4 not writable, 5 out of memory\n"
    "\n"
    "  convert --transpose --rows 169343 arxiv/raw/edge.csv.gz arxiv.csr\n"
    "  convert --info datasets/samples/market.mtx\n"
    "  convert --info arxiv\n";

/* ---- command line ------------------------------------------------------------------------- */

static enum status parse_number(const char *option, const char *text, int64_t *number,
                                error_text *error)
{
    if (!text) return fail(error, STATUS_USAGE, "%s needs a number", option);
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    if (end == text || *end || errno || *number < 0)
        return fail(error, STATUS_USAGE, "%s %s: not a whole number from 0 up", option, text);
    return STATUS_OK;
}

static enum status parse_arguments(char **argv, arguments *a, error_text *error)
{
    const struct {
        const char *name;
        bool *flag;
        int64_t *number;
    } options[] = {
        {"--pattern", &a->recipe.pattern, NULL},
        {"--rows", NULL, &a->recipe.rows},
        {"--transpose", &a->recipe.transpose, NULL},
        {"--add-reverse", &a->recipe.add_reverse, NULL},
        {"--drop-self-loops", &a->recipe.drop_self_loops, NULL},
        {"--coalesce", &a->recipe.coalesce, NULL},
        {"--expect-rows", NULL, &a->expected_rows},
        {"--expect-nnz", NULL, &a->expected_nnz},
        {"--info", &a->info, NULL},
        {"--help", &a->help, NULL},
    };
    enum { NUM_OPTIONS = sizeof options / sizeof options[0] };
    const char *names[NUM_OPTIONS];
    for (int i = 0; i < NUM_OPTIONS; i++)
        names[i] = options[i].name;

    for (; *argv; argv++) {
        if (strncmp(*argv, "--", 2) != 0) {
            if (a->num_names == 2) return fail(error, STATUS_USAGE, "%s: one name too many", *argv);
            a->name[a->num_names++] = *argv;
            continue;
        }
        int i = 0;
        while (i < NUM_OPTIONS && strcmp(names[i], *argv) != 0)
            i++;
        if (i == NUM_OPTIONS) {
            const char *near = nearest_match(*argv, names, NUM_OPTIONS);
            return fail(error, STATUS_USAGE, "unknown option %s%s%s%s", *argv,
                        near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        }
        if (options[i].flag) {
            *options[i].flag = true;
            continue;
        }
        enum status status = parse_number(*argv, argv[1], options[i].number, error);
        if (status != STATUS_OK) return status;
        argv++;
    }
    if (!a->help && a->num_names != (a->info ? 1 : 2))
        return fail(error, STATUS_USAGE, "wants %s (convert --help)",
                    a->info ? "a dataset" : "a dataset and an output file");
    return STATUS_OK;
}

/* ---- the two things it does --------------------------------------------------------------- */

/* In a file a stand-in looks like any matrix: its name is all that can tell later on. */
static enum status check_name(const dataset *data, const char *path, error_text *error)
{
    const char *slash = strrchr(path, '/');
    if (data->origin != ORIGIN_STAND_IN || strstr(slash ? slash : path, "stand-in"))
        return STATUS_OK;
    return fail(error, STATUS_DATASET,
                "%s: its file is not here, and its stand-in is written only to a name with "
                "\"stand-in\" in it, such as %s.stand-in.csr",
                data->name, data->name);
}

static enum status convert(const arguments *a, error_text *error)
{
    const char *in = a->name[0], *out = a->name[1];
    dataset data;
    error_text reason;
    enum status status = dataset_open(in, NULL, &data, error);
    if (status != STATUS_OK) return status;
    csr_matrix *A = &data.matrix;
    status = check_name(&data, out, error);
    if (status != STATUS_OK) goto cleanup;
    status = dataset_recipe_apply(&a->recipe, A, &reason);
    if (status != STATUS_OK) {
        status = fail(error, status, "%s: %s", in, reason.text);
        goto cleanup;
    }
    if ((a->expected_rows != UNKNOWN && A->rows != a->expected_rows) ||
        (a->expected_nnz != UNKNOWN && A->nnz != a->expected_nnz)) {
        status = fail(error, STATUS_DATASET,
                      "%s: gives %" PRId64 " rows and %" PRId64 " nonzeros, not %" PRId64
                      " and %" PRId64,
                      in, A->rows, A->nnz, a->expected_rows == UNKNOWN ? A->rows : a->expected_rows,
                      a->expected_nnz == UNKNOWN ? A->nnz : a->expected_nnz);
        goto cleanup;
    }
    status = csr_write(A, out, error);
    if (status == STATUS_OK)
        printf("%s: %" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros\n", out, A->rows, A->cols,
               A->nnz);
cleanup:
    dataset_close(&data);
    return status;
}

static enum status show(const char *spec, error_text *error)
{
    dataset data;
    row_stats s;
    enum status status = dataset_open(spec, NULL, &data, error);
    if (status != STATUS_OK) return status;
    status = row_stats_compute(&data.matrix, &s, error);
    if (status != STATUS_OK) goto cleanup;
    printf("%s\n", data.name);
    printf("%-12s%s\n", "origin", dataset_origin_name(data.origin));
    printf("%-12s%s\n", "source", data.source);
    printf("%-12s%" PRId64 "\n", "rows", s.rows);
    printf("%-12s%" PRId64 "\n", "cols", s.cols);
    printf("%-12s%" PRId64 "\n", "nonzeros", s.nnz);
    printf("%-12s%s\n", "values", data.matrix.values ? "yes" : "no, a pattern");
    printf("%-12s%.4g\n", "density", s.density);
    printf("row lengths\n");
    printf("  %-10s%.4g\n", "mean", s.mean);
    printf("  %-10s%.4g\n", "cov", s.cov);
    printf("  %-10s%.4g\n", "gini", s.gini);
    printf("  %-10s%" PRId64 "\n", "empty", s.empty_rows);
    for (int i = 0; i < ROW_QUANTILES; i++)
        printf("  p%-9.0f%" PRId64 "\n", 100 * row_quantile_levels[i], s.quantile[i]);
    printf("  %-10s%" PRId64 "\n", "max", s.max);
cleanup:
    dataset_close(&data);
    return status;
}

int main(int argc, char **argv)
{
    (void)argc;
    arguments a = {.expected_rows = UNKNOWN, .expected_nnz = UNKNOWN};
    error_text error;
    enum status status = parse_arguments(argv + 1, &a, &error);
    if (status == STATUS_OK && a.help)
        fputs(help_text, stdout);
    else if (status == STATUS_OK)
        status = a.info ? show(a.name[0], &error) : convert(&a, &error);
    if (status == STATUS_OK) status = output_flush(&error);
    if (status != STATUS_OK) fprintf(stderr, "convert: %s\n", error.text);
    return status;
}
