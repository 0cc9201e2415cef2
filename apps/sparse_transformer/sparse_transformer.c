/*
 * sparse_transformer.c - a transformer with a sparse mask beside the same one with dense attention: checks of a layer,
 * tokens a second, bytes of memory, and the time of each part.
 *
 *   make apps && build/simt/apps/sparse_transformer mask:rows=256,band=32 --heads 2 --hidden 64 --filter 128
 *
 * The model is that of T. Gale, M. Zaharia, C. Young, E. Elsen: Sparse GPU Kernels for Deep Learning, SC 2020.
 */
#include "arguments.h"
#include "check.h"
#include "harness/device.h"
#include "harness/provenance.h"
#include "matrix/dataset.h"
#include "matrix/files.h"
#include "picture.h"
#include "results/csv.h"
#include "results/row.h"
#include "sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Schema of the CSV files that this program writes without --sweep. */
enum { PASSES_SCHEMA = 1 };

/* A model that was built, checked and perhaps timed. */
typedef struct result {
    const char *variant, *attention;
    size_t bytes;
    verdict v;
    double worst; /* of the verdict */
    spread time;  /* of a pass; NAN: not timed */
    double part_ms[NUM_PARTS];
    enum status status;
    error_text error; /* where status is not ok */
} result;

typedef struct program {
    arguments o;
    device_info device;
    dataset data;
    row_stats stats;
    result results[2];
    int count;
} program;

static double tokens_per_second(const program *p, const result *r)
{
    return (double)p->data.matrix.rows / r->time.median_ms * 1e3;
}

/* ---- a variant --------------------------------------------------------------------------------- */

static enum status pass(void *arg, error_text *error)
{
    const cudaError_t e = model_pass(arg, NULL);
    return e == cudaSuccess ? STATUS_OK : device_fail(e, "timing passes", error);
}

enum { PASSES_OF_PARTS = 5 };

static cudaError_t time_parts(model *m, double *ms)
{
    stopwatch *w = malloc(sizeof *w);
    if (!w) return cudaErrorMemoryAllocation;
    cudaError_t e = stopwatch_open(w);
    for (int i = 0; i < PASSES_OF_PARTS && e == cudaSuccess; i++) {
        e = stopwatch_start(w);
        if (e == cudaSuccess) e = model_pass(m, &w->base);
        if (e == cudaSuccess) e = stopwatch_read(w, ms);
    }
    for (int i = 0; i < NUM_PARTS; i++)
        ms[i] /= PASSES_OF_PARTS;
    stopwatch_close(w);
    free(w);
    return e;
}

/* All numbers of the last norm are finite. */
static enum status check_pass(model *m, error_text *error)
{
    const size_t count = (size_t)m->shape.rows * m->shape.hidden;
    float *y = malloc(count * sizeof *y);
    if (!y) return fail(error, STATUS_MEMORY, "no memory for the result");
    cudaError_t e = model_pass(m, NULL);
    if (e == cudaSuccess) e = cudaMemcpy(y, m->d_normed, count * sizeof *y, cudaMemcpyDeviceToHost);
    enum status status = e == cudaSuccess ? STATUS_OK : device_fail(e, "a pass", error);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        if (!isfinite(y[i]))
            status = fail(error, STATUS_WRONG, "row %zu of the result is not finite",
                          i / (size_t)m->shape.hidden);
    free(y);
    return status;
}

static enum status use(const program *p, model *m, const csr_matrix *pattern, result *r)
{
    enum status status = check_layer(m, p->o.seed, pattern, &r->v, &r->error);
    for (int i = 0; i < NUM_CHECKED; i++)
        r->worst = r->v.worst[i] > r->worst ? r->v.worst[i] : r->worst;
    if (status == STATUS_OK) status = check_pass(m, &r->error);
    if (status != STATUS_OK || p->o.check_only || !device_keeps_time()) return status;
    status = time_work(pass, m, NULL, WARM_UPS, p->o.runs, &r->time, &r->error);
    if (status != STATUS_OK) return status;
    const cudaError_t e = time_parts(m, r->part_ms);
    return e == cudaSuccess ? STATUS_OK : device_fail(e, "timing passes", &r->error);
}

/* Dense attention goes over all pairs up to the diagonal, whatever the mask is. */
static enum status causal_pattern(int rows, csr_matrix *A, error_text *error)
{
    char spec[64];
    dataset d;
    snprintf(spec, sizeof spec, "mask:rows=%d,band=%d", rows, rows);
    enum status status = dataset_open(spec, NULL, &d, error);
    if (status == STATUS_OK) *A = d.matrix; /* which is all that a generated dataset holds */
    return status;
}

