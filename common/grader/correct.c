#include "grader/attempt.h"
#include "grader/bench.h"
#include "grader/test_inputs.h"
#include "matrix/random.h"
#include "matrix/shapes.h"

#include <math.h>
#include <string.h>

enum { SIDES = 3, BATCH = 8, MAX_TRIALS = 512, MAX_TRIED_WIDTHS = 16 };

/* One problem: a matrix, a width, a precision. */
typedef struct trial {
    const test *test;
    char spec[96];
    int width;
} trial;

/* Every matrix of the test at every width, in an order that nobody can foresee. */
static int list_trials(const test *t, uint64_t secret, trial *trials)
{
    int widths[MAX_TRIED_WIDTHS], n = 0;
    const int num_widths = attempt_widths(t->word[1], widths, MAX_TRIED_WIDTHS);
    const char *spec = t->word[0], *matrix = test_input_matrix(spec);
    const bool all_shapes = !strcmp(matrix, "shapes");
    for (int m = 0; m < (all_shapes ? NUM_SHAPES : 1); m++)
        for (int w = 0; w < num_widths && n < MAX_TRIALS; w++, n++) {
            trials[n].test = t;
            trials[n].width = widths[w];
            if (all_shapes)
                snprintf(trials[n].spec, sizeof trials[n].spec, "%.*sshape:%d",
                         (int)(matrix - spec), spec, m);
            else
                snprintf(trials[n].spec, sizeof trials[n].spec, "%s", spec);
        }
    for (int i = n - 1; i > 0; i--) {
        const int j = (int)random_below(secret, i, i + 1);
        const trial kept = trials[i];
        trials[i] = trials[j];
        trials[j] = kept;
    }
    return n;
}

/* One run, then another right-hand side at the same addresses, then two slots in either order. */
static bool single_runs(bench *b, remote *r, uint64_t secret)
{
    double ms;
    const int first = 0, both[2][2] = {{0, 1}, {1, 0}};
    return bench_run(b, r, &first, 1, &ms, NULL) && bench_check(b, r, 0, 0) &&
           bench_load(b, r, 0, 1) && bench_run(b, r, &first, 1, &ms, NULL) &&
           bench_check(b, r, 0, 0) && bench_load(b, r, 0, 2) && bench_load(b, r, 1, 0) &&
           bench_run(b, r, both[secret & 1], 2, &ms, NULL) && bench_check(b, r, 0, 0) &&
           bench_check(b, r, 1, 0) && bench_check_inputs(b, r, 0) && bench_check_inputs(b, r, 1);
}

/* Batches as they are timed, every result checked, twice over at the same addresses. */
static bool batches(bench *b, remote *r, uint64_t secret)
{
    for (int round = 0; round < 2; round++) {
        int slots[BATCH];
        double ms;
        for (int s = 0; s < BATCH; s++) {
            slots[s] = s;
            if (!bench_load(b, r, s, (s + 3 * round) % BATCH)) return false;
        }
        for (int i = BATCH - 1; i > 0; i--) {
            const int j = (int)random_below(secret + round, i, i + 1), kept = slots[i];
            slots[i] = slots[j];
            slots[j] = kept;
        }
        if (!bench_run(b, r, slots, BATCH, &ms, NULL)) return false;
        for (int s = 0; s < BATCH; s++)
            if (!bench_check(b, r, s, 0) || !bench_check_inputs(b, r, s)) return false;
    }
    return true;
}

/* One run on whole numbers, whose sums are exact. */
static bool whole_run(bench *b, remote *r)
{
    double ms;
    const int first = 0;
    return bench_run(b, r, &first, 1, &ms, NULL) && bench_check(b, r, 0, 0);
}

enum way { SINGLE_RUNS, WHOLE_NUMBERS, BATCHES };

static bool try_way(const attempt *a, remote *r, const trial *t, enum precision precision,
                    const char *settings, enum way way, uint64_t secret, found *f)
{
    const operation *op = t->test->operation;
    csr_matrix A;
    bench b;
    error_text error;
    enum status status = test_input_make(t->spec, secret, &A, &error);
    if (status == STATUS_OK)
        status = way == WHOLE_NUMBERS
                     ? bench_open_whole(&b, op, &A, t->width, precision, secret, &error)
                     : bench_open_turned(&b, op, &A, t->width, precision,
                                         way == BATCHES ? BATCH : SIDES, secret, &error);
    if (status == STATUS_SKIPPED && way == WHOLE_NUMBERS) return true;
    if (status != STATUS_OK) {
        *f = found_of(NAN, "%s: %.400s", t->spec, error.text);
        return false;
    }
    const bool right = bench_prepare(&b, r, a->lab, settings) &&
                       (way == BATCHES         ? batches(&b, r, secret)
                        : way == WHOLE_NUMBERS ? whole_run(&b, r)
                                               : single_runs(&b, r, secret));
    bench_close(&b);
    if (!right)
        *f = found_of(0, "%s, %s = %d, %s%s: %s", test_input_name(t->spec), op->width, t->width,
                      precision_name(precision), way == WHOLE_NUMBERS ? ", whole numbers" : "",
                      r->why);
    return right;
}

static bool try_one(const attempt *a, remote *r, const trial *t, enum precision precision,
                    const char *settings, bool in_batches, uint64_t secret, found *f)
{
    if (in_batches) return try_way(a, r, t, precision, settings, BATCHES, secret, f);
    return try_way(a, r, t, precision, settings, SINGLE_RUNS, secret, f) &&
           try_way(a, r, t, precision, settings, WHOLE_NUMBERS, secret, f);
}

static found correct(const attempt *a, const test *t, bool in_batches)
{
    static trial trials[MAX_TRIALS];
    const uint64_t secret = random_substream(a->secret, t->line);
    const int count = list_trials(t, secret, trials);
    char program[4096], log[4096];
    found f = found_of(1, "%s", "");
    attempt_program(a, "runner", false, program, sizeof program);
    attempt_path(a, "log", log, sizeof log);
    for (int p = 0; p < NUM_PRECISIONS; p++) {
        remote r;
        if (!(a->rubric->precisions & 1u << p)) continue;
        bool right = remote_open(&r, program, 0, log, a->patience);
        if (!right) f = found_of(0, "%s", r.why);
        for (int i = 0; i < count && right; i++)
            right = try_one(a, &r, &trials[i], (enum precision)p, t->word[2], in_batches,
                            random_substream(secret, i), &f);
        remote_close(&r);
        f.out_of_time = r.process.out_of_time;
        if (!right) break;
    }
    return f;
}

found attempt_correct(const attempt *a, const test *t)
{
    return correct(a, t, false);
}

found attempt_repeated(const attempt *a, const test *t)
{
    return correct(a, t, true);
}
