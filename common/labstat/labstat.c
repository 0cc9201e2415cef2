/*
 * labstat.c - what sparse matrices are like, one by one and together: the figures that decide which
 * kernel suits them.
 */
#include "harness/progress.h"
#include "labstat/formats.h"
#include "matrix/dataset.h"
#include "matrix/files.h"
#include "matrix/name_list.h"
#include "matrix/nearest.h"
#include "matrix/summary.h"
#include "ops/storage.h"
#include "results/csv.h"
#include "results/results.h"
#include "results/row.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Schema of the CSV files that this tool writes; rows of measurements have a schema of their own. */
enum { FIGURES_SCHEMA = 1 };

typedef struct arguments {
    const char *csv_path, *data_dir;
    const char *storage; /* "28672x8192", or NULL */
    bool formats, help;
    char **spec; /* of argv, the words that are no options */
    int num_specs;
} arguments;

/* One matrix: what is kept of it when it is gone. */
typedef struct record {
    char name[128], origin[12], source[1024];
    row_stats stats;
    int64_t bytes[NUM_COUNTED]; /* with --formats */
} record;

typedef struct collection {
    const arguments *arguments;
    record *record;
    size_t count, capacity;
    enum status worst; /* the exit code so far */
} collection;

static const char help_text[] =
    "usage: labstat [--csv FILE] [--data-dir DIR] MATRIX...\n"
    "       labstat --formats [--csv FILE] [--data-dir DIR] MATRIX...\n"
    "       labstat --storage ROWSxCOLS[xN]\n"
    "\n"
    "Sparsity, row lengths and their coefficient of variation (CoV: population standard deviation\n"
    "over mean) of matrices; of several also the medians, and histograms.\n"
    "\n"
    "  MATRIX          a name (arxiv), a set (set:rnn, set:dlmc/rn50), a file, a folder with all\n"
    "                  the matrices below it, or a generator: ./labN --list shows them\n"
    "  --csv FILE      write a line a matrix, or a format and sparsity, as CSV (- for standard\n"
    "                  output)\n"
    "  --data-dir DIR  look for datasets here before $SPMM_DATA_DIR\n"
    "  --formats       encode each matrix in every format, and tell their bytes over those of CSR: "
    "with 32-bit\n"
    "                  values as graphs have them, then with 16-bit values as weights have them\n"
    "  --storage SHAPE compare the formats for pruned weights of this shape by formula: "
    "compression,\n"
    "                  FLOP per byte and least time at N columns (default 16), break-even "
    "sparsity\n"
    "  --help          show this text\n"
    "\n"
    "exit status: 0 ok, 2 usage, 3 dataset, 4 not writable, 5 out of memory\n"
    "\n"
    "  labstat arxiv ddi\n"
    "  labstat set:dlmc-like/transformer --csv transformer.csv\n"
    "  labstat --storage 28672x8192x16\n"
    "  labstat set:dlmc --data-dir ~/dlmc\n";

/* ---- command line ----------------------------------------------------------------------------- */

