/*
 * test_options.c - the command line: every option, what it defaults to, and every line that refuses
 * one. The contenders of this program are three labs that do nothing.
 */
#include "fixture.h"

#include "harness/options.h"
#include "ops/spmm.h"
#include "results/row.h"

#include <limits.h>

static const char *const NAMES[] = {"one"};

static spmm_contender fake_labs[] = {
    {.base = {.lab = 1, .name = "one"}},
    {.base = {.lab = 4, .name = "four_fp16", .precision = PRECISION_FP16}},
    {.base = {.lab = 2,
              .name = "two",
              .tunables = {{"D", "", {1, 2, 4}, 3}, {"C", "", {1, 2}, 2}}}},
    {.base = {.lab = 4,
              .name = "four",
              .tunables = {{"D", "", {2, 8}, 2},
                           {"SPLIT", "", {0, -64, 64}, 3},
                           {"E", "", {1}, 1, .names = NAMES},
                           {"F", "", {1}, 1},
                           {"G", "", {1}, 1},
                           {"H", "", {1}, 1},
                           {"I", "", {1}, 1},
                           {"J", "", {1}, 1},
                           {"K", "", {1}, 1},
                           {"L", "", {1}, 1},
                           {"M", "", {1}, 1},
                           {"N", "", {1}, 1}}}},
};

static int register_labs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fake_labs / sizeof fake_labs[0]; i++)
        contender_register(&fake_labs[i].base, &spmm_operation);
    return 0;
}

/* Parses "lab4 " and `line`, split at blanks; '' stands for an empty word. The words stay valid
 * until the next call. */
static enum status parse(const char *line, options *o, error_text *error)
{
    static char text[2048];
    char *argv[64] = {"lab4"}, *rest = text;
    int argc = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *word; (word = strsep(&rest, " ")) && argc < 63;)
        if (*word) argv[argc++] = strcmp(word, "''") ? word : "";
    return options_parse(argc, argv, o, error);
}

static options parsed(const char *line)
{
    options o;
    error_text error = {""};
    if (parse(line, &o, &error) != STATUS_OK) fail_msg("%s: %s", line, error.text);
    return o;
}

static void assert_refuses(const char *line, const char *message)
{
    options o;
    error_text error = {""};
    enum status status = parse(line, &o, &error);
    if (status != STATUS_USAGE || strcmp(error.text, message) != 0)
        fail_msg("%s: status %d, '%s', not '%s'", line, status, error.text, message);
}

static void assert_flags(const char *line, const char *expected)
{
    char text[96];
    options o = parsed(line);
    options_flags(&o, text, sizeof text);
    assert_string_equal(text, expected);
}

/* ---- what is understood ---------------------------------------------------------------------- */

static void defaults(void **state)
{
    (void)state;
    const options o = parsed("");
    assert_int_equal(o.mode, MODE_RUN);
    assert_null(o.dataset);
    assert_int_equal(o.num_widths, 1);
    assert_int_equal(o.widths[0], 32);
    assert_true(o.check && o.bench);
    assert_int_equal(o.runs, 0);
    assert_int_equal(o.seed, 1);
    assert_int_equal(o.l2, L2_WARM);
    assert_int_equal(o.rivals, RIVALS_BEST);
    assert_false(o.tune || o.sweep);
    assert_int_equal(o.num_settings, 0);
    assert_null(o.csv_path);
    assert_null(o.json_path);
    assert_null(o.data_dir);
    assert_int_equal(o.device, 0);
}

static void dataset_and_widths(void **state)
{
    (void)state;
    options o = parsed("arxiv");
    assert_string_equal(o.dataset, "arxiv");
    assert_int_equal(o.widths[0], 32);
    o = parsed("rand:rows=4,deg=2 1,1048576,7");
    assert_string_equal(o.dataset, "rand:rows=4,deg=2");
    assert_int_equal(o.num_widths, 3);
    assert_int_equal(o.widths[0], 1);
    assert_int_equal(o.widths[1], 1048576);
    assert_int_equal(o.widths[2], 7);
    o = parsed("a 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16");
    assert_int_equal(o.num_widths, MAX_WIDTHS);
    assert_int_equal(o.widths[15], 16);
    o = parsed("-- --odd-name 9");
    assert_string_equal(o.dataset, "--odd-name");
    assert_int_equal(o.widths[0], 9);
}

