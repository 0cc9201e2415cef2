#include "sweep.h"

#include "check.h"
#include "device/cuda_try.h"
#include "harness/provenance.h"
#include "harness/tuning.h"
#include "matrix/dataset.h"
#include "matrix/random.h"
#include "results/crossing.h"
#include "results/csv.h"
#include "results/row.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POINTS = 16, SPEC_BYTES = 96 };

/* Masks of one kind, by rising density: a band of rows / parts[i], and that share of what lies beyond. */
typedef struct family {
    const char *name;
    int parts[MAX_POINTS];
    double share[MAX_POINTS];
    int count;
} family;

static const family FAMILIES[] = {
    {"a band alone", {768, 384, 192, 96, 48, 24, 12, 6, 3}, {0}, 9},
    {"a band of 1/384 of the tokens, and beyond it",
     {384, 384, 384, 384, 384, 384, 384},
     {0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2},
     7},
    {"a band of 1/48 of the tokens, and beyond it",
     {48, 48, 48, 48, 48, 48},
     {0, 0.01, 0.02, 0.05, 0.1, 0.2},
     6},
};
enum { NUM_FAMILIES = sizeof FAMILIES / sizeof *FAMILIES };

/* Mask that was tried. */
typedef struct tried {
    char spec[SPEC_BYTES];
    timed_density point;
} tried;

/* Settings and arrays of all masks of a precision. */
typedef struct bench {
    const arguments *o;
    const device_info *device;
    model_shape shape;
    enum precision precision;
    const attention_contender *sparse;
    cublasHandle_t cublas;
    float *d_qkv, *d_O;
    float *qkv, *O; /* on the host */
    double dense_ms, rival_ms;
    char rival[48];
    tried tried[NUM_FAMILIES * MAX_POINTS]; /* families share their narrowest masks */
    int num_tried;
    row_list *rows;
} bench;

static int head_size(const bench *b)
{
    return b->shape.hidden / b->shape.heads;
}

static size_t apart(const bench *b)
{
    return attend_stride(b->shape.rows, b->shape.heads, head_size(b));
}

/* ---- rows -------------------------------------------------------------------------------------- */

static const char *heads_flag(const bench *b)
{
    static char text[24];
    snprintf(text, sizeof text, "HEADS=%d", b->shape.heads);
    return text;
}

static enum status add_row(bench *b, const dataset *d, const row_stats *stats,
                           const attend *attention, const spread *time, double worst,
                           enum status result, error_text *error)
{
    const contender *c = attention->is.sparse ? &attention->is.sparse->base : NULL;
    const double pairs = (double)d->matrix.nnz * b->shape.heads;
    row r = {.lab = c ? c->lab : 0,
             .is_dense = !c,
             .rows = d->matrix.rows,
             .cols = d->matrix.cols,
             .nnz = d->matrix.nnz,
             .mean_row = stats->mean,
             .max_row = stats->max,
             .cov_row = stats->cov,
             .N = head_size(b),
             .seed = b->o->seed,
             .prepare_ms = NAN,
             .median_ms = time->median_ms,
             .iqr_ms = time->iqr_ms,
             .batch_ms = NAN,
             .runs = isnan(time->median_ms) ? 0 : b->o->runs,
             .gflops = 4 * pairs * head_size(b) / time->median_ms * 1e-6,
             .compulsory_gbs = NAN,
             .gather_gbs = NAN,
             .bound_ms = NAN,
             .bound_share = NAN,
             .gather_share = NAN,
             .speedup_vendor_best = NAN,
             .speedup_vendor_default = NAN,
             .speedup_lab_before = NAN,
             .ranges = 1,
             .checked_share = NAN,
             .worst_error = worst};
    snprintf(r.contender, sizeof r.contender, "%s", c ? c->name : "cuBLAS dense");
    snprintf(r.operation, sizeof r.operation, "%s", attention_operation.name);
    snprintf(r.precision, sizeof r.precision, "%s", precision_name(b->precision));
    snprintf(r.dataset, sizeof r.dataset, "%s", d->name);
    snprintf(r.origin, sizeof r.origin, "%s", dataset_origin_name(d->origin));
    snprintf(r.source, sizeof r.source, "%.255s", d->source);
    snprintf(r.backend, sizeof r.backend, "%s", device_backend());
    snprintf(r.device, sizeof r.device, "%.63s", b->device->name);
    snprintf(r.driver, sizeof r.driver, "%s", b->device->driver);
    snprintf(r.toolkit, sizeof r.toolkit, "%s", b->device->toolkit);
    snprintf(r.commit, sizeof r.commit, "%.23s", provenance_commit());
    snprintf(r.flags, sizeof r.flags, "%s", heads_flag(b));
    snprintf(r.l2, sizeof r.l2, "warm");
    snprintf(r.status, sizeof r.status, "%s", result == STATUS_OK ? "ok" : "wrong");
    if (c) tuning_text(c, attention->plan.tuning, r.tuning, sizeof r.tuning);
    return row_list_add(b->rows, &r, 1, error);
}