static enum status run_variant(program *p, bool dense)
{
    const csr_matrix *A = &p->data.matrix;
    result *const r = &p->results[p->count++];
    *r = (result){.variant = dense ? "dense" : "sparse",
                  .attention = dense ? "cuBLAS" : p->o.attention,
                  .time = {NAN, NAN}};
    const model_shape s = {(int)A->rows, p->o.layers, p->o.heads, p->o.hidden, p->o.filter};
    attend_settings is = {.precision = (enum precision)p->o.precision,
                          .stats = &p->stats,
                          .mask = dense ? NULL : A,
                          .in_place = p->o.in_place,
                          .rows = s.rows,
                          .heads = s.heads,
                          .d = s.hidden / s.heads};
    model m;
    csr_matrix causal = {0};
    r->status = STATUS_OK;
    if (!dense) r->status = arguments_find_attention(&p->o, is.precision, &is.sparse, &r->error);
    if (r->status == STATUS_OK)
        r->status = model_open(&m, &s, &is, p->o.seed,
                               dense ? "the dense model" : "the sparse model", &r->error);
    if (r->status != STATUS_OK) return r->status;
    r->bytes = model_bytes(&m);
    if (dense) r->status = causal_pattern(s.rows, &causal, &r->error);
    if (r->status == STATUS_OK) r->status = use(p, &m, dense ? &causal : A, r);
    csr_free(&causal);
    model_close(&m);
    return r->status;
}

/* ---- printing ---------------------------------------------------------------------------------- */

static void print_heading(const program *p)
{
    const csr_matrix *A = &p->data.matrix;
    const double n = (double)A->rows;
    printf("sparse_transformer | %s, %" PRId64 " tokens, nnz %" PRId64
           " (%.3f %% of the causal half) | %d layers, %d heads of %d, hidden %d, filter %d | "
           "attention in %s | %s | seed %" PRIu64 "\n",
           p->data.name, A->rows, A->nnz, 100 * (double)A->nnz / (n * (n + 1) / 2), p->o.layers,
           p->o.heads, p->o.hidden / p->o.heads, p->o.hidden, p->o.filter,
           precision_name((enum precision)p->o.precision), p->device.name, p->o.seed);
}

static void print_check(const result *r)
{
    if (r->status != STATUS_OK && r->status != STATUS_WRONG) return;
    printf("check   %-6s %s  largest error over its bound:", r->variant,
           r->status == STATUS_OK ? "PASS" : "FAIL");
    const char *separator = " ";
    for (int i = 0; i < NUM_CHECKED; i++) {
        if (r->v.worst[i] < 0) continue;
        printf("%s%s %.2g", separator, checked_name((enum checked)i), r->v.worst[i]);
        separator = ", ";
    }
    printf("\n");
}

static void print_number(double x, int width, int digits)
{
    if (isnan(x))
        printf(" %*s", width, "n/a");
    else
        printf(" %*.*f", width, digits, x);
}

static void print_passes(const program *p)
{
    bool any = false;
    for (int i = 0; i < p->count; i++)
        any = any || p->results[i].status == STATUS_OK;
    if (!any) return;
    printf("\n%-28s %10s %10s %12s %10s\n", "a pass", "ms", "IQR", "tokens/s", "peak MB");
    for (int i = 0; i < p->count; i++) {
        const result *r = &p->results[i];
        if (r->status != STATUS_OK) continue;
        char name[64];
        snprintf(name, sizeof name, "%s (%s)", r->variant, r->attention);
        printf("%-28s", name);
        print_number(r->time.median_ms, 10, 3);
        print_number(r->time.iqr_ms, 10, 3);
        print_number(tokens_per_second(p, r), 12, 0);
        print_number(r->bytes * 1e-6, 10, 1);
        printf("\n");
    }
    const result *a = &p->results[0], *b = &p->results[1];
    if (p->count < 2 || a->status != STATUS_OK || b->status != STATUS_OK) return;
    printf("sparse against dense:");
    if (!isnan(a->time.median_ms))
        printf(" %.2f x the tokens a second,", b->time.median_ms / a->time.median_ms);
    printf(" 1/%.2f of the memory\n", (double)b->bytes / (double)a->bytes);
}

