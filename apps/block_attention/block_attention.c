/*
 * block_attention.c - attention at the blocks of a causal band and of strided block columns: in three steps made of the suite's
 * block products, in one pass, and beside dense attention.
 *
 *   make apps && build/simt/apps/block_attention/block_attention --length 512 --heads 2 --block 32
 */
#include "check.h"
#include "harness/device.h"
#include "harness/timing.h"
#include "matrix/files.h"
#include "matrix/nearest.h"
#include "results/csv.h"
#include "results/row.h"
#include "training/arguments.h"
#include "training/try.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 1 << 20, WARM_UPS = 3 };

/* A variant that was tried. */
typedef struct result {
    enum variant variant;
    const char *kernel[NUM_PARTS]; /* of each part; "": none, or not known */
    size_t bytes, score_bytes;
    int64_t blocks; /* of a head */
    verdict v;
    spread time, part[NUM_PARTS]; /* NAN: not timed, or no such part */
    enum status status;
    error_text error;
} result;

typedef struct session {
    attend_settings is; /* of all variants but for which it is */
    const char *variant, *precision, *unit, *csv_path;
    int device_number, runs;
    uint64_t seed;
    bool check_only;
    device_info device;
    result results[NUM_VARIANTS];
    int count;
} session;

/* ---- a variant --------------------------------------------------------------------------------- */

/* Work to be timed: all parts, or one. */
typedef struct work {
    const attend *a;
    int part; /* NUM_PARTS: all */
} work;

static enum status do_work(void *arg, error_text *error)
{
    const work *w = arg;
    return w->part == NUM_PARTS ? attend_run(w->a, error)
                                : attend_part(w->a, (enum part)w->part, error);
}

/* Parts first: O is that of whole runs when it is judged again. */
static enum status time_variant(const session *s, const attend *a, result *r)
{
    work all = {a, NUM_PARTS};
    const bool has_parts = r->variant == THREE_STEPS || r->variant == DENSE;
    enum status status = STATUS_OK;
    for (int part = 0; part < NUM_PARTS && has_parts && status == STATUS_OK; part++) {
        work one = {a, part};
        status = time_work(do_work, &one, NULL, WARM_UPS, s->runs, &r->part[part], &r->error);
    }
    if (status == STATUS_OK) status = attend_upload(a, NULL, NULL, NULL, &r->error);
    if (status == STATUS_OK)
        status = time_work(do_work, &all, NULL, WARM_UPS, s->runs, &r->time, &r->error);
    return status == STATUS_OK ? check_again(a, s->seed, &r->v, &r->error) : status;
}

static enum status use(const session *s, const attend *a, result *r)
{
    const enum status status = check_attention(a, s->seed, &r->v, &r->error);
    if (status != STATUS_OK || s->check_only || !device_keeps_time()) return status;
    return time_variant(s, a, r);
}

static enum status run_variant(session *s, enum variant variant)
{
    attend_settings is = s->is;
    attend a;
    result *const r = &s->results[s->count++];
    is.variant = variant;
    *r = (result){.variant = variant, .time = {NAN, NAN}};
    for (int i = 0; i < NUM_PARTS; i++) {
        r->kernel[i] = "";
        r->part[i] = (spread){NAN, NAN};
    }
    for (int i = 0; i < NUM_CHECKED; i++)
        r->v.worst[i] = -1;
    const char *why = attend_unsuited(&is);
    if (why)
        return r->status = fail(&r->error, STATUS_SKIPPED, "%s: %s", variant_name(variant), why);
    r->status = attend_open(&a, &is, &r->error);
    r->blocks = pattern_blocks(&a.pattern);
    if (r->status != STATUS_OK) return r->status;
    for (int i = 0; i < NUM_PARTS; i++)
        r->kernel[i] = attend_kernel(&a, (enum part)i);
    r->bytes = attend_bytes(&a);
    r->score_bytes = attend_score_bytes(&a);
    r->status = use(s, &a, r);
    attend_close(&a);
    return r->status;
}

/* ---- printing ---------------------------------------------------------------------------------- */

static double causal_blocks(const session *s)
{
    const double side = pattern_side(&s->is.pattern);
    return side * (side + 1) / 2;
}

