/*
 * Lab 61 - sparse MobileNet: 1x1 convolutions as sparse products with bias and ReLU in them.
 *
 * Beside it the same net, or a narrower one, with dense convolutions: checks, images a second, and each layer's time
 * beside the floor of a launch.
 *
 *   make apps && build/simt/apps/mobilenet/mobilenet --width 0.25 --image 32 --batch 2 --classes 10
 */
#include "check.h"
#include "harness/device.h"
#include "matrix/files.h"
#include "results/csv.h"
#include "results/row.h"
#include "training/arguments.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const variant VARIANTS[] = {
    {.name = "suite", .way = BY_PLANS},
    {.name = "suite, fp16", .way = BY_PLANS, .precision = PRECISION_FP16},
    {.name = "cuSPARSE + kernel", .way = BY_PLANS, .vendor = true},
    {.name = "cuBLAS + kernel", .way = BY_CUBLAS},
    {.name = "cuBLASLt", .way = BY_LT},
    {.name = "cuBLAS + kernel, TF32", .way = BY_CUBLAS, .tf32 = true},
    {.name = "cuBLASLt, TF32", .way = BY_LT, .tf32 = true},
    {.name = "cuBLAS + kernel, fp16", .way = BY_CUBLAS, .precision = PRECISION_FP16},
    {.name = "cuBLASLt, fp16", .way = BY_LT, .precision = PRECISION_FP16},
};
enum { NUM_VARIANTS = sizeof VARIANTS / sizeof *VARIANTS, SUITE = 0, BASELINE = 3 };

static const char BEST[] = "best", RULE[] = "rule";
static const char *const RIVALS[] = {"all", "cublas", "none", NULL};

typedef struct arguments {
    double width, dense_width, sparsity; /* dense_width 0: as width */
    int image, batch, classes, runs, seed, device;
    const char *kernel, *rivals, *csv;
    bool check_only, help;
} arguments;

/* One net: what its run has shown. */
typedef struct result {
    const variant *v;
    double width;
    enum status status;
    error_text error; /* where status is not ok */
    net_verdict verdict;
    net_times times; /* NAN: not timed */
    size_t bytes;
    model_shape shape;
    layer layers[NUM_LAYERS]; /* shapes alone */
    char kernels[NUM_LAYERS][48];
} result;

typedef struct program {
    arguments o;
    device_info device;
    double floor_us; /* NAN: not timed */
    result results[NUM_VARIANTS];
    int count;
    model model; /* of the last net, and its scores in fp64: the next net often has the same */
    double *scores;
    bool has_model;
} program;

/* ---- a net ------------------------------------------------------------------------------------- */

static void forget_model(program *p)
{
    if (!p->has_model) return;
    model_close(&p->model);
    free(p->scores);
    p->has_model = false;
}

/* Makes the model and the scores of its last image, unless they are those of the net before. */
static enum status make_model(program *p, const model_shape *shape, error_text *error)
{
    const model_shape *last = &p->model.shape;
    if (p->has_model && last->width == shape->width && last->sparsity == shape->sparsity &&
        last->precision == shape->precision)
        return STATUS_OK;
    forget_model(p);
    p->has_model = true;
    p->scores = malloc(shape->classes * sizeof *p->scores);
    enum status status = model_open(shape, (uint64_t)p->o.seed, &p->model, error);
    if (status == STATUS_OK && !p->scores)
        status = fail(error, STATUS_MEMORY, "no memory for scores");
    if (status == STATUS_OK) status = model_exact(&p->model, shape->batch - 1, p->scores, error);
    if (status != STATUS_OK) forget_model(p);
    return status;
}

static void note_layers(const model *m, const network *net, result *r)
{
    for (int i = 0; i < NUM_LAYERS; i++) {
        r->layers[i] = m->layers[i];
        snprintf(r->kernels[i], sizeof r->kernels[i], "%s", network_kernel(net, i));
    }
}

static enum status use(const program *p, network *net, result *r)
{
    const bool timed = device_keeps_time() && !p->o.check_only;
    enum status status = STATUS_OK;
    if (timed && r->v->way == BY_PLANS && !strcmp(p->o.kernel, BEST))
        status = network_select(net, &r->error);
    note_layers(&p->model, net, r);
    if (status == STATUS_OK) status = network_check(net, p->scores, &r->verdict, &r->error);
    if (status == STATUS_OK && timed) status = network_time(net, p->o.runs, &r->times, &r->error);
    return status;
}

