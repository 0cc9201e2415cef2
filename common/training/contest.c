#include "training/contest.h"

#include "harness/timing.h"
#include "matrix/files.h"
#include "results/csv.h"
#include "results/row.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RESULTS = 32, WARM_STEPS = 5 };

/* One network: what its run has shown. */
typedef struct result {
    char name[64], kernels[256];
    enum status status;
    verdict verdict;
    double step_ms, iqr_ms, part_ms[MAX_PARTS]; /* NAN: not timed */
    double bytes;   /* on the device, of the network; NAN: not measured */
    double move_ms; /* of a step's transposed products: the values' way to the transpose alone */
    outcome outcome;
} result;

typedef struct contest {
    const trained_kind *kind;
    const void *context;
    const contest_options *o;
    const device_info *device;
    cublasHandle_t blas;
    result results[MAX_RESULTS];
    int num_results;
} contest;

/* ---- one network ------------------------------------------------------------------------------- */

/* A network whose steps are timed, whole or in part. */
typedef struct timed_net {
    const trained_kind *kind;
    void *net;
} timed_net;

static int num_parts(const contest *c)
{
    int count = 0;
    while (c->kind->parts[count])
        count++;
    return count;
}

static enum status whole_step(void *arg, error_text *error)
{
    const timed_net *t = arg;
    return t->kind->step(t->net, NULL, error);
}

static enum status values_alone(void *arg, error_text *error)
{
    const timed_net *t = arg;
    int times;
    if (!t->kind->turned_layer) return fail(error, STATUS_SKIPPED, "a step moves no values");
    linear *layer = t->kind->turned_layer(t->net, &times);
    for (int i = 0; i < times; i++)
        TRY(linear_move_values(layer, error));
    return STATUS_OK;
}

/* Times whole steps; and the values' way to the transpose alone, of networks that have one. */
static enum status time_steps(const contest *c, void *net, result *r, error_text *error)
{
    timed_net t = {c->kind, net};
    spread step, move;
    TRY(time_work(whole_step, &t, NULL, WARM_STEPS, c->o->runs, &step, error));
    r->step_ms = step.median_ms;
    r->iqr_ms = step.iqr_ms;
    const enum status moved = values_alone(&t, error);
    if (moved == STATUS_SKIPPED) return STATUS_OK;
    TRY(moved);
    TRY(time_work(values_alone, &t, NULL, WARM_STEPS, c->o->runs, &move, error));
    r->move_ms = move.median_ms;
    return STATUS_OK;
}

/* The mean of each part. Events between parts cost some time, so that these are further steps. */
static enum status time_parts(const contest *c, void *net, parts *p, result *r, error_text *error)
{
    double sums[MAX_PARTS] = {0};
    for (int run = 0; run < c->o->runs; run++) {
        TRY_CUDA(parts_begin(p));
        TRY(c->kind->step(net, p, error));
        TRY_CUDA(parts_mark(p, num_parts(c) - 1));
        TRY_CUDA(parts_add(p, sums));
    }
    for (int part = 0; part < num_parts(c); part++)
        r->part_ms[part] = sums[part] / c->o->runs;
    return STATUS_OK;
}

static enum status time_network(const contest *c, void *net, result *r, error_text *error)
{
    parts *p = calloc(1, sizeof *p);
    if (!p) return fail(error, STATUS_MEMORY, "no memory for the times of parts");
    enum status status = time_steps(c, net, r, error);
    if (status == STATUS_OK) status = time_parts(c, net, p, r, error);
    parts_free(p);
    free(p);
    return status;
}

/* A wrong gradient is neither trained with nor timed. */
static enum status run_network(const contest *c, void *net, bool show, result *r, error_text *error)
{
    const amount usual = {1, 0}, close = {4, 20};
    c->kind->kernel_names(net, r->kernels, sizeof r->kernels);
    TRY(c->kind->check(net, c->o->check_only ? close : usual, &r->verdict, error));
    if (!r->verdict.passed)
        return fail(error, STATUS_WRONG, "wrong gradient: %s is off by %.3g times its bound",
                    r->verdict.where, r->verdict.worst);
    if (c->o->check_only) return STATUS_OK;
    TRY(c->kind->train(net, show, &r->outcome, error));
    const outcome *t = &r->outcome;
    if (!isnan(t->first_loss) && !(t->last_loss < t->first_loss))
        return fail(error, STATUS_WRONG, "the loss did not fall: %.5f, and after training %.5f",
                    t->first_loss, t->last_loss);
    return device_keeps_time() ? time_network(c, net, r, error) : STATUS_OK;
}

