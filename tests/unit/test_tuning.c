/*
 * test_tuning.c - which values tunables take: by rule, by --set, by turns, by measuring, and from
 * the cache of what was measured.
 */
#include "fixture.h"

#include "harness/tuning.h"
#include "harness/tuning_cache.h"
#include "ops/sddmm.h"
#include "ops/spmm.h"
#include "random_matrix.h"

/* ---- contenders ------------------------------------------------------------------------------ */

static int evaluations;
static char evaluated[400]; /* the settings of each evaluation, in order */

static cudaError_t prepare(spmm_plan *plan)
{
    char text[64];
    tuning_text(&plan->contender->base, plan->tuning, text, sizeof text);
    evaluations++;
    if (strlen(evaluated) + strlen(text) + 3 < sizeof evaluated)
        strcat(strcat(evaluated, text), "; ");
    return cudaSuccess;
}

/* Wrong, hence never chosen. */
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    (void)B;
    return cudaMemsetAsync(C, 0, (size_t)plan->A.rows * plan->N * sizeof *C, stream);
}

static void rule(const row_stats *stats, int N, int *tuning)
{
    tuning[0] = N > 8 ? 4 : 2;
    tuning[1] = stats->max > 1000000 ? 2 : 1;
}

static spmm_contender lab = {
    .base = {.operation = &spmm_operation,
             .lab = 4,
             .name = "tuning",
             .tunables = {{.name = "D", .values = {1, 2, 4}, .num_values = 3},
                          {.name = "C", .values = {1, 2}, .num_values = 2},
                          {.name = "HOST",
                           .values = {7, 8},
                           .num_values = 2,
                           .initial = 8,
                           .prepare_only = true}}},
    .choose = rule,
    .prepare = prepare,
    .run = run,
};
static spmm_contender plain = {.base = {.operation = &spmm_operation, .lab = 1, .name = "plain"}};

/* The settings of a contender's turns, one after the other. */
static void assert_turns(const contender *c, const options *o, const char *expected)
{
    char text[400] = "";
    int tuning[MAX_TUNABLES];
    tuning_first(c, o, tuning);
    do {
        char one[64];
        tuning_text(c, tuning, one, sizeof one);
        strcat(strcat(text, one), "; ");
        assert_true(strlen(text) < 300);
    } while (tuning_next(c, o, tuning));
    assert_string_equal(text, expected);
}