static void print_parts(const program *p)
{
    if (isnan(p->results[0].time.median_ms)) return;
    printf("\n%-28s", "parts of a pass, ms");
    for (int i = 0; i < p->count; i++)
        printf(" %10s", p->results[i].variant);
    for (int part = 0; part < NUM_PARTS; part++) {
        double sum = 0;
        for (int i = 0; i < p->count; i++)
            sum += p->results[i].part_ms[part];
        if (sum == 0) continue;
        printf("\n  %-26s", part_name((enum part)part));
        for (int i = 0; i < p->count; i++)
            print_number(p->results[i].part_ms[part], 10, 3);
    }
    printf("\n");
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void write_number(FILE *out, double x)
{
    if (!isnan(x)) fprintf(out, "%.6g", x);
    fputc(',', out);
}

static void write_cell(FILE *out, const char *text)
{
    csv_text(out, text);
    fputc(',', out);
}

static void write_header(FILE *out)
{
    fprintf(out, "schema,application,variant,attention,precision,dataset,source,rows,nnz,layers,"
                 "heads,hidden,filter,in_place,backend,device,driver,toolkit,commit,seed,runs,"
                 "median_ms,iqr_ms,tokens_per_s,");
    for (int part = 0; part < NUM_PARTS; part++)
        fprintf(out, "%s_ms,", part_name((enum part)part));
    fprintf(out, "peak_bytes,worst_error,status,message\n");
}

static void write_row(FILE *out, const program *p, const result *r)
{
    const arguments *o = &p->o;
    const bool timed = !isnan(r->time.median_ms);
    fprintf(out, "%d,sparse_transformer,%s,", PASSES_SCHEMA, r->variant);
    write_cell(out, r->attention);
    fprintf(out, "%s,", precision_name((enum precision)o->precision));
    write_cell(out, p->data.name);
    write_cell(out, p->data.source);
    fprintf(out, "%" PRId64 ",%" PRId64 ",%d,%d,%d,%d,%d,%s,", p->data.matrix.rows,
            p->data.matrix.nnz, o->layers, o->heads, o->hidden, o->filter, o->in_place,
            device_backend());
    write_cell(out, p->device.name);
    write_cell(out, p->device.driver);
    write_cell(out, p->device.toolkit);
    fprintf(out, "%s,%" PRIu64 ",%d,", provenance_commit(), o->seed, timed ? o->runs : 0);
    write_number(out, r->time.median_ms);
    write_number(out, r->time.iqr_ms);
    write_number(out, tokens_per_second(p, r));
    for (int part = 0; part < NUM_PARTS; part++)
        write_number(out, timed ? r->part_ms[part] : NAN);
    fprintf(out, "%zu,", r->bytes);
    write_number(out, r->worst);
    write_cell(out, row_status(r->status));
    csv_text(out, r->status == STATUS_OK ? "" : r->error.text);
    fputc('\n', out);
}

static void write_all(FILE *out, const void *arg)
{
    const program *p = arg;
    write_header(out);
    for (int i = 0; i < p->count; i++)
        write_row(out, p, &p->results[i]);
}

/* ---- the program ------------------------------------------------------------------------------- */

enum { FEWEST_TO_SWEEP = 16, MOST_TOKENS = 1 << 20 };

/* Each query attends to some key, and there is one a token. */
static enum status open_mask(program *p, error_text *error)
{
    enum status status = dataset_open(p->o.mask, NULL, &p->data, error);
    if (status != STATUS_OK) return status;
    const csr_matrix *A = &p->data.matrix;
    csr_drop_values(&p->data.matrix);
    if (A->rows != A->cols || A->rows < 1 || A->rows > MOST_TOKENS)
        return fail(error, STATUS_DATASET,
                    "%s: %" PRId64 " x %" PRId64
                    " is no mask: it has as many columns as rows, 1 to %d",
                    p->data.name, A->rows, A->cols, MOST_TOKENS);
    for (int64_t i = 0; i < A->rows; i++)
        if (A->row_ptr[i] == A->row_ptr[i + 1])
            return fail(error, STATUS_DATASET,
                        "%s: row %" PRId64 " is empty: its token attends to none", p->data.name, i);
    if (p->o.sweep && A->rows < FEWEST_TO_SWEEP)
        return fail(error, STATUS_USAGE, "--sweep needs %d tokens or more; %s has %" PRId64,
                    FEWEST_TO_SWEEP, p->data.name, A->rows);
    return row_stats_compute(A, &p->stats, error);
}

static enum status run_model(program *p, error_text *error)
{
    enum status status = rows_check(p->o.csv, error);
    if (status != STATUS_OK) return status;
    print_heading(p);
    for (int dense = 0; dense <= 1; dense++) {
        if (p->o.variant == (dense ? SPARSE : DENSE)) continue;
        const enum status of_variant = run_variant(p, dense);
        const result *r = &p->results[p->count - 1];
        print_check(r);
        if (!is_graver(of_variant, status)) continue;
        *error = r->error;
        status = of_variant;
    }
    print_passes(p);
    print_parts(p);
    error_text other;
    const enum status saved = output_write(p->o.csv, write_all, p, &other);
    if (status != STATUS_OK || saved == STATUS_OK) return status;
    *error = other;
    return saved;
}

static enum status run(program *p, int argc, char **argv, error_text *error)
{
    enum status status = arguments_read(argc, argv, &p->o, error);
    if (status != STATUS_OK) return status;
    if (p->o.help) {
        arguments_print_help(stdout);
        return STATUS_OK;
    }
    status = open_mask(p, error);
    if (status != STATUS_OK) return status;
    if (p->o.picture) return picture_write(&p->data.matrix, p->o.picture, error);
    status = device_open(p->o.device, &p->device, error);
    if (status != STATUS_OK) return status;
    if (p->o.sweep) return sweep_run(&p->o, (int)p->data.matrix.rows, &p->device, error);
    return run_model(p, error);
}

int main(int argc, char **argv)
{
    program *p = calloc(1, sizeof *p);
    error_text error = {"no memory"};
    enum status status = p ? run(p, argc, argv, &error) : STATUS_MEMORY;
    status = output_end("sparse_transformer", status, &error);
    if (p) dataset_close(&p->data);
    free(p);
    return status;
}
