/*
 * targets.c - what was asked of the suite beside what was reached: rows targets FILE
 *
 * A line of FILE has five cells between tabs: group, what, sense ("at least", "at most", or "stated": of any value, the target
 * is "-"), target, reached. A number that could not be computed is "**not measured**". Prints a table in Markdown, and how many were met.
 */
#include "rows/rows.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char STATED[] = "stated";

enum { MET, MISSED, NOT_MEASURED, NO_TARGET };

static int judge(const char *sense, const char *target, const char *reached)
{
    static const char MISSING[] = "**not measured**";
    if (!strcmp(reached, MISSING)) return NOT_MEASURED;
    if (!strcmp(sense, STATED)) return NO_TARGET;
    if (!strcmp(target, MISSING)) return NO_TARGET;
    if (!isdigit((unsigned char)*reached)) return MISSED; /* "nowhere" */
    const double over = strtod(reached, NULL) - strtod(target, NULL);
    return (!strcmp(sense, "at least") ? over >= 0 : over <= 0) ? MET : MISSED;
}

enum status run_targets(const request *q)
{
    static const char *const VERDICTS[] = {"met", "<mark>missed</mark>", "not measured",
                                           "no target"};
    long verdicts[4] = {0};
    FILE *in = fopen(q->files[0], "r");
    char *line = NULL;
    size_t bytes = 0, count;
    if (!in) refuse(STATUS_DATASET, "%s: cannot be read", q->files[0]);
    fputs("| asked | target | reached | |\n|---|---:|---:|---|\n", out);
    for (long number = 1; getline(&line, &bytes, in) >= 0; number++) {
        line[strcspn(line, "\n")] = 0;
        char **cell = parts_of(line, '\t', &count);
        if (count != 5 || !is_among(cell[2], "at least,at most,stated", ','))
            refuse(STATUS_DATASET,
                   "%s:%ld: not a group, what, 'at least', 'at most' or 'stated', a target, what "
                   "was reached",
                   q->files[0], number);
        const int verdict = judge(cell[2], cell[3], cell[4]);
        verdicts[verdict]++;
        const char *target = strcmp(cell[2], STATED) ? text(" %s", cell[3]) : "";
        fprintf(out, "| %s: %s | %s%s | %s | %s |\n", cell[0], cell[1], cell[2], target,
                verdict == NOT_MEASURED ? "-" : cell[4], VERDICTS[verdict]);
    }
    free(line);
    fclose(in);
    fprintf(out, "\n%ld met, %ld missed, %ld not measured.\n", verdicts[MET], verdicts[MISSED],
            verdicts[NOT_MEASURED]);
    return STATUS_OK;
}
