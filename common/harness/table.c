#include "harness/table.h"

#include "harness/results.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- colour ---------------------------------------------------------------------------------- */

enum colour { PLAIN, GREEN, RED };

static const char *paint(FILE *out, enum colour c)
{
    static const char *const CODES[] = {"\033[0m", "\033[32m", "\033[31m"};
    const char *unwanted = getenv("NO_COLOR"); /* no-color.org: set, and not empty */
    return isatty(fileno(out)) && !(unwanted && *unwanted) ? CODES[c] : "";
}

/* ---- heading --------------------------------------------------------------------------------- */

static void print_heading(FILE *out, const problem *p, const row *r)
{
    fprintf(out, "%s: %s data (%s)\n", r->dataset, r->origin, r->source);
    if (!strcmp(r->origin, "stand-in"))
        fprintf(out,
                "  A STAND-IN, not the real matrix: generated with its counts and row lengths "
                "(make data DATASET=%s)\n",
                r->dataset);
    fprintf(out,
            "  %lld x %lld, %lld nonzeros; row length mean %.1f, max %lld, CoV %.2f; %lld empty "
            "rows\n",
            (long long)r->rows, (long long)r->cols, (long long)r->nnz, p->stats.mean,
            (long long)p->stats.max, p->stats.cov, (long long)p->stats.empty_rows);
    fprintf(out, "  %s, N = %d, %s, seed %llu", r->operation, r->N, r->precision,
            (unsigned long long)r->seed);
    if (!strcmp(r->backend, "cuda"))
        fprintf(out, ", %s L2; %s, driver %s, CUDA %s\n\n", r->l2, r->device, r->driver,
                r->toolkit);
    else
        fprintf(out, "; %s: results are checked, times mean nothing and are not shown\n\n",
                r->device);
}

/* ---- one line a contender -------------------------------------------------------------------- */

/* The columns after "check"; a title has two lines. Under simt only the first is shown. */
static const struct {
    const char *above, *title;
    int width, decimals;
    size_t offset;
} COLUMNS[] = {
    {"error/", "bound", 6, 3, offsetof(row, worst_error)},
    {"median", "ms", 9, 4, offsetof(row, median_ms)},
    {"IQR", "ms", 7, 4, offsetof(row, iqr_ms)},
    {"", "GFLOP/s", 7, 0, offsetof(row, gflops)},
    {"gather", "GB/s", 6, 0, offsetof(row, gather_gbs)},
    {"roof-", "line", 5, 2, offsetof(row, roofline_share)},
    {"over", "best", 6, 2, offsetof(row, speedup_vendor_best)},
    {"over", "default", 7, 2, offsetof(row, speedup_vendor_default)},
    {"over lab", "before", 8, 2, offsetof(row, speedup_lab_before)},
    {"prepare", "ms", 8, 3, offsetof(row, prepare_ms)},
};
enum { NUM_COLUMNS = sizeof COLUMNS / sizeof COLUMNS[0], SIMT_COLUMNS = 1 };

static bool is_cuda(const row *r)
{
    return !strcmp(r->backend, "cuda");
}

static int num_columns(const row *r)
{
    return is_cuda(r) ? NUM_COLUMNS : SIMT_COLUMNS;
}

static const char *verdict(const row *r)
{
    if (!strcmp(r->status, "ok")) return "PASS";
    if (!strcmp(r->status, "wrong")) return "FAIL";
    return r->status;
}

/* "lab4 tuning", with its settings where a sweep gives the lab several lines. */
static void contender_name(const row *r, bool with_tuning, char *text, size_t bytes)
{
    char lab[12] = "";
    if (r->lab) snprintf(lab, sizeof lab, "lab%d ", r->lab);
    snprintf(text, bytes, "%s%s%s%s", lab, r->contender, with_tuning && *r->tuning ? " " : "",
             with_tuning ? r->tuning : "");
}

static void print_titles(FILE *out, const row *r, int name_width)
{
    fprintf(out, "%-*s  %-5s", name_width, "", "");
    for (int i = 0; i < num_columns(r); i++)
        fprintf(out, "  %*s", COLUMNS[i].width, COLUMNS[i].above);
    fprintf(out, "\n%-*s  %-5s", name_width, "contender", "check");
    for (int i = 0; i < num_columns(r); i++)
        fprintf(out, "  %*s", COLUMNS[i].width, COLUMNS[i].title);
    if (!is_cuda(r)) fprintf(out, "  %-10s  %s", "time", "over vendor");
    putc('\n', out);
}

/* One number, right-aligned; as "3e+07" where its digits would break the column. */
static void print_number(FILE *out, double value, int width, int decimals)
{
    char text[400] = "-"; /* "%f" writes up to 309 digits */
    if (isfinite(value)) snprintf(text, sizeof text, "%.*f", decimals, value);
    if ((int)strlen(text) > width) snprintf(text, sizeof text, "%.0e", value);
    fprintf(out, "  %*s", width, text);
}

