/*
 * grade.c - grades one submission to one lab: build, results, memory, counters, answers, speed.
 *
 *     grade LAB SUBMISSION [--json FILE] [--seed S] [--rubric FILE] [--patience SECONDS]
 *           [--arch A] [--cuda-home DIR] [--work DIR] [--rehearse]
 *
 * --seed makes the secrets known; --rubric takes another file than the lab's grade.tsv; --patience is the processor time for
 * each program that a test starts; --work keeps the folder that is worked in; --rehearse goes through
 * the measurement of speed where it means nothing, for no points.
 *
 * This process holds the seeds, the oracle and the clock, and links no code of a submission. Exit
 * status: 0 graded, whatever the points; 2 usage, or a submission that cannot be read; 4 the grader itself
 * failed; 77 it was built for a GPU and there is none.
 */
#include "grader/attempt.h"
#include "grader/confine.h"
#include "grader/remote.h"
#include "grader/test_inputs.h"
#include "harness/device.h"
#include "harness/instruments.h"
#include "harness/progress.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the staff's tree is built; set by the Makefile. */
#ifndef BUILD_FOLDER
#define BUILD_FOLDER "build"
#endif

/* ---- what was asked for ---------------------------------------------------------------------- */

static enum status parse(int argc, char **argv, attempt *a, const char **json, const char **work,
                         const char **rubric_path, error_text *error)
{
    char *end;
    int i = 1;
    if (argc < 3) return fail(error, STATUS_USAGE, "which lab, and which submission?");
    a->lab = (int)strtol(argv[i++], &end, 10);
    if (*end || a->lab < 1) return fail(error, STATUS_USAGE, "'%s' is no lab's number", argv[1]);
    a->submission = argv[i++];
    for (; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--rehearse")) {
            a->rehearsal = true;
            continue;
        }
        if (!value) return fail(error, STATUS_USAGE, "%s: unknown, or it needs a value", argv[i]);
        if (!strcmp(argv[i], "--json"))
            *json = value;
        else if (!strcmp(argv[i], "--work"))
            *work = value;
        else if (!strcmp(argv[i], "--arch"))
            a->arch = value;
        else if (!strcmp(argv[i], "--cuda-home")) {
            a->cuda_home = realpath(value, NULL); /* a link is no place to mount something */
            if (!a->cuda_home) return fail(error, STATUS_USAGE, "%s: no such folder", value);
        } else if (!strcmp(argv[i], "--rubric"))
            *rubric_path = value;
        else if (!strcmp(argv[i], "--patience")) {
            a->patience = strtod(value, &end);
            if (*end || !(a->patience > 0 && a->patience < 1e6))
                return fail(error, STATUS_USAGE, "--patience %s: no number of seconds", value);
        } else if (!strcmp(argv[i], "--seed")) {
            a->secret = strtoull(value, &end, 10);
            if (*end || end == value)
                return fail(error, STATUS_USAGE, "--seed %s: no number", value);
        } else
            return fail(error, STATUS_USAGE, "%s: unknown option", argv[i]);
        i++;
    }
    return STATUS_OK;
}

/* ---- the tests ------------------------------------------------------------------------------- */

static found run_test(const attempt *a, const test *t, scores *s)
{
    switch (t->kind) {
    case TEST_CORRECT:
        return attempt_correct(a, t);
    case TEST_REPEATED:
        return attempt_repeated(a, t);
    case TEST_MEMCHECK:
        return attempt_findings(a, t, INSTRUMENT_MEMCHECK);
    case TEST_RACECHECK:
        return attempt_findings(a, t, INSTRUMENT_RACECHECK);
    case TEST_COUNTER:
        return attempt_counter(a, t);
    case TEST_PREDICT:
        return attempt_predict(a, t);
    case TEST_ANSWERED:
        return attempt_answered(a);
    case TEST_TIME:
        return attempt_time(a, t, !scores_results_failed(s), &s->speed);
    default:
        return found_of(NAN, "no such test");
    }
}

/* That a GPU is out of reach in confinement is no submission's fault: the staff's own runner tells. */
static enum status see_device(const attempt *a, error_text *error)
{
    remote r;
    char program[4096], log[4096];
    attempt_program(a, "reference", false, program, sizeof program);
    attempt_path(a, "log", log, sizeof log);
    const bool opened = remote_open(&r, program, 0, log, a->patience);
    remote_close(&r);
    return opened ? STATUS_OK
                  : fail(error, STATUS_RUNTIME, "a confined program does not reach the GPU: %s",
                         r.why);
}

