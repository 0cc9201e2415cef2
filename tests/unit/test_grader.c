/* What the grader makes of rubrics, targets, answers and points. Its runners are tested by tests/cheats and
 * tests/cli/grade.bats. */
#include "fixture.h"
#include "grader/channel.h"
#include "grader/confine.h"
#include "grader/fingerprint.h"
#include "grader/own_words.h"
#include "grader/seccomp.h"
#include "grader/speed.h"
#include "grader/test_inputs.h"
#include "harness/timing.h"
#include "matrix/random.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[] = "/tmp/test_grader.XXXXXX";

static void write_file(const char *name, const char *text, char *path)
{
    snprintf(path, 200, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* ---- speed ----------------------------------------------------------------------------------- */

static void test_points_for_speed_are_linear(void **state)
{
    (void)state;
    const target wanted = {0.4, 0.9};
    assert_true(speed_share(0.1, wanted) == 0);
    assert_true(speed_share(0.4, wanted) == 0);
    assert_true(fabs(speed_share(0.65, wanted) - 0.5) < 1e-12);
    assert_true(speed_share(0.9, wanted) == 1);
    assert_true(speed_share(17, wanted) == 1);
    assert_true(speed_share(NAN, wanted) == 0);
}

static void test_a_gpu_may_have_targets_of_its_own(void **state)
{
    (void)state;
    char path[200];
    test t = {.word = {"arxiv", "32", "0.3", "0.95"}, .num_words = 4};
    write_file("targets.tsv",
               "NVIDIA H200\tddi\t32\t0.1\t0.2\nNVIDIA H200\tarxiv\t32\t0.5\t0.8\n"
               "NVIDIA T4\tarxiv\t32\t0.6\t0.7\n",
               path);
    assert_true(speed_target(folder, "NVIDIA H200", &t).full == 0.8);
    assert_true(speed_target(folder, "NVIDIA T4", &t).zero == 0.6);
    assert_true(speed_target(folder, "NVIDIA A100", &t).full == 0.95);
    strcpy(t.word[1], "256");
    assert_true(speed_target(folder, "NVIDIA H200", &t).zero == 0.3);
}

/* Noise of made-up times: standard deviations of what each turn and each batch has of its own, and the
 * share of batches that take twice as long. */
typedef struct noise {
    double turn, batch, twice;
} noise;

/* Nearly normal: twelve uniform numbers. */
static double deviate(uint64_t stream, uint64_t *at)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += random_symmetric(stream, (*at)++) / 2;
    return sum;
}

static void make_times(racer *r, double ms, const noise *n, uint64_t stream)
{
    uint64_t at = 0;
    for (int t = 0; t < SPEED_TURNS; t++) {
        const double turn = ms * (1 + n->turn * deviate(stream, &at));
        for (int i = 0; i < SPEED_BATCHES; i++) {
            const bool is_disturbed = random_unit(stream, at++) < n->twice;
            r->ms[t][i] = turn * (1 + n->batch * deviate(stream, &at)) * (is_disturbed ? 2 : 1);
        }
    }
}

/* How many of 1000 submissions that take `factor` times as long get all points, by targets as most labs
 * have them. */
static int count_full(double factor, const noise *n)
{
    int full = 0;
    for (uint64_t trial = 0; trial < 1000; trial++) {
        racer reference = {0}, submission = {0};
        make_times(&reference, 3, n, random_substream(1, 2 * trial));
        make_times(&submission, 3 * factor, n, random_substream(1, 2 * trial + 1));
        full += speed_judge(&reference, &submission, (target){0.3, 0.95}).share == 1;
    }
    return full;
}

static void test_a_tie_is_a_tie_and_slower_is_slower(void **state)
{
    (void)state;
    const noise quiet = {0, 0.01, 0}, batches = {0, 0.1, 0}, turns = {0.05, 0.02, 0},
                neighbours = {0, 0.02, 0.2};
    assert_int_equal(count_full(1, &quiet), 1000);
    assert_int_equal(count_full(1.1, &quiet), 0);
    const noise *const all[] = {&batches, &turns, &neighbours};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const int tie = count_full(1, all[i]), slower = count_full(1.2, all[i]);
        print_message("noise %zu: all points for %d of 1000 ties, for %d that are 20 %% slower\n",
                      i, tie, slower);
        assert_true(tie >= 980);
        assert_true(slower <= 60);
    }
}

