#include "harness/options.h"

#include "exchange/exchange.h"
#include "harness/chosen.h"
#include "matrix/nearest.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum option_id {
    OPT_CHECK_ONLY = 256,
    OPT_BENCH_ONLY,
    OPT_RUNS,
    OPT_SEED,
    OPT_COLD,
    OPT_WARM,
    OPT_VS,
    OPT_OP,
    OPT_PRECISION,
    OPT_TUNE,
    OPT_SWEEP,
    OPT_SET,
    OPT_COUNTERS,
    OPT_PREDICT,
    OPT_MEMCHECK,
    OPT_RACECHECK,
    OPT_MODEL,
    OPT_SAMPLE,
    OPT_TRACE,
    OPT_TRACE_BLOCK,
    OPT_TRACE_WARP,
    OPT_CSV,
    OPT_JSON,
    OPT_DATA_DIR,
    OPT_DEVICE,
    OPT_DEVICES,
    OPT_CELLS,
    OPT_LIST,
    OPT_HELP,
    OPT_VERSION
};

/* The one list of options: the parser, the help text and the spelling hints all read it. */
static const struct {
    const char *name, *argument;
    enum option_id id;
    const char *help;
} OPTIONS[] = {
    {"check-only", NULL, OPT_CHECK_ONLY, "check the results, time nothing"},
    {"bench-only", NULL, OPT_BENCH_ONLY, "check once, after the timed runs, instead of before too"},
    {"runs", "R", OPT_RUNS, "timed runs (default: 20 to 200, until the median is stable)"},
    {"seed", "S", OPT_SEED, "seed of the random inputs (default 1)"},
    {"warm", NULL, OPT_WARM, "leave what a run used in the L2 cache for the next (default)"},
    {"cold", NULL, OPT_COLD, "flush the L2 cache before every run (default for set:llm)"},
    {"vs", "RIVAL", OPT_VS, "run beside it: best (all), default, vendor, dense, labK or none"},
    {"op", "OP", OPT_OP,
     "run the labs of this operation (default: that of the program's first lab)"},
    {"precision", "P", OPT_PRECISION,
     "run contenders of one precision only: fp32, fp16 or bf16 (default: all)"},
    {"tune", NULL, OPT_TUNE, "measure every setting of the tunables, keep and use the fastest"},
    {"sweep", NULL, OPT_SWEEP,
     "run the last lab with every setting that --set leaves open, a row each"},
    {"set", "T=V,...", OPT_SET, "set tunables by hand, e.g. --set D=2,C=4 (--list shows them)"},
    {"counters", NULL, OPT_COUNTERS,
     "count accesses, conflicts, divergence, cache traffic, line by line (*)"},
    {"predict", NULL, OPT_PREDICT, "count, and estimate the time on a GPU from that (*)"},
    {"memcheck", NULL, OPT_MEMCHECK, "look for accesses out of bounds or uninitialised (*)"},
    {"racecheck", NULL, OPT_RACECHECK, "look for accesses that nothing orders (*)"},
    {"model", "GPU", OPT_MODEL, "count and estimate for h200 (default), a100, v100 or rtx4090 (*)"},
    {"sample", "F", OPT_SAMPLE,
     "trace the share F of the blocks, as in 0.1; results are not checked (*)"},
    {"trace", "FILE", OPT_TRACE,
     "write a page that plays what a warp does, beside --vs labK's (*)"},
    {"trace-block", "B", OPT_TRACE_BLOCK, "play block B of the grid (default: the first) (*)"},
    {"trace-warp", "W", OPT_TRACE_WARP,
     "play warp W of it; worst: of most sectors a request; or longest (*)"},
    {"csv", "FILE", OPT_CSV, "write one row a contender as CSV (- for standard output)"},
    {"json", "FILE", OPT_JSON, "the same rows as JSON"},
    {"data-dir", "DIR", OPT_DATA_DIR, "look for datasets here before $SPMM_DATA_DIR"},
    {"device", "I", OPT_DEVICE, "use GPU number I (default 0)"},
    {"devices", "P", OPT_DEVICES, "run labs whose ranks share a product on P GPUs, one a rank"},
    {"cells", NULL, OPT_CELLS,
     "run nothing; write as CSV what would run: each dataset, width and precision"},
    {"list", NULL, OPT_LIST, "list labs, tunables, datasets and file formats"},
    {"help", NULL, OPT_HELP, "show this text"},
    {"version", NULL, OPT_VERSION, "show the commit it was built from, the backend and the GPU"},
};
enum { NUM_OPTIONS = sizeof OPTIONS / sizeof OPTIONS[0] };

