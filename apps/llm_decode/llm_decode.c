/*
 * Lab 62 - decoding with pruned weights: a language model's step as one graph.
 *
 * Beside it runs the same decoder with dense products. Every part is checked. The program prints tokens a second,
 * the time of each part, bytes of memory, and by formula what each format of pruned weights is worth.
 *
 *   make apps && build/simt/apps/llm_decode/llm_decode --model tiny --batch 4
 *
 * The experiment is that of R. Fan et al.: SpInfer, EuroSys 2025, section 5.
 */
#include "calculators.h"
#include "harness/timing.h"
#include "matrix/files.h"
#include "matrix/nearest.h"
#include "results.h"
#include "results/limits.h"
#include "results/row.h"
#include "training/arguments.h"
#include "training/try.h"

#include <stdlib.h>
#include <string.h>

static const char *const KERNELS[] = {"all", "dense", "bitmap", "lane_major", NULL};
static const char *const LAYOUTS[] = {"best", "rows", "columns", NULL};
static const char *const SWITCH[] = {"on", "off", NULL};

typedef struct wishes {
    const char *model, *kernel, *layout, *early, *fuse, *csv, *json, *gpu;
    double sparsity;
    int batch, prompt, out, passes, kv_test, prefill, runs, seed, device;
    bool memory, formats, check_only, help;
} wishes;

typedef struct program {
    wishes o;
    const llm_shape *shape;
    device_info device;
    result results[NUM_KINDS];
    int count;
    float *first_logits; /* of the first decoder that was right */
} program;

/* ---- options ----------------------------------------------------------------------------------- */

static enum status read_options(int argc, char **argv, wishes *o, error_text *error)
{
    *o = (wishes){.model = "tiny",
                  .kernel = "all",
                  .layout = "best",
                  .early = "off",
                  .fuse = "on",
                  .gpu = "NVIDIA H200",
                  .sparsity = 0.6,
                  .batch = 16,
                  .prompt = 64,
                  .out = 64,
                  .passes = 3,
                  .runs = 20,
                  .seed = 1};
    const argument table[] = {
        {"model", ARGUMENT_TEXT, &o->model, 0, 0, "NAME", "tiny, 13B, 30B or 66B", NULL},
        {"kernel", ARGUMENT_TEXT, &o->kernel, 0, 0, "NAME",
         "of the layers' products: all, dense, bitmap or lane_major", KERNELS},
        {"sparsity", ARGUMENT_NUMBER, &o->sparsity, 0, 0.99, "S", "share of zeros in each row",
         NULL},
        {"batch", ARGUMENT_WHOLE, &o->batch, 1, 256, "N", "sequences", NULL},
        {"prompt", ARGUMENT_WHOLE, &o->prompt, 1, 2047, "N", "known tokens of each", NULL},
        {"out", ARGUMENT_WHOLE, &o->out, 1, 2047, "N", "generated tokens of each", NULL},
        {"layout", ARGUMENT_TEXT, &o->layout, 0, 0, "NAME",
         "of dense products' activations: rows, columns, or the faster one", LAYOUTS},
        {"early", ARGUMENT_TEXT, &o->early, 0, 0, "SWITCH",
         "on: a small kernel starts before the one before it ends", SWITCH},
        {"fuse", ARGUMENT_TEXT, &o->fuse, 0, 0, "SWITCH",
         "on: sparse products apply bias and ReLU where they store", SWITCH},
        {"prefill", ARGUMENT_WHOLE, &o->prefill, 1, 2048, "N",
         "also time one pass over a prompt of N tokens, of one sequence", NULL},
        {"passes", ARGUMENT_WHOLE, &o->passes, 1, 64, "N", "steps that are checked", NULL},
        {"kv-test", ARGUMENT_WHOLE, &o->kv_test, 1, 64, "N",
         "also check N steps against one pass over N tokens", NULL},
        ARGUMENT_CHECK_ONLY(&o->check_only, "check, and time nothing"),
        {"memory", ARGUMENT_FLAG, &o->memory, 0, 0, NULL,
         "print what it takes, by formula, and make nothing", NULL},
        {"formats", ARGUMENT_FLAG, &o->formats, 0, 0, NULL,
         "print what formats of pruned weights are worth, by formula", NULL},
        {"gpu", ARGUMENT_TEXT, &o->gpu, 0, 0, "NAME", "whose measured rates --formats takes", NULL},
        {"runs", ARGUMENT_WHOLE, &o->runs, 3, MOST_RUNS, "N", "timed steps", NULL},
        ARGUMENT_SEED(&o->seed, "of weights and prompt"),
        ARGUMENT_CSV(&o->csv, "write a row a kernel"),
        {"json", ARGUMENT_TEXT, &o->json, 0, 0, "FILE", "the same as JSON", NULL},
        ARGUMENT_DEVICE(&o->device),
        ARGUMENT_HELP(&o->help),
    };
    const int count = sizeof table / sizeof *table;
    const enum status status = arguments_read(argc, argv, table, count, NULL, error);
    if (status != STATUS_OK || !o->help) return status;
    printf(
        "usage: llm_decode [--option ...]\n\n"
        "Decodes with weights of which a share is pruned: an OPT-shaped model of random weights,\n"
        "each step one CUDA graph. Checks every part against fp64; on a GPU reports tokens a\n"
        "second, the time of each part, and the bound of its bytes.\n\n");
    arguments_print(stdout, table, count);
    printf("\nexit status: 0 ok, 1 wrong result, 2 usage, 4 runtime, 5 does not fit in memory,\n"
           "77 no GPU\n\n"
           "  llm_decode --batch 4 --kv-test 8\n"
           "  llm_decode --model 13B --memory\n"
           "  llm_decode --model 30B --batch 16 --out 256 --csv rows.csv\n"
           "  llm_decode --formats --sparsity 0.5\n");
    return STATUS_OK;
}