static options with(const char *name, int value)
{
    options o = {.check = true, .seed = 1, .num_settings = 1};
    strcpy(o.settings[0].name, name);
    snprintf(o.settings[0].value, sizeof o.settings[0].value, "%d", value);
    return o;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void odometer(void **state)
{
    (void)state;
    const options o = {0};
    assert_turns(&lab.base, &o,
                 "D=1 C=1 HOST=7; D=1 C=2 HOST=7; D=2 C=1 HOST=7; D=2 C=2 HOST=7; "
                 "D=4 C=1 HOST=7; D=4 C=2 HOST=7; ");
    assert_turns(&plain.base, &o, "; ");
}

static void fixed_values_do_not_turn(void **state)
{
    (void)state;
    options o = with("D", 2);
    assert_turns(&lab.base, &o, "D=2 C=1 HOST=7; D=2 C=2 HOST=7; ");
    o.settings[o.num_settings++] = (setting){"C", "2"};
    assert_turns(&lab.base, &o, "D=2 C=2 HOST=7; ");
    o = with("HOST", 8);
    o.settings[o.num_settings++] = (setting){"C", "1"};
    assert_turns(&lab.base, &o, "D=1 C=1 HOST=8; D=2 C=1 HOST=8; D=4 C=1 HOST=8; ");
    /* Another lab's values, and tunables, leave this one alone. */
    o = with("C", 16);
    o.settings[o.num_settings++] = (setting){"D", "4"};
    o.settings[o.num_settings++] = (setting){"SPLIT", "1"};
    assert_turns(&lab.base, &o, "D=4 C=1 HOST=7; D=4 C=2 HOST=7; ");
}

static void text_of_a_tuning(void **state)
{
    (void)state;
    const int tuning[] = {4, -2, 7};
    char text[64];
    tuning_text(&lab.base, tuning, text, sizeof text);
    assert_string_equal(text, "D=4 C=-2 HOST=7");
    tuning_text(&lab.base, tuning, text, 7);
    assert_string_equal(text, "D=4 C=");
    tuning_text(&plain.base, tuning, text, sizeof text);
    assert_string_equal(text, "");
}

/* ---- the choice ------------------------------------------------------------------------------ */

static device_info device;
static csr_matrix A;
static problem p;

static int make_problem(void **state)
{
    error_text error;
    A = random_matrix(3, 30, 30, 200, true);
    p = (problem){.operation = &spmm_operation, .A = &A, .width = 5, .seed = 1};
    if (fixture_setup(state) != 0 || device_open(0, &device, &error) != STATUS_OK ||
        row_stats_compute(&A, &p.stats, &error) != STATUS_OK ||
        p.operation->create(&p, &error) != STATUS_OK) {
        print_error("%s\n", error.text);
        return -1;
    }
    return 0;
}

static int free_problem(void **state)
{
    p.operation->destroy(&p);
    csr_free(&A);
    return fixture_teardown(state);
}

static int empty_cache(void **state)
{
    (void)state;
    evaluations = 0;
    evaluated[0] = 0;
    remove(fixture_path("cache/spmm-lab/tuning.tsv"));
    return setenv("XDG_CACHE_HOME", fixture_path("cache"), 1);
}

static void assert_choice(const options *o, const char *expected)
{
    workbench w;
    error_text error;
    char text[64];
    int tuning[MAX_TUNABLES] = {0};
    if (workbench_create(&w, o, &device, &p, &error) != STATUS_OK) fail_msg("%s", error.text);
    tuning_choose(&w, &lab.base, tuning);
    tuning_text(&lab.base, tuning, text, sizeof text);
    assert_string_equal(text, expected);
    assert_ptr_equal(w.options, o);
    workbench_destroy(&w);
}

static void by_rule_and_by_hand(void **state)
{
    (void)state;
    const options none = {.check = true, .seed = 1};
    assert_choice(&none, "D=2 C=1 HOST=8"); /* HOST: its initial value */
    options o = with("D", 1);
    assert_choice(&o, "D=1 C=1 HOST=8");
    o = with("HOST", 7);
    assert_choice(&o, "D=2 C=1 HOST=7");
    o = with("D", 16); /* not one of this lab's */
    assert_choice(&o, "D=2 C=1 HOST=8");
    assert_int_equal(evaluations, 0);
    assert_int_equal(access(fixture_path("cache/spmm-lab/tuning.tsv"), F_OK), -1);
}

/* Every combination is tried; wrong ones are not chosen, and nothing is remembered of them. */
static void measuring_wrong_kernels(void **state)
{
    (void)state;
    if (device_keeps_time()) skip(); /* there, each is prepared six times */
    options o = with("C", 2);
    o.tune = true;
    assert_choice(&o, "D=2 C=2 HOST=8");
    assert_string_equal(evaluated, "D=1 C=2 HOST=7; D=2 C=2 HOST=7; D=4 C=2 HOST=7; ");
    assert_int_equal(access(fixture_path("cache/spmm-lab/tuning.tsv"), F_OK), -1);
}

static void remember(const workbench *w, const int *tuning)
{
    error_text error;
    if (tuning_remember(w, &lab.base, tuning, &error) != STATUS_OK) fail_msg("%s", error.text);
}

/* In a short list the contender's own choice comes first, and --set holds for all. */
static void measuring_a_short_list(void **state)
{
    (void)state;
    static const int list[][MAX_TUNABLES] = {{1, 1, 8}, {4, 2, 8}};
    if (device_keeps_time()) skip();
    options o = with("C", 2);
    o.tune = true;
    lab.base.shortlist = list;
    lab.base.num_shortlisted = 2;
    assert_choice(&o, "D=2 C=2 HOST=8");
    lab.base.shortlist = NULL;
    assert_string_equal(evaluated, "D=2 C=2 HOST=8; D=1 C=2 HOST=8; D=4 C=2 HOST=8; ");
}

/* A program that is killed while it writes leaves half a line; the next one is not lost with it. */
static void half_a_line_swallows_no_other(void **state)
{
    (void)state;
    mkdir(fixture_path("cache"), 0777);
    mkdir(fixture_path("cache/spmm-lab"), 0777);
    write_text("cache/spmm-lab/tuning.tsv", "GPU|half a");
    options o = {.check = true, .seed = 1, .tune = true};
    const workbench w = {.options = &o, .device = &device, .problem = &p};
    int recalled[MAX_TUNABLES] = {0};
    remember(&w, (const int[]){4, 2, 7});
    assert_true(tuning_recall(&w, &lab.base, recalled));
    assert_int_equal(recalled[0], 4);
    unlink(fixture_path("cache/spmm-lab/tuning.tsv"));
}

static void remembered_choice_is_not_measured_again(void **state)
{
    (void)state;
    const int remembered[] = {4, 2, 7};
    options o = {.check = true, .seed = 1, .tune = true};
    const workbench w = {.options = &o, .device = &device, .problem = &p};
    remember(&w, remembered);
    assert_choice(&o, "D=4 C=2 HOST=7");
    assert_int_equal(evaluations, 0);
    o.tune = false; /* what was measured is used only if asked for */
    assert_choice(&o, "D=2 C=1 HOST=8");
}

/* ---- the cache ------------------------------------------------------------------------------- */

static void assert_recalls(const workbench *w, const contender *c, const char *expected)
{
    char text[64];
    int tuning[MAX_TUNABLES] = {1, 1, 8};
    const bool found = tuning_recall(w, c, tuning);
    tuning_text(c, tuning, text, sizeof text);
    assert_string_equal(text, found ? expected : "D=1 C=1 HOST=8");
    if (found != (expected != NULL)) fail_msg("%s", found ? text : "not found");
}

static void recalls_the_last(void **state)
{
    (void)state;
    const options o = {.tune = true};
    const workbench w = {.options = &o, .device = &device, .problem = &p};
    assert_recalls(&w, &lab.base, NULL);
    remember(&w, (const int[]){2, 1, 8});
    assert_recalls(&w, &lab.base, "D=2 C=1 HOST=8");
    remember(&w, (const int[]){4, 2, 7});
    assert_recalls(&w, &lab.base, "D=4 C=2 HOST=7");
}

/* Whatever the measurement depends on is part of the key. */
static void recalls_nothing_of_others(void **state)
{
    (void)state;
    options o = {.tune = true};
    device_info this_device = device;
    problem q = p;
    const workbench w = {.options = &o, .device = &this_device, .problem = &q};
    remember(&w, (const int[]){4, 2, 7});
    assert_recalls(&w, &lab.base, "D=4 C=2 HOST=7");

    spmm_contender other = lab;
    other.base.name = "tunin";
    assert_recalls(&w, &other.base, NULL);
    other = lab;
    other.base.operation = &sddmm_operation; /* lab 99 has a contender of the same name in each */
    assert_recalls(&w, &other.base, NULL);
    other = lab;
    other.base.precision = PRECISION_FP16;
    assert_recalls(&w, &other.base, NULL);
    strcat(this_device.name, " NVL");
    assert_recalls(&w, &lab.base, NULL);
    this_device = device;
    strcat(this_device.driver, "1");
    assert_recalls(&w, &lab.base, NULL);
    this_device = device;
    A.col_idx[0]++; /* the same row lengths */
    assert_recalls(&w, &lab.base, NULL);
    A.col_idx[0]--;
    o.l2 = L2_COLD;
    assert_recalls(&w, &lab.base, NULL);
    o = with("D", 4);
    o.tune = true;
    assert_recalls(&w, &lab.base, NULL);
    o = (options){.tune = true, .runs = 50};
    assert_recalls(&w, &lab.base, NULL);
    o = (options){.tune = true, .num_settings = MAX_TUNABLES};
    for (int i = 0; i < MAX_TUNABLES; i++)
        snprintf(o.settings[i].name, sizeof o.settings[i].name, "LONG_SETTING_%d", i);
    remember(&w, (const int[]){2, 2, 7});
    strcpy(o.settings[MAX_TUNABLES - 1].value, "1"); /* the last of them counts, too */
    assert_recalls(&w, &lab.base, NULL);
    o = (options){.tune = true};
    q.width++;
    assert_recalls(&w, &lab.base, NULL);
    q = p;
    q.stats.rows++;
    assert_recalls(&w, &lab.base, NULL);
    q = p;
    q.stats.cols++;
    assert_recalls(&w, &lab.base, NULL);
    q = p;
    q.stats.nnz++;
    assert_recalls(&w, &lab.base, NULL);
    q = p;
    q.stats.max++;
    assert_recalls(&w, &lab.base, NULL);
    q = p;
    q.stats.cov += 0.001;
    assert_recalls(&w, &lab.base, NULL);
    q = p;
    assert_recalls(&w, &lab.base, "D=4 C=2 HOST=7");
}

/* Replaces the values behind the key in the cache's only line. */
static void damage(const char *values)
{
    static const char file[] = "cache/spmm-lab/tuning.tsv";
    size_t count;
    char *text = read_bytes(file, &count), line[1200];
    text[count] = 0;
    snprintf(line, sizeof line, "%.*s%s", (int)strcspn(text, "\t\n"), text, values);
    write_text(file, line);
    free(text);
}

static void damaged_lines_are_ignored(void **state)
{
    (void)state;
    static const char *const values[] = {
        "",               /* cut after the key */
        "\t4\t2",         /* too few */
        "\t4\t2\t7",      /* cut before the line's end */
        "\t4\t2\t7\t1\n", /* too many */
        "\t4\t2\tx\n",    /* no number */
        "\t3\t2\t7\n",    /* D cannot be 3 */
        "\t4\t2\t7 more\n",
        "\n",
    };
    const options o = {.tune = true};
    const workbench w = {.options = &o, .device = &device, .problem = &p};
    remember(&w, (const int[]){4, 2, 7});
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        damage(values[i]);
        assert_recalls(&w, &lab.base, NULL);
    }
    damage("\t4\t2\t7\n");
    assert_recalls(&w, &lab.base, "D=4 C=2 HOST=7");
}