static void print_heading(const session *s)
{
    const attend_settings *is = &s->is;
    const block_pattern *p = &is->pattern;
    const int64_t blocks = pattern_blocks(p);
    printf("block_attention %d tokens, %d heads of %d, blocks of %d: a band of %d", p->length,
           is->heads, is->d, p->block, p->band);
    if (p->stride) printf(", and the last of every %d block columns", p->stride);
    printf("\n  %" PRId64 " of %.0f causal blocks a head (%.1f %%); %s; seed %" PRIu64 "\n  %s\n",
           blocks, causal_blocks(s), 100 * (double)blocks / causal_blocks(s),
           precision_name(is->precision), s->seed,
           device_keeps_time() ? s->device.name
                               : "CPU backend (simt): times mean nothing and are not shown");
    fflush(stdout);
}

static void print_check(const result *r)
{
    if (r->status != STATUS_OK && r->status != STATUS_WRONG) return;
    printf("check %-15s %s  largest error over its bound:", variant_name(r->variant),
           r->status == STATUS_OK ? "PASS" : "FAIL");
    const char *separator = " ";
    for (int i = 0; i < NUM_CHECKED; i++) {
        if (r->v.worst[i] < 0) continue;
        printf("%s%s %.2g", separator, checked_name((enum checked)i), r->v.worst[i]);
        separator = ", ";
    }
    printf("\n");
    fflush(stdout);
}

static void print_number(double x, int digits)
{
    if (isnan(x))
        printf(" %10s", "-");
    else
        printf(" %10.*f", digits, x);
}

/* Floating-point operations a second, as a share of 10^12: of both products at the blocks that count. */
static double tflops(const session *s, const result *r)
{
    const double B = s->is.pattern.block;
    return 4 * s->is.d * B * B * (double)r->blocks * s->is.heads / r->time.median_ms * 1e-9;
}

