#include "arguments.h"

#include "matrix/nearest.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const VARIANTS[] = {"both", "sparse", "dense", NULL};
static const char *const PRECISIONS[] = {"fp32", "fp16", NULL};

/* A line of the help. What it sets is a text, the index of a word, a whole number or a flag. */
typedef struct option {
    const char *name, *argument, *help;
    size_t offset; /* in arguments */
    enum { TEXT, WORD, NUMBER, SEED, FLAG } kind;
    const char *const *words;
    double low, high;
} option;

#define AT(member) offsetof(arguments, member)

static const option OPTIONS[] = {
    {"layers", "N", "layers (3)", AT(layers), NUMBER, NULL, 1, 48},
    {"heads", "N", "heads of attention (8)", AT(heads), NUMBER, NULL, 1, 256},
    {"hidden", "N", "features of a token, a multiple of heads (1024)", AT(hidden), NUMBER, NULL, 1,
     16384},
    {"filter", "N", "features inside the feed-forward layer (4096)", AT(filter), NUMBER, NULL, 1,
     65536},
    {"variant", "NAME", "both, sparse or dense", AT(variant), WORD, VARIANTS, 0, 0},
    {"attention", "NAME", "who computes sparse attention (fused_attention)", AT(attention), TEXT,
     NULL, 0, 0},
    {"precision", "NAME", "of attention: fp32 or fp16", AT(precision), WORD, PRECISIONS, 0, 0},
    {"in-place", NULL, "dense softmax overwrites its logits", AT(in_place), FLAG, NULL, 0, 0},
    {"check-only", NULL, "check, and time nothing", AT(check_only), FLAG, NULL, 0, 0},
    {"sweep", NULL, "attention alone, by density: where sparse and dense cross", AT(sweep), FLAG,
     NULL, 0, 0},
    {"rivals", "FILE",
     "CSV of dense attentions beside --sweep: contender, precision, rows, N, flags, median_ms",
     AT(rivals), TEXT, NULL, 0, 0},
    {"picture", "FILE", "draw the mask, as .svg or .pgm, and do nothing else", AT(picture), TEXT,
     NULL, 0, 0},
    {"csv", "FILE", "write rows (- for standard output)", AT(csv), TEXT, NULL, 0, 0},
    {"runs", "N", "timed passes (20)", AT(runs), NUMBER, NULL, 3, 1000},
    {"seed", "S", "of weights and tokens (1)", AT(seed), SEED, NULL, 0, 0x1p53},
    {"device", "N", "which GPU (0)", AT(device), NUMBER, NULL, 0, 63},
    {"help", NULL, "this text", AT(help), FLAG, NULL, 0, 0},
};
enum { NUM_OPTIONS = sizeof OPTIONS / sizeof *OPTIONS };

void arguments_print_help(FILE *out)
{
    fprintf(
        out,
        "usage: sparse_transformer [MASK] [--option ...]\n"
        "\n"
        "A transformer's layers with sparse and with dense attention: checks both, and on a GPU\n"
        "reports tokens a second, bytes and the time of each part.\n"
        "\n"
        "  MASK             which keys a query attends to (mask:rows=12288, the published one);\n"
        "                   any square dataset: ./lab36 --list shows them\n");
    for (int i = 0; i < NUM_OPTIONS; i++) {
        char left[40];
        snprintf(left, sizeof left, "--%s%s%s", OPTIONS[i].name, OPTIONS[i].argument ? " " : "",
                 OPTIONS[i].argument ? OPTIONS[i].argument : "");
        fprintf(out, "  %-16s %s\n", left, OPTIONS[i].help);
    }
    fprintf(out, "\nexit status: 0 ok, 1 wrong result, 2 usage, 3 dataset, 4 runtime,\n"
                 "5 does not fit in memory, 77 no GPU\n"
                 "\nExamples:\n"
                 "  sparse_transformer mask:rows=256,band=32 --heads 2 --hidden 64 --filter 128\n"
                 "  sparse_transformer --sweep --csv sweep.csv\n"
                 "  sparse_transformer --picture mask.svg\n");
}