/* Only the reference's own noise counts, and not without end. */
static void test_noise_earns_little(void **state)
{
    (void)state;
    const target wanted = {0.3, 0.95};
    const noise none = {0, 0, 0};
    racer steady = {0}, same = {0}, wild = {0};
    make_times(&steady, 3, &none, 1);
    make_times(&same, 3, &none, 1);
    make_times(&wild, 3, &none, 1);
    for (int i = 0; i < SPEED_BATCHES; i++)
        wild.ms[0][i] = 30;
    race_verdict v = speed_judge(&steady, &same, wanted);
    assert_true(v.speed == 1 && v.spread == 0 && v.credit == 0 && v.share == 1);
    v = speed_judge(&steady, &wild, wanted);
    assert_true(v.speed == 1 && v.credit == 0);
    v = speed_judge(&wild, &steady, wanted);
    assert_true(v.speed == 1 && fabs(v.spread - 9) < 1e-12 && v.credit < 0.1);
}

/* ---- rubrics and points ---------------------------------------------------------------------- */

static void test_a_rubric_is_read_and_mistakes_are_named(void **state)
{
    (void)state;
    static rubric p;
    char path[200];
    error_text error;
    write_file("grade.tsv", "# note\n5\tbuild\nprecisions fp16 bf16\n2.5 correct shapes 1,33\n",
               path);
    assert_int_equal(rubric_read(path, &p, &error), STATUS_OK);
    assert_int_equal(p.num_tests, 2);
    assert_true(rubric_points(&p) == 7.5);
    assert_int_equal(p.precisions, 1u << PRECISION_FP16 | 1u << PRECISION_BF16);
    assert_string_equal(p.tests[1].word[1], "1,33");
    const char *const wrong[] = {"5 biuld\n",     "x build\n", "5 correct shapes\n", "-1 build\n",
                                 "5 build now\n", "5\n",       "nan build\n",        "1001 build\n",
                                 "inf build\n",   ""};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_file("grade.tsv", wrong[i], path);
        assert_int_equal(rubric_read(path, &p, &error), STATUS_USAGE);
        assert_non_null(strstr(error.text, "grade.tsv"));
    }
}

static void test_a_test_is_of_the_operation_named_above_it(void **state)
{
    (void)state;
    static rubric p;
    char path[200];
    error_text error;
    write_file("grade.tsv",
               "5 build\noperation sddmm\n5 correct shapes 1\noperation\tspmm\n1 answered\n", path);
    assert_int_equal(rubric_read(path, &p, &error), STATUS_OK);
    assert_ptr_equal(p.tests[0].operation, operation_named("spmm"));
    assert_ptr_equal(p.tests[1].operation, operation_named("sddmm"));
    assert_ptr_equal(p.tests[2].operation, operation_named("spmm"));
    write_file("grade.tsv", "5 build\noperation sddm\n", path);
    assert_int_equal(rubric_read(path, &p, &error), STATUS_USAGE);
    assert_non_null(strstr(error.text, "grade.tsv:2: no operation 'sddm' (there are: attention,"));
    assert_null(operation_named("sddm"));
}