static enum status check_options(program *p, error_text *error)
{
    const wishes *o = &p->o;
    TRY(shape_find(o->model, &p->shape, error));
    if (o->prompt + o->out > p->shape->positions)
        return fail(error, STATUS_USAGE,
                    "--prompt %d and --out %d are more than the %d positions of %s", o->prompt,
                    o->out, p->shape->positions, p->shape->name);
    if (o->kv_test * o->batch > MAX_COLUMNS)
        return fail(error, STATUS_USAGE, "--kv-test %d of --batch %d is more than %d columns",
                    o->kv_test, o->batch, MAX_COLUMNS);
    if (o->prefill > p->shape->positions || o->kv_test > p->shape->positions)
        return fail(error, STATUS_USAGE, "%s has only %d positions", p->shape->name,
                    p->shape->positions);
    if (o->passes > o->prompt)
        return fail(error, STATUS_USAGE, "--passes %d: the --prompt has %d tokens", o->passes,
                    o->prompt);
    TRY(rows_check(o->csv, error));
    return rows_check(o->json, error);
}

static bool is_wanted(const program *p, enum kernel_kind kind)
{
    return !strcmp(p->o.kernel, "all") || !strcmp(p->o.kernel, kernel_name(kind));
}

static decoder_settings settings_of(const program *p, enum kernel_kind kind)
{
    const wishes *o = &p->o;
    return (decoder_settings){.shape = p->shape,
                              .sparsity = o->sparsity,
                              .kind = kind,
                              .sequences = o->batch,
                              .tokens = 1,
                              .capacity = o->prompt + o->out,
                              .prompt = o->prompt,
                              .seed = (uint64_t)o->seed,
                              .by_column = kind == KERNEL_DENSE && strcmp(o->layout, "rows"),
                              .early = !strcmp(o->early, "on"),
                              .fused = !strcmp(o->fuse, "on")};
}

/* ---- memory ------------------------------------------------------------------------------------ */

static const double GIB = 1024.0 * 1024 * 1024;

static void print_memory(const program *p)
{
    printf("%s, %d sequences of %d tokens, %g %% zeros: GiB by formula\n%-11s", p->shape->name,
           p->o.batch, p->o.prompt + p->o.out, 100 * p->o.sparsity, "");
    for (int i = 0; i < NUM_MEMORY; i++)
        printf(" %11s", memory_name((enum memory_use)i));
    printf(" %11s %11s\n", "sum", "while made");
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        const decoder_settings s = settings_of(p, (enum kernel_kind)kind);
        memory_count count;
        if (!is_wanted(p, s.kind)) continue;
        decoder_count(&s, &count);
        printf("%-11s", kernel_name(s.kind));
        for (int i = 0; i < NUM_MEMORY; i++)
            printf(" %11.3f", count.bytes[i] / GIB);
        printf(" %11.3f %11.3f\n", memory_sum(&count) / GIB, memory_peak(&count) / GIB);
    }
}

/* ---- one kernel -------------------------------------------------------------------------------- */

static size_t logits_of(const program *p, int rows)
{
    return (size_t)rows * p->shape->vocabulary;
}

/* The last of the checked steps again, as a graph from the beginning: a number that the capture froze, and should have
 * been read, shows. */