/* Another build of the program is another kernel: here, a copy with a byte more. The same program built again is the same. */
static void another_build_recalls_nothing(void **state)
{
    (void)state;
    char command[700];
    const options o = {.tune = true};
    const workbench w = {.options = &o, .device = &device, .problem = &p};
    remember(&w, (const int[]){4, 2, 7});
    snprintf(command, sizeof command, "cp /proc/%ld/exe '%s' && '%s' --recall", (long)getpid(),
             fixture_path("copy"), fixture_path("copy"));
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "printf x >>'%s' && '%s' --recall", fixture_path("copy"),
             fixture_path("copy"));
    assert_int_equal(WEXITSTATUS(system(command)), 1);
}

/* Runs as the copy: 0 if it recalls the same problem's tuning. */
static int recall_in_copy(void)
{
    void *state = NULL;
    char cache[300];
    const options o = {.tune = true};
    const workbench w = {.options = &o, .device = &device, .problem = &p};
    int tuning[MAX_TUNABLES];
    snprintf(cache, sizeof cache, "%s", getenv("XDG_CACHE_HOME"));
    if (make_problem(&state) != 0) return 2;
    setenv("XDG_CACHE_HOME", cache, 1);
    const bool found = tuning_recall(&w, &lab.base, tuning);
    return free_problem(&state) != 0 ? 2 : !found;
}