static enum status refuse_option(const char *word, error_text *error)
{
    static const char *const names[] = {"--csv", "--data-dir", "--formats", "--storage", "--help"};
    const char *near = nearest_match(word, names, sizeof names / sizeof names[0]);
    return fail(error, STATUS_USAGE, "unknown option %s%s%s%s (--help lists them)", word,
                near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static enum status parse_arguments(char **argv, arguments *a, error_text *error)
{
    a->spec = argv;
    for (; *argv; argv++) {
        const char **value = !strcmp(*argv, "--csv")        ? &a->csv_path
                             : !strcmp(*argv, "--data-dir") ? &a->data_dir
                             : !strcmp(*argv, "--storage")  ? &a->storage
                                                            : NULL;
        if (value) {
            if (!argv[1]) return fail(error, STATUS_USAGE, "%s needs a value", *argv);
            *value = *++argv;
        } else if (!strcmp(*argv, "--help") || !strcmp(*argv, "-h")) {
            a->help = true;
        } else if (!strcmp(*argv, "--formats")) {
            a->formats = true;
        } else if (argv[0][0] == '-') {
            return refuse_option(*argv, error);
        } else {
            a->spec[a->num_specs++] = *argv;
        }
    }
    if (a->storage && a->num_specs)
        return fail(error, STATUS_USAGE, "--storage takes no matrix: '%s'", a->spec[0]);
    if (a->storage && a->formats)
        return fail(error, STATUS_USAGE, "--storage has formulas, --formats matrices: one of them");
    if (!a->help && !a->storage && a->num_specs == 0)
        return fail(error, STATUS_USAGE, "wants a matrix, a set or a folder (--help)");
    return STATUS_OK;
}

/* ---- one matrix ------------------------------------------------------------------------------- */

static bool csv_to_stdout(const arguments *a)
{
    return a->csv_path && !strcmp(a->csv_path, "-");
}

static void complain(collection *c, enum status status, const error_text *error)
{
    progress_clear();
    fprintf(stderr, "labstat: %s\n", error->text);
    c->worst = graver_status(c->worst, status);
}

static record *add_record(collection *c)
{
    if (c->count == c->capacity) {
        const size_t capacity = 2 * c->capacity + 16;
        record *grown = realloc(c->record, capacity * sizeof *grown);
        if (!grown) return NULL;
        c->record = grown;
        c->capacity = capacity;
    }
    return &c->record[c->count];
}

/* A matrix without nonzeros has no CoV. */
static double cov_of(const row_stats *s)
{
    return s->nnz > 0 ? s->cov : NAN;
}

/* "-" where there is no such figure. */
static void print_figure(double value, int width, int decimals)
{
    if (isnan(value))
        printf(" %*s", width, "-");
    else
        printf(" %*.*f", width, decimals, value);
}

static void print_titles(void)
{
    printf("%9s %9s %11s %9s %9s %7s %8s %9s  %s\n", "rows", "cols", "nonzeros", "sparsity",
           "mean row", "CoV", "longest", "empty", "matrix");
}

/* ---- its formats ------------------------------------------------------------------------------ */

/* Bytes over those of CSR with values of as many bits; NAN where the encoder refuses the matrix. */
static double over_csr(const record *r, enum counted_format f)
{
    return r->bytes[f] < 0 ? NAN : (double)r->bytes[f] / (double)r->bytes[counted_base(f)];
}

static void print_format_titles(void)
{
    for (int f = 0; f < NUM_COUNTED; f++)
        if (counted_base((enum counted_format)f) == (enum counted_format)f)
            printf("%*s%d bits: MB", f ? 1 : 0, "", counted_value_bits((enum counted_format)f));
        else
            printf(" %9s", counted_name((enum counted_format)f));
    printf("  matrix\n");
}

static void print_formats(const record *r)
{
    for (int f = 0; f < NUM_COUNTED; f++)
        if (counted_base((enum counted_format)f) == (enum counted_format)f)
            printf("%*.3f", f ? 12 : 11, (double)r->bytes[f] * 1e-6);
        else
            print_figure(over_csr(r, (enum counted_format)f), 9, 3);
    printf("  %s (%s)\n", r->name, r->origin);
}

/* ---- all of it -------------------------------------------------------------------------------- */

static void print_record(const record *r)
{
    const row_stats *s = &r->stats;
    printf("%9" PRId64 " %9" PRId64 " %11" PRId64, s->rows, s->cols, s->nnz);
    print_figure(sparsity_of(s), 9, 6);
    print_figure(s->mean, 9, 2);
    print_figure(cov_of(s), 7, 3);
    printf(" %8" PRId64 " %9" PRId64 "  %s (%s)\n", s->max, s->empty_rows, r->name, r->origin);
}

static enum status add_matrix(collection *c, const char *spec, error_text *error)
{
    dataset data;
    record *r = add_record(c);
    if (!r) return fail(error, STATUS_MEMORY, "no memory for another matrix's figures");
    enum status status = dataset_open(spec, c->arguments->data_dir, &data, error);
    if (status != STATUS_OK) return status;
    status = row_stats_compute(&data.matrix, &r->stats, error);
    if (status == STATUS_OK && c->arguments->formats)
        status = count_formats(&data.matrix, &r->stats, r->bytes, error);
    snprintf(r->name, sizeof r->name, "%s", data.name);
    snprintf(r->origin, sizeof r->origin, "%s", dataset_origin_name(data.origin));
    snprintf(r->source, sizeof r->source, "%s", data.source);
    dataset_close(&data);
    if (status != STATUS_OK) return status;
    progress_clear();
    const bool is_first = c->count++ == 0;
    if (csv_to_stdout(c->arguments)) return STATUS_OK;
    if (is_first) (c->arguments->formats ? print_format_titles : print_titles)();
    (c->arguments->formats ? print_formats : print_record)(r);
    return STATUS_OK;
}

/* ---- all of them ------------------------------------------------------------------------------ */

/* Tells of one figure: its median, how many matrices have it, and its histogram. */
static void print_summary(const collection *c, const histogram_scale *scale,
                          double (*figure)(const row_stats *))
{
    size_t count = 0;
    double *values = calloc(c->count, sizeof *values);
    if (!values) return;
    for (size_t i = 0; i < c->count; i++) {
        const double value = figure(&c->record[i].stats);
        if (!isnan(value)) values[count++] = value;
    }
    printf("\n%s: median %.6g of %zu", scale->title, median_of(values, count), count);
    if (count < c->count) printf("; %zu without", c->count - count);
    putchar('\n');
    histogram_print(stdout, scale, values, count);
    free(values);
}

static double mean_of(const row_stats *s)
{
    return s->mean;
}

static void write_collection(FILE *out, const void *what)
{
    const collection *c = what;
    fputs("schema,dataset,origin,source,rows,cols,nnz,sparsity,mean_row,cov_row,max_row,"
          "empty_rows\n",
          out);
    for (size_t i = 0; i < c->count; i++) {
        const record *r = &c->record[i];
        const row_stats *s = &r->stats;
        const char *const texts[] = {r->name, r->origin, r->source};
        const double figures[] = {sparsity_of(s), s->mean, cov_of(s)};
        fprintf(out, "%d", FIGURES_SCHEMA);
        for (int k = 0; k < 3; k++) {
            putc(',', out);
            csv_text(out, texts[k]);
        }
        fprintf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64, s->rows, s->cols, s->nnz);
        for (int k = 0; k < 3; k++) {
            putc(',', out);
            if (!isnan(figures[k])) fprintf(out, "%.10g", figures[k]);
        }
        fprintf(out, ",%" PRId64 ",%" PRId64 "\n", s->max, s->empty_rows);
    }
}

/* A line a matrix and format; bytes are empty where the encoder refuses it. */
static void write_formats(FILE *out, const void *what)
{
    const collection *c = what;
    fputs("schema,dataset,origin,rows,cols,nnz,format,value_bits,bytes,over_csr\n", out);
    for (size_t i = 0; i < c->count; i++)
        for (int f = 0; f < NUM_COUNTED; f++) {
            const record *r = &c->record[i];
            fprintf(out, "%d,", FIGURES_SCHEMA);
            csv_text(out, r->name);
            fprintf(out, ",%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%d,", r->origin, r->stats.rows,
                    r->stats.cols, r->stats.nnz, counted_name((enum counted_format)f),
                    counted_value_bits((enum counted_format)f));
            if (r->bytes[f] >= 0)
                fprintf(out, "%" PRId64 ",%.5g", r->bytes[f], over_csr(r, (enum counted_format)f));
            else
                putc(',', out);
            putc('\n', out);
        }
}

static enum status save_csv(const arguments *a, void (*write)(FILE *, const void *),
                            const void *what, error_text *error)
{
    output_file file;
    if (csv_to_stdout(a)) {
        write(stdout, what);
        return STATUS_OK;
    }
    enum status status = output_open(&file, a->csv_path, error);
    if (status != STATUS_OK) return status;
    write(file.stream, what);
    return output_close(&file, error);
}

/* Complains of a set that is none, and goes on with the other words. */
static void expand_all(collection *c, name_list *all)
{
    const arguments *a = c->arguments;
    for (int i = 0; i < a->num_specs; i++) {
        char **names;
        size_t count;
        error_text error;
        enum status status = dataset_expand(a->spec[i], a->data_dir, &names, &count, &error);
        if (status != STATUS_OK) {
            complain(c, status, &error);
            continue;
        }
        for (size_t k = 0; k < count && status == STATUS_OK; k++)
            status = name_list_add(all, names[k], &error);
        if (status != STATUS_OK) complain(c, status, &error);
        dataset_names_free(names, count);
    }
}

static void show_all(collection *c, error_text *error)
{
    name_list all = {0};
    enum status status;
    expand_all(c, &all);
    for (size_t i = 0; i < all.count; i++) {
        progress_show(i, all.count, all.name[i]);
        status = add_matrix(c, all.name[i], error);
        if (status != STATUS_OK) complain(c, status, error);
    }
    progress_clear();
    name_list_free(&all);
    if (c->count > 1 && !csv_to_stdout(c->arguments) && !c->arguments->formats) {
        print_summary(c, &sparsity_scale, sparsity_of);
        print_summary(c, &mean_row_scale, mean_of);
        print_summary(c, &cov_scale, cov_of);
    }
    if (!c->arguments->csv_path || c->count == 0) return;
    status =
        save_csv(c->arguments, c->arguments->formats ? write_formats : write_collection, c, error);
    if (status != STATUS_OK) complain(c, status, error);
}

/* Bytes that an H200 copies in a second: the machine that the handouts measure on. */
static const double BANDWIDTH = 4.3e12;

typedef struct shape {
    int64_t M, K, N;
} shape;

/* A line a format and sparsity, for the report's figure. */
static void write_storage(FILE *out, const void *what)
{
    const shape *s = what;
    fputs(
        "schema,format,rows,cols,N,sparsity,compression_ratio,flop_per_byte,break_even_sparsity\n",
        out);
    for (int f = 0; f < NUM_STORAGES; f++) {
        const double even = break_even_sparsity((enum storage)f, s->M, s->K);
        for (int percent = 0; percent < 100; percent += 2) {
            const double ratio = compression_ratio((enum storage)f, s->M, s->K, percent / 100.);
            fprintf(out, "%d,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%.2f,%.5g,%.5g,%.4f\n",
                    FIGURES_SCHEMA, storage_name((enum storage)f), s->M, s->K, s->N, percent / 100.,
                    ratio, compute_intensity(ratio, s->M, s->N), even);
        }
    }
}

/* The formulas alone: no matrix is made. */
static void show_storage(collection *c, error_text *error)
{
    shape s = {.N = 16};
    int end = 0;
    const char *text = c->arguments->storage;
    const int read =
        sscanf(text, "%" SCNd64 "x%" SCNd64 "%nx%" SCNd64 "%n", &s.M, &s.K, &end, &s.N, &end);
    if (read < 2 || text[end] || s.M <= 0 || s.K <= 0 || s.N <= 0 || s.M > INT32_MAX ||
        s.K > INT32_MAX || s.N > INT32_MAX) {
        complain(c,
                 fail(error, STATUS_USAGE, "--storage %s: expected ROWSxCOLS or ROWSxCOLSxN", text),
                 error);
        return;
    }
    if (!csv_to_stdout(c->arguments)) storage_print(stdout, s.M, s.K, s.N, BANDWIDTH);
    if (!c->arguments->csv_path) return;
    const enum status status = save_csv(c->arguments, write_storage, &s, error);
    if (status != STATUS_OK) complain(c, status, error);
}

int main(int argc, char **argv)
{
    (void)argc;
    arguments a = {0};
    error_text error;
    collection c = {.arguments = &a};
    enum status status = parse_arguments(argv + 1, &a, &error);
    if (status == STATUS_OK && !a.help) status = rows_check(a.csv_path, &error);
    if (status != STATUS_OK)
        complain(&c, status, &error);
    else if (a.help)
        fputs(help_text, stdout);
    else if (a.storage)
        show_storage(&c, &error);
    else
        show_all(&c, &error);
    status = output_flush(&error);
    if (status != STATUS_OK) complain(&c, status, &error);
    free(c.record);
    return c.worst;
}