/* Options given stay; the weights of language models change the rest. */
static void defaults_follow_the_dataset(void **state)
{
    (void)state;
    options o = parsed(""), settled = options_settle(&o, false);
    assert_int_equal(settled.num_widths, 1);
    assert_int_equal(settled.widths[0], 32);
    assert_int_equal(settled.l2, L2_WARM);
    settled = options_settle(&o, true);
    assert_int_equal(settled.num_widths, 3);
    assert_int_equal(settled.widths[0], 8);
    assert_int_equal(settled.widths[1], 16);
    assert_int_equal(settled.widths[2], 32);
    assert_int_equal(settled.l2, L2_COLD);
    o = parsed("set:llm 32 --warm");
    settled = options_settle(&o, true);
    assert_int_equal(settled.num_widths, 1);
    assert_int_equal(settled.widths[0], 32);
    assert_int_equal(settled.l2, L2_WARM);
}

static void flags_and_values(void **state)
{
    (void)state;
    assert_true(parsed("--check-only").check && !parsed("--check-only").bench);
    assert_true(parsed("--bench-only").bench && !parsed("--bench-only").check);
    assert_int_equal(parsed("--cold").l2, L2_COLD);
    assert_int_equal(parsed("--warm --warm").l2, L2_WARM);
    assert_int_equal(parsed("--vs dense").rivals, RIVALS_DENSE);
    assert_true(parsed("--tune").tune);
    assert_true(parsed("--sweep").sweep);
    assert_int_equal(parsed("--runs 1").runs, 1);
    assert_int_equal(parsed("--runs=1000000").runs, 1000000);
    assert_int_equal(parsed("--seed 0").seed, 0);
    assert_true(parsed("--seed 9223372036854775807").seed == INT64_MAX);
    assert_int_equal(parsed("--device 1023").device, 1023);
    assert_string_equal(parsed("--csv a.csv").csv_path, "a.csv");
    assert_string_equal(parsed("--json -").json_path, "-");
    assert_string_equal(parsed("--data-dir /data").data_dir, "/data");
    assert_int_equal(parsed("--list").mode, MODE_LIST);
    assert_int_equal(parsed("--version").mode, MODE_VERSION);
    assert_int_equal(parsed("--help").mode, MODE_HELP);
    assert_int_equal(parsed("-h").mode, MODE_HELP);
}

/* Options may stand anywhere, be cut short, and be written with one dash. */
static void spellings(void **state)
{
    (void)state;
    options o = parsed("--runs 5 arxiv --cold 64 --csv x.csv");
    assert_string_equal(o.dataset, "arxiv");
    assert_int_equal(o.widths[0], 64);
    assert_int_equal(o.runs, 5);
    assert_string_equal(o.csv_path, "x.csv");
    assert_false(parsed("--check").bench);
    o = parsed("arxiv -check-only -runs 3");
    assert_false(o.bench);
    assert_int_equal(o.runs, 3);
}

static void rivals(void **state)
{
    (void)state;
    assert_int_equal(parsed("--vs best").rivals, RIVALS_BEST);
    assert_int_equal(parsed("--vs default").rivals, RIVALS_DEFAULT);
    assert_int_equal(parsed("--vs vendor").rivals, RIVALS_VENDOR);
    assert_int_equal(parsed("--vs none").rivals, RIVALS_NONE);
    assert_int_equal(parsed("").precisions, 0);
    assert_int_equal(parsed("--precision fp16").precisions, 1 << PRECISION_FP16);
    assert_int_equal(parsed("--precision fp32").precisions, 1 << PRECISION_FP32);
    const options o = parsed("--vs lab2");
    assert_int_equal(o.rivals, RIVALS_LAB);
    assert_int_equal(o.rival_lab, 2);
}

