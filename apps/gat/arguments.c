#include "arguments.h"

#include "matrix/nearest.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Whole numbers of the command line. */
static const struct {
    const char *name, *help;
    size_t place; /* in arguments */
    int least, most, usual;
} NUMBERS[] = {
    {"layers", "layers of the network", offsetof(arguments, layers), 1, MAX_LAYERS, 2},
    {"heads", "heads of each hidden layer", offsetof(arguments, heads), 1, 8, 8},
    {"hidden", "features of a head in hidden layers", offsetof(arguments, hidden), 1, 256, 8},
    {"features", "features of a vertex, which are made", offsetof(arguments, features), 1, 4096,
     64},
    {"classes", "classes of vertices, which are made", offsetof(arguments, classes), 2, 256, 8},
    {"steps", "steps of training whose loss is shown", offsetof(arguments, steps), 0, 1000000, 50},
    {"runs", "timed steps", offsetof(arguments, runs), 3, 10000, 20},
    {"device", "use GPU number I", offsetof(arguments, device), 0, 1023, 0},
};
enum { NUM_NUMBERS = sizeof NUMBERS / sizeof *NUMBERS };

static const char *const OTHERS[] = {"model",      "rate", "seed",     "vs",
                                     "check-only", "csv",  "data-dir", "help"};
enum { NUM_OTHERS = sizeof OTHERS / sizeof *OTHERS };

static int *number_at(arguments *o, int which)
{
    return (int *)((char *)o + NUMBERS[which].place);
}

static enum status refuse_option(const char *name, error_text *error)
{
    const char *names[NUM_NUMBERS + NUM_OTHERS];
    for (int i = 0; i < NUM_NUMBERS; i++)
        names[i] = NUMBERS[i].name;
    for (int i = 0; i < NUM_OTHERS; i++)
        names[NUM_NUMBERS + i] = OTHERS[i];
    const char *near = nearest_match(name, names, NUM_NUMBERS + NUM_OTHERS);
    return near ? fail(error, STATUS_USAGE, "unknown option --%s; did you mean --%s?", name, near)
                : fail(error, STATUS_USAGE, "unknown option --%s (--help lists them)", name);
}

static enum status read_number(const char *name, const char *text, long long least, long long most,
                               long long *value, error_text *error)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (end == text || *end || errno || *value < least || *value > most)
        return fail(error, STATUS_USAGE, "--%s must be a whole number from %lld to %lld; got '%s'",
                    name, least, most, text);
    return STATUS_OK;
}

static enum status read_rate(const char *text, double *rate, error_text *error)
{
    char *end;
    *rate = strtod(text, &end);
    if (end == text || *end || !isfinite(*rate) || *rate <= 0)
        return fail(error, STATUS_USAGE, "--rate must be a number above 0; got '%s'", text);
    return STATUS_OK;
}

static enum status read_option(const char *name, const char *value, arguments *o, error_text *error)
{
    long long number;
    for (int i = 0; i < NUM_NUMBERS; i++) {
        if (strcmp(name, NUMBERS[i].name)) continue;
        const enum status status =
            read_number(name, value, NUMBERS[i].least, NUMBERS[i].most, &number, error);
        if (status == STATUS_OK) *number_at(o, i) = (int)number;
        return status;
    }
    if (!strcmp(name, "rate")) return read_rate(value, &o->rate, error);
    if (!strcmp(name, "seed")) {
        const enum status status = read_number(name, value, 0, INT64_MAX, &number, error);
        if (status == STATUS_OK) o->seed = (uint64_t)number;
        return status;
    }
    if (!strcmp(name, "model")) {
        o->kind = strcmp(value, "gcn") ? MODEL_GAT : MODEL_GCN;
        if (o->kind == MODEL_GAT && strcmp(value, "gat"))
            return fail(error, STATUS_USAGE, "--model must be gat or gcn; got '%s'", value);
        return STATUS_OK;
    }
    const char **text = !strcmp(name, "vs")    ? &o->rival
                        : !strcmp(name, "csv") ? &o->csv_path
                                               : &o->data_dir;
    *text = value;
    return STATUS_OK;
}

