/*
 * moe.c - a mixture of experts that drops no token. Its products are block-sparse, and the GPU makes their layout in
 * every step. Beside them stands cuBLAS: expert by expert, grouped, and with every expert as large as the fullest.
 *
 *   make apps && build/simt/apps/moe/moe
 */
#include "harness/device.h"
#include "matrix/files.h"
#include "results.h"
#include "results/row.h"
#include "training/arguments.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const WHICH[] = {"all", "blocks", "wgmma", "mma", "cublas", NULL};
static const char OWN[] = "own", DEFAULT_MODEL[] = "tiny";

typedef struct arguments {
    const char *model, *ways, *csv, *json;
    moe_shape shape; /* 0 where nothing is said: as the model has it */
    int seed, runs, device;
    bool check_only, help;
} arguments;

typedef struct program {
    arguments o;
    device_info device;
    result results[NUM_WAYS];
    int count;
} program;

/* ---- a way ------------------------------------------------------------------------------------- */

static enum status use(const program *p, layer *l, result *r)
{
    TRY(layer_check(l, &r->v, &r->error));
    r->computed_rows = r->way == WAY_BATCHED ? (double)r->v.largest * l->shape.experts
                       : r->way <= WAY_MMA   ? r->v.padded_rows
                                             : shape_slots(&l->shape);
    r->bytes = layer_bytes(&l->shape, l->way, l->rows);
    for (int i = 0; i < NUM_FACTORS; i++)
        r->dropped[i] = dropped_share(l, CAPACITY_FACTORS[i]);
    if (!device_keeps_time() || p->o.check_only) return STATUS_OK;
    TRY(layer_time(l, p->o.runs, &r->times, &r->error));
    r->runs = p->o.runs;
    return STATUS_OK;
}

static const result *run_way(program *p, enum way w)
{
    result *const r = &p->results[p->count++];
    *r = (result){.way = w,
                  .model = p->o.model,
                  .shape = p->o.shape,
                  .times = layer_not_timed(),
                  .bytes = layer_bytes(&p->o.shape, w, shape_most_rows(&p->o.shape))};
    layer *l;
    r->status = layer_open(&r->shape, w, &l, &r->error);
    if (r->status != STATUS_OK) return r;
    r->status = use(p, l, r);
    layer_close(l);
    return r;
}

static bool is_wanted(const program *p, enum way w)
{
    const char *which = p->o.ways;
    if (!strcmp(which, "wgmma")) return w == WAY_WGMMA;
    if (!strcmp(which, "mma")) return w == WAY_MMA;
    if (!strcmp(which, "blocks")) return w <= WAY_MMA;
    return !strcmp(which, "all") || w > WAY_MMA;
}

static void print_heading(const program *p)
{
    const moe_shape *s = &p->o.shape;
    printf("moe: %s, %d tokens of %d features, %d experts of %d hidden, %d chosen; skew %g\n",
           p->o.model, s->tokens, s->features, s->experts, s->hidden, s->chosen, s->skew);
    printf("  no token is dropped; blocks of %d; fp16; random weights, seed %d; %s\n", s->block,
           p->o.seed,
           device_keeps_time() ? p->device.name
                               : "CPU backend (simt): times mean nothing and are not shown");
    results_print_heading();
}

/* All wanted ways run, also behind one that fails. A kernel that this GPU has not, or a rival that does not fit, is no failure
 * where another way ran; of all others the gravest is the program's. */
static enum status run_all(program *p, error_text *error)
{
    enum status status = STATUS_OK;
    bool ran = false;
    error_text missing = {""};
    enum status untaken = STATUS_OK;
    print_heading(p);
    for (int w = 0; w < NUM_WAYS; w++) {
        if (!is_wanted(p, (enum way)w)) continue;
        const result *r = run_way(p, (enum way)w);
        result_print(r);
        ran = ran || r->status == STATUS_OK;
        if (r->status == STATUS_SKIPPED || r->status == STATUS_MEMORY) {
            if (untaken == STATUS_OK) missing = r->error, untaken = r->status;
        } else if (is_graver(r->status, status)) {
            status = r->status;
            *error = r->error;
        }
    }
    results_print_rest(p->results, p->count);
    if (status == STATUS_OK && !ran) {
        status = untaken;
        *error = missing;
    }
    error_text other;
    enum status saved = results_write_csv(p->o.csv, &p->device, p->results, p->count, &other);
    if (saved == STATUS_OK)
        saved = results_write_json(p->o.json, &p->device, p->results, p->count, &other);
    if (status != STATUS_OK || saved == STATUS_OK) return status;
    *error = other;
    return saved;
}

/* ---- the command line -------------------------------------------------------------------------- */