/* Parses all of `text` as an integer in [low, high]. */
static bool parse_integer(const char *text, long long low, long long high, long long *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return end != text && !*end && !errno && *value >= low && *value <= high;
}

/* `word` is what getopt could not make sense of; `id` is what it left in optopt. */
static enum status refuse_option(const char *word, int id, error_text *error)
{
    const char *names[NUM_OPTIONS];
    for (int i = 0; i < NUM_OPTIONS; i++)
        names[i] = OPTIONS[i].name;
    char bare[64];
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
    if (id >= OPT_CHECK_ONLY)
        return fail(error, STATUS_USAGE, "%s takes no value (--help shows which do)", bare);
    const char *near = nearest_match(bare + strspn(bare, "-"), names, NUM_OPTIONS);
    return near ? fail(error, STATUS_USAGE, "unknown option %s; did you mean --%s?", bare, near)
                : fail(error, STATUS_USAGE, "unknown option %s (--help lists them)", bare);
}

static int usual_width(const operation *op)
{
    return op->usual_width ? op->usual_width : 32;
}

/* "32" or "32,64,256" */
static enum status parse_widths(const char *text, options *o, error_text *error)
{
    const char *const name = o->operation->width;
    const int most = o->operation->most_width ? o->operation->most_width : 1 << 20;
    char copy[256];
    if (strlen(text) >= sizeof copy)
        return fail(error, STATUS_USAGE, "%s: the list is too long", name);
    strcpy(copy, text);
    o->num_widths = 0;
    o->widths_asked = true;
    char *rest = copy, *word;
    while ((word = strsep(&rest, ","))) {
        long long value;
        if (!parse_integer(word, 1, most, &value))
            return fail(error, STATUS_USAGE,
                        "%s must be a whole number from 1 to %d, or several as in %s; got '%s'",
                        name, most, most < 256 ? "1,2" : "32,256", text);
        if (o->num_widths == MAX_WIDTHS)
            return fail(error, STATUS_USAGE, "at most %d values of %s in one run", MAX_WIDTHS,
                        name);
        o->widths[o->num_widths++] = (int)value;
    }
    return STATUS_OK;
}

/* The operation of that name among the labs of this program. */
static enum status parse_operation(const char *text, options *o, error_text *error)
{
    char names[128] = "";
    const operation *last = NULL;
    for (const contender *c = contenders(); c; c = c->next) {
        if (!c->lab || c->operation == last) continue;
        last = c->operation;
        const size_t used = strlen(names);
        if (!strcmp(text, last->name)) {
            o->operation = last;
            return STATUS_OK;
        }
        if (!strstr(names, last->name))
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", last->name);
    }
    return fail(error, STATUS_USAGE, "--op %s: this program has labs of %s", text, names);
}

static enum status parse_rival(const char *text, options *o, error_text *error)
{
    long long lab;
    o->rivals_asked = true;
    if (!strcmp(text, "best"))
        o->rivals = RIVALS_BEST;
    else if (!strcmp(text, "vendor"))
        o->rivals = RIVALS_VENDOR;
    else if (!strcmp(text, "default"))
        o->rivals = RIVALS_DEFAULT;
    else if (!strcmp(text, "dense"))
        o->rivals = RIVALS_DENSE;
    else if (!strcmp(text, "none"))
        o->rivals = RIVALS_NONE;
    else if (!strncmp(text, "lab", 3) && parse_integer(text + 3, 1, 99, &lab)) {
        o->rivals = RIVALS_LAB;
        o->rival_lab = (int)lab;
    } else
        return fail(error, STATUS_USAGE,
                    "--vs %s: choose best, default, vendor, dense, none or labK", text);
    return STATUS_OK;
}

static enum status parse_precision(const char *text, options *o, error_text *error)
{
    for (int i = 0; i < NUM_PRECISIONS; i++) {
        if (strcmp(text, precision_name((enum precision)i)) != 0) continue;
        o->precisions = 1u << i;
        for (const contender *c = contenders(); c; c = c->next)
            if (c->lab && (int)c->precision == i) return STATUS_OK;
        return fail(error, STATUS_USAGE, "--precision %s: no lab of this program has it (--list)",
                    text);
    }
    return fail(error, STATUS_USAGE, "--precision %s: choose fp32, fp16 or bf16", text);
}

/* A knob of some operation, or a contender's tunable, of that name must take the value; the message lists the values
 * that the last one takes, which is the own lab's if it has the tunable. */
