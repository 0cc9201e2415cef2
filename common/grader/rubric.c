#include "grader/rubric.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const TEST_NAMES[TEST_KINDS] = {
    [TEST_BUILD] = "build",       [TEST_CORRECT] = "correct",     [TEST_REPEATED] = "repeated",
    [TEST_MEMCHECK] = "memcheck", [TEST_RACECHECK] = "racecheck", [TEST_COUNTER] = "counter",
    [TEST_PREDICT] = "predict",   [TEST_ANSWERED] = "answered",   [TEST_TIME] = "time",
};

/* The least and the most words behind each kind. */
static const int WORDS[TEST_KINDS][2] = {
    [TEST_BUILD] = {0, 0},    [TEST_CORRECT] = {2, 3},   [TEST_REPEATED] = {2, 3},
    [TEST_MEMCHECK] = {2, 3}, [TEST_RACECHECK] = {2, 3}, [TEST_COUNTER] = {4, 5},
    [TEST_PREDICT] = {2, 3},  [TEST_ANSWERED] = {0, 0},  [TEST_TIME] = {4, 4},
};

static int split(char *line, char **word, int most)
{
    int n = 0;
    char *rest = NULL;
    for (char *w = strtok_r(line, " \t\n", &rest); w; w = strtok_r(NULL, " \t\n", &rest)) {
        if (n == most) return -1;
        word[n++] = w;
    }
    return n;
}

static bool take_precisions(rubric *p, char **word, int count)
{
    p->precisions = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < NUM_PRECISIONS; k++)
            if (!strcmp(word[i], precision_name((enum precision)k))) p->precisions |= 1u << k;
    return p->precisions != 0;
}

/* Operation of tests above which no line says one. */
static const char DEFAULT_OPERATION[] = "spmm";

static enum status find_operation(const char *name, const char *where, const operation **found,
                                  error_text *error)
{
    char known[200];
    *found = operation_named(name);
    operation_names(known, sizeof known);
    return *found ? STATUS_OK
                  : fail(error, STATUS_USAGE, "%s: no operation '%s' (there are: %s)", where, name,
                         known);
}

enum { MOST_POINTS = 1000 };

static bool take_test(rubric *p, const operation *op, char **word, int count, int line)
{
    char *end;
    test t = {
        .operation = op, .points = strtod(word[0], &end), .num_words = count - 2, .line = line};
    const bool sensible = t.points >= 0 && t.points <= MOST_POINTS; /* which no NaN is */
    if (*end || !sensible || count < 2 || p->num_tests == MAX_TESTS) return false;
    while (t.kind < TEST_KINDS && strcmp(TEST_NAMES[t.kind], word[1]) != 0)
        t.kind++;
    if (t.kind == TEST_KINDS || t.num_words < WORDS[t.kind][0] || t.num_words > WORDS[t.kind][1])
        return false;
    for (int i = 0; i < t.num_words; i++)
        snprintf(t.word[i], sizeof t.word[i], "%s", word[i + 2]);
    p->tests[p->num_tests++] = t;
    return true;
}

/* Lines that mk/grader.mk and scripts/grade-look read. */
static bool is_for_make(const char *word)
{
    return !strcmp(word, "links") || !strcmp(word, "allows");
}

/* A line's words; *op is the operation of the tests that come. */
static enum status take_line(rubric *p, const operation **op, char **word, int count,
                             const char *path, int line, error_text *error)
{
    char where[600];
    snprintf(where, sizeof where, "%s:%d", path, line);
    if (count == 2 && !strcmp(word[0], "operation"))
        return find_operation(word[1], where, op, error);
    if (count > 0 && is_for_make(word[0])) return STATUS_OK;
    const bool taken = count > 0 && !strcmp(word[0], "precisions")
                           ? take_precisions(p, word + 1, count - 1)
                           : count > 1 && take_test(p, *op, word, count, line);
    return taken ? STATUS_OK
                 : fail(error, STATUS_USAGE,
                        "%s: not a test (points, kind, what the kind takes; see "
                        "docs/course-staff.md)",
                        where);
}

enum status rubric_read(const char *path, rubric *p, error_text *error)
{
    char text[1024], *word[MAX_WORDS + 2];
    const operation *op;
    FILE *f = fopen(path, "r");
    *p = (rubric){.precisions = 1u << PRECISION_FP32};
    if (!f)
        return fail(error, STATUS_USAGE, "%s: %s (how this lab is graded stands there)", path,
                    strerror(errno));
    enum status status = find_operation(DEFAULT_OPERATION, path, &op, error);
    for (int line = 1; status == STATUS_OK && fgets(text, sizeof text, f); line++) {
        const int count = *text == '#' ? 0 : split(text, word, MAX_WORDS + 2);
        if (count != 0) status = take_line(p, &op, word, count, path, line, error);
    }
    fclose(f);
    if (status == STATUS_OK && p->num_tests == 0)
        status = fail(error, STATUS_USAGE, "%s: no tests in it", path);
    return status;
}

double rubric_points(const rubric *p)
{
    double sum = 0;
    for (int i = 0; i < p->num_tests; i++)
        sum += p->tests[i].points;
    return sum;
}
