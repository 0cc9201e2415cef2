/*
 * words.c - recipes, command lines, and the tables that the suite reads: grade.tsv, registry.tsv,
 * limits.tsv and files of rows.
 */
#include "triples.h"

#include "grader/rubric.h"
#include "harness/options.h"
#include "matrix/dataset.h"
#include "matrix/generate.h"
#include "matrix/registry.h"
#include "ops/spmm.h"
#include "results/limits.h"
#include "results/old_rows.h"
#include "results/row.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* A status that is not in `allowed`, or no clear message, is a finding. */
static void check_status(attempt *t, enum status status, unsigned allowed, const char *message,
                         const char *of)
{
    if (status == STATUS_OK) return;
    if (!(allowed >> status & 1)) found(t, "%s: status %d: %s", of, status, message);
    if (!*message || strchr(message, '\n')) found(t, "%s: the message '%s'", of, message);
}

/* ---- recipes --------------------------------------------------------------------------------- */

/* Whether a number of the text is so large that making its matrix takes long. */
static bool is_large(const char *spec)
{
    int digits = 0;
    for (; *spec; spec++) {
        digits = isdigit((unsigned char)*spec) ? digits + 1 : 0;
        if (digits > 4 || tolower((unsigned char)*spec) == 'e' ||
            tolower((unsigned char)*spec) == 'x')
            return true;
    }
    return false;
}

/* Any generator with any of its keys: half of the values are words or numbers of the usual size. */
static void put_recipe(attempt *t, FILE *out)
{
    static const char *const odd[] = {"0",  "1",   "7",    "64", "300", "999",  "0.5",   "0.9",
                                      "-1", "2.5", "1.0",  "",   "nan", "0.25", "inf",   "12",
                                      "x",  "16",  "3000", "8",  "2",   "160",  "random"};
    static const char *const usual[] = {"9", "30", "120", "0.5"};
    size_t count;
    const generator *g = generators(&count)[draw(t, count)];
    fprintf(out, "%s:", g->name);
    for (uint64_t n = draw(t, 5), k = 0; k < n; k++) {
        const generator_key *key = &g->keys[draw(t, (uint64_t)g->num_keys)];
        int words = 0;
        while (key->words && key->words[words])
            words++;
        fprintf(out, "%s%s=%s", k ? "," : "", key->name,
                once_in(t, 3) ? PICK(t, odd)
                : words       ? key->words[draw(t, (uint64_t)words)]
                              : PICK(t, usual));
    }
}

static void attempt_recipes(attempt *t)
{
    static const char *const names[] = {
        "arxiv",          "set:graphs",       "set:rnn/0.9", "set:dlmc/rn50", "ddi",
        "stand-in:arxiv", "rnn.gru-2048-0.8", "set:llm",     "reddit.dgl"};
    const unsigned refusals = 1 << STATUS_DATASET | 1 << STATUS_MEMORY | 1 << STATUS_USAGE;
    bytes spec;
    FILE *out = open_memstream(&spec.at, &spec.count);
    bool named = once_in(t, 4);
    if (named)
        fputs(PICK(t, names), out);
    else
        put_recipe(t, out);
    fclose(out);
    if (once_in(t, 2)) mutate(t, &spec);

    error_text error = {""};
    dataset data, again;
    enum status status = dataset_identify(spec.at, NULL, &data, &error);
    check_status(t, status, refusals, error.text, spec.at);
    char **members;
    size_t count;
    status = dataset_expand(spec.at, NULL, &members, &count, &error);
    check_status(t, status, refusals, error.text, spec.at);
    if (status == STATUS_OK) dataset_names_free(members, count);
    if (is_generator_spec(spec.at) && !is_large(spec.at)) {
        status = dataset_open(spec.at, NULL, &data, &error);
        check_status(t, status, refusals, error.text, spec.at);
        if (status == STATUS_OK) {
            check_invariants(t, &data.matrix, 1 << 20);
            /* The source that it names must make the same matrix again. */
            status = dataset_open(data.source, NULL, &again, &error);
            if (status != STATUS_OK) {
                found(t, "%s gives '%s', which fails: %s", spec.at, data.source, error.text);
            } else {
                size_t n = (size_t)data.matrix.nnz;
                if (n != (size_t)again.matrix.nnz || data.matrix.rows != again.matrix.rows ||
                    (n && memcmp(data.matrix.col_idx, again.matrix.col_idx, 4 * n) != 0))
                    found(t, "%s gives '%s', which gives another matrix", spec.at, data.source);
                dataset_close(&again);
            }
            dataset_close(&data);
        }
    }
    free(spec.at);
}