static void test_results_are_whole_after_every_test(void **state)
{
    (void)state;
    static rubric p;
    static scores s;
    char path[200], command[300];
    error_text error;
    write_file("grade.tsv",
               "5 build\n10 correct shapes 1\n4 predict secret 42\n20 time arxiv 32 0 1\n", path);
    assert_int_equal(rubric_read(path, &p, &error), STATUS_OK);
    snprintf(path, sizeof path, "%s/results.json", folder);
    assert_int_equal(scores_open(&s, &p, path, "lab 1", "walls", &error), STATUS_OK);
    for (int i = 0; i < p.num_tests; i++) {
        const double share[] = {1, 0.5, 0, NAN};
        assert_int_equal(score(&s, i, share[i], &error, "because \"%d\"", i), STATUS_OK);
        snprintf(
            command, sizeof command,
            "jq -e '(.tests | length) == 4 and .score == ([.tests[].score] | add)' %s >/dev/null",
            path);
        assert_int_equal(system(command), 0);
    }
    assert_true(scores_sum(&s) == 10);
    assert_true(scores_not_run(&s) == 20);
    assert_true(scores_results_failed(&s));
    assert_int_equal(score(&s, 1, NAN, &error, "not here"), STATUS_OK);
    assert_false(scores_results_failed(&s));                    /* nor because of a prediction */
    snprintf(command, sizeof command, "! grep -q 42 %s", path); /* the true value is not told */
    assert_int_equal(system(command), 0);
}

/* The sum of the points that a reader sees, wherever he reads, is the total. */
static void test_there_is_one_total(void **state)
{
    (void)state;
    static rubric p;
    static scores s;
    char path[200], command[700], total[200];
    error_text error;
    write_file("grade.tsv", "5 build\n5 answered\n5 correct shapes 1\n20 time arxiv 32 0 1\n",
               path);
    assert_int_equal(rubric_read(path, &p, &error), STATUS_OK);
    snprintf(path, sizeof path, "%s/results.json", folder);
    assert_int_equal(scores_open(&s, &p, path, "lab 1", "walls", &error), STATUS_OK);
    const double share[] = {1, 2. / 7, 0.123456789, NAN};
    for (int i = 0; i < p.num_tests; i++)
        assert_int_equal(score(&s, i, share[i], &error, "because"), STATUS_OK);
    scores_text(&s, total, sizeof total);
    assert_string_equal(total, "lab 1: 7.05 of 15 points (20 more could not be tested here)");
    snprintf(command, sizeof command,
             "jq -e '.score == 7.05 and (.output | startswith(\"%s\")) and "
             "([.tests[].score] == [5, 1.43, 0.62, 0]) and ([.tests[].max_score] | add) == 15' "
             "%s >/dev/null",
             total, path);
    assert_int_equal(system(command), 0);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void test_a_filled_line_is_no_answer(void **state)
{
    (void)state;
    static const char handout[] =
        "A warp walks one row of A: its 32 lanes load 32 columns of B, four sectors for each "
        "nonzero. "
        "Long rows keep one warp busy while the others are idle. Why is the second lab slower on "
        "short rows? Its lanes wait for memory.";
    static const char question[] = "Why is the second lab slower on short rows?";
    static const char *const good[] = {
        "A row of three nonzeros leaves most of the latency uncovered, and the next warp starts "
        "late.",
        "Weil eine kurze Zeile den warp nicht lange beschaeftigt, bleibt 1 von 32 lanes uebrig.",
        "Short rows: 32 lanes, 3 nonzeros each, so launch overhead dominates everything.",
        "\xe7\x9f\xad\xe8\xa1\x8c\xe5\xa4\xaa\xe5\xb0\x91 warp B \xe6\x97\xb6\xe9\x97\xb4",
    };
    static const char *const bad[] = {
        "",
        "........................................",
        "because because because because because because",
        "the warp the warp the warp the warp the warp the warp",
        "Why is the second lab slower on short rows?",
        "short rows slower second lab is why the on, slower short lab rows the is",
        "Long rows keep one warp busy while the others are idle.",
        "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor",
        "dolor tempor magna in nulla est culpa id anim a officia velit of ut the",
        "asdf qwer zxcv uiop hjkl vbnm ghjk",
        "an answer that was given before is copied, too, as any other",
    };
    known_text about = {0}, known = {0};
    assert_true(known_text_add(&about, handout) && known_text_add(&known, handout));
    assert_true(
        known_text_add(&known, "an answer that was given before is copied, too, as any other"));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (own_words_lacking(good[i], question, &about, &known))
            fail_msg("%s: %s", good[i], own_words_lacking(good[i], question, &about, &known));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!own_words_lacking(bad[i], question, &about, &known)) fail_msg("%s", bad[i]);
    known_text_free(&about);
    known_text_free(&known);
}