static void no_cache_is_no_failure(void **state)
{
    (void)state;
    const options o = {.tune = true};
    const workbench w = {.options = &o, .device = &device, .problem = &p};
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    error_text error = {""};
    assert_int_equal(tuning_remember(&w, &lab.base, (const int[]){4, 2, 7}, &error),
                     STATUS_RUNTIME);
    assert_non_null(strstr(error.text, "/proc/none"));
    assert_recalls(&w, &lab.base, NULL);
}

#define WITH_CACHE(test) cmocka_unit_test_setup(test, empty_cache)

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--recall")) return recall_in_copy();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odometer),
        cmocka_unit_test(fixed_values_do_not_turn),
        cmocka_unit_test(text_of_a_tuning),
        WITH_CACHE(by_rule_and_by_hand),
        WITH_CACHE(measuring_wrong_kernels),
        WITH_CACHE(measuring_a_short_list),
        WITH_CACHE(half_a_line_swallows_no_other),
        WITH_CACHE(remembered_choice_is_not_measured_again),
        WITH_CACHE(recalls_the_last),
        WITH_CACHE(recalls_nothing_of_others),
        WITH_CACHE(damaged_lines_are_ignored),
        WITH_CACHE(another_build_recalls_nothing),
        WITH_CACHE(no_cache_is_no_failure),
    };
    return cmocka_run_group_tests_name("tuning", tests, make_problem, free_problem);
}