static enum status check_setting(const char *name, const char *value, error_text *error)
{
    const tunable *last = NULL;
    int read;
    for (const contender *c = contenders(); c; c = c->next)
        for (int i = 0; i < MAX_KNOBS && c->operation->knobs[i].name; i++) {
            if (strcmp(c->operation->knobs[i].name, name) != 0) continue;
            last = &c->operation->knobs[i];
            if (tunable_read(last, value, &read)) return STATUS_OK;
        }
    for (const contender *c = contenders(); c; c = c->next)
        for (int i = 0; i < contender_num_tunables(c); i++) {
            if (strcmp(c->tunables[i].name, name) != 0) continue;
            last = &c->tunables[i];
            if (tunable_read(last, value, &read)) return STATUS_OK;
        }
    if (!last)
        return fail(error, STATUS_USAGE, "--set: no tunable is called '%s' (--list shows them)",
                    name);
    char values[128] = "";
    for (int i = 0; i < last->num_values; i++) {
        const size_t used = strlen(values);
        char one[24];
        tunable_write(last, last->values[i], one, sizeof one);
        snprintf(values + used, sizeof values - used, "%s%s", i ? ", " : "", one);
    }
    return fail(error, STATUS_USAGE, "--set %s=%s: choose one of %s", name, value, values);
}

static enum status parse_settings(const char *text, options *o, error_text *error)
{
    char copy[256];
    if (strlen(text) >= sizeof copy)
        return fail(error, STATUS_USAGE, "--set: the list is too long");
    strcpy(copy, text);
    char *rest = copy, *word;
    while ((word = strsep(&rest, ","))) {
        char *equals = strchr(word, '=');
        setting *const s = &o->settings[o->num_settings];
        if (!equals || !equals[1] || strlen(equals + 1) >= sizeof s->value)
            return fail(error, STATUS_USAGE, "--set %s: expected NAME=VALUE,...", text);
        *equals = 0;
        enum status status = check_setting(word, equals + 1, error);
        if (status != STATUS_OK) return status;
        for (int i = 0; i < o->num_settings; i++)
            if (!strcmp(o->settings[i].name, word))
                return fail(error, STATUS_USAGE, "--set: %s is set twice", word);
        if (o->num_settings == MAX_TUNABLES)
            return fail(error, STATUS_USAGE, "--set: at most %d settings", MAX_TUNABLES);
        snprintf(s->name, sizeof s->name, "%s", word);
        snprintf(s->value, sizeof s->value, "%s", equals + 1);
        o->num_settings++;
    }
    return STATUS_OK;
}

/* In (0, 1], in accept form: "nan" is neither. */
static enum status parse_sample(const char *text, options *o, error_text *error)
{
    char *end;
    o->sample = strtod(text, &end);
    if (end != text && !*end && o->sample > 0 && o->sample <= 1) return STATUS_OK;
    return fail(error, STATUS_USAGE, "--sample %s: expected a share above 0, up to 1, as in 0.1",
                text);
}

/* A warp's number, or which of all warps. */
static enum status parse_trace_warp(const char *text, options *o, error_text *error)
{
    long long value = -1;
    o->pick = !strcmp(text, "worst")     ? TRACE_WORST
              : !strcmp(text, "longest") ? TRACE_LONGEST
                                         : TRACE_GIVEN;
    if (o->pick == TRACE_GIVEN && !parse_integer(text, 0, 31, &value))
        return fail(error, STATUS_USAGE,
                    "--trace-warp %s: expected the number of a warp in its block, 0 to 31, worst "
                    "or longest",
                    text);
    o->trace_warp = value;
    return STATUS_OK;
}