static enum status check_graph(const program *p, decoder *d, const float *logits, error_text *error)
{
    const int C = d->settings.sequences, vocabulary = p->shape->vocabulary;
    const size_t pitch = shape_padded(p->shape);
    float *const got = malloc(C * pitch * sizeof *got);
    enum status status =
        got ? decoder_reset(d, error) : fail(error, STATUS_MEMORY, "no memory for the logits");
    for (int i = 0; i < p->o.passes && status == STATUS_OK; i++)
        status = decoder_step(d, error);
    cudaError_t copied = cudaSuccess;
    if (status == STATUS_OK) copied = cudaStreamSynchronize(d->pass.stream);
    if (status == STATUS_OK && copied == cudaSuccess)
        copied = cudaMemcpy(got, d->d_logits, C * pitch * sizeof *got, cudaMemcpyDeviceToHost);
    if (copied != cudaSuccess) status = device_fail(copied, "steps of a graph", error);
    for (int c = 0; c < C && status == STATUS_OK; c++)
        memmove(got + (size_t)c * vocabulary, got + c * pitch, vocabulary * sizeof *got);
    agreement a;
    if (status == STATUS_OK)
        status = check_agreement(p->shape, C, logits + logits_of(p, (p->o.passes - 1) * C), got,
                                 "the graph against single kernels", &a, error);
    free(got);
    return status;
}

/* Chooses the faster layout of a dense decoder. */
static enum status choose_layout(const program *p, decoder *d, error_text *error)
{
    double ms[2], iqr;
    if (d->settings.kind != KERNEL_DENSE || strcmp(p->o.layout, "best")) return STATUS_OK;
    for (int by_column = 0; by_column < 2; by_column++) {
        decoder_lay_out(d, by_column);
        TRY(decoder_enqueue(d, ALL_PARTS, NULL,
                            error)); /* cuBLAS makes ready, which a capture forbids */
        TRY(decoder_reset(d, error));
        TRY(times_of_step(d, p->o.runs, &ms[by_column], &iqr, error));
    }
    decoder_lay_out(d, ms[1] <= ms[0]);
    return STATUS_OK;
}

static double seconds_since(double begin_ms)
{
    return device_keeps_time() ? (wall_ms() - begin_ms) * 1e-3 : NAN;
}

static enum status check(program *p, decoder *d, float *logits, result *r)
{
    error_text *const error = &r->error;
    const double begin = wall_ms();
    r->settings = d->settings;
    r->weight_bytes = decoder_weight_bytes(d);
    TRY(check_decoder(d, p->o.passes, logits, &r->v, error));
    TRY(check_graph(p, d, logits, error));
    if (p->first_logits)
        TRY(check_agreement(p->shape, p->o.passes * p->o.batch, p->first_logits, logits,
                            "logits beside those of the first kernel", &r->with_first, error));
    r->checking_s = seconds_since(begin);
    return STATUS_OK;
}

/* Checks in the layout that is timed then. */
static enum status use(program *p, decoder *d, float *logits, result *r)
{
    if (device_keeps_time()) TRY(choose_layout(p, d, &r->error));
    TRY(check(p, d, logits, r));
    if (p->o.check_only || !device_keeps_time()) return STATUS_OK;
    const double begin = wall_ms();
    TRY(times_of_decoding(d, p->o.runs, &r->times, &r->error));
    r->timing_s = seconds_since(begin);
    return STATUS_OK;
}

/* A step for each token, and one pass over all of them, must say the same of each: what the cache holds is right. */
static enum status compare_pass(program *p, const decoder_settings *s, float *steps, float *pass,
                                error_text *error)
{
    const int tokens = s->capacity, vocabulary = p->shape->vocabulary;
    decoder_settings whole = *s;
    decoder d;
    verdict v;
    agreement a;
    TRY(decoder_create(s, &d, error));
    enum status status = check_decoder(&d, tokens, pass, &v, error);
    decoder_destroy(&d);
    if (status != STATUS_OK) return status;
    for (int i = 0; i < tokens; i++) /* from token after token to sequence after sequence */
        for (int c = 0; c < s->sequences; c++)
            memcpy(steps + logits_of(p, c * tokens + i), pass + logits_of(p, i * s->sequences + c),
                   vocabulary * sizeof *pass);
    whole.tokens = tokens;
    TRY(decoder_create(&whole, &d, error));
    status = check_decoder(&d, 1, pass, &v, error);
    decoder_destroy(&d);
    if (status != STATUS_OK) return status;
    return check_agreement(p->shape, tokens * s->sequences, steps, pass,
                           "one pass against single steps", &a, error);
}

static enum status kv_test(program *p, enum kernel_kind kind, error_text *error)
{
    decoder_settings s = settings_of(p, kind);
    s.capacity = s.prompt = p->o.kv_test;
    const size_t count = logits_of(p, s.capacity * s.sequences);
    float *const logits = malloc(2 * count * sizeof *logits);
    const enum status status = logits ? compare_pass(p, &s, logits, logits + count, error)
                                      : fail(error, STATUS_MEMORY, "no memory for the logits");
    free(logits);
    return status;
}

