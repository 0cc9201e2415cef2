/*
 * todo.c - plans of measurements: their jobs, which cells are measured already, and the runs that measure the others.
 *
 * A line of a plan is a job; that of a comment begins with #:
 *
 *     FILE.csv SECONDS labK DATASET N,... [OPTION...]
 *
 * Rows go to FILE.csv in the folder of the GPU: OPERATION.csv or OPERATION-PURPOSE.csv. SECONDS is an
 * estimate of the job's time; the rest is the command line.
 */
#include "rows/rows.h"

#include "results/csv.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- plan ------------------------------------------------------------------------------------- */

static bool fits(const char *pattern, const char *word)
{
    regex_t compiled;
    if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB))
        refuse(STATUS_USAGE, "\"%s\" is no expression", pattern);
    const bool found = !regexec(&compiled, word, 0, NULL, 0);
    regfree(&compiled);
    return found;
}

/* Prints for each job the line's number, file, seconds, program and the words behind it, between tabs; with
 * only=EXPRESSION of the lines in which it is found. */
enum status run_plan(const request *q)
{
    const char *path = q->files[0], *only = option(q, "only", "");
    FILE *plan = fopen(path, "r");
    if (!plan) refuse(STATUS_USAGE, "%s: cannot be read", path);
    char *line = NULL;
    size_t bytes = 0;
    long jobs = 0;
    for (long number = 1; getline(&line, &bytes, plan) >= 0; number++) {
        char *words[64];
        int count = 0;
        char *whole = text("%.*s", (int)strcspn(line, "\n"), line);
        for (char *word = strtok(line, " \t\n"); word && count < 64; word = strtok(NULL, " \t\n"))
            words[count++] = word;
        if (!count || *words[0] == '#') continue;
        if (count < 5 || !fits("^[A-Za-z0-9._-]+\\.csv$", words[0]) ||
            !fits("^[0-9]+(\\.[0-9]+)?$", words[1]) || !fits("^lab[0-9]+$", words[2]) ||
            !fits("^[0-9]+(,[0-9]+)*$", words[4]))
            refuse(STATUS_USAGE, "%s:%ld: expected FILE.csv SECONDS labK DATASET N,... [OPTION...]",
                   path, number);
        if (*only && !fits(only, whole)) continue;
        fprintf(out, "%ld\t%s\t%s\t%s\t%s", number, words[0], words[1], words[2], words[3]);
        for (int i = 4; i < count; i++)
            fprintf(out, " %s", words[i]);
        putc('\n', out);
        jobs++;
    }
    fclose(plan);
    if (!jobs && *only) refuse(STATUS_USAGE, "%s: no job with \"%s\" in it", path, only);
    if (!jobs) refuse(STATUS_USAGE, "%s: no jobs", path);
    return STATUS_OK;
}

/* ---- what is to do ---------------------------------------------------------------------------- */

typedef struct todo {
    const char *device, *plan, *commit;
    bool retry;
    names is_read, measured, broken;
    texts owner; /* the plan's line that measures a cell */
} todo;

/* One job's datasets: the widths to measure, and cells that are kept and missing. */
typedef struct spec {
    const char *name, *wanted;
    long kept, missing;
} spec;
enum { MAX_SPECS = 4096 };

static bool is_file(const char *path)
{
    struct stat s;
    return !stat(path, &s) && s.st_size > 0;
}

/* Rows lie in files of their operation: spmm.csv, spmm-rnn.csv. */
static bool is_file_of(const char *file, const char *operation)
{
    const size_t length = strlen(operation);
    return starts_with(file, operation) && (file[length] == '.' || file[length] == '-');
}