static enum status run_variant(program *p, const variant *v)
{
    const arguments *o = &p->o;
    const bool sparse = v->way == BY_PLANS,
               named = strcmp(o->kernel, BEST) && strcmp(o->kernel, RULE);
    result *r = &p->results[p->count++];
    *r = (result){.v = v, .width = sparse || !o->dense_width ? o->width : o->dense_width};
    r->times = (net_times){.whole = {NAN, NAN}};
    r->verdict = (net_verdict){.worst = NAN, .error = NAN, .bound = NAN};
    for (int i = 0; i < NUM_LAYERS; i++)
        r->times.layer_us[i] = NAN;
    r->shape = (model_shape){.width = r->width,
                             .image = o->image,
                             .batch = o->batch,
                             .classes = o->classes,
                             .sparsity = sparse ? o->sparsity : 0,
                             .precision = v->precision};
    model shapes;
    network *net = NULL;
    model_describe(&r->shape, &shapes);
    r->bytes = network_bytes(&shapes, v);
    r->status = network_fits(&shapes, v, &r->error);
    if (r->status == STATUS_OK) r->status = make_model(p, &r->shape, &r->error);
    if (r->status == STATUS_OK)
        r->status =
            network_open(&p->model, v, named && !v->vendor ? o->kernel : NULL, &net, &r->error);
    if (r->status == STATUS_OK) r->status = use(p, net, r);
    network_close(net);
    return r->status;
}

/* ---- printing ---------------------------------------------------------------------------------- */

static void print_number(double value, int width, int digits)
{
    if (isnan(value))
        printf(" %*s", width, "-");
    else
        printf(" %*.*f", width, digits, value);
}

static void print_heading(const program *p)
{
    const arguments *o = &p->o;
    printf("mobilenet: width %g, %d x %d pixels, batch %d, %d classes; 1x1 layers but the first "
           "%.4g %% zeros\n",
           o->width, o->image, o->image, o->batch, o->classes, 100 * o->sparsity);
    if (o->dense_width) printf("  dense nets of width %g\n", o->dense_width);
    printf("  random weights, seed %d; %s\n", o->seed,
           device_keeps_time() ? p->device.name
                               : "CPU backend (simt): times mean nothing and are not shown");
    printf("\n%-22s %-5s %9s %10s %10s %10s %9s %10s %9s\n", "net", "check", "of bound",
           "scores off", "at most", "ms", "IQR", "images/s", "MB");
    fflush(stdout);
}

static double images_a_second(const program *p, const result *r)
{
    return p->o.batch / r->times.whole.median_ms * 1e3;
}

static void print_result(const program *p, const result *r)
{
    printf("%-22s ", r->v->name);
    if (r->status == STATUS_SKIPPED || r->status == STATUS_MEMORY) {
        printf("n/a: %s\n", r->error.text);
        return;
    }
    printf("%-5s %9.3f %10.2e %10.2e", r->status == STATUS_OK ? "PASS" : "FAIL", r->verdict.worst,
           r->verdict.error, r->verdict.bound);
    print_number(r->times.whole.median_ms, 10, 4);
    print_number(r->times.whole.iqr_ms, 9, 4);
    print_number(images_a_second(p, r), 10, 0);
    printf(" %9.1f\n", r->bytes * 1e-6);
    fflush(stdout);
}

static const result *result_of(const program *p, int which)
{
    for (int i = 0; i < p->count; i++)
        if (p->results[i].v == &VARIANTS[which] && p->results[i].status == STATUS_OK)
            return &p->results[i];
    return NULL;
}