static enum status parse_option(int id, const char *argument, options *o, error_text *error)
{
    long long value;
    switch (id) {
    case OPT_CHECK_ONLY:
        o->bench = false;
        break;
    case OPT_BENCH_ONLY:
        o->check = false;
        break;
    case OPT_COLD:
    case OPT_WARM:
        if (o->l2_asked && o->l2 != (id == OPT_COLD ? L2_COLD : L2_WARM))
            return fail(error, STATUS_USAGE, "--warm and --cold exclude each other");
        o->l2 = id == OPT_COLD ? L2_COLD : L2_WARM;
        o->l2_asked = true;
        break;
    case OPT_TUNE:
        o->tune = true;
        break;
    case OPT_SWEEP:
        o->sweep = true;
        break;
    case OPT_COUNTERS:
        o->instruments |= INSTRUMENT_COUNTERS;
        break;
    case OPT_PREDICT:
        o->instruments |= INSTRUMENT_COUNTERS;
        o->predict = true;
        break;
    case OPT_MEMCHECK:
        o->instruments |= INSTRUMENT_MEMCHECK;
        break;
    case OPT_RACECHECK:
        o->instruments |= INSTRUMENT_RACECHECK;
        break;
    case OPT_MODEL:
        o->model = argument;
        break;
    case OPT_SAMPLE:
        return parse_sample(argument, o, error);
    case OPT_TRACE:
        o->trace_path = argument;
        o->instruments |= INSTRUMENT_TRACE;
        break;
    case OPT_TRACE_BLOCK:
        if (!parse_integer(argument, 0, LLONG_MAX, &value))
            return fail(error, STATUS_USAGE,
                        "--trace-block %s: expected the number of a block, from 0", argument);
        o->trace_block = value;
        break;
    case OPT_TRACE_WARP:
        return parse_trace_warp(argument, o, error);
    case OPT_CSV:
        o->csv_path = argument;
        break;
    case OPT_JSON:
        o->json_path = argument;
        break;
    case OPT_DATA_DIR:
        o->data_dir = argument;
        break;
    case OPT_CELLS:
        o->mode = MODE_CELLS;
        break;
    case OPT_LIST:
        o->mode = MODE_LIST;
        break;
    case OPT_HELP:
        o->mode = MODE_HELP;
        break;
    case OPT_VERSION:
        o->mode = MODE_VERSION;
        break;
    case OPT_VS:
        return parse_rival(argument, o, error);
    case OPT_OP:
        return parse_operation(argument, o, error);
    case OPT_PRECISION:
        return parse_precision(argument, o, error);
    case OPT_SET:
        return parse_settings(argument, o, error);
    case OPT_RUNS:
        if (!parse_integer(argument, 1, 1000000, &value))
            return fail(error, STATUS_USAGE, "--runs %s: expected 1 to 1000000", argument);
        o->runs = (int)value;
        break;
    case OPT_SEED:
        if (!parse_integer(argument, 0, LLONG_MAX, &value))
            return fail(error, STATUS_USAGE, "--seed %s: expected a whole number from 0", argument);
        o->seed = (uint64_t)value;
        break;
    case OPT_DEVICE:
        if (!parse_integer(argument, 0, 1023, &value))
            return fail(error, STATUS_USAGE, "--device %s: expected a whole number from 0",
                        argument);
        o->device = (int)value;
        o->device_asked = true;
        break;
    case OPT_DEVICES:
        if (!parse_integer(argument, 1, EXCHANGE_MOST_RANKS, &value))
            return fail(error, STATUS_USAGE, "--devices %s: expected 1 to %d", argument,
                        EXCHANGE_MOST_RANKS);
        o->devices = (int)value;
        break;
    }
    return STATUS_OK;
}

/* Whether an option says how times are taken, or that they are. */
static bool is_about_times(int id)
{
    return id == OPT_BENCH_ONLY || id == OPT_RUNS || id == OPT_WARM || id == OPT_COLD ||
           id == OPT_TUNE;
}

/* Refuses options that cannot go together. `about_times` is the name of such an option, or NULL. */
static enum status check_together(const options *o, const char *about_times, error_text *error)
{
    if (!o->check && !o->bench)
        return fail(error, STATUS_USAGE, "--check-only and --bench-only exclude each other");
    if (o->sweep && o->tune)
        return fail(error, STATUS_USAGE, "--sweep and --tune exclude each other");
    if (o->tune && !o->bench)
        return fail(error, STATUS_USAGE, "--tune measures, which --check-only forbids");
    if (o->instruments && about_times)
        return fail(error, STATUS_USAGE,
                    "--%s is about times, and --counters, --predict, --memcheck, --racecheck and "
                    "--trace take none",
                    about_times);
    if (o->devices && o->instruments)
        return fail(
            error, STATUS_USAGE,
            "--devices: the instruments look at one device; leave it out, and let ranks share "
            "that (--set RANKS=P)");
    if (o->model && !(o->instruments & INSTRUMENT_COUNTERS))
        return fail(error, STATUS_USAGE, "--model needs --counters or --predict");
    if (o->sample > 0 && !o->instruments)
        return fail(error, STATUS_USAGE,
                    "--sample needs --counters, --predict, --memcheck, --racecheck or --trace");
    return STATUS_OK;
}