/* Remembers which contenders have rows of this device and commit in a file, and the cells where a lab failed. */
static void read_rows(todo *d, const char *path, const char *file, const char *commit)
{
    if (names_find(&d->is_read, path) != NONE) return;
    names_add(&d->is_read, path);
    if (!is_file(path)) return;
    table *t = table_read(path);
    if (names_find(&t->columns, "schema") == NONE || names_find(&t->columns, "commit") == NONE)
        refuse(STATUS_USAGE, "%s: no rows of this suite", path);
    for (long row = 0; row < t->count; row++) {
        const row_of r = {t, row};
        if (strcmp(get(r, "commit"), commit) || strcmp(get(r, "device"), d->device)) continue;
        const char *key = text("%s" KEY "%s", file, cell_key(r)), *status = get(r, "status");
        names_add(&d->measured, text("%s" KEY "%s", key, get(r, "contender")));
        if (lab_of(r) && strcmp(status, "ok") && strcmp(status, "skip")) names_add(&d->broken, key);
    }
}

/* A cell of a job: counts it, and puts its N on the list of its dataset where it is to be measured. */
static void take_cell(todo *d, const request *q, const char *job, const char *file, row_of r,
                      spec *own)
{
    const char *commit = get(r, "commit"), *apart = option(q, "apart", ""), *N = get(r, "N");
    if (!d->commit) d->commit = commit;
    if (strcmp(commit, d->commit))
        refuse(STATUS_USAGE, "programs of two commits, %s and %s: build them again", d->commit,
               commit);
    if (!is_file_of(file, operation_of(r)))
        refuse(STATUS_USAGE, "%s:%s: %s would hold rows of %s: name it %s.csv or %s-PURPOSE.csv",
               d->plan, job, file, operation_of(r), operation_of(r), operation_of(r));
    /* Two trees of edited sources may have the same name. */
    const bool is_edited = strstr(commit, "-dirty") || starts_with(commit, "unknown");
    read_rows(d, text("%s/%s", option(q, "rows", "."), file), file, is_edited ? "none" : commit);
    if (*apart) read_rows(d, apart, file, commit);
    const char *key = text("%s" KEY "%s", file, cell_key(r));
    const char *claim = text("%s" KEY "%s", key, get(r, "contender"));
    const char **owner = texts_at(&d->owner, claim);
    if (*owner)
        refuse(STATUS_USAGE, "%s:%s: measures %s at N = %s for %s as line %s does", d->plan, job,
               get(r, "dataset"), N, file, *owner);
    *owner = job;
    if (names_find(&d->measured, claim) != NONE &&
        !(d->retry && names_find(&d->broken, key) != NONE)) {
        own->kept++;
        return;
    }
    own->missing++;
    if (!is_among(N, own->wanted, ','))
        own->wanted = text("%s%s%s", own->wanted, *own->wanted ? "," : "", N);
}

/* One run: the job's number, result file, seconds, cells it measures, cells that are kept, datasets, program,
 * the words it is run on, the N to measure ("-": none), options. */
static void print_run(char **job, const spec *s, long datasets, const char *name, long total)
{
    char *options = job[4];
    for (int word = 0; word < 2 && options; word++)
        if ((options = strchr(options, ' '))) options++;
    fprintf(out, "%s\t%s\t%d\t%ld\t%ld\t%ld\t%s\t%s\t%s\t%s\n", job[0], job[1],
            (int)(strtod(job[2], NULL) * (double)s->missing / (double)total + 0.999), s->missing,
            s->kept, datasets, job[3], name, *s->wanted ? s->wanted : "-", options ? options : "");
}

/* A run is a job, if all its datasets need the same N, else one of its datasets; with apart=ROWS.csv, which a
 * run of them all has just written, always a dataset. */