static double free_bytes(void)
{
    size_t available, total;
    return cudaMemGetInfo(&available, &total) == cudaSuccess ? (double)available : NAN;
}

/* Makes a network and its first step, then forgets it: libraries take their own memory then, and code is loaded. */
static enum status warm_up(const contest *c, const linear_kernels *kernels, error_text *error)
{
    void *net;
    TRY(c->kind->create(c->context, kernels, c->blas, &net, error));
    enum status status = c->kind->step(net, NULL, error);
    const cudaError_t cuda = cudaDeviceSynchronize();
    if (status == STATUS_OK && cuda != cudaSuccess)
        status = device_fail(cuda, "the first step", error);
    c->kind->destroy(net);
    return status;
}

/* Makes a network, and measures what it takes of the device. */
static enum status make_network(const contest *c, const linear_kernels *kernels, void **net,
                                result *r, error_text *error)
{
    const bool measures = c->kind->measures_memory && device_keeps_time();
    if (measures) TRY(warm_up(c, kernels, error));
    const double before = measures ? free_bytes() : NAN;
    TRY(c->kind->create(c->context, kernels, c->blas, net, error));
    r->bytes = measures ? before - free_bytes() : NAN;
    return STATUS_OK;
}

static enum status run_and_note(contest *c, const char *name, const linear_kernels *kernels,
                                error_text *error)
{
    if (c->num_results == MAX_RESULTS) return STATUS_OK;
    const bool is_suite = c->num_results == 0;
    result *r = &c->results[c->num_results++];
    void *net = NULL;
    *r = (result){.step_ms = NAN, .iqr_ms = NAN, .bytes = NAN, .move_ms = NAN};
    r->outcome = (outcome){.first_loss = NAN, .last_loss = NAN, .held_out = NAN};
    for (int part = 0; part < MAX_PARTS; part++)
        r->part_ms[part] = NAN;
    snprintf(r->name, sizeof r->name, "%s", name);
    (void)cudaGetLastError(); /* what an earlier network left behind is not this one's */
    r->status = make_network(c, kernels, &net, r, error);
    if (r->status == STATUS_OK) {
        r->status = run_network(c, net, is_suite, r, error);
        c->kind->destroy(net);
    }
    const bool is_left_out = r->status == STATUS_SKIPPED || r->status == STATUS_MEMORY;
    return is_left_out && !is_suite ? STATUS_OK : r->status;
}

/* ---- rivals ------------------------------------------------------------------------------------ */

static const char VENDOR[] = "cuSPARSE", PLAIN[] = "spmm";

static bool is_vendor(const char *kernel)
{
    return !strncmp(kernel, VENDOR, strlen(VENDOR));
}

/* Whether a list with commas names it. */
static bool is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, name, length) && (at[length] == ',' || !at[length])) return true;
    }
    return false;
}

/* Kernel number i that names a pipeline of the vendor; NULL behind the last one. */
static const char *pipeline_name(const trained_kind *kind, int i)
{
    const char *name;
    for (int k = 0; (name = sparse_kernel_name(kind->pipelines, SPARSE_FP32, k)); k++)
        if (is_vendor(name) && i-- == 0) return name;
    return NULL;
}

/* SpMM number i that can stand in the suite's place; NULL behind the last one. */
static const char *product_name(const trained_kind *kind, int i)
{
    const char *name;
    const bool has_vendor = strcmp(kind->pipelines, PLAIN) != 0;
    for (int k = 0; (name = sparse_kernel_name(PLAIN, SPARSE_FP32, k)); k++)
        if ((has_vendor || !is_vendor(name)) && i-- == 0) return name;
    return NULL;
}

/* The vendor's pipeline of a name. "cuSPARSE CSC CSR_ALG3", a transposed product, goes with the plain product "cuSPARSE
 * CSR_ALG3"; both with the only SDDMM, preprocessed where the product is. */
static enum status run_pipeline(contest *c, const char *name, error_text *error)
{
    char spmm[64];
    const bool is_plain = !strcmp(c->kind->pipelines, PLAIN);
    if (is_plain)
        snprintf(spmm, sizeof spmm, "%s", name);
    else
        snprintf(spmm, sizeof spmm, "%s %s", VENDOR, strstr(name, "CSR_"));
    const linear_kernels kernels = {.spmm = spmm,
                                    .transposed = is_plain ? NULL : name,
                                    .sddmm = strstr(name, "+preprocess")
                                                 ? "cuSPARSE SDDMM NT+preprocess"
                                                 : "cuSPARSE SDDMM NT"};
    return run_and_note(c, name, &kernels, error);
}