/* ---- test inputs ----------------------------------------------------------------------------- */

static void test_inputs_are_the_secrets_alone(void **state)
{
    (void)state;
    csr_matrix A, B, C;
    error_text error;
    const char *const spec = "rand:rows=50,deg=4";
    assert_int_equal(test_input_make(spec, 1, &A, &error), STATUS_OK);
    assert_int_equal(test_input_make(spec, 1, &B, &error), STATUS_OK);
    assert_int_equal(test_input_make(spec, 2, &C, &error), STATUS_OK);
    assert_int_equal(csr_validate(&A, spec, &error), STATUS_OK);
    assert_memory_equal(A.col_idx, B.col_idx, A.nnz * sizeof *A.col_idx);
    assert_memory_equal(A.values, B.values, A.nnz * sizeof *A.values);
    assert_int_not_equal(memcmp(A.col_idx, C.col_idx, 100 * sizeof *A.col_idx), 0);
    csr_free(&A);
    csr_free(&B);
    csr_free(&C);
    assert_int_equal(test_input_make("pattern:rand:rows=50,deg=4", 1, &A, &error), STATUS_OK);
    assert_null(A.values);
    assert_int_equal(A.nnz, 200);
    csr_free(&A);
    assert_string_equal(test_input_name("pattern:rand:rows=50"), "pattern:rand:rows=50");
    assert_int_equal(test_input_make("shape:999", 1, &A, &error), STATUS_DATASET);
}

/* Opens a bench of two sides on 50 x 50 with 200 nonzeros. */
static void open_bench(bench *b, const char *operation, int width)
{
    csr_matrix A;
    error_text error;
    assert_int_equal(test_input_make("rand:rows=50,deg=4", 1, &A, &error), STATUS_OK);
    assert_int_equal(
        bench_open(b, operation_named(operation), &A, width, PRECISION_FP32, 2, 1, &error),
        STATUS_OK);
}

/* What a slot has of its own is what differs from side to side: the dense inputs, and the outputs. */
static void test_slots_of_a_batch_are_as_many_as_asked_for(void **state)
{
    (void)state;
    static bench b;
    error_text error;
    open_bench(&b, "spmm", 8);
    assert_int_equal(bench_slot_bytes(&b), 4 * 8 * (50 + 50) + 1); /* B and C */
    bench_close(&b);
    open_bench(&b, "sddmm", 8);
    assert_int_equal(bench_slot_bytes(&b), 4 * (8 * (50 + 50) + 200) + 1); /* X, Y and D */
    assert_int_equal(bench_widen(&b, 5, &error), STATUS_OK);
    assert_int_equal(b.num_sides, 5);
    assert_int_equal(bench_widen(&b, 3, &error), STATUS_OK);
    assert_int_equal(b.num_sides, 5);
    assert_int_equal(bench_widen(&b, 1000, &error), STATUS_OK);
    assert_int_equal(b.num_sides, MAX_SIDES);
    bench_close(&b);
}

/* ---- the channel ----------------------------------------------------------------------------- */

static void test_a_silent_peer_is_not_waited_for(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const double start = wall_ms();
    assert_false(channel_read(ends[0], &byte, 1, start + 50));
    assert_true(wall_ms() - start >= 49); /* for ever, were it to wait */
    assert_true(channel_write(ends[1], "x", 1, wall_ms() + 60000));
    assert_true(channel_read(ends[0], &byte, 1, wall_ms() + 60000));
    close(ends[1]);
    assert_false(channel_read(ends[0], &byte, 1, wall_ms() + 60000));
    assert_false(channel_write(ends[0], "x", 1, wall_ms() + 60000));
    close(ends[0]);
}

/* ---- forged answers -------------------------------------------------------------------------- */

/* One run of a lab of tests/forged, whose process has no seccomp filter, as on a GPU; whether it is taken for
 * right, and what is said of it if not. */