static void settings(void **state)
{
    (void)state;
    options o = parsed("--set D=4,SPLIT=-64 --set C=1");
    assert_int_equal(o.num_settings, 3);
    assert_string_equal(o.settings[0].name, "D");
    assert_string_equal(o.settings[0].value, "4");
    assert_string_equal(o.settings[1].name, "SPLIT");
    assert_string_equal(o.settings[1].value, "-64");
    assert_string_equal(o.settings[2].name, "C");
    assert_string_equal(parsed("--set E=one").settings[0].value, "one"); /* a value's name */
    assert_string_equal(parsed("--set E=1").settings[0].value, "1");
    o = parsed("--set D=8"); /* lab 4 takes it, though lab 2 does not */
    assert_string_equal(o.settings[0].value, "8");
}

static void instrument_options(void **state)
{
    (void)state;
    options o = parsed("");
    assert_int_equal(o.instruments, 0);
    assert_false(o.predict || options_sampled(&o));
    assert_string_equal(o.model, "h200");
    o = parsed("arxiv 32 --counters --memcheck --racecheck");
    assert_int_equal(o.instruments,
                     INSTRUMENT_COUNTERS | INSTRUMENT_MEMCHECK | INSTRUMENT_RACECHECK);
    assert_false(o.predict || options_sampled(&o));
    o = parsed("--predict --model a100 --sample 0.1 --check-only --sweep --vs none");
    assert_int_equal(o.instruments, INSTRUMENT_COUNTERS);
    assert_true(o.predict && options_sampled(&o));
    assert_string_equal(o.model, "a100"); /* whether there is one is the instruments' to say */
    o = parsed("--racecheck --sample 1");
    assert_int_equal(o.instruments, INSTRUMENT_RACECHECK);
    assert_false(options_sampled(&o));
}

static void trace_options(void **state)
{
    (void)state;
    options o = parsed("");
    assert_null(o.trace_path);
    o = parsed("--trace page.html");
    assert_string_equal(o.trace_path, "page.html");
    assert_int_equal(o.instruments, INSTRUMENT_TRACE);
    assert_int_equal(o.rivals, RIVALS_NONE);
    assert_int_equal(o.pick, TRACE_GIVEN);
    assert_true(o.trace_block == -1 && o.trace_warp == -1);
    o = parsed("--trace page.html --vs lab2 --trace-block 7 --trace-warp 3 --racecheck");
    assert_int_equal(o.instruments, INSTRUMENT_TRACE | INSTRUMENT_RACECHECK);
    assert_true(o.rivals == RIVALS_LAB && o.rival_lab == 2);
    assert_true(o.trace_block == 7 && o.trace_warp == 3);
    /* A later lab, which another program holds. */
    assert_int_equal(parsed("--trace page.html --vs lab3").rival_lab, 3);
    assert_int_equal(parsed("--trace p.html --trace-warp worst").pick, TRACE_WORST);
    assert_int_equal(parsed("--trace p.html --trace-warp longest").pick, TRACE_LONGEST);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void unknown_options(void **state)
{
    (void)state;
    assert_refuses("--frobnicate", "unknown option --frobnicate (--help lists them)");
    assert_refuses("--chek", "unknown option --chek; did you mean --check-only?");
    assert_refuses("--jsno=x.json", "unknown option --jsno; did you mean --json?");
    assert_refuses("--c", "unknown option --c (--help lists them)"); /* check-only, cold or csv */
    assert_refuses("-x", "unknown option -x (--help lists them)");
    assert_refuses("arxiv -xh", "unknown option -xh (--help lists them)");
    assert_refuses("arxiv -rnus 3", "unknown option -rnus; did you mean --runs?");
    assert_refuses("arxiv -5", "unknown option -5 (--help lists them)");
}

static void missing_and_unwanted_values(void **state)
{
    (void)state;
    static const char *const names[] = {"runs", "seed",     "vs",     "set",   "csv",
                                        "json", "data-dir", "device", "model", "sample"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char line[40], message[80];
        snprintf(line, sizeof line, "arxiv --%s", names[i]);
        snprintf(message, sizeof message, "--%s needs a value (--help shows which)", names[i]);
        assert_refuses(line, message);
    }
    assert_refuses("--cold=yes", "--cold takes no value (--help shows which do)");
    assert_refuses("--help=3", "--help takes no value (--help shows which do)");
}

static void bad_numbers(void **state)
{
    (void)state;
    static const char *const runs[] = {"0", "-1", "1000001", "x", "1x", "''", "1e3"};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        char line[40], message[80];
        const char *word = strcmp(runs[i], "''") ? runs[i] : "";
        snprintf(line, sizeof line, "--runs %s", runs[i]);
        snprintf(message, sizeof message, "--runs %s: expected 1 to 1000000", word);
        assert_refuses(line, message);
    }
    assert_refuses("--seed -1", "--seed -1: expected a whole number from 0");
    assert_refuses("--seed 9223372036854775808",
                   "--seed 9223372036854775808: expected a whole number from 0");
    assert_refuses("--device -1", "--device -1: expected a whole number from 0");
    assert_refuses("--device gpu0", "--device gpu0: expected a whole number from 0");
}

