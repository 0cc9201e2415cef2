/*
 * plot.c - one picture of any file of rows, as a program for gnuplot; scripts/plot runs it.
 *
 *     rows plot [X=N] [Y=over_best] [who=lab5,lab99] [only=EXPRESSION] [N=32] [term=svg|png|terminal] FILE...
 *
 * X is a column or a setting of a sweep: that with the most values, else N, else the dataset. Y is a column, or
 * over_best, over_default, over_before: the speedup over the vendor's best and default algorithm and over the
 * step before. A line is a contender; rows of other widths, precisions and L2 states have lines of their own. A
 * point is the best of all other settings. Datasets have lines of their own while they are few; else a point is
 * the geometric mean of all datasets.
 */
#include "rows/study.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES_BY_DATASET = 12, MOST_LINES = 24, MOST_TICKS = 24 };

/* One row's place in the picture. */
typedef struct point {
    const char *who, *dataset, *x;
    double y;
    row_of r;
} point;

typedef struct picture {
    const char *X, *Y, *N, *operation;
    bool more_is_better, best_of_several;
    point *points;
    long count;
    names datasets, lines, xs, used;
    numbers best; /* by "line dataset x" */
} picture;

/* Columns that Y may be called by another name. */
static const char *column_of(const char *Y)
{
    static const char *const SHORT[][2] = {{"over_best", "speedup_vendor_best"},
                                           {"over_default", "speedup_vendor_default"},
                                           {"over_before", "speedup_lab_before"}};
    for (size_t i = 0; i < sizeof SHORT / sizeof *SHORT; i++)
        if (!strcmp(Y, SHORT[i][0])) return SHORT[i][1];
    return Y;
}

/* The cell of a column, or the value of a setting; "" where the row has neither. */
static const char *cell_of(row_of r, const char *name)
{
    return has(r, name) ? get(r, name) : tuned_to(r, name);
}

/* Whether some row has a number in the column. */
static bool is_measured(table *const *t, int files, const char *column)
{
    for (int f = 0; f < files; f++)
        for (long row = 0; row < t[f]->count; row++)
            if (*get_or((row_of){t[f], row}, column, "")) return true;
    return false;
}

/* Columns that are shown if nobody names one, the first that has a number, and what an axis says of them. */
static const struct {
    const char *column, *meaning;
} USUAL[] = {{"median_ms", "ms, the median"},
             {"predicted_ms", "ms, estimated"},
             {"ld_sectors", "sectors of 32 bytes that were loaded"},
             {"worst_error", "the largest error over its bound"}};
enum { NUM_USUAL = sizeof USUAL / sizeof *USUAL };

static const char *choose_Y(table *const *t, int files)
{
    for (int i = 0; i < NUM_USUAL; i++) {
        if (!is_measured(t, files, USUAL[i].column)) continue;
        if (i) warn("no row has a time (the CPU backend takes none): Y=%s", USUAL[i].column);
        return USUAL[i].column;
    }
    refuse(STATUS_DATASET, "no row has a number to show");
}

static const char *label_of(const char *Y)
{
    for (int i = 0; i < NUM_USUAL; i++)
        if (!strcmp(Y, USUAL[i].column)) return text("%s: %s", Y, USUAL[i].meaning);
    return Y;
}

static bool has_two_values(table *const *t, int files, const char *column)
{
    names values = {0};
    for (int f = 0; f < files; f++)
        for (long row = 0; row < t[f]->count; row++)
            names_add(&values, get_or((row_of){t[f], row}, column, ""));
    return values.count > 1;
}

/* The setting with the most values in a sweep; of several the first. */
static const char *choose_X(table *const *t, int files, bool one_width)
{
    names settings = {0}, seen = {0};
    numbers values = {0};
    const char *X = NULL;
    for (int f = 0; f < files; f++)
        for (long row = 0; row < t[f]->count; row++) {
            const row_of r = {t[f], row};
            if (!is_swept_row(r)) continue;
            size_t count;
            char **word = parts_of(get(r, "tuning"), ' ', &count);
            for (size_t i = 0; i < count; i++) {
                const char *name = text("%.*s", (int)strcspn(word[i], "="), word[i]);
                const long before = seen.count;
                names_add(&settings, name);
                if (names_add(&seen, word[i]) == before) ++*numbers_at(&values, name, 0);
            }
        }
    for (long i = 0; i < settings.count; i++)
        if (!X || *numbers_find(&values, settings.name[i]) > *numbers_find(&values, X))
            X = settings.name[i];
    if (X && *numbers_find(&values, X) > 1) return X;
    return !one_width && has_two_values(t, files, "N") ? "N" : "dataset";
}