static bool run_forged(int lab, char *why, size_t bytes)
{
    static bench b;
    remote r;
    char program[4200], log[200];
    double ms;
    const int slot = 0;
    assert_non_null(realpath(FORGED_RUNNER, program));
    snprintf(log, sizeof log, "%s/log", folder);
    open_bench(&b, "spmm", 8);
    const bool right = remote_open(&r, program, 0, log, 60) && bench_prepare(&b, &r, lab, "") &&
                       bench_run(&b, &r, &slot, 1, &ms, NULL) &&
                       bench_look(&b, &r, &slot, 1, &ms) && bench_check(&b, &r, slot, 0) &&
                       bench_check_inputs(&b, &r, slot);
    snprintf(why, bytes, "%s", r.why);
    remote_close(&r);
    bench_close(&b);
    return right;
}

static void test_a_forged_done_is_worth_nothing(void **state)
{
    (void)state;
    char why[400];
    confine_open(WALL_BUBBLEWRAP);
    assert_true(run_forged(1, why, sizeof why));
    assert_false(run_forged(2, why, sizeof why));
    assert_string_equal(why, "other results than there were when it said that it was done");
    assert_false(run_forged(3, why, sizeof why));
    assert_string_equal(why, "an answer of the wrong length");
}

/* On the device as on the host, and another one whatever bit is turned. */
static void test_a_fingerprint_tells_every_bit(void **state)
{
    (void)state;
    enum { MOST = 300000 };
    static uint64_t words[MOST];
    const int sizes[] = {0, 1, FINGERPRINT_REST, FINGERPRINT_REST + 1, 5000, MOST};
    for (int i = 0; i < MOST; i++)
        words[i] = random_bits(1, i);
    assert_int_equal(fingerprints_open(2), cudaSuccess);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const size_t bytes = sizes[s] * sizeof words[0];
        fingerprint here, other, there[2];
        void *d_words;
        assert_int_equal(cudaMalloc(&d_words, sizeof words), cudaSuccess);
        assert_int_equal(cudaMemcpy(d_words, words, bytes, cudaMemcpyHostToDevice), cudaSuccess);
        const device_array both[] = {{d_words, bytes, &there[0]}, {d_words, bytes, &there[1]}};
        assert_int_equal(fingerprints_take(both, 2, 7), cudaSuccess);
        assert_true(fingerprint_of(words, bytes, 7, &here));
        assert_memory_equal(&here, &there[0], sizeof here);
        assert_memory_equal(&here, &there[1], sizeof here);
        assert_true(fingerprint_of(words, bytes, 8, &other)); /* another key */
        assert_true(here.half[0] != other.half[0] && here.half[1] != other.half[1]);
        for (int i = 0; i < 64 && sizes[s]; i++) {
            const int at = (int)random_below(2, i, sizes[s]);
            words[at] ^= UINT64_C(1) << i;
            assert_true(fingerprint_of(words, bytes, 7, &other));
            words[at] ^= UINT64_C(1) << i;
            assert_true(here.half[0] != other.half[0] && here.half[1] != other.half[1]);
        }
        cudaFree(d_words);
    }
}

/* ---- the walls ------------------------------------------------------------------------------- */

static void *set_flag(void *flag)
{
    *(int *)flag = 1;
    return NULL;
}

/* What a process behind the filter finds: the number of the first surprise, 0 for none. */
static int look_around(void)
{
    pthread_t thread;
    int flag = 0;
    if (!install_seccomp_filter()) return 1;
    if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EPERM) return 2;
    if (fork() >= 0 || errno != EPERM) return 3;
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM) return 4;
    if (kill(getppid(), 0) == 0) return 5;
    if (system("true") == 0) return 6;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) return 7;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mprotect(page, 4096, PROT_READ) != 0) return 10;
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0 || errno != EPERM) return 11;
    if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        return 12;
    if (pthread_create(&thread, NULL, set_flag, &flag) != 0) return 8; /* threads are allowed */
    pthread_join(thread, NULL);
    return flag && malloc(64 << 20) ? 0 : 9;
}