static bool is_known(const char *name)
{
    for (int i = 0; i < NUM_NUMBERS; i++)
        if (!strcmp(name, NUMBERS[i].name)) return true;
    for (int i = 0; i < NUM_OTHERS; i++)
        if (!strcmp(name, OTHERS[i])) return true;
    return false;
}

enum status arguments_parse(int argc, char **argv, arguments *o, error_text *error)
{
    *o = (arguments){.rate = 0.01, .seed = 1, .rival = "best"};
    for (int i = 0; i < NUM_NUMBERS; i++)
        *number_at(o, i) = NUMBERS[i].usual;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        char name[32];
        if (strncmp(word, "--", 2)) {
            if (word[0] == '-') return fail(error, STATUS_USAGE, "unknown option %s", word);
            if (o->dataset) return fail(error, STATUS_USAGE, "one dataset at a time: '%s'", word);
            o->dataset = word;
            continue;
        }
        const char *equals = strchr(word, '=');
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
        if (!is_known(name)) return refuse_option(name, error);
        const bool is_flag = !strcmp(name, "help") || !strcmp(name, "check-only");
        if (is_flag && equals) return fail(error, STATUS_USAGE, "--%s takes no value", name);
        if (!strcmp(name, "help")) {
            o->help = true;
        } else if (is_flag) {
            o->check_only = true;
        } else {
            const char *value = equals ? equals + 1 : argv[++i];
            if (!value) return fail(error, STATUS_USAGE, "--%s needs a value", name);
            const enum status status = read_option(name, value, o, error);
            if (status != STATUS_OK) return status;
        }
    }
    return STATUS_OK;
}

void arguments_help(FILE *out, const char *program)
{
    fprintf(
        out,
        "usage: %s [DATASET] [--option ...]\n\n"
        "Trains a graph attention network, or a graph convolutional network, on a graph. Every "
        "sparse\n"
        "product is a plan of the suite, every dense one cuBLAS's; beside it the same network with "
        "the\n"
        "sparse products of cuSPARSE. Features and labels are made.\n\n"
        "  DATASET         a name, a file or a generator, as labs take it; without it a sample\n"
        "  --model MODEL   gat (default) or gcn\n",
        program);
    for (int i = 0; i < NUM_NUMBERS; i++)
        fprintf(out, "  --%-8s %-5s %s (default %d)\n", NUMBERS[i].name,
                !strcmp(NUMBERS[i].name, "device") ? "I" : "N", NUMBERS[i].help, NUMBERS[i].usual);
    fprintf(
        out,
        "  --rate R         learning rate of Adam (default 0.01)\n"
        "  --seed S         seed of features, labels and parameters (default 1)\n"
        "  --vs RIVAL       compare with the network on cuSPARSE: best of its algorithms "
        "(default),\n"
        "                   default, none; or on an SpMM by name, as \"cuSPARSE CSR_ALG2\" or "
        "roma;\n"
        "                   or several, with commas\n"
        "  --check-only     check the gradient more closely, train and time nothing\n"
        "  --csv FILE       write one row a network as CSV (- for standard output)\n"
        "  --data-dir DIR   look for datasets here before $SPMM_DATA_DIR\n"
        "  --help           show this text\n\n"
        "exit status: 0 ok, 1 a wrong gradient, or a loss that does not fall, 2 usage, 3 dataset,\n"
        "4 runtime, 5 does not fit in memory, 77 no GPU\n\n"
        "  %s arxiv\n"
        "  %s datasets/samples/market.mtx --model gcn --steps 100\n"
        "  %s rand:rows=300,deg=5 --check-only --heads 3\n",
        program, program, program);
}