/* ---- command lines --------------------------------------------------------------------------- */

static spmm_contender fake_labs[] = {
    {.base = {.lab = 1, .name = "one"}},
    {.base = {.lab = 2,
              .name = "two",
              .tunables = {{"D", "", {1, 2, 4}, 3}, {"C", "", {1, 2}, 2}}}},
    {.base = {.lab = 4, .name = "four_fp16", .precision = PRECISION_FP16}},
};

static void attempt_options(attempt *t)
{
    static bool registered;
    for (size_t i = 0; !registered && i < sizeof fake_labs / sizeof *fake_labs; i++)
        contender_register(&fake_labs[i].base, &spmm_operation);
    registered = true;

    static const char *const words[] = {"--check-only",
                                        "--bench-only",
                                        "--runs",
                                        "--seed",
                                        "--warm",
                                        "--cold",
                                        "--vs",
                                        "--op",
                                        "--precision",
                                        "--tune",
                                        "--sweep",
                                        "--set",
                                        "--counters",
                                        "--predict",
                                        "--memcheck",
                                        "--racecheck",
                                        "--model",
                                        "--sample",
                                        "--csv",
                                        "--json",
                                        "--data-dir",
                                        "--device",
                                        "--cells",
                                        "--list",
                                        "--help",
                                        "--version",
                                        "--",
                                        "-",
                                        "arxiv",
                                        "set:graphs",
                                        "32",
                                        "8,16",
                                        "0",
                                        "-1",
                                        "1e9",
                                        "D=2",
                                        "D=2,C=1",
                                        "D=",
                                        "=",
                                        "fp32",
                                        "fp16",
                                        "lab1",
                                        "best",
                                        "none",
                                        "h200",
                                        "0.1",
                                        "spmm",
                                        "sddmm",
                                        "rows.csv",
                                        "",
                                        "99999999999999999999",
                                        "--runs=5",
                                        "--seed=x",
                                        "--set=D=4",
                                        "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
                                        "32,",
                                        ",32"};
    char *argv[12] = {(char[]){"lab2"}};
    int argc = 1;
    for (uint64_t n = draw(t, 9); n > 0; n--) {
        bytes word = {strdup(PICK(t, words)), 0};
        word.count = strlen(word.at);
        if (once_in(t, 4)) mutate(t, &word);
        argv[argc++] = word.at;
    }
    options o;
    error_text error = {""};
    enum status status = options_parse(argc, argv, &o, &error);
    bytes line;
    FILE *out = open_memstream(&line.at, &line.count);
    for (int i = 1; i < argc; i++)
        fprintf(out, " '%s'", argv[i]);
    fclose(out);
    check_status(t, status, 1 << STATUS_USAGE, error.text, line.at);
    if (status == STATUS_OK && o.mode == MODE_RUN) {
        char flags[128];
        if (o.num_widths < 1 || o.num_widths > MAX_WIDTHS)
            found(t, "%s: %d widths", line.at, o.num_widths);
        for (int i = 0; i < o.num_widths && !*t->finding; i++)
            if (o.widths[i] < 1) found(t, "%s: a width of %d", line.at, o.widths[i]);
        if (!(o.sample > 0 && o.sample <= 1)) found(t, "%s: a sample of %g", line.at, o.sample);
        if (o.runs < 0 || o.device < 0) found(t, "%s: %d runs on %d", line.at, o.runs, o.device);
        options_flags(&o, flags, sizeof flags);
        if (strpbrk(flags, ",\n\"")) found(t, "%s: flags '%s'", line.at, flags);
    }
    free(line.at);
    for (int i = 1; i < argc; i++)
        free(argv[i]);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* One of the tree's files that the pattern names, damaged as a rule. */
static bytes draw_file(attempt *t, const char *pattern)
{
    char path[600];
    snprintf(path, sizeof path, "%s/../../%s", attack_programs, pattern);
    glob_t names;
    if (glob(path, 0, NULL, &names) != 0) {
        found(t, "there is no %s", path);
        return (bytes){strdup(""), 0};
    }
    bytes b = read_file(names.gl_pathv[draw(t, names.gl_pathc)]);
    globfree(&names);
    if (b.count > 20000) { /* a part does, and is faster */
        b.count = 2000 + draw(t, 18000);
        b.at[b.count] = 0;
    }
    for (uint64_t n = draw(t, 4); n > 0; n--)
        mutate(t, &b);
    return b;
}

static void try_rubric(attempt *t)
{
    bytes b = draw_file(t, "labs/*/grade.tsv");
    write_file(t, "grade.tsv", &b);
    rubric *r = calloc(1, sizeof *r);
    error_text error = {""};
    enum status status = rubric_read(attempt_path(t, "grade.tsv"), r, &error);
    check_status(t, status, 1 << STATUS_USAGE | 1 << STATUS_RUNTIME, error.text, "grade.tsv");
    if (status == STATUS_OK) {
        double points = rubric_points(r);
        if (r->num_tests < 0 || r->num_tests > MAX_TESTS || !(points >= 0 && points < 1e12))
            found(t, "grade.tsv: %d tests, %g points", r->num_tests, points);
        for (int i = 0; i < r->num_tests && !*t->finding; i++)
            if (r->tests[i].kind >= TEST_KINDS || !r->tests[i].operation ||
                r->tests[i].num_words > MAX_WORDS)
                found(t, "grade.tsv:%d: no test", r->tests[i].line);
    }
    free(r);
    free(b.at);
}

static void try_registry(attempt *t)
{
    bytes b = draw_file(t, "datasets/registry.tsv");
    write_file(t, "registry.tsv", &b);
    setenv("SPMM_REGISTRY", attempt_path(t, "registry.tsv"), 1);
    registry r;
    error_text error = {""};
    enum status status = registry_load(&r, &error);
    check_status(t, status, 1 << STATUS_DATASET | 1 << STATUS_MEMORY, error.text, "registry.tsv");
    if (status == STATUS_OK) {
        for (size_t i = 0; i < r.count && !*t->finding; i++)
            if (r.entry[i].rows < 0 || r.entry[i].nnz < 0 || !registry_find(&r, r.entry[i].name))
                found(t, "registry.tsv: entry %zu", i);
        registry_free(&r);
        FILE *nowhere = fopen("/dev/null", "w");
        check_status(t, dataset_list(nowhere, NULL, &error),
                     1 << STATUS_DATASET | 1 << STATUS_MEMORY, error.text, "registry.tsv");
        fclose(nowhere);
    }
    unsetenv("SPMM_REGISTRY");
    free(b.at);
}

static void try_limits(attempt *t)
{
    bytes b = draw_file(t, "report/results/*/limits.tsv");
    write_file(t, "limits.tsv", &b);
    machine_limits limits;
    if (limits_read(attempt_path(t, "limits.tsv"), &limits)) {
        if (limits.num_gather < 1 || limits.num_gather > MAX_GATHER_POINTS)
            found(t, "limits.tsv: %d gather points", limits.num_gather);
        double gbs = limits_gather_gbs(&limits, (double)draw(t, 4096), (double)draw(t, 1ull << 40));
        if (!(gbs > 0)) found(t, "limits.tsv: %g GB/s of gathers", gbs);
        if (!(limits.copy_gbs > 0)) found(t, "limits.tsv: %g GB/s of copies", limits.copy_gbs);
    }
    free(b.at);
}

static void try_rows(attempt *t)
{
    bytes b = draw_file(t, "report/results/*/*.csv");
    if (once_in(t, 3)) { /* of schema 1, as far as the first line goes */
        char *first = memchr(b.at, '\n', b.count);
        if (first && b.count > 10) memcpy(b.at, "schema,lab", 10);
        if (first && first[1] == '2') first[1] = '1';
    }
    write_file(t, "rows.csv", &b);
    machine_limits limits = {
        .copy_gbs = 1000, .fp32_gflops = 1000, .num_gather = 1, .gather = {{128, 1e6, 500}}};
    error_text error = {""};
    FILE *in = fopen(attempt_path(t, "rows.csv"), "r"), *out = fopen("/dev/null", "w");
    enum status status = old_rows_convert(in, "rows.csv", &limits, out, &error);
    check_status(t, status, ~1u, error.text, "rows.csv");
    fclose(in);
    fclose(out);
    status = rows_may_replace(attempt_path(t, "rows.csv"), &error);
    check_status(t, status, 1 << STATUS_USAGE | 1 << STATUS_RUNTIME, error.text, "rows.csv");
    if (status == STATUS_OK && b.count > 0 && !strstr(b.at, "schema"))
        found(t, "rows.csv: may be replaced, and is no file of rows");
    free(b.at);
}

static void attempt_tables(attempt *t)
{
    void (*const tries[])(attempt *) = {try_rubric, try_registry, try_limits, try_rows};
    PICK(t, tries)(t);
}

const attack attack_recipes = {"recipes", "names, sets and generators", attempt_recipes, 2, 400};
const attack attack_options = {"options", "command lines", attempt_options, 1, 1000};
const attack attack_tables = {"tables", "grade.tsv, registry.tsv, limits.tsv, files of rows",
                              attempt_tables, 2, 300};