/* A larger number is better of rates, shares and speedups. */
static bool is_more_better(const char *column)
{
    static const char *const WORDS[] = {"speedup", "flops", "_gbs",
                                        "_share",  "_rate", "efficiency"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strstr(column, WORDS[i])) return true;
    return false;
}

/* The line that a row is a point of. Of the vendor's algorithms the best and the default have one; of speedups
 * none. NULL: no line. */
static const char *who_of(const picture *p, row_of r)
{
    if (lab_of(r)) return text("lab %d", lab_of(r));
    const char *contender = get(r, "contender");
    if (strstr(column_of(p->Y), "speedup")) return NULL;
    if (!strcmp(contender, get(r, "vendor_best"))) return "vendor's best";
    if (!strcmp(contender, get(r, "vendor_default"))) return "vendor's default";
    return NULL;
}

static bool is_chosen(const request *q, row_of r, const regex_t *only)
{
    const char *who = option(q, "who", ""), *N = option(q, "N", "");
    if (*who && !is_among(lab_of(r) ? text("lab%d", lab_of(r)) : get(r, "contender"), who, ','))
        return false;
    if (*N && strcmp(get(r, "N"), N)) return false;
    return !only || !regexec(only, get(r, "dataset"), 0, NULL, 0);
}

static void take_points(picture *p, const request *q, table *const *t, int files)
{
    static const char *const APART[] = {"N", "precision", "l2"};
    const char *column = column_of(p->Y), *pattern = option(q, "only", "");
    bool differs[3], known_x = false;
    regex_t only;
    long room = 0;
    if (*pattern && regcomp(&only, pattern, REG_EXTENDED | REG_NOSUB))
        refuse(STATUS_USAGE, "only=%s: no expression", pattern);
    for (int i = 0; i < 3; i++)
        differs[i] = strcmp(APART[i], p->X) && has_two_values(t, files, APART[i]) &&
                     !(i == 0 && is_option(q, "N"));
    for (int f = 0; f < files; f++)
        room += t[f]->count;
    p->points = calloc((size_t)room + 1, sizeof *p->points);
    if (!p->points) refuse(STATUS_MEMORY, "out of memory");
    for (int f = 0; f < files; f++)
        for (long row = 0; row < t[f]->count; row++) {
            const row_of r = {t[f], row};
            const char *who = who_of(p, r), *x = cell_of(r, p->X), *y = get(r, column);
            known_x = known_x || *x;
            if (!who || !*x || !*y || !is_ok(r) || !is_chosen(q, r, *pattern ? &only : NULL))
                continue;
            for (int i = 0; i < 3; i++)
                if (differs[i])
                    who = text("%s, %s%s", who, i ? "" : text("%s = ", width_name(operation_of(r))),
                               get(r, APART[i]));
            one_operation(&p->operation, r);
            names_add(&p->datasets, get(r, "dataset"));
            p->points[p->count++] = (point){
                .who = who, .dataset = get(r, "dataset"), .x = x, .y = number(r, column), .r = r};
        }
    if (!known_x) refuse(STATUS_USAGE, "X=%s: neither a column nor a setting of these rows", p->X);
    if (!p->count)
        refuse(STATUS_DATASET, "no right result with %s and %s%s%s", p->X, p->Y,
               *option(q, "who", "") ? " of " : "", option(q, "who", ""));
}

/* Numbers by size, others as they come. */
static int by_value(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    const double difference = strtod(x, NULL) - strtod(y, NULL);
    return (difference > 0) - (difference < 0);
}

