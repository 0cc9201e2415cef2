/*
 * score.h - points, and where they are told: a line a test on stdout, and results.json.
 *
 * results.json is in the form that Gradescope reads. It is written anew after every test, to another
 * file that is then renamed, with the tests that are still to come at 0 points: whenever the grader is
 * stopped, what lies there is whole, and says how far it came.
 */
#ifndef GRADER_SCORE_H
#define GRADER_SCORE_H

#include "grader/rubric.h"

#include <stdbool.h>

enum verdict { NOT_REACHED, PASSED, FAILED, NOT_RUN };

typedef struct mark {
    enum verdict verdict;
    double points;
    char text[700]; /* what to look at */
} mark;

typedef struct scores {
    const rubric *rubric;
    mark marks[MAX_TESTS];
    const char *path;  /* of results.json; NULL: none */
    const char *walls; /* how the submission was confined */
    char title[64];
    double speed; /* over the reference's, for the leaderboard; 0: not measured */
} scores;

/* Writes results.json for the first time. */
enum status scores_open(scores *s, const rubric *p, const char *path, const char *title,
                        const char *walls, error_text *error);

/* `share` (0 to 1) of the test's points, to the hundredth of a point, and why. NAN: the test cannot be run
 * here, which takes its points out of the total. */
enum status score(scores *s, int test, double share, error_text *error, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The name of a test for people: "correct spmm rand:rows=600 1,33". */
void test_title(const test *t, char *text, size_t bytes);

/* Whether a test of results failed: then no time counts. */
bool scores_results_failed(const scores *s);

double scores_sum(const scores *s);
/* Counts the tests that could not be run. */
double scores_not_run(const scores *s);
/* "lab 3: 80 of 80 points (20 more could not be tested here)", the one total: the report's last line, and what
 * results.json says. */
void scores_text(const scores *s, char *text, size_t bytes);
/* Prints it. */
void scores_total(const scores *s);

#endif
