/*
 * attempt.h - one submission to one lab, and the kinds of tests that it is put to.
 */
#ifndef GRADER_ATTEMPT_H
#define GRADER_ATTEMPT_H

#include "grader/score.h"
#include "ops/operation.h"

#include <stdint.h>

typedef struct attempt {
    int lab;
    const char *submission; /* as the user named it */
    const char *lab_folder; /* "labs/03_shared_tiles" */
    const char *build;      /* where the staff's tree is built: "build" */
    const char *work;       /* a folder of this attempt's own, absolute */
    const char *arch;       /* GPU architectures to compile for, "90"; "auto" */
    const char *cuda_home;  /* the toolkit; NULL: where make finds it */
    const rubric *rubric;
    uint64_t secret;
    double patience; /* seconds of processor time for each program that a test starts */
    bool rehearsal;  /* performance is measured where it means nothing, and for no points */
} attempt;

/* Finding of a test: the share of its points (NAN: cannot be run here), and why. */
typedef struct found {
    double share;
    bool out_of_time; /* the submission's program was given up */
    char text[600];
} found;

/* build.c: the submission is staged, compiled in confinement, looked into and linked. Where the share
 * is 0 nothing else can be tested. STATUS_USAGE: there is nothing that can be read at a->submission. */
enum status attempt_build(const attempt *a, found *f, error_text *error);

/* correct.c: results, checked by this process, of problems that it alone knows. */
found attempt_correct(const attempt *a, const test *t);
found attempt_repeated(const attempt *a, const test *t);

/* traced.c: what the instruments of the CPU backend say. */
found attempt_findings(const attempt *a, const test *t, int instrument);
found attempt_counter(const attempt *a, const test *t);

/* answers.c: answers.txt. */
found attempt_predict(const attempt *a, const test *t);
found attempt_answered(const attempt *a);

/* speed.c: speed over the reference's; *speed is left alone where there is none, as where results were
 * not `right`: a wrong one has no time. */
found attempt_time(const attempt *a, const test *t, bool right, double *speed);

/* Formats a finding of a test. */
found found_of(double share, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "1,33,100": the widths; returns how many, at most `most`. */
int attempt_widths(const char *text, int *widths, int most);

/* The folder of a lab, "labs/03_shared_tiles" for 3. STATUS_USAGE if there is none. */
enum status attempt_find_lab(int lab, char *folder, size_t bytes, error_text *error);

/* Makes a folder that only this process may list, but from which tasks can be started: `wish`, which
 * must not exist, or one below /tmp for NULL. `bytes` is PATH_MAX at least. */
enum status attempt_make_work(const char *wish, char *work, size_t bytes, error_text *error);
void attempt_remove_work(const char *work);

/* WORK/name: a file or folder of this attempt. */
const char *attempt_path(const attempt *a, const char *name, char *path, size_t bytes);

/* A runner: "runner" is the submission's, "reference" the staff's own lab in the same. A traced one is
 * the CPU backend's. */
const char *attempt_program(const attempt *a, const char *whose, bool traced, char *path,
                            size_t bytes);

#endif