static void bad_samples(void **state)
{
    (void)state;
    static const char *const shares[] = {"0", "-0.5", "1.01", "x", "0.1x", "nan", "inf", "''"};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        char line[40], message[80];
        snprintf(line, sizeof line, "--counters --sample %s", shares[i]);
        snprintf(message, sizeof message,
                 "--sample %s: expected a share above 0, up to 1, as in 0.1",
                 strcmp(shares[i], "''") ? shares[i] : "");
        assert_refuses(line, message);
    }
}

static void bad_widths(void **state)
{
    (void)state;
    static const char *const widths[] = {"0", "1048577", "x", "32x", "32,", ",32", "32,0", "1.5"};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        char line[40], message[120];
        snprintf(line, sizeof line, "arxiv %s", widths[i]);
        snprintf(message, sizeof message,
                 "N must be a whole number from 1 to 1048576, or several as in 32,256; got '%s'",
                 widths[i]);
        assert_refuses(line, message);
    }
    assert_refuses("a 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
                   "at most 16 values of N in one run");
    char line[400] = "a ";
    memset(line + 2, '1', 300);
    assert_refuses(line, "N: the list is too long");
    assert_refuses("arxiv 32 64", "too many words: '64' (expected [DATASET [N]])");
}

static void bad_rivals(void **state)
{
    (void)state;
    assert_refuses("--precision bf16", "--precision bf16: no lab of this program has it (--list)");
    assert_refuses("--precision half", "--precision half: choose fp32, fp16 or bf16");
    assert_refuses("--vs lab3", "--vs lab3: this program does not hold that lab (--list)");
    assert_refuses("--vs lab0", "--vs lab0: choose best, default, vendor, dense, none or labK");
    assert_refuses("--vs lab", "--vs lab: choose best, default, vendor, dense, none or labK");
    assert_refuses("--vs cusparse",
                   "--vs cusparse: choose best, default, vendor, dense, none or labK");
}

static void bad_traces(void **state)
{
    (void)state;
    assert_refuses("--trace -", "--trace -: a page goes to a file, as in trace.html");
    assert_refuses("--trace p.html --vs best", "--trace shows one kernel, or two with --vs labK");
    assert_refuses("--trace-block 1", "--trace-block and --trace-warp need --trace FILE");
    assert_refuses("--trace-warp worst", "--trace-block and --trace-warp need --trace FILE");
    assert_refuses("--trace p.html --trace-block -1",
                   "--trace-block -1: expected the number of a block, from 0");
    assert_refuses("--trace p.html --trace-warp 32",
                   "--trace-warp 32: expected the number of a warp in its block, 0 to 31, worst or "
                   "longest");
    assert_refuses("--trace p.html --trace-warp worst --trace-block 2",
                   "--trace-warp worst and longest look at all blocks: leave --trace-block out");
    assert_refuses("--trace p.html --sweep",
                   "--trace shows one setting: choose it with --set instead of --sweep");
    assert_refuses("--trace p.html x 1,2", "--trace shows one N: got '1,2'");
}