/* ---- rivals ------------------------------------------------------------------------------------ */

/* The fastest row of the file for this precision, sequence and heads. */
static enum status read_rivals(bench *b, error_text *error)
{
    b->rival_ms = NAN;
    if (!b->o->rivals) return STATUS_OK;
    static const char *const wanted[] = {"contender", "precision", "rows",
                                         "N",         "flags",     "median_ms"};
    FILE *file = fopen(b->o->rivals, "r");
    if (!file) return fail(error, STATUS_DATASET, "%s: not found (--rivals)", b->o->rivals);
    char *first = NULL, *line = NULL;
    size_t first_bytes = 0, bytes = 0;
    csv_line header = {.count = 0}, cells;
    enum status status = STATUS_OK;
    if (getline(&first, &first_bytes, file) > 0) {
        first[strcspn(first, "\r\n")] = 0;
        csv_split(first, &header);
    }
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status == STATUS_OK; i++)
        if (csv_column(&header, wanted[i]) < 0)
            status = fail(error, STATUS_DATASET, "%s:1: no column %s", b->o->rivals, wanted[i]);
    while (status == STATUS_OK && getline(&line, &bytes, file) > 0) {
        const char *cell[6];
        line[strcspn(line, "\r\n")] = 0;
        csv_split(line, &cells);
        bool whole = true;
        for (int i = 0; i < 6; i++)
            whole = (cell[i] = csv_cell(&header, &cells, wanted[i])) != NULL && whole;
        if (!whole || strcmp(cell[1], precision_name(b->precision)) != 0 ||
            atoi(cell[2]) != b->shape.rows || atoi(cell[3]) != head_size(b) ||
            strcmp(cell[4], heads_flag(b)) != 0)
            continue;
        const double ms = strtod(cell[5], NULL);
        if (!(ms > 0) || b->rival_ms <= ms) continue;
        b->rival_ms = ms;
        snprintf(b->rival, sizeof b->rival, "%.47s", cell[0]);
    }
    free(first);
    free(line);
    fclose(file);
    return status;
}

/* ---- one attention ----------------------------------------------------------------------------- */

typedef struct job {
    const bench *b;
    const attend *attention;
} job;

static enum status run_job(void *arg, error_text *error)
{
    const job *j = arg;
    const cudaError_t e = attend_run(j->attention, j->b->cublas, j->b->d_qkv, j->b->d_O, NULL);
    return e == cudaSuccess ? STATUS_OK : device_fail(e, "running attention", error);
}

static enum status check(bench *b, const csr_matrix *pattern, double *worst, error_text *error)
{
    const size_t count = (size_t)b->shape.rows * b->shape.hidden;
    int row = 0;
    const cudaError_t e = cudaMemcpy(b->O, b->d_O, count * sizeof *b->O, cudaMemcpyDeviceToHost);
    if (e != cudaSuccess) return device_fail(e, "running attention", error);
    *worst = check_attention(pattern, b->precision, b->shape.heads, head_size(b), b->qkv,
                             b->qkv + apart(b), b->qkv + 2 * apart(b), b->O, &row);
    if (*worst < 0) return fail(error, STATUS_MEMORY, "no memory for the check");
    if (*worst <= 1) return STATUS_OK;
    return fail(error, STATUS_WRONG, "row %d is off by %.3g times its bound", row, *worst);
}

