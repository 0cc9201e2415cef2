#include "harness/table.h"

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
    return isatty(fileno(out)) && !getenv("NO_COLOR") ? CODES[c] : "";
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

/* The columns after "check", with the number each shows. */
static const struct {
    const char *title;
    int width, decimals;
    size_t offset;
} COLUMNS[] = {
    {"error/bound", 11, 3, offsetof(row, worst_error)},
    {"median ms", 10, 4, offsetof(row, median_ms)},
    {"IQR", 7, 4, offsetof(row, iqr_ms)},
    {"batch ms", 9, 4, offsetof(row, batch_ms)},
    {"GFLOP/s", 8, 0, offsetof(row, gflops)},
    {"gather GB/s", 11, 0, offsetof(row, gather_gbs)},
    {"roofline", 8, 2, offsetof(row, roofline_share)},
    {"vs best", 7, 2, offsetof(row, speedup_vendor_best)},
    {"vs default", 10, 2, offsetof(row, speedup_vendor_default)},
    {"vs before", 9, 2, offsetof(row, speedup_lab_before)},
    {"prepare ms", 10, 3, offsetof(row, prepare_ms)},
};
enum { NUM_COLUMNS = sizeof COLUMNS / sizeof COLUMNS[0], SIMT_COLUMNS = 1 };

static const char *verdict(const row *r)
{
    if (!strcmp(r->status, "ok")) return "PASS";
    if (!strcmp(r->status, "wrong")) return "FAIL";
    return r->status;
}

static void contender_name(const row *r, char *text, size_t bytes)
{
    if (r->lab)
        snprintf(text, bytes, "lab%d %s%s%s", r->lab, r->contender, *r->tuning ? " " : "",
                 r->tuning);
    else
        snprintf(text, bytes, "%s%s%s", r->contender,
                 !strcmp(r->contender, r->vendor_best) ? " (best)" : "",
                 !strcmp(r->contender, r->vendor_default) ? " (default)" : "");
}

static void print_line(FILE *out, const row *r, int name_width)
{
    char name[160];
    contender_name(r, name, sizeof name);
    const enum colour c = !strcmp(r->status, "ok")      ? GREEN
                          : !strcmp(r->status, "wrong") ? RED
                                                        : PLAIN;
    fprintf(out, "%-*s  %s%-5s%s", name_width, name, paint(out, c), verdict(r), paint(out, PLAIN));
    const bool cuda = !strcmp(r->backend, "cuda");
    for (int i = 0; i < (cuda ? NUM_COLUMNS : SIMT_COLUMNS); i++) {
        const double value = *(const double *)((const char *)r + COLUMNS[i].offset);
        if (isfinite(value))
            fprintf(out, "  %*.*f", COLUMNS[i].width, COLUMNS[i].decimals, value);
        else
            fprintf(out, "  %*s", COLUMNS[i].width, "-");
    }
    if (!cuda) fprintf(out, "  %-10s  %s", "n/a (simt)", "n/a (no GPU)");
    putc('\n', out);
}

static void print_titles(FILE *out, const row *r, int name_width)
{
    const bool cuda = !strcmp(r->backend, "cuda");
    fprintf(out, "%-*s  %-5s", name_width, "contender", "check");
    for (int i = 0; i < (cuda ? NUM_COLUMNS : SIMT_COLUMNS); i++)
        fprintf(out, "  %*s", COLUMNS[i].width, COLUMNS[i].title);
    if (!cuda) fprintf(out, "  %-10s  %s", "time", "vs vendor");
    putc('\n', out);
}

/* ---- what went wrong ------------------------------------------------------------------------- */

static void print_failure(FILE *out, const row *r, const outcome *o)
{
    char name[160];
    const comparison *c = &o->comparison;
    contender_name(r, name, sizeof name);
    fprintf(out, "\n%s%s%s: %s\n", paint(out, RED), name, paint(out, PLAIN), o->message);
    if (!c->bad) return;
    fprintf(out, "  %lld of %lld elements are wrong; the first:\n", (long long)c->bad,
            (long long)c->elements);
    fprintf(out, "  %10s %8s  %14s  %14s  %10s  %10s\n", "row", "column", "got", "want", "bound",
            "row length");
    for (int i = 0; i < c->bad && i < SHOWN_ERRORS; i++) {
        const wrong_element *e = &c->shown[i];
        fprintf(out, "  %10lld %8lld  %14.7g  %14.7g  %10.2g  %10lld\n", (long long)e->row,
                (long long)e->col, e->got, e->want, e->bound, (long long)e->row_length);
    }
}

/* "PASS: all 5 right in 5418976 elements", or who was not. */
static void print_verdict(FILE *out, const row *r, const outcome *outcomes, size_t count)
{
    size_t right = 0, wrong = 0;
    for (size_t i = 0; i < count; i++) {
        right += outcomes[i].status == STATUS_OK;
        wrong += outcomes[i].status == STATUS_WRONG;
    }
    const bool pass = right && !wrong;
    fprintf(out, "\n%s%s%s: %zu of %zu contenders right in all %lld elements",
            paint(out, pass ? GREEN : RED), pass ? "PASS" : "FAIL", paint(out, PLAIN), right, count,
            (long long)(r->rows * r->N));
    if (wrong) fprintf(out, ", %zu wrong", wrong);
    if (right + wrong < count) fprintf(out, ", %zu not run", count - right - wrong);
    fputs("\n\n", out);
}

void table_print(FILE *out, const problem *p, const row *rows, const outcome *outcomes,
                 size_t count)
{
    int name_width = 0;
    for (size_t i = 0; i < count; i++) {
        char name[160];
        contender_name(&rows[i], name, sizeof name);
        if ((int)strlen(name) > name_width) name_width = (int)strlen(name);
    }
    print_heading(out, p, &rows[0]);
    print_titles(out, &rows[0], name_width);
    for (size_t i = 0; i < count; i++)
        print_line(out, &rows[i], name_width);
    for (size_t i = 0; i < count; i++)
        if (outcomes[i].status != STATUS_OK) print_failure(out, &rows[i], &outcomes[i]);
    print_verdict(out, &rows[0], outcomes, count);
}
