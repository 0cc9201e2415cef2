/*
 * main.c - the program `rows`: all that is computed from rows of measurements. `rows --help` lists its commands.
 *
 *     rows COMMAND [NAME=VALUE...] FILE...
 *
 * Exit status: 0 done; 1 a counter is outside of its tolerance; 2 usage; 3 rows are missing or malformed; 4 a file
 * cannot be written. An error is one line; then standard output stays empty.
 */
#include "rows/rows.h"

#include "matrix/files.h"

#include <stdarg.h>

#include <stdlib.h>
#include <string.h>

const command COMMANDS[] = {
    {"table", "NAME FILE...", "a table of the report", run_table, 0, -1, "*"},
    {"value", "NAME FILE...", "one number: rows value speedup of=lab5 over=default spmm.csv",
     run_value, 0, -1, "*"},
    {"series", "FIGURE FOLDER PUBLISHED.tsv",
     "the numbers that a figure of the report is drawn from", run_series, 0, 2, "*"},
    {"targets", "FILE", "what was asked beside what was reached", run_targets, 1, 1, ""},
    {"origin", "FILE...", "machine, commits and data of rows", run_origin, 0, -1, "PLAN"},
    {"ladder", "[lab=N] FILE...", "times of all labs, or of one beside the step before", run_ladder,
     0, -1, "lab"},
    {"lines", "[labs=FOLDER] [apps=FOLDER] FILE...", "the ladder of README.md: a line a lab",
     run_lines, 0, -1, "labs apps"},
    {"leaderboard", "ROWS.csv [RIVALS.csv...]", "who is fastest", run_leaderboard, 1, -1, ""},
    {"dense", "FILE...", "labs on pruned weights beside dense products", run_dense, 0, -1, ""},
    {"formats", "FORMATS.csv", "bytes of matrices in each format", run_formats, 1, 1, ""},
    {"resources", "FILE...", "what bounds a case, by ncu", run_resources, 1, -1, ""},
    {"compare", "[all=1] OLD.csv NEW.csv", "which times differ by more than their noise",
     run_compare, 2, 2, "all"},
    {"merge", "FILE.csv NEW.csv", "puts new rows into a file of rows", run_merge, 2, 2, ""},
    {"choices", "[lab=99] RULE.csv SWEEP.csv", "a rule beside the fastest setting of a sweep",
     run_choices, 2, 2, "lab"},
    {"split", "[seed=29] FILE.tsv", "halves of matrices, by chance: to fit a rule, and to judge it",
     run_split, 1, 1, "seed"},
    {"predictions", "[summary=1] COUNTED.csv MEASURED.csv", "estimates beside measured times",
     run_predictions, 2, 2, "summary"},
    {"plot", "[X=COLUMN] [Y=COLUMN] [term=svg] FILE...", "a picture, as a program for gnuplot",
     run_plot, 1, -1, "X Y who only N term to columns lines"},
    {"curve", "[name=NAME] CURVE.csv", "how a network's loss falls, as numbers of a figure",
     run_curve, 1, 1, "name"},
    {"traces", "[budget=MILLIONS] [folder=FOLDER] MEASURED.csv",
     "the cases that are traced on the CPU", run_traces, 1, 1, "budget folder"},
    {"counters", "CPU.tsv NCU.csv", "counts of the CPU backend beside ncu's", run_counters, 2, 2,
     ""},
    {"ncu", "[header=1] [wanted=EXPRESSION] ROWS.csv RAW", "what ncu printed, as rows", run_ncu, 2,
     2, "header wanted"},
    {"patterns", "[device=NAME] [driver=NAME] RAW EXPECTED.csv",
     "what tests/counters expects beside ncu", run_patterns, 2, 2, "device driver"},
    {"plan", "[only=EXPRESSION] PLAN", "the jobs of a plan", run_plan, 1, 1, "only"},
    {"todo", "rows=FOLDER device=NAME cells=FOLDER JOBS", "the runs that jobs still need", run_todo,
     1, 1, "rows device retry plan cells apart"},
    {"cells", "columns=NAME,... FILE", "the different cells of some columns", run_cells, 1, 1,
     "columns"},
    {"blame", "spec=DATASET N=N CELLS", "rows of cells whose run died", run_blame, 1, 1,
     "spec N device driver toolkit status message"},
    {0},
};

FILE *out;
static const char *command_name = "";
static char *written;
static size_t written_bytes;

/* ---- messages --------------------------------------------------------------------------------- */

static void say(const char *format, va_list arguments)
{
    fprintf(stderr, "rows%s%s: ", *command_name ? " " : "", command_name);
    vfprintf(stderr, format, arguments);
    putc('\n', stderr);
}

void warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

_Noreturn void refuse(enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    exit(status);
}

static void print_help(void)
{
    fputs("usage: rows COMMAND [NAME=VALUE...] FILE...\n\n", out);
    for (const command *c = COMMANDS; c->name; c++)
        fprintf(out, "  %-12s %-42s %s\n", c->name, c->words, c->meaning);
    fputs("\nexit status: 0 done, 1 a counter is off, 2 usage, 3 rows are missing or malformed, 4 "
          "not writable\n",
          out);
}

/* ---- words ------------------------------------------------------------------------------------ */

/* Letters and digits before a "=": an option, and no path. */
static bool has_name(const char *word)
{
    const size_t letters =
        strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return letters && word[letters] == '=';
}

/* Sorts words into options and files; the first word of `table` and `value` is the name. */
static request read_words(const command *c, char **words)
{
    request q = {.files = words};
    if (!strcmp(c->options, "*")) {
        if (!*words) refuse(STATUS_USAGE, "usage: rows %s %s", c->name, c->words);
        *texts_at(&q.options, "") = *words++;
    }
    for (; *words; words++) {
        if (!has_name(*words)) {
            q.files[q.count++] = *words;
            continue;
        }
        const char *name = text("%.*s", (int)strcspn(*words, "="), *words);
        if (strcmp(c->options, "*") && !is_among(name, c->options, ' '))
            refuse(STATUS_USAGE, "no option %s (usage: rows %s %s)", name, c->name, c->words);
        *texts_at(&q.options, name) = strchr(*words, '=') + 1;
    }
    if (q.count < c->least_files || (c->most_files >= 0 && q.count > c->most_files))
        refuse(STATUS_USAGE, "usage: rows %s %s", c->name, c->words);
    return q;
}

int main(int argc, char **argv)
{
    out = open_memstream(&written, &written_bytes);
    if (!out) refuse(STATUS_MEMORY, "out of memory");
    enum status status = STATUS_OK;
    const command *c = COMMANDS;
    if (argc < 2) refuse(STATUS_USAGE, "wants a command (rows --help lists them)");
    while (c->name && strcmp(c->name, argv[1]))
        c++;
    if (c->name) {
        command_name = c->name;
        const request q = read_words(c, argv + 2);
        status = c->run(&q);
    } else if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        print_help();
    else
        refuse(STATUS_USAGE, "no command '%s' (rows --help lists them)", argv[1]);
    fclose(out);
    error_text error;
    fwrite(written, 1, written_bytes, stdout);
    if (output_flush(&error) != STATUS_OK) refuse(STATUS_RUNTIME, "%s", error.text);
    return status;
}