static enum status run_rivals(contest *c, error_text *error)
{
    const trained_kind *kind = c->kind;
    const char *rivals = c->o->rival, *name;
    const bool best = is_listed(rivals, "best"), first = is_listed(rivals, "default");
    if (kind->has_dense && (best || is_listed(rivals, "dense"))) {
        const linear_kernels dense = {.dense = true};
        TRY(run_and_note(c, "dense", &dense, error));
    }
    for (int i = 0; (name = pipeline_name(kind, i)); i++)
        if (best || is_listed(rivals, name) || (first && !strcmp(name, kind->first_pipeline)))
            TRY(run_pipeline(c, name, error));
    for (int i = 0; (name = product_name(kind, i)); i++) {
        const linear_kernels kernels = {.spmm = name};
        if (is_listed(rivals, name)) TRY(run_and_note(c, name, &kernels, error));
    }
    return STATUS_OK;
}

/* Whether the first name of the list, up to a comma, is a rival. */
static bool is_rival(const trained_kind *kind, const char *list)
{
    char own[64];
    const char *name;
    snprintf(own, sizeof own, "%.*s", (int)strcspn(list, ","), list);
    for (int i = 0; (name = pipeline_name(kind, i)); i++)
        if (!strcmp(name, own)) return true;
    for (int i = 0; (name = product_name(kind, i)); i++)
        if (!strcmp(name, own)) return true;
    return !strcmp(own, "best") || !strcmp(own, "default") ||
           (kind->has_dense && !strcmp(own, "dense"));
}

enum status contest_check_options(const trained_kind *kind, const contest_options *o,
                                  error_text *error)
{
    const char *at = strcmp(o->rival, "none") ? o->rival : NULL;
    for (; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!is_rival(kind, at))
            return fail(error, STATUS_USAGE,
                        "--vs %.*s: no such kernel; best, default%s or none, or an SpMM as roma",
                        (int)strcspn(at, ","), at, kind->has_dense ? ", dense" : "");
    }
    return rows_check(o->csv_path, error);
}

/* ---- showing ----------------------------------------------------------------------------------- */

/* Writes the number, or why there is none. */
static void print_number(double value, int width)
{
    if (isnan(value))
        printf("%*s", width, device_keeps_time() ? "-" : "n/a (simt)");
    else
        printf("%*.4f", width, value);
}

static double best_of(const contest *c, bool dense)
{
    double best = NAN;
    for (int i = 1; i < c->num_results; i++)
        if (!strcmp(c->results[i].name, "dense") == dense)
            best = fmin(best, c->results[i].step_ms); /* of a number and NAN the number */
    return best;
}

static void print_parts(const contest *c, const result *r)
{
    double sum = 0;
    for (int part = 0; part < num_parts(c); part++)
        sum += r->part_ms[part];
    printf("\nparts of the suite's step:");
    for (int part = 0; part < num_parts(c); part++)
        printf(" %s %.1f %%%s", c->kind->parts[part], 100 * r->part_ms[part] / sum,
               part + 1 < num_parts(c) ? "," : "\n");
    if (isnan(r->move_ms)) return;
    printf("the values' way to the transpose alone: %.4f ms, %.1f %% of the step\n", r->move_ms,
           100 * r->move_ms / r->step_ms);
}

static void print_changes(const result *r)
{
    const outcome *t = &r->outcome;
    if (!t->changes) return;
    printf("\n%d changes of the pattern", t->changes);
    if (device_keeps_time())
        printf(", ms each: choosing %.3f, the pattern to the device %.3f, plans %.3f; "
               "together %.1f steps",
               t->select_ms / t->changes, t->cost.upload_ms / t->changes,
               t->cost.plans_ms / t->changes,
               (t->select_ms + t->cost.upload_ms + t->cost.plans_ms) / t->changes / r->step_ms);
    printf("\n");
}

