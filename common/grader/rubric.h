/*
 * rubric.h - what a lab's submissions are tested for, and for how many points: labs/NN_name/grade.tsv.
 *
 * A line is a test: its points, its kind, and what the kind takes; docs/course-staff.md explains them.
 * Lines that begin with # are notes. Words are separated by blanks or tabs. A test is of the operation that
 * the last line `operation NAME` above it names; without one of SpMM.
 */
#ifndef GRADER_RUBRIC_H
#define GRADER_RUBRIC_H

#include "matrix/status.h"
#include "ops/operation.h"

enum { MAX_TESTS = 64, MAX_WORDS = 8 };

enum test_kind {
    TEST_BUILD,
    TEST_CORRECT,
    TEST_REPEATED,
    TEST_MEMCHECK,
    TEST_RACECHECK,
    TEST_COUNTER,
    TEST_PREDICT,
    TEST_ANSWERED,
    TEST_TIME,
    TEST_KINDS
};
extern const char *const TEST_NAMES[TEST_KINDS];

typedef struct test {
    enum test_kind kind;
    const operation *operation;
    double points;
    char word[MAX_WORDS][96]; /* what follows, "" beyond the last */
    int num_words;
    int line; /* of the file */
} test;

typedef struct rubric {
    test tests[MAX_TESTS];
    int num_tests;
    unsigned precisions; /* bits (1 << PRECISION_...) that the lab has contenders in */
} rubric;

/* STATUS_USAGE names file, line and what is wrong. */
enum status rubric_read(const char *path, rubric *p, error_text *error);

double rubric_points(const rubric *p);

#endif