static void bad_settings(void **state)
{
    (void)state;
    assert_refuses("--set D", "--set D: expected NAME=VALUE,...");
    assert_refuses("--set D=", "--set D=: expected NAME=VALUE,...");
    assert_refuses("--set D=2,", "--set D=2,: expected NAME=VALUE,...");
    assert_refuses("--set Q=2", "--set: no tunable is called 'Q' (--list shows them)");
    assert_refuses("--set =2", "--set: no tunable is called '' (--list shows them)");
    assert_refuses("--set D=3", "--set D=3: choose one of 2, 8");
    assert_refuses("--set D=two", "--set D=two: choose one of 2, 8");
    assert_refuses("--set D=4294967298", "--set D=4294967298: choose one of 2, 8"); /* 2^32 + 2 */
    assert_refuses("--set E=two", "--set E=two: choose one of one");
    assert_refuses("--set SPLIT=32", "--set SPLIT=32: choose one of 0, -64, 64");
    assert_refuses("--set C=1,D=2,C=2", "--set: C is set twice");
    assert_refuses("--set D=2 --set D=2", "--set: D is set twice");
    assert_refuses("--set C=1,D=2,SPLIT=0,E=1,F=1,G=1,H=1,I=1,J=1,K=1,L=1,M=1,N=1",
                   "--set: at most 12 settings");
    char line[400] = "--set D=2,";
    memset(line + 10, '1', 300);
    assert_refuses(line, "--set: the list is too long");
}

static void contradictions(void **state)
{
    (void)state;
    assert_refuses("--check-only --bench-only", "--check-only and --bench-only exclude each other");
    assert_refuses("--warm --cold", "--warm and --cold exclude each other");
    assert_refuses("--cold --runs 5 --warm", "--warm and --cold exclude each other");
    assert_refuses("--tune --sweep", "--sweep and --tune exclude each other");
    assert_refuses("--tune --check-only", "--tune measures, which --check-only forbids");
    static const char *const about_times[] = {"--tune", "--bench-only", "--runs 5", "--warm",
                                              "--cold"};
    for (size_t i = 0; i < sizeof about_times / sizeof about_times[0]; i++) {
        char line[40], message[120];
        snprintf(line, sizeof line, "%s --counters", about_times[i]);
        snprintf(message, sizeof message,
                 "%.*s is about times, and --counters, --predict, --memcheck, --racecheck and "
                 "--trace take "
                 "none",
                 (int)strcspn(about_times[i], " "), about_times[i]);
        assert_refuses(line, message);
    }
    assert_refuses(
        "-ru 5 --seed 3 --racecheck",
        "--runs is about times, and --counters, --predict, --memcheck, --racecheck and --trace "
        "take none");
    assert_refuses("--model h200", "--model needs --counters or --predict");
    assert_refuses("--memcheck --model h200", "--model needs --counters or --predict");
    assert_refuses("--sample 0.5",
                   "--sample needs --counters, --predict, --memcheck, --racecheck or --trace");
}

/* ---- the texts ------------------------------------------------------------------------------- */

static void flags_column(void **state)
{
    (void)state;
    assert_flags("", "");
    assert_flags("arxiv 64 --cold --seed 7 --vs none --csv x", ""); /* they have columns */
    assert_flags("--bench-only", "bench-only");
    assert_flags("--set D=2,C=1 --runs 50 --check-only --sweep",
                 "check-only;runs=50;sweep;D=2;C=1");
    assert_flags("--tune", "tune");
    assert_flags("--counters --racecheck --sample 0.125 --model a100",
                 "counters;racecheck;sample=0.125"); /* the model has a column */
    assert_flags("--memcheck --predict --set D=2 --sample 1", "predict;memcheck;D=2");
}