static void test_a_sealed_process_can_only_compute(void **state)
{
    (void)state;
    int how = 0;
    const pid_t pid = fork();
    if (pid == 0) _exit(look_around());
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

/* Runs a line of shell in confinement; returns its status, its output in `text`. */
static int confined_shell(const char *line, double seconds, char *text, size_t bytes)
{
    char path[200], how[200];
    confined c;
    error_text error;
    snprintf(path, sizeof path, "%s/out", folder);
    const char *const argv[] = {"/bin/sh", "-c", line, NULL};
    const task t = {.argv = argv,
                    .channel = -1,
                    .output = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600),
                    .limits = {20, 32, 64, (size_t)1 << 30, 1 << 16}};
    assert_int_equal(confine_start(&t, &c, &error), STATUS_OK);
    const int status = confine_end(&c, wall_ms() + 1000 * seconds, how, sizeof how);
    const ssize_t n = pread(t.output, text, bytes - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(t.output);
    return status;
}

/* A wall that this machine does not have gives way to the next one. */
static void check_walls(enum wall best)
{
    char text[4000];
    confine_open(best);
    const bool own_processes =
        !strstr(confine_text(), "NO processes") && !strstr(confine_text(), "NO namespaces");
    assert_int_equal(confined_shell("exit 3", 120, text, sizeof text), 3);
    assert_int_equal(confined_shell("echo $SECRET", 120, text, sizeof text), 0);
    assert_string_equal(text, "\n");
    assert_int_not_equal(
        confined_shell("while :; do echo more and more; done", 120, text, sizeof text), 0);
    assert_int_equal(confined_shell("(setsid sleep 4711 &); sleep 4712", 1, text, sizeof text), -1);
    /* Dying takes a moment: until it is over, or as long as the orphan would sleep. */
    assert_int_equal(system("while pgrep -f '[s]leep 471[12]' >/dev/null; do sleep 0.1; done"), 0);
    /* CUDA's driver finds its threads in /proc by the numbers that they have for it. */
    assert_int_equal(
        confined_shell("grep -q CapEff /proc/$$/task/$$/status && grep -q sh /proc/$$/task/$$/comm",
                       120, text, sizeof text),
        0);
    if (own_processes) {
        assert_int_equal(confined_shell("ls /proc | grep -c '^[0-9]'", 120, text, sizeof text), 0);
        assert_true(atoi(text) < 10);
    }
    if (!strncmp(confine_text(), "bubblewrap", strlen("bubblewrap")))
        assert_int_not_equal(confined_shell("cat /etc/passwd", 120, text, sizeof text), 0);
}

static void test_a_confined_program_is_limited_and_leaves_nothing(void **state)
{
    (void)state;
    setenv("SECRET", "42", 1);
    for (enum wall best = WALL_BUBBLEWRAP; best <= WALL_NONE; best++)
        check_walls(best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_for_speed_are_linear),
        cmocka_unit_test(test_a_gpu_may_have_targets_of_its_own),
        cmocka_unit_test(test_a_tie_is_a_tie_and_slower_is_slower),
        cmocka_unit_test(test_noise_earns_little),
        cmocka_unit_test(test_a_rubric_is_read_and_mistakes_are_named),
        cmocka_unit_test(test_a_test_is_of_the_operation_named_above_it),
        cmocka_unit_test(test_results_are_whole_after_every_test),
        cmocka_unit_test(test_there_is_one_total),
        cmocka_unit_test(test_a_filled_line_is_no_answer),
        cmocka_unit_test(test_inputs_are_the_secrets_alone),
        cmocka_unit_test(test_slots_of_a_batch_are_as_many_as_asked_for),
        cmocka_unit_test(test_a_silent_peer_is_not_waited_for),
        cmocka_unit_test(test_a_forged_done_is_worth_nothing),
        cmocka_unit_test(test_a_fingerprint_tells_every_bit),
        cmocka_unit_test(test_a_sealed_process_can_only_compute),
        cmocka_unit_test(test_a_confined_program_is_limited_and_leaves_nothing),
    };
    if (!mkdtemp(folder)) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) || failed;
}