static void print_job(todo *d, const request *q, char **job)
{
    static spec specs[MAX_SPECS];
    const char *path = text("%s/%s", option(q, "cells", "."), job[0]);
    names known = {0};
    if (!is_file(path)) return;
    table *t = table_read(path);
    for (long row = 0; row < t->count; row++) {
        const row_of r = {t, row};
        const long before = known.count, place = names_add(&known, get(r, "spec"));
        if (place >= MAX_SPECS) refuse(STATUS_USAGE, "%s:%s: too many datasets", d->plan, job[0]);
        if (place == before) specs[place] = (spec){.name = known.name[place], .wanted = ""};
        take_cell(d, q, job[0], job[1], r, &specs[place]);
    }
    bool together = known.count > 1 && !is_option(q, "apart");
    for (long i = 1; i < known.count; i++)
        together = together && !strcmp(specs[i].wanted, specs[0].wanted);
    for (long i = 1; together && i < known.count; i++) {
        specs[0].missing += specs[i].missing;
        specs[0].kept += specs[i].kept;
    }
    const char *dataset = text("%.*s", (int)strcspn(job[4], " "), job[4]);
    if (together) print_run(job, &specs[0], known.count, dataset, t->count);
    for (long i = 0; !together && i < known.count; i++)
        print_run(job, &specs[i], 1, specs[i].name, t->count);
}

enum status run_todo(const request *q)
{
    todo *d = calloc(1, sizeof *d);
    FILE *jobs = fopen(q->files[0], "r");
    if (!d) refuse(STATUS_MEMORY, "out of memory");
    if (!jobs) refuse(STATUS_USAGE, "%s: cannot be read", q->files[0]);
    d->device = option(q, "device", "");
    d->plan = option(q, "plan", q->files[0]);
    d->retry = !strcmp(option(q, "retry", "0"), "1");
    char *line = NULL;
    size_t bytes = 0;
    while (getline(&line, &bytes, jobs) >= 0) {
        size_t count;
        char **job = parts_of(text("%.*s", (int)strcspn(line, "\n"), line), '\t', &count);
        if (count < 5) refuse(STATUS_USAGE, "%s: not a job: %s", q->files[0], line);
        print_job(d, q, job);
    }
    fclose(jobs);
    return STATUS_OK;
}

/* ---- cells ------------------------------------------------------------------------------------ */

/* Prints the different cells of some columns, a line each, blanks between them. */
enum status run_cells(const request *q)
{
    table *t = table_read(q->files[0]);
    names seen = {0};
    size_t count;
    char **column = parts_of(option(q, "columns", ""), ',', &count);
    if (!count) refuse(STATUS_USAGE, "columns=NAME,... says which");
    for (long row = 0; row < t->count; row++) {
        const char *line = "";
        for (size_t i = 0; i < count; i++) {
            const row_of r = {t, row};
            const char *cell = strcmp(column[i], "operation") ? get(r, column[i]) : operation_of(r);
            line = text("%s%s%s", line, i ? " " : "", cell);
        }
        const long before = seen.count;
        if (names_add(&seen, line) == before) fprintf(out, "%s\n", line);
    }
    return STATUS_OK;
}

/* Prints the rows of the cells of spec=DATASET and N=N, as a run that died would have left them: with device,
 * driver, toolkit, status and message of the options. */
enum status run_blame(const request *q)
{
    static const char *const KNOWN[] = {"device", "driver", "toolkit", "status", "message"};
    table *t = table_read(q->files[0]);
    table_needs(t, "spec N");
    for (long i = 0; i + 1 < t->columns.count; i++)
        fprintf(out, "%s%s", i ? "," : "", t->columns.name[i]);
    for (int k = 0; k < 5; k++)
        fprintf(out, ",%s", KNOWN[k]);
    putc('\n', out);
    for (long row = 0; row < t->count; row++) {
        const row_of r = {t, row};
        if (strcmp(get(r, "spec"), option(q, "spec", "")) ||
            strcmp(get(r, "N"), option(q, "N", "")))
            continue;
        for (long i = 0; i + 1 < t->columns.count; i++) {
            if (i) putc(',', out);
            csv_text(out, t->cells[row][i]);
        }
        for (int k = 0; k < 5; k++) {
            putc(',', out);
            csv_text(out, option(q, KNOWN[k], ""));
        }
        putc('\n', out);
    }
    return STATUS_OK;
}