/* A text that does not fit is cut, never overrun. */
static void flags_column_is_cut(void **state)
{
    (void)state;
    char text[32];
    memset(text, '#', sizeof text);
    options o = parsed("--runs 50 --check-only --sweep");
    options_flags(&o, text, 16);
    assert_true(strlen(text) < 16);
    assert_int_equal(strncmp(text, "check-only;run", 14), 0);
    assert_int_equal(text[16], '#');
}

/* The longest words, names and values: a row has room for all of it. */
static void a_row_has_room_for_all_flags(void **state)
{
    (void)state;
    char text[2 * FLAGS_BYTES];
    options o = parsed("--sweep");
    o.check = o.bench = false;
    o.runs = INT_MAX;
    o.tune = true;
    o.instruments =
        INSTRUMENT_COUNTERS | INSTRUMENT_MEMCHECK | INSTRUMENT_RACECHECK | INSTRUMENT_TRACE;
    o.sample = 0.000123456;
    for (o.num_settings = 0; o.num_settings < MAX_TUNABLES; o.num_settings++) {
        setting *s = &o.settings[o.num_settings];
        memset(s, 'X', sizeof *s);
        s->name[sizeof s->name - 1] = s->value[sizeof s->value - 1] = 0;
    }
    options_flags(&o, text, sizeof text);
    assert_true(strlen(text) > (sizeof(setting) - 1) * MAX_TUNABLES);
    assert_true(strlen(text) < sizeof((row *)0)->flags);
}

static void help_names_everything(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    options_help(out, "./lab4");
    fclose(out);
    static const char *const parts[] = {
        "usage: ./lab4 [DATASET [N]] [--option ...]\n",
        "Runs labs 1 to 4 on a sparse matrix",
        "  DATASET   ",
        "  N         ",
        "  --check-only ",
        "  --bench-only ",
        "  --runs R ",
        "  --seed S ",
        "  --warm ",
        "  --cold ",
        "  --vs RIVAL ",
        "  --tune ",
        "  --sweep ",
        "  --set T=V,... ",
        "  --counters ",
        "  --predict ",
        "  --memcheck ",
        "  --racecheck ",
        "  --model GPU ",
        "  --sample F ",
        "  --trace FILE ",
        "  --trace-block B ",
        "  --trace-warp W ",
        "  --csv FILE ",
        "  --json FILE ",
        "  --data-dir DIR ",
        "  --device I ",
        "  --list ",
        "  --help ",
        "  --version ",
        "exit status: 0 ok, 1 wrong result",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!strstr(text, parts[i])) fail_msg("no '%s' in %s", parts[i], text);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 95);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(dataset_and_widths),
        cmocka_unit_test(defaults_follow_the_dataset),
        cmocka_unit_test(flags_and_values),
        cmocka_unit_test(spellings),
        cmocka_unit_test(rivals),
        cmocka_unit_test(settings),
        cmocka_unit_test(instrument_options),
        cmocka_unit_test(trace_options),
        cmocka_unit_test(unknown_options),
        cmocka_unit_test(missing_and_unwanted_values),
        cmocka_unit_test(bad_numbers),
        cmocka_unit_test(bad_samples),
        cmocka_unit_test(bad_widths),
        cmocka_unit_test(bad_rivals),
        cmocka_unit_test(bad_traces),
        cmocka_unit_test(bad_settings),
        cmocka_unit_test(contradictions),
        cmocka_unit_test(flags_column),
        cmocka_unit_test(flags_column_is_cut),
        cmocka_unit_test(a_row_has_room_for_all_flags),
        cmocka_unit_test(help_names_everything),
    };
    return cmocka_run_group_tests_name("options", tests, register_labs, NULL);
}