static enum status time_prefill(program *p, result *r)
{
    decoder_settings s = r->settings;
    decoder d;
    s.sequences = 1;
    s.capacity = s.prompt = s.tokens = p->o.prefill;
    TRY(decoder_create(&s, &d, &r->error));
    verdict v;
    enum status status = check_decoder(&d, 1, NULL, &v, &r->error);
    if (status == STATUS_OK) r->prefill = p->o.prefill;
    if (status == STATUS_OK && device_keeps_time())
        status = times_of_pass(&d, p->o.runs, &r->times.pass_ms, &r->error);
    decoder_destroy(&d);
    return status;
}

static void find_bound(const program *p, result *r)
{
    machine_limits limits;
    const double context = p->o.prompt + p->o.out / 2;
    r->bound_ms = NAN;
    if (isnan(r->weight_bytes) || !limits_load(p->device.name, &limits)) return;
    r->bound_ms = decoder_step_bytes(&r->settings, r->weight_bytes, context) /
                  limits_memory_gbs(&limits) * 1e-6;
}

static void run_kind(program *p, enum kernel_kind kind)
{
    result *const r = &p->results[p->count++];
    const decoder_settings s = settings_of(p, kind);
    float *const logits = malloc(logits_of(p, p->o.passes * p->o.batch) * sizeof *logits);
    decoder d;
    *r = (result){.settings = s,
                  .weight_bytes = NAN,
                  .times = times_none(),
                  .making_s = NAN,
                  .checking_s = NAN,
                  .timing_s = NAN,
                  .runs = p->o.runs};
    for (int i = 0; i < NUM_PARTS; i++)
        r->v.worst[i] = NAN;
    decoder_count(&s, &r->count);
    const double begin = wall_ms();
    r->status = logits ? decoder_create(&s, &d, &r->error)
                       : fail(&r->error, STATUS_MEMORY, "no memory for the logits");
    r->making_s = seconds_since(begin);
    if (r->status == STATUS_OK) {
        r->status = use(p, &d, logits, r);
        decoder_destroy(&d);
    }
    if (r->status == STATUS_OK && p->o.kv_test) r->status = kv_test(p, kind, &r->error);
    if (r->status == STATUS_OK && p->o.prefill) r->status = time_prefill(p, r);
    find_bound(p, r);
    if (r->status == STATUS_OK && !p->first_logits)
        p->first_logits = logits;
    else
        free(logits);
}

/* ---- the program ------------------------------------------------------------------------------- */

static void print_heading(const program *p)
{
    printf("llm_decode: %s, %d layers of %d features, %d heads | %g %% zeros in each row | %d "
           "sequences, %d tokens in, %d out | fp16 | seed %d | %s\n",
           p->shape->name, p->shape->layers, p->shape->hidden, shape_heads(p->shape),
           100 * p->o.sparsity, p->o.batch, p->o.prompt, p->o.out, p->o.seed,
           device_keeps_time() ? p->device.name
                               : "CPU backend (simt): times mean nothing and are not shown");
    fflush(stdout);
}

/* All wanted kernels run, also behind one that fails; the gravest status is the program's. */
static enum status run_all(program *p, error_text *error)
{
    enum status status = STATUS_OK;
    print_heading(p);
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        if (!is_wanted(p, (enum kernel_kind)kind)) continue;
        run_kind(p, (enum kernel_kind)kind);
        const result *r = &p->results[p->count - 1];
        if (!is_graver(r->status, status)) continue;
        status = r->status;
        *error = r->error;
    }
    results_print(p->results, p->count);
    error_text other;
    enum status saved = results_write_csv(p->o.csv, &p->device, p->results, p->count, &other);
    if (saved == STATUS_OK)
        saved = results_write_json(p->o.json, &p->device, p->results, p->count, &other);
    if (status != STATUS_OK || saved == STATUS_OK) return status;
    *error = other;
    return saved;
}

static enum status run(program *p, int argc, char **argv, error_text *error)
{
    TRY(read_options(argc, argv, &p->o, error));
    if (p->o.help) return STATUS_OK;
    TRY(check_options(p, error));
    if (p->o.formats)
        return calculators_print(p->o.sparsity, p->o.batch, p->o.gpu, p->o.csv, error);
    if (p->o.memory) {
        print_memory(p);
        return STATUS_OK;
    }
    TRY(device_open(p->o.device, &p->device, error));
    return run_all(p, error);
}

int main(int argc, char **argv)
{
    program *p = calloc(1, sizeof *p);
    error_text error = {"no memory"};
    enum status status = p ? run(p, argc, argv, &error) : STATUS_MEMORY;
    status = output_end("llm_decode", status, &error);
    if (p) free(p->first_logits);
    free(p);
    return status;
}