static enum status unknown(const char *word, error_text *error)
{
    const char *names[NUM_OPTIONS];
    for (int i = 0; i < NUM_OPTIONS; i++)
        names[i] = OPTIONS[i].name;
    const char *near = nearest_match(word + strspn(word, "-"), names, NUM_OPTIONS);
    return fail(error, STATUS_USAGE, "no option %s%s%s%s (--help shows them)", word,
                near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

static enum status set_word(const option *p, const char *text, int *to, error_text *error)
{
    for (int i = 0; p->words[i]; i++)
        if (!strcmp(p->words[i], text)) {
            *to = i;
            return STATUS_OK;
        }
    return fail(error, STATUS_USAGE, "--%s %s: it is %s%s%s%s%s", p->name, text, p->words[0],
                p->words[2] ? ", " : " or ", p->words[1], p->words[2] ? " or " : "",
                p->words[2] ? p->words[2] : "");
}

static enum status set_number(const option *p, const char *text, void *to, error_text *error)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= p->low && value <= p->high) || value != floor(value))
        return fail(error, STATUS_USAGE, "--%s %s: it is a whole number from %.0f to %.0f", p->name,
                    text, p->low, p->high);
    if (p->kind == SEED)
        *(uint64_t *)to = (uint64_t)value;
    else
        *(int *)to = (int)value;
    return STATUS_OK;
}

static enum status set(const option *p, const char *text, arguments *o, error_text *error)
{
    void *const to = (char *)o + p->offset;
    switch (p->kind) {
    case TEXT:
        *(const char **)to = text;
        return STATUS_OK;
    case WORD:
        return set_word(p, text, to, error);
    case FLAG:
        *(bool *)to = true;
        return STATUS_OK;
    default:
        return set_number(p, text, to, error);
    }
}

/* Finds the option of "--name" or "--name=value". */
static const option *find(const char *word)
{
    if (strncmp(word, "--", 2) != 0) return NULL;
    const size_t length = strcspn(word + 2, "=");
    for (int i = 0; i < NUM_OPTIONS; i++)
        if (strlen(OPTIONS[i].name) == length && !memcmp(OPTIONS[i].name, word + 2, length))
            return &OPTIONS[i];
    return NULL;
}

enum status arguments_find_attention(const arguments *o, enum precision precision,
                                     const attention_contender **found, error_text *error)
{
    const char *names[32];
    size_t count = 0;
    for (const contender *c = contenders(); c && count < 32; c = c->next)
        if (c->operation == &attention_operation && c->precision == precision)
            names[count++] = c->name;
    *found =
        (const attention_contender *)contender_find(&attention_operation, o->attention, precision);
    if (*found) return STATUS_OK;
    const char *near = nearest_match(o->attention, names, count);
    return fail(error, STATUS_USAGE, "--attention %s: no such contender in %s%s%s%s", o->attention,
                precision_name(precision), near ? "; did you mean " : "", near ? near : "",
                near ? "?" : "");
}

static enum status check(const arguments *o, error_text *error)
{
    const attention_contender *found;
    if (o->hidden % o->heads != 0)
        return fail(error, STATUS_USAGE, "--hidden %d is no multiple of --heads %d", o->hidden,
                    o->heads);
    if (o->sweep && o->picture)
        return fail(error, STATUS_USAGE, "--sweep and --picture exclude each other");
    if (o->rivals && !o->sweep) return fail(error, STATUS_USAGE, "--rivals needs --sweep");
    return arguments_find_attention(o, (enum precision)o->precision, &found, error);
}

enum status arguments_read(int argc, char **argv, arguments *o, error_text *error)
{
    *o = (arguments){.attention = "fused_attention",
                     .layers = 3,
                     .heads = 8,
                     .hidden = 1024,
                     .filter = 4096,
                     .runs = 20,
                     .seed = 1};
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-') {
            if (o->mask) return fail(error, STATUS_USAGE, "two masks: %s and %s", o->mask, argv[i]);
            o->mask = argv[i];
            continue;
        }
        const option *p = find(argv[i]);
        if (!p) return unknown(argv[i], error);
        const char *equals = strchr(argv[i], '='), *value = equals ? equals + 1 : NULL;
        if (!p->argument && equals)
            return fail(error, STATUS_USAGE, "--%s takes no value", p->name);
        if (p->argument && !equals && !(value = argv[++i]))
            return fail(error, STATUS_USAGE, "--%s needs a value: --%s %s", p->name, p->name,
                        p->argument);
        const enum status status = set(p, value, o, error);
        if (status != STATUS_OK) return status;
    }
    if (!o->mask) o->mask = "mask:rows=12288";
    return o->help ? STATUS_OK : check(o, error);
}
