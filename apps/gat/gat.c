/*
 * gat.c - trains a GAT or a GCN on the suite's kernels, and beside it on those of cuSPARSE.
 */
#include "arguments.h"
#include "check.h"
#include "harness/device.h"
#include "harness/provenance.h"
#include "harness/timing.h"
#include "library/sparse_plan.h"
#include "matrix/files.h"
#include "results/csv.h"
#include "results/row.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RESULTS = 32, WARM_STEPS = 5, LINES_OF_LOSS = 10 };

/* One network: what its run has shown. */
typedef struct result {
    char name[64], kernels[200];
    enum status status;
    verdict verdict;
    double step_ms, iqr_ms;       /* NAN: not timed */
    double bytes;                 /* on the device, of the network; NAN: not known */
    double first_loss, last_loss; /* NAN: not trained */
    double held_out;
} result;

typedef struct session {
    arguments o;
    device_info device;
    graph g;
    model m;
    float *start; /* parameters before the first step */
    cublasHandle_t blas;
    result results[MAX_RESULTS];
    int num_results;
} session;

/* ---- one network ----------------------------------------------------------------------------- */

static double free_bytes(void)
{
    size_t available, total;
    return cudaMemGetInfo(&available, &total) == cudaSuccess ? (double)available : NAN;
}

/* Makes a network, and measures what it takes of the device. */
static enum status open_network(const session *s, const kernel_choice *kernels, network **net,
                                result *r, error_text *error)
{
    const double before = free_bytes();
    const enum status status = network_create(&s->g, &s->m, kernels, s->blas, net, error);
    if (status != STATUS_OK) return status;
    r->bytes = device_keeps_time() ? before - free_bytes() : NAN;
    network_kernels(*net, r->kernels, sizeof r->kernels);
    return STATUS_OK;
}

/* Makes a network and its first pass, then forgets it: libraries take their own memory then, and code is loaded. So the
 * next one is measured without them. */
static enum status warm_up(const session *s, const kernel_choice *kernels, error_text *error)
{
    network *net;
    result none;
    enum status status = open_network(s, kernels, &net, &none, error);
    if (status == STATUS_OK) status = network_set(net, s->start, error);
    if (status == STATUS_OK) status = network_gradients(net, error);
    const cudaError_t cuda = status == STATUS_OK ? cudaDeviceSynchronize() : cudaSuccess;
    if (cuda != cudaSuccess) status = device_fail(cuda, "the first pass", error);
    network_destroy(net);
    return status;
}

static void show_loss(int step, double loss, double held_out)
{
    printf("%6d %10.5f %9.1f %%\n", step, loss, 100 * held_out);
}

/* Trains from the start, and shows the loss now and then. */
static enum status train(const session *s, network *net, bool show, result *r, error_text *error)
{
    const int steps = s->o.steps, every = steps / LINES_OF_LOSS + 1;
    enum status status = network_set(net, s->start, error);
    if (show && steps) printf("\n  step       loss    held out\n");
    for (int step = 0; step <= steps && status == STATUS_OK && steps; step++) {
        const bool look = step == 0 || step == steps || (show && step % every == 0);
        status = step < steps ? network_step(net, (float)s->o.rate, error)
                              : network_gradients(net, error);
        if (status != STATUS_OK || !look) continue;
        status = network_fetch_loss(net, &r->last_loss, &r->held_out, error);
        if (step == 0) r->first_loss = r->last_loss;
        if (show) show_loss(step, r->last_loss, r->held_out);
    }
    return status;
}

static enum status time_steps(const session *s, network *net, result *r, error_text *error)
{
    const int runs = s->o.runs;
    double *ms = malloc(runs * sizeof *ms);
    cudaEvent_t begin = NULL, end = NULL;
    enum status status = ms ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory for times");
    cudaError_t cuda = cudaEventCreate(&begin);
    if (cuda == cudaSuccess) cuda = cudaEventCreate(&end);
    for (int run = -WARM_STEPS; run < runs && status == STATUS_OK && cuda == cudaSuccess; run++) {
        float took = 0;
        cuda = cudaEventRecord(begin, NULL);
        status = network_step(net, (float)s->o.rate, error);
        if (cuda == cudaSuccess) cuda = cudaEventRecord(end, NULL);
        if (cuda == cudaSuccess) cuda = cudaEventSynchronize(end);
        if (cuda == cudaSuccess) cuda = cudaEventElapsedTime(&took, begin, end);
        if (run >= 0) ms[run] = took;
    }
    if (status == STATUS_OK && cuda != cudaSuccess) status = device_fail(cuda, "timing", error);
    if (status == STATUS_OK) {
        r->step_ms = timing_median(ms, runs); /* which sorts */
        r->iqr_ms = timing_iqr(ms, runs);
    }
    if (begin) cudaEventDestroy(begin);
    if (end) cudaEventDestroy(end);
    free(ms);
    return status;
}