/* Programs that tests run. A program that ran out of time once would do so again. */
enum program { NO_PROGRAM, PLAIN_PROGRAM, TRACED_PROGRAM, PROGRAMS };

static enum program program_of(const test *t)
{
    switch (t->kind) {
    case TEST_CORRECT:
    case TEST_REPEATED:
    case TEST_TIME:
        return PLAIN_PROGRAM;
    case TEST_MEMCHECK:
    case TEST_RACECHECK:
    case TEST_COUNTER:
        return TRACED_PROGRAM;
    default:
        return NO_PROGRAM;
    }
}

static found try_test(const attempt *a, const test *t, const found *built, bool *out_of_time,
                      scores *s)
{
    const enum program program = program_of(t);
    if (t->kind == TEST_BUILD) return *built;
    if (program && built->share < 1) return found_of(0, "there is no program to test");
    if (out_of_time[program])
        return found_of(0, "skipped: a test above ran out of time with the same program");
    const found f = run_test(a, t, s);
    out_of_time[program] = program && f.out_of_time;
    return f;
}

static enum status run_tests(const attempt *a, scores *s, error_text *error)
{
    found built;
    bool out_of_time[PROGRAMS] = {false};
    progress_show(0, s->rubric->num_tests, "compiling the submission");
    enum status status = attempt_build(a, &built, error);
    progress_clear();
    if (status == STATUS_OK && built.share == 1 && device_keeps_time())
        status = see_device(a, error);
    const int count = s->rubric->num_tests;
    int tried = 0;
    /* Twice through the list: times come last, wherever they stand, for a wrong result has none. */
    for (int k = 0; k < 2 * count && status == STATUS_OK; k++) {
        const int i = k % count;
        const test *t = &s->rubric->tests[i];
        if ((t->kind == TEST_TIME) != (k >= count)) continue;
        char title[600];
        test_title(t, title, sizeof title);
        progress_show(tried++, count, title);
        const found f = try_test(a, t, &built, out_of_time, s);
        progress_clear();
        status = score(s, i, f.share, error, "%s", f.text);
    }
    return status;
}

/* From a lab's number to a last line on stdout. */
static enum status grade(attempt *a, const char *json, const char *wish, const char *rubric_path,
                         error_text *error)
{
    static rubric p;
    static scores s;
    static device_info device;
    static char folder[512], lab_rubric[600], title[64], work[PATH_MAX];
    enum status status = device_keeps_time() ? device_open(0, &device, error) : STATUS_OK;
    if (status == STATUS_OK) status = attempt_find_lab(a->lab, folder, sizeof folder, error);
    if (status != STATUS_OK) return status;
    snprintf(lab_rubric, sizeof lab_rubric, "%s/grade.tsv", folder);
    status = rubric_read(rubric_path ? rubric_path : lab_rubric, &p, error);
    if (status == STATUS_OK) status = attempt_make_work(wish, work, sizeof work, error);
    if (status != STATUS_OK) return status;
    a->lab_folder = folder;
    a->rubric = &p;
    a->work = work;
    snprintf(title, sizeof title, "lab %d", a->lab);
    confine_open(WALL_BUBBLEWRAP);
    status = scores_open(&s, &p, json, title, confine_text(), error);
    if (status == STATUS_OK) {
        printf("%s, %s\nconfined by %s\n", title, a->submission, s.walls);
        fflush(stdout); /* before minutes of work */
        status = run_tests(a, &s, error);
    }
    if (!wish) attempt_remove_work(work);
    if (status == STATUS_OK) scores_total(&s);
    return status;
}

int main(int argc, char **argv)
{
    const char *json = NULL, *wish = NULL, *rubric_path = NULL;
    error_text error;
    attempt a = {
        .secret = test_input_secret(), .build = BUILD_FOLDER, .arch = "auto", .patience = 120};
    unsetenv(
        "MAKEFLAGS"); /* of the make that runs this: its jobs are not those of the steps here */
    unsetenv("MAKELEVEL");
    unsetenv("SPMM_TEST_RANGE_NONZEROS"); /* a grade is of the limits that all have */
    unsetenv("SPMM_TEST_CHECKED_ELEMENTS");
    enum status status = parse(argc, argv, &a, &json, &wish, &rubric_path, &error);
    if (status == STATUS_OK) status = grade(&a, json, wish, rubric_path, &error);
    fflush(stdout); /* the reason comes last, wherever both go */
    if (status != STATUS_OK) fprintf(stderr, "grade: %s\n", error.text);
    return status;
}