static void print_line(FILE *out, const row *r, const char *name, int name_width)
{
    const enum colour c = !strcmp(r->status, "ok")      ? GREEN
                          : !strcmp(r->status, "wrong") ? RED
                                                        : PLAIN;
    fprintf(out, "%-*s  %s%-5s%s", name_width, name, paint(out, c), verdict(r), paint(out, PLAIN));
    for (int i = 0; i < num_columns(r); i++) {
        const double value = *(const double *)((const char *)r + COLUMNS[i].offset);
        print_number(out, value, COLUMNS[i].width, COLUMNS[i].decimals);
    }
    if (!is_cuda(r)) fprintf(out, "  %-10s  %s", "n/a (simt)", "n/a (no GPU)");
    putc('\n', out);
}

/* What the table has no column for: which algorithms "best" and "default" are, and the settings. */
static void print_notes(FILE *out, const row *rows, size_t count, bool swept)
{
    if (*rows[0].vendor_best) fprintf(out, "best: %s\n", rows[0].vendor_best);
    if (*rows[0].vendor_default) fprintf(out, "default: %s\n", rows[0].vendor_default);
    if (is_cuda(&rows[0]) && isnan(rows[0].roofline_share))
        fprintf(out, "roofline: unknown for this GPU until it is measured (make limits)\n");
    for (size_t i = 0; i < count && !swept; i++)
        if (*rows[i].tuning) fprintf(out, "lab%d: %s\n", rows[i].lab, rows[i].tuning);
}

/* ---- what went wrong ------------------------------------------------------------------------- */

static void print_got(FILE *out, float x)
{
    if (isnan(x))
        fprintf(out, "  %14s", is_unwritten(x) ? "not written" : "nan");
    else
        fprintf(out, "  %14.7g", x);
}

static void print_failure(FILE *out, const row *r, const outcome *o)
{
    char name[160];
    const comparison *c = &o->comparison;
    contender_name(r, true, name, sizeof name);
    fprintf(out, "%s%s%s: %s\n", paint(out, RED), name, paint(out, PLAIN), o->message);
    if (!c->bad) return;
    fprintf(out, "  %lld of %lld elements are wrong; the first:\n", (long long)c->bad,
            (long long)c->elements);
    fprintf(out, "  %10s %8s  %14s  %14s  %10s  %10s\n", "row", "column", "got", "want", "bound",
            "row length");
    for (int i = 0; i < c->bad && i < SHOWN_ERRORS; i++) {
        const wrong_element *e = &c->shown[i];
        fprintf(out, "  %10lld %8lld", (long long)e->row, (long long)e->col);
        print_got(out, e->got);
        fprintf(out, "  %14.7g  %10.2g  %10lld\n", e->want, e->bound, (long long)e->row_length);
    }
}

/* "PASS: 5 of 5 contenders right in all 5418976 elements", or who was not. */
static void print_verdict(FILE *out, const row *rows, const outcome *outcomes, size_t count)
{
    const enum status verdict = results_verdict(rows, outcomes, count);
    size_t right = 0, wrong = 0;
    for (size_t i = 0; i < count; i++) {
        right += outcomes[i].status == STATUS_OK;
        wrong += outcomes[i].status == STATUS_WRONG;
    }
    const char *word = verdict == STATUS_OK ? "PASS" : verdict == STATUS_SKIPPED ? "SKIP" : "FAIL";
    const enum colour colour = verdict == STATUS_OK        ? GREEN
                               : verdict == STATUS_SKIPPED ? PLAIN
                                                           : RED;
    fprintf(out, "%s%s%s: %zu of %zu contenders right in all %lld elements", paint(out, colour),
            word, paint(out, PLAIN), right, count, (long long)(rows[0].rows * rows[0].N));
    if (wrong) fprintf(out, ", %zu wrong", wrong);
    if (right + wrong < count) fprintf(out, ", %zu not run", count - right - wrong);
    fputs("\n\n", out);
}

void table_print(FILE *out, const problem *p, const row *rows, const outcome *outcomes,
                 size_t count)
{
    char name[160];
    int name_width = 0;
    bool swept = false;
    for (size_t i = 1; i < count; i++)
        swept |= rows[i].lab && rows[i].lab == rows[i - 1].lab;
    for (size_t i = 0; i < count; i++) {
        contender_name(&rows[i], swept, name, sizeof name);
        if ((int)strlen(name) > name_width) name_width = (int)strlen(name);
    }
    print_heading(out, p, &rows[0]);
    print_titles(out, &rows[0], name_width);
    for (size_t i = 0; i < count; i++) {
        contender_name(&rows[i], swept, name, sizeof name);
        print_line(out, &rows[i], name, name_width);
    }
    putc('\n', out);
    print_notes(out, rows, count, swept);
    for (size_t i = 0; i < count; i++)
        if (outcomes[i].status != STATUS_OK) print_failure(out, &rows[i], &outcomes[i]);
    print_verdict(out, rows, outcomes, count);
}