/* Everything of a network. A wrong gradient is neither trained with nor timed. */
static enum status run(const session *s, const kernel_choice *kernels, bool show, result *r,
                       error_text *error)
{
    const amount usual = {1, 0}, close = {4, 40};
    network *net = NULL;
    enum status status = device_keeps_time() ? warm_up(s, kernels, error) : STATUS_OK;
    if (status == STATUS_OK) status = open_network(s, kernels, &net, r, error);
    if (status == STATUS_OK)
        status = check_gradient(net, &s->m, &s->g, s->start, s->o.check_only ? close : usual,
                                s->o.seed, &r->verdict, error);
    if (status == STATUS_OK && !r->verdict.passed) {
        status = fail(error, STATUS_WRONG, "wrong gradient: %s is off by %.3g times its bound",
                      r->verdict.where, r->verdict.worst);
    } else if (status == STATUS_OK && !s->o.check_only) {
        status = train(s, net, show, r, error);
        if (status == STATUS_OK && s->o.steps && !(r->last_loss < r->first_loss))
            status =
                fail(error, STATUS_WRONG, "the loss did not fall: %.5f, and after %d steps %.5f",
                     r->first_loss, s->o.steps, r->last_loss);
        if (status == STATUS_OK && device_keeps_time()) status = time_steps(s, net, r, error);
    }
    network_destroy(net);
    return status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* A rival that cannot take the graph, or does not fit in memory, is left out. */
static enum status run_and_note(session *s, const char *name, const kernel_choice *kernels,
                                error_text *error)
{
    if (s->num_results == MAX_RESULTS) return STATUS_OK;
    result *r = &s->results[s->num_results++];
    *r = (result){.step_ms = NAN, .iqr_ms = NAN, .bytes = NAN, .first_loss = NAN, .last_loss = NAN};
    snprintf(r->name, sizeof r->name, "%s", name);
    r->status = run(s, kernels, s->num_results == 1, r, error);
    const bool is_left_out = r->status == STATUS_SKIPPED || r->status == STATUS_MEMORY;
    return is_left_out && kernels->spmm ? STATUS_OK : r->status;
}

/* The vendor's SDDMM is preprocessed where its SpMM is. A lab's SpMM goes with the SDDMM of the rule. */
static kernel_choice rival_of(const char *spmm)
{
    const char *sddmm = strncmp(spmm, "cuSPARSE", 8)  ? NULL
                        : strstr(spmm, "+preprocess") ? "cuSPARSE SDDMM NT+preprocess"
                                                      : "cuSPARSE SDDMM NT";
    return (kernel_choice){spmm, sddmm};
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

static bool is_wanted(const char *rivals, const char *name)
{
    return is_listed(rivals, name) ||
           (!strncmp(name, "cuSPARSE", 8) && is_listed(rivals, "best")) ||
           (!strcmp(name, "cuSPARSE CSR_DEFAULT") && is_listed(rivals, "default"));
}

static enum status run_rivals(session *s, error_text *error)
{
    enum status status = STATUS_OK;
    const char *name;
    for (int i = 0; (name = sparse_kernel_name("spmm", SPARSE_FP32, i)) && status == STATUS_OK;
         i++) {
        if (!is_wanted(s->o.rival, name)) continue;
        const kernel_choice kernels = rival_of(name);
        status = run_and_note(s, name, &kernels, error);
    }
    return status;
}

/* Whether the first name of the list, up to a comma, is a rival. */
static bool is_rival(const char *rival)
{
    const size_t length = strcspn(rival, ",");
    const char *name;
    for (int i = 0; (name = sparse_kernel_name("spmm", SPARSE_FP32, i)); i++)
        if (strlen(name) == length && !strncmp(name, rival, length)) return true;
    return (length == 4 && !strncmp(rival, "best", 4)) ||
           (length == 7 && !strncmp(rival, "default", 7));
}

/* The first name in a list that is no rival; NULL: all are, or it is "none". */
static const char *unknown_rival(const char *rivals)
{
    if (!strcmp(rivals, "none")) return NULL;
    for (const char *at = rivals; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!is_rival(at)) return at;
    }
    return NULL;
}

/* ---- showing --------------------------------------------------------------------------------- */

static void print_heading(const session *s)
{
    const arguments *o = &s->o;
    printf("%s: %s\n", s->g.name, s->g.source);
    if (s->g.origin == ORIGIN_STAND_IN)
        printf("  A STAND-IN, not the real graph: generated with its counts and row lengths\n");
    printf("  %" PRId64 " vertices, %" PRId64
           " edges: both directions of each, and one from every vertex to itself\n",
           s->g.A.rows, s->g.A.nnz);
    printf("  %d features and labels of %d classes are made, not the data's; %" PRId64
           " vertices are trained on; seed %" PRIu64 "\n",
           o->features, o->classes, s->g.num_trained, o->seed);
    printf("  %s of %d layers, ", o->kind == MODEL_GAT ? "gat" : "gcn", o->layers);
    if (o->kind == MODEL_GAT)
        printf("%d heads of %d features", o->heads, o->hidden);
    else
        printf("%d hidden features", o->heads * o->hidden);
    printf(", %" PRId64 " parameters; fp32; %s\n", model_parameters(&s->m),
           device_keeps_time() ? s->device.name
                               : "CPU backend (simt): times mean nothing and are not shown");
}

/* Writes the number, or why there is none. */
static void print_number(double value, const char *unit, int width)
{
    char text[32];
    if (isnan(value))
        snprintf(text, sizeof text, device_keeps_time() ? "-" : "n/a (simt)");
    else
        snprintf(text, sizeof text, "%.3f %s", value, unit);
    printf("%*s", width, text);
}

/* The least time of the rivals: NAN if there is none. */
static double best_rival(const session *s)
{
    double best = NAN;
    for (int i = 1; i < s->num_results; i++)
        best = fmin(best, s->results[i].step_ms); /* of a number and NAN the number */
    return best;
}

static void print_table(const session *s)
{
    printf("\n%-30s %-6s %9s %13s %13s  %s\n", "network", "check", "of bound", "step", "memory",
           "kernels");
    for (int i = 0; i < s->num_results; i++) {
        const result *r = &s->results[i];
        if (r->status != STATUS_OK && r->status != STATUS_WRONG) {
            printf("%-30s %s\n", r->name,
                   r->status == STATUS_SKIPPED  ? "cannot take this graph"
                   : r->status == STATUS_MEMORY ? "does not fit in memory"
                                                : "failed");
            continue;
        }
        printf("%-30s %-6s %9.3f", r->name, r->verdict.passed ? "PASS" : "FAIL", r->verdict.worst);
        print_number(r->step_ms, "ms", 14);
        print_number(r->bytes / (1 << 20), "MiB", 14);
        printf("  %s\n", r->kernels);
    }
    const double best = best_rival(s);
    if (!isnan(best))
        printf("\nbest rival's step over the suite's: %.2f\n", best / s->results[0].step_ms);
    else if (!device_keeps_time() && is_listed(s->o.rival, "best"))
        printf("%-30s n/a (no GPU)\n", "cuSPARSE");
}

static void print_cell(FILE *out, double value)
{
    fputc(',', out);
    if (!isnan(value)) fprintf(out, "%.7g", value);
}

static void print_text_cell(FILE *out, const char *text)
{
    fputc(',', out);
    csv_text(out, text);
}

static void write_rows(const session *s, FILE *out)
{
    const arguments *o = &s->o;
    fprintf(out,
            "schema,app,model,network,kernels,dataset,origin,source,vertices,edges,layers,heads,"
            "hidden,features,classes,seed,status,of_bound,step_ms,iqr_ms,runs,device_bytes,steps,"
            "first_loss,last_loss,held_out,backend,device,driver,toolkit,commit\n");
    for (int i = 0; i < s->num_results; i++) {
        const result *r = &s->results[i];
        fprintf(out, "1,gat,%s", o->kind == MODEL_GAT ? "gat" : "gcn");
        print_text_cell(out, r->name);
        print_text_cell(out, r->kernels);
        print_text_cell(out, s->g.name);
        print_text_cell(out, dataset_origin_name(s->g.origin));
        print_text_cell(out, s->g.source);
        fprintf(out, ",%" PRId64 ",%" PRId64 ",%d,%d,%d,%d,%d,%" PRIu64 ",%s", s->g.A.rows,
                s->g.A.nnz, o->layers, o->heads, o->hidden, o->features, o->classes, o->seed,
                r->status == STATUS_OK        ? "ok"
                : r->status == STATUS_WRONG   ? "wrong"
                : r->status == STATUS_MEMORY  ? "oom"
                : r->status == STATUS_SKIPPED ? "skip"
                                              : "error");
        print_cell(out, r->verdict.worst);
        print_cell(out, r->step_ms);
        print_cell(out, r->iqr_ms);
        fprintf(out, ",%d", isnan(r->step_ms) ? 0 : o->runs);
        print_cell(out, r->bytes);
        fprintf(out, ",%d", o->check_only ? 0 : o->steps);
        print_cell(out, r->first_loss);
        print_cell(out, r->last_loss);
        print_cell(out, isnan(r->last_loss) ? NAN : r->held_out);
        print_text_cell(out, device_backend());
        print_text_cell(out, s->device.name);
        print_text_cell(out, s->device.driver);
        print_text_cell(out, s->device.toolkit);
        print_text_cell(out, provenance_commit());
        fputc('\n', out);
    }
}

static enum status write_csv(const session *s, error_text *error)
{
    output_file file;
    if (!s->o.csv_path) return STATUS_OK;
    if (!strcmp(s->o.csv_path, "-")) {
        write_rows(s, stdout);
        return STATUS_OK;
    }
    const enum status status = output_open(&file, s->o.csv_path, error);
    if (status != STATUS_OK) return status;
    write_rows(s, file.stream);
    return output_close(&file, error);
}

/* ---- the program ----------------------------------------------------------------------------- */

static enum status prepare(session *s, error_text *error)
{
    const arguments *o = &s->o;
    const char *const unknown = unknown_rival(o->rival);
    if (unknown)
        return fail(error, STATUS_USAGE,
                    "--vs %.*s: no such kernel; best, default or none, or an SpMM as roma",
                    (int)strcspn(unknown, ","), unknown);
    enum status status = rows_check(o->csv_path, error);
    if (status == STATUS_OK) status = device_open(o->device, &s->device, error);
    if (status == STATUS_OK)
        status =
            graph_open(o->dataset, o->data_dir, o->features, o->classes, o->seed, &s->g, error);
    if (status != STATUS_OK) return status;
    s->m = model_make(o->kind, o->layers, o->heads, o->hidden, o->features, o->classes);
    s->start = malloc(s->m.floats * sizeof *s->start);
    if (!s->start) return fail(error, STATUS_MEMORY, "no memory for the parameters");
    model_start(&s->m, o->seed, s->start);
    if (cublasCreate(&s->blas) != CUBLAS_STATUS_SUCCESS)
        return fail(error, STATUS_RUNTIME, "cublasCreate failed");
    return STATUS_OK;
}

static enum status run_session(session *s, error_text *error)
{
    const kernel_choice suite = {NULL, NULL};
    enum status status = prepare(s, error);
    if (status != STATUS_OK) return status;
    print_heading(s);
    fflush(stdout);
    status = run_and_note(s, "suite", &suite, error);
    if (status == STATUS_OK) status = run_rivals(s, error);
    if (s->num_results) print_table(s);
    error_text of_csv;
    const enum status written = write_csv(s, &of_csv);
    if (status != STATUS_OK || written == STATUS_OK) return status;
    *error = of_csv;
    return written;
}

int main(int argc, char **argv)
{
    static session s;
    error_text error;
    enum status status = arguments_parse(argc, argv, &s.o, &error);
    if (status == STATUS_OK && s.o.help) {
        arguments_help(stdout, argv[0]);
        return output_flush(&error);
    }
    if (status == STATUS_OK) status = run_session(&s, &error);
    if (status == STATUS_OK) status = output_flush(&error);
    if (status != STATUS_OK) {
        fflush(stdout);
        fprintf(stderr, "gat: %s\n", error.text);
    }
    if (s.blas) cublasDestroy(s.blas);
    free(s.start);
    graph_close(&s.g);
    return status;
}
