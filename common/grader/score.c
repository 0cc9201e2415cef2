#include "grader/score.h"

#include "matrix/files.h"
#include "results/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void test_title(const test *t, char *text, size_t bytes)
{
    const bool runs = t->kind != TEST_BUILD && t->kind != TEST_PREDICT && t->kind != TEST_ANSWERED;
    size_t used = snprintf(text, bytes, "%s%s%s", TEST_NAMES[t->kind], runs ? " " : "",
                           runs ? t->operation->name : "");
    const int told = t->kind == TEST_PREDICT ? 1 : t->num_words; /* not the answer */
    for (int i = 0; i < told && used < bytes; i++)
        used += snprintf(text + used, bytes - used, " %s", t->word[i]);
}

bool scores_results_failed(const scores *s)
{
    bool failed = false;
    for (int i = 0; i < s->rubric->num_tests; i++) {
        const enum test_kind kind = s->rubric->tests[i].kind;
        failed = failed ||
                 ((kind == TEST_CORRECT || kind == TEST_REPEATED) && s->marks[i].verdict == FAILED);
    }
    return failed;
}

double scores_sum(const scores *s)
{
    double sum = 0;
    for (int i = 0; i < s->rubric->num_tests; i++)
        sum += s->marks[i].points;
    return sum;
}

double scores_not_run(const scores *s)
{
    double sum = 0;
    for (int i = 0; i < s->rubric->num_tests; i++)
        if (s->marks[i].verdict == NOT_RUN) sum += s->rubric->tests[i].points;
    return sum;
}

/* Hides predictions, and by how much they were off, from the student until the deadline. */
static const char *visibility(const test *t)
{
    return t->kind == TEST_PREDICT ? "after_due_date" : "visible";
}

static void write_test(FILE *out, const test *t, const mark *m)
{
    char title[600];
    test_title(t, title, sizeof title);
    fputs("    {\"name\": ", out);
    json_text(out, title);
    fprintf(out,
            ", \"score\": %g, \"max_score\": %g, \"status\": \"%s\", \"visibility\": \"%s\",\n",
            m->points, m->verdict == NOT_RUN ? 0 : t->points,
            m->verdict == PASSED || m->verdict == NOT_RUN ? "passed" : "failed", visibility(t));
    fputs("     \"output\": ", out);
    json_text(out, m->verdict == NOT_REACHED ? "the grader was stopped before this test" : m->text);
    fputs("}", out);
}

static void write_results(FILE *out, const scores *s)
{
    fprintf(out, "{\n  \"score\": %g,\n  \"output\": ", scores_sum(s));
    char text[900], total[200];
    scores_text(s, total, sizeof total);
    snprintf(text, sizeof text, "%s. Confinement: %s", total, s->walls ? s->walls : "-");
    json_text(out, text);
    fputs(",\n  \"leaderboard\": [", out);
    if (s->speed > 0)
        fprintf(out,
                "{\"name\": \"speed over the reference\", \"value\": %.4g, \"order\": \"desc\"}",
                s->speed);
    fputs("],\n  \"tests\": [\n", out);
    for (int i = 0; i < s->rubric->num_tests; i++) {
        write_test(out, &s->rubric->tests[i], &s->marks[i]);
        fputs(i + 1 < s->rubric->num_tests ? ",\n" : "\n", out);
    }
    fputs("  ]\n}\n", out);
}

static enum status save(const scores *s, error_text *error)
{
    output_file f;
    if (!s->path) return STATUS_OK;
    enum status status = output_open(&f, s->path, error);
    if (status != STATUS_OK) return status;
    write_results(f.stream, s);
    return output_close(&f, error);
}

enum status scores_open(scores *s, const rubric *p, const char *path, const char *title,
                        const char *walls, error_text *error)
{
    *s = (scores){.rubric = p, .path = path, .walls = walls};
    snprintf(s->title, sizeof s->title, "%s", title);
    return save(s, error);
}

enum status score(scores *s, int test, double share, error_text *error, const char *format, ...)
{
    va_list args;
    char title[600];
    mark *m = &s->marks[test];
    va_start(args, format);
    vsnprintf(m->text, sizeof m->text, format, args);
    va_end(args);
    const double points = s->rubric->tests[test].points;
    m->verdict = isnan(share) ? NOT_RUN : share >= 1 ? PASSED : FAILED;
    /* Rounded once, to what is printed: so the sum of what a reader sees is the total, everywhere. */
    m->points = isnan(share) ? 0 : round(100 * points * share) / 100;
    test_title(&s->rubric->tests[test], title, sizeof title);
    if (isnan(share))
        printf("   -/%-4g %s: not run: %s\n", points, title, m->text);
    else
        printf("%4g/%-4g %s%s%s\n", m->points, points, title, *m->text ? ": " : "", m->text);
    fflush(stdout);
    return save(s, error);
}

void scores_text(const scores *s, char *text, size_t bytes)
{
    const double not_run = scores_not_run(s), all = rubric_points(s->rubric);
    const int used =
        snprintf(text, bytes, "%s: %g of %g points", s->title, scores_sum(s), all - not_run);
    if (not_run > 0)
        snprintf(text + used, bytes - used, " (%g more could not be tested here)", not_run);
}

void scores_total(const scores *s)
{
    char text[200];
    scores_text(s, text, sizeof text);
    puts(text);
}