static void print_results(const session *s)
{
    bool any = false;
    for (int i = 0; i < s->count; i++)
        any = any || s->results[i].status == STATUS_OK;
    if (!any) return;
    printf("\n%-15s %10s %10s", "", "MB", "scores MB");
    if (device_keeps_time())
        printf(" %10s %10s %10s %10s %10s %10s", "ms", "IQR", "scores", "softmax", "sum",
               "TFLOP/s");
    printf("  products by\n");
    for (int i = 0; i < s->count; i++) {
        const result *r = &s->results[i];
        if (r->status != STATUS_OK) continue;
        printf("%-15s", variant_name(r->variant));
        print_number(r->bytes * 1e-6, 1);
        print_number(r->score_bytes * 1e-6, 1);
        if (device_keeps_time()) {
            print_number(r->time.median_ms, 4);
            print_number(r->time.iqr_ms, 4);
            for (int part = 0; part < NUM_PARTS; part++)
                print_number(r->part[part].median_ms, 4);
            print_number(tflops(s, r), 1);
        }
        printf("  %s%s%s\n", r->kernel[PART_SCORES], *r->kernel[PART_SCORES] ? ", " : "",
               r->kernel[PART_SUM]);
    }
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void write_row(FILE *out, const session *s, const result *r)
{
    const attend_settings *is = &s->is;
    const bool timed = r->status == STATUS_OK && !isnan(r->time.median_ms),
               checked = r->v.worst[CHECKED_ORACLE] >= 0;
    const double numbers[] = {r->time.median_ms,
                              r->time.iqr_ms,
                              r->part[PART_SCORES].median_ms,
                              r->part[PART_SOFTMAX].median_ms,
                              r->part[PART_SUM].median_ms,
                              tflops(s, r)};
    fprintf(out, "1,block_attention,%s", variant_name(r->variant));
    csv_add_text(out, r->kernel[PART_SCORES]);
    csv_add_text(out, r->kernel[PART_SUM]);
    fprintf(out, ",%s,%d,%d,%d,%d,%d,%d,%" PRId64 ",%.7g,%zu,%zu,%" PRIu64 ",%s,%d",
            precision_name(is->precision), is->pattern.length, is->heads, is->d, is->pattern.block,
            is->pattern.band, is->pattern.stride, r->blocks, (double)r->blocks / causal_blocks(s),
            r->bytes, r->score_bytes, s->seed, row_status(r->status), timed ? s->runs : 0);
    csv_add_number(out, checked ? verdict_worst(&r->v) : NAN);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        csv_add_number(out, timed ? numbers[i] : NAN);
    row_add_machine(out, &s->device);
    csv_add_text(out, r->status == STATUS_OK ? "" : r->error.text);
    fputc('\n', out);
}

static void write_rows(FILE *out, const void *arg)
{
    const session *s = arg;
    fprintf(
        out,
        "schema,app,variant,scores_by,sum_by,precision,length,heads,head_size,block,band,stride,"
        "blocks,density,bytes,score_bytes,seed,status,runs,of_bound,median_ms,iqr_ms,"
        "scores_ms,softmax_ms,sum_ms,tflops,backend,device,driver,toolkit,commit,message\n");
    for (int i = 0; i < s->count; i++)
        write_row(out, s, &s->results[i]);
}

/* ---- the program ------------------------------------------------------------------------------- */

static const char *const NAMES[] = {"all",   "three_steps",    "one_pass",
                                    "dense", "dense_one_pass", NULL};
static const char *const PRECISIONS[] = {"fp16", "bf16", "fp32", NULL};
static const char *const UNITS[] = {"wgmma", "mma16", "mma32", NULL};

static enum precision find_precision(const char *name)
{
    int which = 0;
    while (strcmp(precision_name((enum precision)which), name) != 0)
        which++;
    return (enum precision)which;
}

/* NUM_ONE_PASS_UNITS for none. */
static int find_unit(const char *name)
{
    int which = 0;
    while (which < NUM_ONE_PASS_UNITS &&
           (!name || strcmp(one_pass_name((enum one_pass_unit)which), name) != 0))
        which++;
    return which;
}

/* The kernel of --product must be one of bsmm's in this precision. */
static enum status check_product(const attend_settings *is, error_text *error)
{
    const char *names[16];
    size_t count = 0;
    if (!is->product) return STATUS_OK;
    while (count < 16 && (names[count] = sparse_kernel_name(
                              "bsmm", (enum sparse_precision)is->precision, (int)count)))
        if (!strcmp(names[count++], is->product)) return STATUS_OK;
    const char *near = nearest_match(is->product, names, count);
    return fail(error, STATUS_USAGE, "--product %s: no kernel of bsmm in %s%s%s%s", is->product,
                precision_name(is->precision), near ? "; did you mean " : "", near ? near : "",
                near ? "?" : "");
}

static enum status check_settings(const session *s, error_text *error)
{
    const attend_settings *is = &s->is;
    const block_pattern *p = &is->pattern;
    const int blocks = p->length / p->block;
    if (p->block != 32 && p->block != 64)
        return fail(error, STATUS_USAGE, "--block %d: choose 32 or 64", p->block);
    if (is->d != 32 && is->d != 64 && is->d != 128)
        return fail(error, STATUS_USAGE, "--head-size %d: choose 32, 64 or 128", is->d);
    if (p->length % p->block)
        return fail(error, STATUS_USAGE, "--length %d is not a multiple of --block %d", p->length,
                    p->block);
    if (p->band > blocks)
        return fail(error, STATUS_USAGE, "--band %d is wider than all: --length %d has %d blocks",
                    p->band, p->length, blocks);
    if ((int64_t)p->length * is->heads > INT32_MAX / 2)
        return fail(error, STATUS_USAGE,
                    "%d heads of %d queries need 64-bit offsets; try fewer --heads", is->heads,
                    p->length);
    if (is->precision == PRECISION_FP32 && strstr(s->variant, "one_pass"))
        return fail(error, STATUS_USAGE, "--variant %s: one pass works in fp16 and bf16",
                    s->variant);
    TRY(check_product(is, error));
    return rows_check(s->csv_path, error);
}

/* All variants that there are in this precision, or the one that was asked for. */
static bool is_wanted(const session *s, enum variant variant)
{
    const bool all = !strcmp(s->variant, "all");
    if (!all) return !strcmp(s->variant, variant_name(variant));
    return s->is.precision != PRECISION_FP32 || (variant != ONE_PASS && variant != DENSE_ONE_PASS);
}

static enum status run(session *s, error_text *error)
{
    enum status status = STATUS_OK;
    error_text of_csv;
    for (int variant = 0; variant < NUM_VARIANTS; variant++) {
        if (!is_wanted(s, (enum variant)variant)) continue;
        const enum status next = run_variant(s, (enum variant)variant);
        const result *r = &s->results[s->count - 1];
        print_check(r);
        if (!is_graver(next, status)) continue;
        *error = r->error;
        status = next;
    }
    print_results(s);
    const enum status written = output_write(s->csv_path, write_rows, s, &of_csv);
    if (status != STATUS_OK || written == STATUS_OK) return status;
    *error = of_csv;
    return written;
}

static void print_help(const char *program, const argument *table, int count)
{
    printf(
        "usage: %s [--option ...]\n\n"
        "Attention at the blocks of a causal band and of strided block columns: in three steps "
        "made of the\n"
        "suite's block products, and in one pass. Beside it dense attention, by cuBLAS and in one "
        "pass.\n\n",
        program);
    arguments_print(stdout, table, count);
    printf(
        "\nexit status: 0 ok, 1 a wrong result, 2 usage, 4 runtime, 5 does not fit in memory, 77 "
        "no GPU,\n"
        "or one that lacks what a variant needs\n\n"
        "  %s --length 512 --heads 2 --block 32 --band 2 --stride 4\n"
        "  %s --variant one_pass --precision bf16 --head-size 128\n",
        program, program);
}

int main(int argc, char **argv)
{
    session s = {.is = {.pattern = {.length = 8192, .block = 64, .band = 4, .stride = 8},
                        .heads = 16,
                        .d = 64,
                        .unit = NUM_ONE_PASS_UNITS},
                 .variant = "all",
                 .precision = "fp16",
                 .runs = 50};
    attend_settings *is = &s.is;
    block_pattern *p = &is->pattern;
    error_text error;
    int seed = 1;
    bool help = false;
    const argument table[] = {
        {"length", ARGUMENT_WHOLE, &p->length, 32, MOST_TOKENS, "L",
         "tokens, a multiple of --block", NULL},
        {"heads", ARGUMENT_WHOLE, &is->heads, 1, 1024, "H", "heads", NULL},
        {"head-size", ARGUMENT_WHOLE, &is->d, 1, 128, "D", "size of a head: 32, 64 or 128", NULL},
        {"block", ARGUMENT_WHOLE, &p->block, 1, 64, "B", "side of a block: 32 or 64", NULL},
        {"band", ARGUMENT_WHOLE, &p->band, 1, MOST_TOKENS, "N",
         "block columns of the band, the diagonal's included", NULL},
        {"stride", ARGUMENT_WHOLE, &p->stride, 0, MOST_TOKENS, "N",
         "the last of every N block columns exists; 0: the band alone", NULL},
        {"precision", ARGUMENT_TEXT, &s.precision, 0, 0, "P", "fp16, bf16 or fp32", PRECISIONS},
        {"variant", ARGUMENT_TEXT, &s.variant, 0, 0, "V",
         "three_steps, one_pass, dense, dense_one_pass or all", NAMES},
        {"unit", ARGUMENT_TEXT, &s.unit, 0, 0, "U",
         "of one pass: wgmma, mma16 or mma32; without: the first that suits", UNITS},
        {"product", ARGUMENT_TEXT, &is->product, 0, 0, "KERNEL",
         "of bsmm, for the last of three steps; without: by rule", NULL},
        {"runs", ARGUMENT_WHOLE, &s.runs, 3, 10000, "N", "timed runs", NULL},
        ARGUMENT_SEED(&seed, "of Q, K and V"),
        ARGUMENT_CHECK_ONLY(&s.check_only, "time nothing"),
        ARGUMENT_CSV(&s.csv_path, "write a row a variant as CSV"),
        ARGUMENT_DEVICE(&s.device_number),
        ARGUMENT_HELP(&help),
    };
    const int count = sizeof table / sizeof *table;
    enum status status = arguments_read(argc, argv, table, count, NULL, &error);
    if (status == STATUS_OK && help) {
        print_help(argv[0], table, count);
        return output_end("block_attention", status, &error);
    }
    s.seed = (uint64_t)seed;
    if (status == STATUS_OK) {
        is->precision = find_precision(s.precision);
        is->unit = find_unit(s.unit);
        status = check_settings(&s, &error);
    }
    if (status == STATUS_OK) status = device_open(s.device_number, &s.device, &error);
    if (status == STATUS_OK) {
        print_heading(&s);
        status = run(&s, &error);
    }
    return output_end("block_attention", status, &error);
}