/* A page shows one kernel, or two; a lab that another program holds can be one of them (twin.h). */
static enum status check_trace(const options *o, error_text *error)
{
    const bool two = o->rivals == RIVALS_LAB,
               asked = o->trace_block >= 0 || o->trace_warp >= 0 || o->pick != TRACE_GIVEN;
    const bool other_program = o->trace_path && !instruments_here();
    if (two && !holds_lab(o->rival_lab) && !other_program)
        return fail(error, STATUS_USAGE, "--vs lab%d: this program does not hold that lab (--list)",
                    o->rival_lab);
    if (!o->trace_path && asked)
        return fail(error, STATUS_USAGE, "--trace-block and --trace-warp need --trace FILE");
    if (!o->trace_path) return STATUS_OK;
    if (!strcmp(o->trace_path, "-"))
        return fail(error, STATUS_USAGE, "--trace -: a page goes to a file, as in trace.html");
    if (o->trace_block >= 0 && o->pick != TRACE_GIVEN)
        return fail(error, STATUS_USAGE,
                    "--trace-warp worst and longest look at all blocks: leave --trace-block out");
    if (o->rivals_asked && !two && o->rivals != RIVALS_NONE)
        return fail(error, STATUS_USAGE, "--trace shows one kernel, or two with --vs labK");
    if (o->sweep)
        return fail(error, STATUS_USAGE,
                    "--trace shows one setting: choose it with --set instead of --sweep");
    return STATUS_OK;
}

enum status options_parse(int argc, char **argv, options *o, error_text *error)
{
    *o = (options){.operation = own_operation(),
                   .check = true,
                   .bench = true,
                   .seed = 1,
                   .num_widths = 1,
                   .trace_block = -1,
                   .trace_warp = -1};
    struct option table[NUM_OPTIONS + 1] = {0};
    for (int i = 0; i < NUM_OPTIONS; i++)
        table[i] =
            (struct option){OPTIONS[i].name, OPTIONS[i].argument ? required_argument : no_argument,
                            NULL, OPTIONS[i].id};
    opterr = 0;
    optind = 0; /* start over: the tests parse several command lines */
    int id, index = 0;
    const char *about_times = NULL;
    enum status status;
    /* _only: "-runs 5" means --runs 5, and a wrong "-rums" is one word, not five. */
    while ((id = getopt_long_only(argc, argv, ":h", table, &index)) != -1) {
        const char *word = argv[optind - 1];
        if (id == ':')
            return fail(error, STATUS_USAGE, "%s needs a value (--help shows which)", word);
        if (id == '?') return refuse_option(word, optopt, error);
        status = parse_option(id == 'h' ? OPT_HELP : id, optarg, o, error);
        if (status != STATUS_OK) return status;
        if (is_about_times(id)) about_times = table[index].name;
    }
    if (argc - optind > 2)
        return fail(error, STATUS_USAGE, "too many words: '%s' (expected [DATASET [%s]])",
                    argv[optind + 2], o->operation->width);
    status = check_together(o, about_times, error);
    if (status == STATUS_OK) status = check_trace(o, error);
    if (status != STATUS_OK) return status;
    if (o->trace_path && !o->rivals_asked) o->rivals = RIVALS_NONE;
    if (!o->model) o->model = "h200";
    if (o->sample == 0) o->sample = 1;
    if (optind < argc) o->dataset = argv[optind];
    o->widths[0] = usual_width(o->operation);
    if (optind + 1 < argc) status = parse_widths(argv[optind + 1], o, error);
    if (status == STATUS_OK && o->trace_path && o->num_widths > 1)
        return fail(error, STATUS_USAGE, "--trace shows one %s: got '%s'", o->operation->width,
                    argv[optind + 1]);
    return status;
}

options options_settle(const options *asked, bool decoded)
{
    static const int BATCHES[] = {8, 16, 32}; /* tokens that are decoded at a time */
    options o = *asked;
    if (!decoded) return o;
    if (!o.l2_asked) o.l2 = L2_COLD;
    if (!o.widths_asked) {
        o.num_widths = o.trace_path ? 1 : sizeof BATCHES / sizeof BATCHES[0];
        memcpy(o.widths, BATCHES, sizeof BATCHES);
    }
    return o;
}

/* "lab 1", "labs 1 to 5": those linked into this program. */
static void name_labs(char *text, size_t bytes)
{
    int first = 0, last = 0;
    for (const contender *c = contenders(); c; c = c->next) {
        if (!c->lab) continue;
        if (!first) first = c->lab;
        last = c->lab;
    }
    if (first == last)
        snprintf(text, bytes, "lab %d", first);
    else
        snprintf(text, bytes, "labs %d to %d", first, last);
}