/* Sizes that were given take the place of the model's; then it has another name in rows. */
static enum status choose_shape(arguments *o, error_text *error)
{
    const moe_shape given = o->shape;
    moe_shape *s = &o->shape;
    TRY(shape_of_model(o->model, s, error));
    const struct {
        int *to, of;
    } sizes[] = {{&s->features, given.features},
                 {&s->hidden, given.hidden},
                 {&s->experts, given.experts},
                 {&s->chosen, given.chosen}};
    if (given.tokens) s->tokens = given.tokens;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (!sizes[i].of || sizes[i].of == *sizes[i].to) continue;
        *sizes[i].to = sizes[i].of;
        o->model = OWN;
    }
    s->seed = (uint64_t)o->seed;
    TRY(shape_check(s, error));
    TRY(rows_check(o->csv, error));
    return rows_check(o->json, error);
}

static void print_help(const char *program, const argument *table, int count)
{
    printf("usage: %s [--option ...]\n\n"
           "A mixture of experts in which no token is dropped: tokens are sorted by expert, each\n"
           "expert's are filled up to whole blocks, and block-sparse products do the rest. The "
           "layout\n"
           "is made on the GPU in every step. Checks each part against fp64; on a GPU times a step "
           "and\n"
           "its parts, beside cuBLAS in three ways.\n\n",
           program);
    arguments_print(stdout, table, count);
    printf("\nexit status: 0 ok, 1 wrong result, 2 usage, 4 runtime, 5 does not fit in memory, 77 "
           "no GPU\nor none that has the kernel\n\n"
           "  %s --model dmoe-xs --csv rows.csv\n"
           "  %s --tokens 1000 --features 128 --hidden 256 --experts 8 --chosen 2 --skew 1\n",
           program, program);
}

static enum status run(program *p, int argc, char **argv, error_text *error)
{
    arguments *o = &p->o;
    moe_shape *s = &o->shape;
    const argument table[] = {
        {"model", ARGUMENT_TEXT, &o->model, 0, 0, "NAME",
         "sizes of tiny, dmoe-xs, dmoe-s, dmoe-m or mixtral", NULL},
        {"tokens", ARGUMENT_WHOLE, &s->tokens, 1, 1 << 24, "N", "of a step", NULL},
        {"features", ARGUMENT_WHOLE, &s->features, 1, 1 << 16, "N", "of a token", NULL},
        {"hidden", ARGUMENT_WHOLE, &s->hidden, 1, 1 << 16, "N", "numbers inside of an expert",
         NULL},
        {"experts", ARGUMENT_WHOLE, &s->experts, 1, MOST_EXPERTS, "N", "of the layer", NULL},
        {"chosen", ARGUMENT_WHOLE, &s->chosen, 1, MOST_CHOSEN, "K", "experts of a token", NULL},
        {"block", ARGUMENT_WHOLE, &s->block, 1, 128, "B",
         "rows of an expert are filled up to a multiple: 16, 32, 64 or 128", NULL},
        {"skew", ARGUMENT_NUMBER, &s->skew, 0, 1000, "S",
         "the router's bias is -S log(e + 1); 0: experts are alike, 100: one takes all", NULL},
        {"ways", ARGUMENT_TEXT, &o->ways, 0, 0, "WHICH", "all, blocks, wgmma, mma or cublas",
         WHICH},
        {"runs", ARGUMENT_WHOLE, &o->runs, 3, 10000, "N", "timed runs", NULL},
        ARGUMENT_CHECK_ONLY(&o->check_only, "check, and time nothing"),
        ARGUMENT_CSV(&o->csv, "write a row a way"),
        {"json", ARGUMENT_TEXT, &o->json, 0, 0, "FILE", "the same as JSON", NULL},
        ARGUMENT_SEED(&o->seed, "of weights and tokens"),
        ARGUMENT_DEVICE(&o->device),
        ARGUMENT_HELP(&o->help),
    };
    const int count = sizeof table / sizeof *table;
    TRY(arguments_read(argc, argv, table, count, NULL, error));
    if (o->help) {
        print_help(argv[0], table, count);
        return STATUS_OK;
    }
    TRY(choose_shape(o, error));
    TRY(device_open(o->device, &p->device, error));
    return run_all(p, error);
}

int main(int argc, char **argv)
{
    program *p = calloc(1, sizeof *p);
    error_text error = {"no memory"};
    enum status status = STATUS_MEMORY;
    if (p) {
        p->o = (arguments){.model = DEFAULT_MODEL,
                           .ways = WHICH[0],
                           .shape = {.block = 64},
                           .seed = 1,
                           .runs = 50};
        status = run(p, argc, argv, &error);
    }
    status = output_end("moe", status, &error);
    free(p);
    return status;
}