static enum status try_open(bench *b, const attend *a, const csr_matrix *pattern, spread *time,
                            double *worst, error_text *error)
{
    job j = {b, a};
    const cudaError_t e = cudaMemset(b->d_O, 0xff, apart(b) * sizeof(float));
    if (e != cudaSuccess) return device_fail(e, "running attention", error);
    enum status status = run_job(&j, error);
    if (status == STATUS_OK) status = check(b, pattern, worst, error);
    if (status != STATUS_OK || b->o->check_only || !device_keeps_time()) return status;
    return time_work(run_job, &j, NULL, WARM_UPS, b->o->runs, time, error);
}

/* Attention on one mask, or on all pairs: its row, and its time. */
static enum status try_mask(bench *b, const char *spec, bool dense, timed_density *point,
                            error_text *error)
{
    dataset d;
    row_stats stats;
    enum status status = dataset_open(spec, NULL, &d, error);
    if (status != STATUS_OK) return status;
    status = row_stats_compute(&d.matrix, &stats, error);
    const attend_settings is = {.sparse = dense ? NULL : b->sparse,
                                .precision = b->precision,
                                .mask = dense ? NULL : &d.matrix,
                                .stats = &stats,
                                .in_place = b->o->in_place,
                                .rows = b->shape.rows,
                                .heads = b->shape.heads,
                                .d = head_size(b)};
    rooms r = {0};
    attend a;
    spread time = {NAN, NAN};
    double worst = NAN;
    attend_plan_rooms(&a, &is, &r);
    if (status == STATUS_OK) status = rooms_open(&r, spec, "fewer rows of the mask", error);
    if (status == STATUS_OK) {
        status = attend_open(&a, error);
        if (status == STATUS_OK) status = try_open(b, &a, &d.matrix, &time, &worst, error);
        if (status == STATUS_OK || status == STATUS_WRONG) {
            error_text other;
            const enum status added = add_row(b, &d, &stats, &a, &time, worst, status, &other);
            if (status == STATUS_OK && added != STATUS_OK) status = added;
        }
        attend_close(&a);
        rooms_close(&r);
    }
    const double n = (double)b->shape.rows;
    *point = (timed_density){(double)d.matrix.nnz / (n * (n + 1) / 2), time.median_ms};
    if (status == STATUS_OK) {
        printf("  %-44s %9" PRId64 " %8.3f ", d.name, d.matrix.nnz, 100 * point->density);
        if (isnan(time.median_ms))
            printf("%9s %9s", "n/a", "n/a");
        else
            printf("%9.4f %9.2f", time.median_ms, dense ? 1 : b->dense_ms / time.median_ms);
        printf("   %.2g of the bound\n", worst);
    }
    dataset_close(&d);
    return status;
}

/* ---- a precision ------------------------------------------------------------------------------- */

static void print_crossing(const bench *b, const char *against, const timed_density *point,
                           int count, double dense_ms)
{
    const double density = crossing_density(point, count, dense_ms);
    printf("    against %s: ", against);
    if (isnan(density))
        printf("not measured\n");
    else if (density == 0)
        printf("dense is faster at every density\n");
    else if (isinf(density))
        printf("sparse is faster at every density\n");
    else
        printf("%s sparse is faster up to %.2f %% of the causal half\n",
               precision_name(b->precision), 100 * density);
}

/* The same of a mask that another family may have had. */
static enum status try_once(bench *b, const char *spec, timed_density *point, error_text *error)
{
    for (int i = 0; i < b->num_tried; i++)
        if (!strcmp(b->tried[i].spec, spec)) {
            *point = b->tried[i].point;
            return STATUS_OK;
        }
    const enum status status = try_mask(b, spec, false, point, error);
    tried *const t = &b->tried[b->num_tried++];
    snprintf(t->spec, sizeof t->spec, "%s", spec);
    t->point = *point;
    return status;
}