/* The suite's layers in fp32, beside those of cuBLAS and a kernel. */
static void print_layers(const program *p)
{
    const result *own = result_of(p, SUITE), *other = result_of(p, BASELINE);
    if (!own) return;
    printf("\n%2s %-10s %-20s %7s %-20s %9s %6s %9s %6s\n", "", "layer", "out x in x columns",
           "kept %", "kernel", "us", "floor%", "dense us", "ratio");
    for (int i = 0; i < NUM_LAYERS; i++) {
        const layer *l = &own->layers[i];
        char shape[40];
        snprintf(shape, sizeof shape, "%d x %d x %lld", l->out, l->in,
                 (long long)layer_out_columns(l, p->o.batch));
        printf("%2d %-10s %-20s", i, layer_name(l), shape);
        print_number(l->sparse ? 100. * (double)l->num_weights / ((double)l->out * l->in) : NAN, 7,
                     1);
        printf(" %-20s", own->kernels[i]);
        print_number(own->times.layer_us[i], 9, 2);
        print_number(100 * p->floor_us / own->times.layer_us[i], 6, 0);
        print_number(other ? other->times.layer_us[i] : NAN, 9, 2);
        print_number(other ? other->times.layer_us[i] / own->times.layer_us[i] : NAN, 6, 2);
        printf("\n");
    }
    if (isnan(p->floor_us)) return;
    printf("a launch that does nothing takes %.2f us in a graph; %d layers: %.1f %% of the net's "
           "time\n",
           p->floor_us, NUM_LAYERS,
           100 * NUM_LAYERS * p->floor_us / (own->times.whole.median_ms * 1e3));
    for (int i = 1; i < p->count; i++)
        if (!isnan(p->results[i].times.whole.median_ms))
            printf("%s over the suite's: %.2f\n", p->results[i].v->name,
                   p->results[i].times.whole.median_ms / own->times.whole.median_ms);
}

/* ---- rows -------------------------------------------------------------------------------------- */

/* A row of one layer; `number` -1: of the whole net. */
static void write_row(FILE *out, const program *p, const result *r, int number)
{
    const arguments *o = &p->o;
    const layer *l = number < 0 ? NULL : &r->layers[number];
    fputs("1,mobilenet", out);
    csv_add_text(out, r->v->name);
    if (l)
        fprintf(out, ",%d,%s", number, layer_name(l));
    else
        fputs(",all,net", out);
    fprintf(out, ",%g,%d,%d,%d,%g,%s", r->width, o->image, o->batch, o->classes, r->shape.sparsity,
            precision_name(r->v->precision));
    if (l)
        fprintf(out, ",%d,%d,%lld,%lld", l->out, l->in, (long long)layer_out_columns(l, o->batch),
                (long long)l->num_weights);
    else
        fputs(",,,,", out);
    csv_add_text(out, l ? r->kernels[number] : o->kernel);
    fprintf(out, ",%d,%s", o->seed, row_status(r->status));
    csv_add_number(out, l ? NAN : r->verdict.worst);
    csv_add_number(out, l ? NAN : r->verdict.error);
    csv_add_number(out, l ? NAN : r->verdict.bound);
    csv_add_number(out, l ? NAN : (double)r->bytes);
    csv_add_number(out, l ? r->times.layer_us[number] * 1e-3 : r->times.whole.median_ms);
    csv_add_number(out, l ? NAN : r->times.whole.iqr_ms);
    fprintf(out, ",%d", isnan(r->times.whole.median_ms) ? 0 : o->runs);
    csv_add_number(out, p->floor_us);
    csv_add_number(out, l ? NAN : images_a_second(p, r));
    row_add_machine(out, &p->device);
    fputc('\n', out);
}

static void write_all(FILE *out, const void *arg)
{
    const program *p = arg;
    fputs(
        "schema,app,network,layer,kind,width,image,batch,classes,sparsity,precision,rows,cols,"
        "columns,"
        "weights,kernel,seed,status,of_bound,scores_off,scores_bound,bytes,ms,iqr_ms,runs,floor_us,"
        "images_per_s,backend,device,driver,toolkit,commit\n",
        out);
    for (int i = 0; i < p->count; i++)
        for (int number = -1; number < (p->results[i].layers[0].out ? NUM_LAYERS : 0); number++)
            write_row(out, p, &p->results[i], number);
}

/* ---- the program ------------------------------------------------------------------------------- */

static bool is_left_out(const arguments *o, const variant *v)
{
    if (v == &VARIANTS[SUITE]) return false;
    return !strcmp(o->rivals, "none") || (!strcmp(o->rivals, "cublas") && v->way != BY_CUBLAS);
}

/* A rival that cannot take the net is no failure; of all others the gravest is the program's. */
static enum status run_nets(program *p, error_text *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < NUM_VARIANTS; i++) {
        if (is_left_out(&p->o, &VARIANTS[i])) continue;
        const enum status of_net = run_variant(p, &VARIANTS[i]);
        const result *r = &p->results[p->count - 1];
        print_result(p, r);
        const bool may_fail = i != SUITE && (of_net == STATUS_SKIPPED || of_net == STATUS_MEMORY);
        if (may_fail || !is_graver(of_net, status)) continue;
        *error = r->error;
        status = of_net;
    }
    print_layers(p);
    error_text other;
    const enum status written = output_write(p->o.csv, write_all, p, &other);
    if (status != STATUS_OK || written == STATUS_OK) return status;
    *error = other;
    return written;
}