static int by_version(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

static bool is_number(const char *word)
{
    char *end;
    strtod(word, &end);
    return *word && !*end;
}

/* Sorts points into lines, and keeps the best of each place. */
static void draw_lines(picture *p, bool *by_dataset)
{
    names lines = {0};
    for (long i = 0; i < p->count; i++)
        names_add(&lines, text("%s" KEY "%s", p->points[i].who, p->points[i].dataset));
    *by_dataset =
        strcmp(p->X, "dataset") && p->datasets.count > 1 && lines.count <= MOST_LINES_BY_DATASET;
    bool all_numbers = true;
    for (long i = 0; i < p->count; i++) {
        const point *own = &p->points[i];
        const char *line = *by_dataset ? text("%s, %s", own->who, own->dataset) : own->who;
        names_add(&p->lines, line);
        names_add(&p->xs, own->x);
        names_add(&p->used, provenance(own->r));
        all_numbers = all_numbers && is_number(own->x);
        const char *place = text("%s" KEY "%s" KEY "%s", line, own->dataset, own->x);
        p->best_of_several = p->best_of_several || numbers_find(&p->best, place);
        double *best = numbers_at(&p->best, place, own->y);
        if (p->more_is_better ? own->y > *best : own->y < *best) *best = own->y;
    }
    /* "lab 5" before "lab 11"; both sets are only gone through from here on. */
    qsort(p->lines.name, (size_t)p->lines.count, sizeof *p->lines.name, by_version);
    if (all_numbers) qsort(p->xs.name, (size_t)p->xs.count, sizeof *p->xs.name, by_value);
    if (p->lines.count > MOST_LINES)
        refuse(STATUS_USAGE,
               "%ld lines are too many for one picture: who=lab5,lab99, N=32 and"
               " only=EXPRESSION (of datasets) choose some",
               p->lines.count);
}

/* The height of a line at a place: the geometric mean over the datasets, NAN where one of them is missing that the
 * line has elsewhere. */
static double height(const picture *p, const char *line, const char *x)
{
    mean m = {0};
    double single = NAN;
    for (long d = 0; d < p->datasets.count; d++) {
        const char *key = text("%s" KEY "%s" KEY "%s", line, p->datasets.name[d], x);
        const double *y = numbers_find(&p->best, key);
        bool elsewhere = false;
        for (long i = 0; i < p->xs.count && !elsewhere; i++)
            elsewhere = numbers_find(
                &p->best, text("%s" KEY "%s" KEY "%s", line, p->datasets.name[d], p->xs.name[i]));
        if (!y && elsewhere && strcmp(p->X, "dataset")) return NAN;
        if (!y) continue;
        single = *y;
        mean_add(&m, *y);
    }
    return m.count > 1 ? mean_of(&m) : single;
}

/* A text as gnuplot's in single quotes. */
static char *quoted(const char *words)
{
    char *result = "'";
    for (; *words; words++)
        result = text("%s%c%s", result, *words, *words == '\'' ? "'" : "");
    return text("%s'", result);
}

static const char *title_of(const picture *p, bool by_dataset)
{
    const char *over = "";
    if (strcmp(p->X, "dataset") && !by_dataset)
        over = p->datasets.count == 1
                   ? text(", %s", p->datasets.name[0])
                   : text(", geometric means of %ld datasets", p->datasets.count);
    const char *N = *p->N ? text(", %s = %s", width_name(p->operation), p->N) : "";
    const char *best = p->best_of_several ? "; a point is the best of all other settings" : "";
    return text("%s%s%s%s", p->operation, N, over, best);
}

static void print_terminal(const request *q)
{
    const char *term = option(q, "term", "terminal"), *file = option(q, "to", "");
    if (!strcmp(term, "terminal"))
        fprintf(out, "set terminal dumb %s %s noenhanced\n", option(q, "columns", "100"),
                option(q, "lines", "30"));
    else if (!strcmp(term, "svg"))
        fputs(
            "set terminal svg size 800,480 font 'sans-serif,12' noenhanced background '#ffffff'\n",
            out);
    else if (!strcmp(term, "png"))
        fputs("set terminal pngcairo size 1200,720 font 'sans-serif,14' noenhanced\n", out);
    else
        refuse(STATUS_USAGE, "term=%s: no such terminal (terminal, svg, png)", term);
    if (*file) fprintf(out, "set output %s\n", quoted(file));
}

static void print_axes(const picture *p, bool is_dumb)
{
    double least = INFINITY, most = 0;
    for (long l = 0; l < p->lines.count; l++)
        for (long i = 0; i < p->xs.count; i++) {
            const double y = height(p, p->lines.name[l], p->xs.name[i]);
            if (y < least) least = y;
            if (y > most) most = y;
        }
    const bool logarithmic = least > 0 && most > 20 * least;
    if (logarithmic)
        fputs("set logscale y\n", out);
    else
        fprintf(out, "set yrange [%s:%.6g]\n", least < 0 ? "*" : "0", most > 0 ? 1.08 * most : 1);
    fprintf(out, "set xrange [-0.5:%g]\nset xtics (", (double)p->xs.count - 0.5);
    const long step = p->xs.count / MOST_TICKS + 1;
    for (long i = 0; i < p->xs.count; i += step)
        fprintf(out, "%s%s %ld", i ? ", " : "", quoted(p->xs.name[i]), i);
    fprintf(out, ")%s\n", !strcmp(p->X, "dataset") && !is_dumb ? " rotate by -40" : "");
    if (strstr(column_of(p->Y), "speedup"))
        fputs("set arrow from graph 0, first 1 to graph 1, first 1 nohead dashtype 2\n", out);
}

enum status run_plot(const request *q)
{
    picture *p = calloc(1, sizeof *p);
    table **t = calloc((size_t)q->count, sizeof *t);
    bool by_dataset;
    if (!p || !t) refuse(STATUS_MEMORY, "out of memory");
    for (int f = 0; f < q->count; f++) {
        t[f] = table_read(q->files[f]);
        table_needs(
            t[f],
            "schema lab contender precision dataset N device driver toolkit commit flags tuning"
            " l2 median_ms vendor_best vendor_default status");
    }
    p->Y = is_option(q, "Y") ? option(q, "Y", "") : choose_Y(t, q->count);
    p->X = is_option(q, "X") ? option(q, "X", "") : choose_X(t, q->count, is_option(q, "N"));
    for (int f = 0; f < q->count; f++)
        if (names_find(&t[f]->columns, column_of(p->Y)) == NONE)
            refuse(STATUS_USAGE, "Y=%s: no column of %s, nor over_best, over_default, over_before",
                   p->Y, t[f]->path);
    if (!is_measured(t, q->count, column_of(p->Y)))
        refuse(STATUS_DATASET, "no row has a number in %s%s", p->Y,
               strcmp(p->Y, column_of(p->Y)) ? ": that takes times of a GPU, of both sides" : "");
    p->N = option(q, "N", "");
    p->more_is_better = is_more_better(column_of(p->Y));
    take_points(p, q, t, q->count);
    draw_lines(p, &by_dataset);

    const bool is_dumb = !strcmp(option(q, "term", "terminal"), "terminal");
    print_terminal(q);
    const char *X = strcmp(p->X, "N") ? p->X : width_name(p->operation);
    fprintf(
        out,
        "set title %s\nset xlabel %s\nset ylabel %s\nset key %s\nset grid y\nset pointsize 1.2\n",
        quoted(title_of(p, by_dataset)), quoted(X), quoted(label_of(p->Y)),
        is_dumb ? "below" : "outside right");
    if (!is_dumb)
        fprintf(out, "set bmargin %d\nset label %s at screen 0.01,0.02 font ',8'\n",
                strcmp(p->X, "dataset") ? 5 : 9, quoted(origin_of(&p->used)));
    print_axes(p, is_dumb);
    fputs("$points << END\n", out);
    for (long l = 0; l < p->lines.count; l++) {
        for (long i = 0; i < p->xs.count; i++) {
            const double y = height(p, p->lines.name[l], p->xs.name[i]);
            fprintf(out, "%ld %s\n", i, isnan(y) ? "?" : text("%.6g", y));
        }
        fputs("\n\n", out);
    }
    fputs("END\nset datafile missing '?'\nplot ", out);
    for (long l = 0; l < p->lines.count; l++)
        fprintf(out, "%s$points index %ld using 1:2 with %s linewidth 1.5 pointtype %ld title %s",
                l ? ", \\\n     " : "", l, strcmp(p->X, "dataset") ? "linespoints" : "points",
                4 + l % 11, quoted(p->lines.name[l]));
    putc('\n', out);
    return STATUS_OK;
}