static enum status try_family(bench *b, const family *f, error_text *error)
{
    timed_density point[MAX_POINTS];
    int count = 0;
    if (b->shape.rows < f->parts[f->count - 1]) return STATUS_OK; /* too short for any */
    printf(" %s\n", f->name);
    for (int i = 0; i < f->count; i++) {
        const int band = b->shape.rows / f->parts[i];
        char spec[SPEC_BYTES];
        if (band < 1) continue;
        snprintf(spec, sizeof spec, "mask:rows=%d,band=%d,share=%g", b->shape.rows, band,
                 f->share[i]);
        const enum status status = try_once(b, spec, &point[count++], error);
        if (status != STATUS_OK) return status;
    }
    print_crossing(b, "cuBLAS", point, count, b->dense_ms);
    if (b->o->rivals)
        print_crossing(b, isnan(b->rival_ms) ? "rivals" : b->rival, point, count, b->rival_ms);
    else
        printf("    against a dense flash attention: not measured (--rivals FILE)\n");
    return STATUS_OK;
}

static enum status run_precision(bench *b, error_text *error)
{
    timed_density all;
    char spec[64];
    enum status status = arguments_find_attention(b->o, b->precision, &b->sparse, error);
    if (status == STATUS_OK) status = read_rivals(b, error);
    if (status != STATUS_OK) return status;
    b->num_tried = 0;
    printf("%s, %d heads of %d\n  %-44s %9s %8s %9s %9s\n", precision_name(b->precision),
           b->shape.heads, head_size(b), "mask", "nonzeros", "% causal", "ms", "x dense");
    snprintf(spec, sizeof spec, "mask:rows=%d,band=%d", b->shape.rows, b->shape.rows);
    printf(" all pairs, dense (cuBLAS, softmax, cuBLAS)\n");
    status = try_mask(b, spec, true, &all, error);
    b->dense_ms = all.ms;
    for (int f = 0; f < NUM_FAMILIES && status == STATUS_OK; f++)
        status = try_family(b, &FAMILIES[f], error);
    return status;
}

/* ---- the sweep --------------------------------------------------------------------------------- */

/* Numbers of Q, K and V: uniform, with a variance of 1, as those of a model are. */
static void fill(const bench *b, uint64_t seed)
{
    for (size_t i = 0; i < 3 * apart(b); i++)
        b->qkv[i] = 1.7320508f * random_symmetric(seed, i);
}

static enum status run_all(bench *b, error_text *error)
{
    static const enum precision PRECISIONS[] = {PRECISION_FP32, PRECISION_FP16};
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        b->precision = PRECISIONS[i];
        fill(b, random_substream(b->o->seed, 0)); /* checks round it */
        const cudaError_t e =
            cudaMemcpy(b->d_qkv, b->qkv, 3 * apart(b) * sizeof(float), cudaMemcpyHostToDevice);
        status = e == cudaSuccess ? run_precision(b, error)
                                  : device_fail(e, "uploading Q, K and V", error);
    }
    return status;
}

enum status sweep_run(const arguments *o, int rows, const device_info *device, error_text *error)
{
    row_list list = {0};
    bench b = {.o = o,
               .device = device,
               .shape = {.rows = rows, .heads = o->heads, .hidden = o->hidden},
               .rows = &list};
    rooms r = {0};
    rooms_add(&r, "Q, K and V", 3 * apart(&b) * sizeof(float), (void **)&b.d_qkv);
    rooms_add(&r, "O", apart(&b) * sizeof(float), (void **)&b.d_O);
    enum status status = rows_check(o->csv, error);
    if (status == STATUS_OK) status = rooms_open(&r, "attention", "fewer rows of the mask", error);
    if (status != STATUS_OK) return status;
    b.qkv = malloc(3 * apart(&b) * sizeof *b.qkv);
    b.O = malloc(apart(&b) * sizeof *b.O);
    if (!b.qkv || !b.O)
        status = fail(error, STATUS_MEMORY, "no memory for Q, K, V and O");
    else if (cublasCreate(&b.cublas) != CUBLAS_STATUS_SUCCESS)
        status = fail(error, STATUS_RUNTIME, "cuBLAS does not start");
    else
        status = run_all(&b, error);
    if (o->csv && list.count) {
        error_text other;
        const enum status saved =
            rows_save(o->csv, rows_write_csv, list.rows, list.count, "", &other);
        if (status == STATUS_OK && saved != STATUS_OK) {
            *error = other;
            status = saved;
        }
    }
    if (b.cublas) cublasDestroy(b.cublas);
    free(b.qkv);
    free(b.O);
    rooms_close(&r);
    row_list_free(&list);
    return status;
}