void options_help(FILE *out, const char *program)
{
    char labs[40];
    const operation *const op = own_operation();
    name_labs(labs, sizeof labs);
    fprintf(
        out,
        "usage: %s [DATASET [%s]] [--option ...]\n"
        "\n"
        "Runs %s on a sparse matrix, checks every element of every result against an\n"
        "fp64 oracle and, on a GPU, times them beside the vendor's library.\n"
        "\n"
        "  DATASET   a name (arxiv), a set (set:graphs), a file (.mtx .smtx .csr .npz, a\n"
        "            lab-format base name, an edge list; text also .gz), or a generator\n"
        "            (rand:rows=1000,deg=8,skew=1.5  weights:rows=2048,cols=512,sparsity=0.9).\n"
        "            Without one, a small bundled sample.\n"
        "  %-8s  %s, or several: %s (default %d%s)\n"
        "\n",
        program, op->width, labs, op->width, op->width_meaning, op->most_width ? "1,2" : "32,256",
        usual_width(op), op->usual_width ? "" : "; set:llm 8,16,32");
    for (int i = 0; i < NUM_OPTIONS; i++) {
        char left[40];
        snprintf(left, sizeof left, "--%s%s%s", OPTIONS[i].name, OPTIONS[i].argument ? " " : "",
                 OPTIONS[i].argument ? OPTIONS[i].argument : "");
        fprintf(out, "  %-16s  %s\n", left, OPTIONS[i].help);
    }
    fprintf(out,
            "\n"
            "(*) needs no GPU: on the CPU backend (make BACKEND=simt). On a GPU, `make ncu` and\n"
            "    `make sanitize` ask NVIDIA's own tools.\n"
            "\n"
            "exit status: 0 ok, 1 wrong result or a finding, 2 usage, 3 dataset, 4 runtime,\n"
            "             5 out of memory, 77 skipped (needs a GPU, or a newer one)\n"
            "\n"
            "examples:\n"
            "  %s arxiv %d\n"
            "  %s rand:rows=2000,deg=12,skew=1.2 %d --check-only\n"
            "  %s arxiv %d --counters\n"
            "  %s set:graphs %s --csv graphs.csv\n",
            program, usual_width(op), program, op->most_width ? op->most_width : 100, program,
            usual_width(op), program, op->most_width ? "1,4" : "32,256");
    for (int i = 0; i < MAX_KNOBS && op->knobs[i].name; i++) {
        char value[24];
        tunable_write(&op->knobs[i], op->knobs[i].values[op->knobs[i].num_values - 1], value,
                      sizeof value);
        fprintf(out, "  %s arxiv %d --set %s=%s\n", program, usual_width(op), op->knobs[i].name,
                value);
    }
}

bool options_sampled(const options *o)
{
    return o->instruments && o->sample > 0 && o->sample < 1;
}

const char *options_l2(const options *o)
{
    /* The cache model, too, starts each launch with an empty L2. */
    return o->l2 == L2_COLD || (o->instruments & INSTRUMENT_COUNTERS) ? "cold" : "warm";
}

void options_flags(const options *o, char *text, size_t bytes)
{
    text[0] = 0;
    FILE *out = fmemopen(text, bytes, "w");
    if (!out) return;
    if (!o->check) fputs("bench-only;", out);
    if (!o->bench) fputs("check-only;", out);
    if (o->runs) fprintf(out, "runs=%d;", o->runs);
    if (o->devices) fprintf(out, "devices=%d;", o->devices);
    if (o->tune) fputs("tune;", out);
    if (o->sweep) fputs("sweep;", out);
    if (o->instruments & INSTRUMENT_COUNTERS) fputs(o->predict ? "predict;" : "counters;", out);
    if (o->instruments & INSTRUMENT_MEMCHECK) fputs("memcheck;", out);
    if (o->instruments & INSTRUMENT_RACECHECK) fputs("racecheck;", out);
    if (o->instruments & INSTRUMENT_TRACE) fputs("trace;", out);
    if (options_sampled(o)) fprintf(out, "sample=%.6g;", o->sample);
    for (int i = 0; i < o->num_settings; i++)
        fprintf(out, "%s=%s;", o->settings[i].name, o->settings[i].value);
    fclose(out);
    size_t used = strlen(text);
    if (used) text[used - 1] = 0; /* the last separator */
}