static enum status check_options(const arguments *o, error_text *error)
{
    bool known = !strcmp(o->kernel, BEST) || !strcmp(o->kernel, RULE);
    const char *name;
    for (int i = 0; !known && (name = sparse_kernel_name("spmm", SPARSE_FP32, i)); i++)
        known = !strcmp(name, o->kernel);
    if (!known)
        return fail(error, STATUS_USAGE,
                    "--kernel %s: no such kernel of SpMM; best, rule, or a lab's as subwarp",
                    o->kernel);
    return rows_check(o->csv, error);
}

static void print_help(const char *program, const argument *table, int count)
{
    printf(
        "usage: %s [--option ...]\n\n"
        "MobileNet V1 whose 1x1 convolutions are sparse products with bias and ReLU in their\n"
        "epilogue, and beside it dense nets. Checks every layer and the scores against fp64; on a\n"
        "GPU reports images a second, and the time of each layer.\n\n",
        program);
    arguments_print(stdout, table, count);
    printf("\nexit status: 0 ok, 1 wrong result, 2 usage, 4 runtime, 5 does not fit in memory, 77 "
           "no GPU\n\n"
           "  %s --width 1.3 --dense-width 1.0\n"
           "  %s --width 0.25 --image 32 --batch 2 --classes 10 --kernel subwarp\n",
           program, program);
}

static enum status run(program *p, int argc, char **argv, error_text *error)
{
    arguments *o = &p->o;
    const argument table[] = {
        {"width", ARGUMENT_NUMBER, &o->width, 0.1, 4, "W",
         "channels over those of the published net", NULL},
        {"dense-width", ARGUMENT_NUMBER, &o->dense_width, 0.1, 4, "W",
         "of dense nets; without it as --width", NULL},
        {"image", ARGUMENT_WHOLE, &o->image, 1, 1024, "P", "pixels of a side", NULL},
        {"batch", ARGUMENT_WHOLE, &o->batch, 1, 1024, "N", "images", NULL},
        {"classes", ARGUMENT_WHOLE, &o->classes, 1, 100000, "N", "of the classifier", NULL},
        {"sparsity", ARGUMENT_NUMBER, &o->sparsity, 0.01, 0.999, "S", "zeros of a sparse layer",
         NULL},
        {"kernel", ARGUMENT_TEXT, &o->kernel, 0, 0, "NAME",
         "best of each layer, measured; rule; or a lab's", NULL},
        {"vs", ARGUMENT_TEXT, &o->rivals, 0, 0, "WHO", "all, cublas or none", RIVALS},
        {"runs", ARGUMENT_WHOLE, &o->runs, 3, 10000, "N", "timed runs", NULL},
        ARGUMENT_CHECK_ONLY(&o->check_only, "check, and time nothing"),
        ARGUMENT_CSV(&o->csv, "write rows of nets and layers"),
        ARGUMENT_SEED(&o->seed, "of weights and images"),
        ARGUMENT_DEVICE(&o->device),
        ARGUMENT_HELP(&o->help),
    };
    const int count = sizeof table / sizeof *table;
    TRY(arguments_read(argc, argv, table, count, NULL, error));
    if (o->help) {
        print_help(argv[0], table, count);
        return STATUS_OK;
    }
    TRY(check_options(o, error));
    TRY(device_open(o->device, &p->device, error));
    if (device_keeps_time() && !o->check_only) TRY(launch_floor(&p->floor_us, error));
    print_heading(p);
    return run_nets(p, error);
}

int main(int argc, char **argv)
{
    program *p = calloc(1, sizeof *p);
    error_text error = {"no memory"};
    if (p) {
        p->floor_us = NAN;
        p->o = (arguments){.width = 1,
                           .sparsity = 0.9,
                           .image = 224,
                           .batch = 1,
                           .classes = 1000,
                           .runs = 50,
                           .seed = 1,
                           .kernel = BEST,
                           .rivals = RIVALS[0]};
    }
    enum status status = p ? run(p, argc, argv, &error) : STATUS_MEMORY;
    status = output_end("mobilenet", status, &error);
    if (p) forget_model(p);
    free(p);
    return status;
}