static void print_table(const contest *c)
{
    const result *own = &c->results[0];
    const bool memory = c->kind->measures_memory;
    printf("\n%-34s %-6s %9s %11s %11s%s  %s\n", "network", "check", "of bound", "step, ms",
           "last loss", memory ? " memory, MiB" : "", "kernels");
    for (int i = 0; i < c->num_results; i++) {
        const result *r = &c->results[i];
        printf("%-34s ", r->name);
        if (r->status != STATUS_OK && r->status != STATUS_WRONG) {
            printf("%s\n", r->status == STATUS_SKIPPED  ? "cannot take this problem"
                           : r->status == STATUS_MEMORY ? "does not fit in memory"
                                                        : "failed");
            continue;
        }
        printf("%-6s %9.3f", r->verdict.passed ? "PASS" : "FAIL", r->verdict.worst);
        print_number(r->step_ms, 12);
        if (isnan(r->outcome.last_loss))
            printf("%12s", "-");
        else
            printf("%12.5f", r->outcome.last_loss);
        if (memory) print_number(r->bytes / (1 << 20), 12);
        printf("  %s\n", r->kernels);
    }
    if (!device_keeps_time() && is_listed(c->o->rival, "best"))
        printf("%-34s n/a (no GPU)\n", VENDOR);
    print_changes(own);
    if (isnan(own->step_ms)) return;
    print_parts(c, own);
    if (!isnan(best_of(c, false)))
        printf("best sparse rival's step over the suite's: %.2f\n",
               best_of(c, false) / own->step_ms);
    if (!isnan(best_of(c, true)))
        printf("the dense step over the suite's: %.2f\n", best_of(c, true) / own->step_ms);
}

static void write_rows(FILE *out, const void *arg)
{
    const contest *c = arg;
    fprintf(out,
            "schema,app,network,kernels,%s,seed,status,of_bound,step_ms,iqr_ms,device_bytes,runs",
            c->kind->columns);
    for (int part = 0; part < num_parts(c); part++)
        fprintf(out, ",%s_ms", c->kind->parts[part]);
    fprintf(out,
            ",move_ms,first_loss,last_loss,held_out,changes,select_ms,upload_ms,plans_ms,backend,"
            "device,driver,toolkit,commit\n");
    for (int i = 0; i < c->num_results; i++) {
        const result *r = &c->results[i];
        const outcome *t = &r->outcome;
        const bool timed = t->changes && device_keeps_time();
        fprintf(out, "1,%s", c->kind->app);
        csv_add_text(out, r->name);
        csv_add_text(out, r->kernels);
        fputc(',', out);
        c->kind->write_columns(c->context, out);
        fprintf(out, ",%llu,%s", (unsigned long long)c->o->seed, row_status(r->status));
        csv_add_number(out, r->verdict.worst);
        csv_add_number(out, r->step_ms);
        csv_add_number(out, r->iqr_ms);
        csv_add_number(out, r->bytes);
        fprintf(out, ",%d", isnan(r->step_ms) ? 0 : c->o->runs);
        for (int part = 0; part < num_parts(c); part++)
            csv_add_number(out, r->part_ms[part]);
        csv_add_number(out, r->move_ms);
        csv_add_number(out, t->first_loss);
        csv_add_number(out, t->last_loss);
        csv_add_number(out, t->held_out);
        fprintf(out, ",%d", t->changes);
        csv_add_number(out, timed ? t->select_ms : NAN);
        csv_add_number(out, timed ? t->cost.upload_ms : NAN);
        csv_add_number(out, timed ? t->cost.plans_ms : NAN);
        row_add_machine(out, c->device);
        fputc('\n', out);
    }
}

enum status contest_run(const trained_kind *kind, const void *context, const contest_options *o,
                        const device_info *device, error_text *error)
{
    const linear_kernels suite = {0};
    contest *c = calloc(1, sizeof *c);
    error_text of_csv;
    if (!c) return fail(error, STATUS_MEMORY, "no memory for results");
    *c = (contest){.kind = kind, .context = context, .o = o, .device = device};
    enum status status = cublasCreate(&c->blas) == CUBLAS_STATUS_SUCCESS
                             ? run_and_note(c, "suite", &suite, error)
                             : fail(error, STATUS_RUNTIME, "cublasCreate failed");
    if (status == STATUS_OK) status = run_rivals(c, error);
    if (c->num_results) print_table(c);
    const enum status written = output_write(o->csv_path, write_rows, c, &of_csv);
    if (status == STATUS_OK && written != STATUS_OK) {
        *error = of_csv;
        status = written;
    }
    if (c->blas) cublasDestroy(c->blas);
    free(c);
    return status;
}
