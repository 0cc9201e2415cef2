#include "results/table.h"

#include "harness/profile_table.h"
#include "harness/terminal.h"
#include "results/results.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- heading --------------------------------------------------------------------------------- */

static bool is_cuda(const row *r)
{
    return !strcmp(r->backend, "cuda");
}

/* Returns the findings of the instruments for any of the rows; NULL without them. */
static const inspection *any_inspection(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].inspection) return rows[i].inspection;
    return NULL;
}

/* Prints whose caches were modelled, and the meaning of a sample. */
static void print_instruments(FILE *out, const inspection *i)
{
    char model[400];
    const char *checks = checks_text(i->which);
    const bool counters = i->which & INSTRUMENT_COUNTERS;
    if (counters)
        fprintf(out, "; counted on the CPU backend, modelled: %s\n", i->model);
    else
        fprintf(out, "; %s on the CPU backend\n", *checks ? "checked" : "recorded");
    snprintf(model, sizeof model, "cache model: %s", i->model_text);
    if (counters) print_folded(out, 2, model);
    if (*checks && i->sample == 1) fprintf(out, "  %s: every access of the kernels\n", checks);
    if (i->sample < 1)
        fprintf(out, "  a SAMPLE of %s of the blocks was run: results are not checked%s\n",
                percent(i->sample).text, counters ? ", counters are scaled up" : "");
    putc('\n', out);
}

static void print_heading(FILE *out, const problem *p, const row *r, const inspection *i)
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
    if (p->num_ranges > 1)
        fprintf(out, "  A in %d ranges of rows, one after the other, from rows", p->num_ranges);
    for (int r = 0; r < p->num_ranges && p->num_ranges > 1; r++)
        fprintf(out, "%s %lld%s", r ? "," : "", (long long)p->range_first[r],
                r + 1 < p->num_ranges ? "" : "\n");
    char knobs[96];
    problem_knobs_text(p, knobs, sizeof knobs);
    fprintf(out, "  %s, %s = %d, %s%s%s, seed %llu", r->operation, p->operation->width, r->N, knobs,
            *knobs ? ", " : "", r->precision, (unsigned long long)r->seed);
    if (i)
        print_instruments(out, i);
    else if (is_cuda(r))
        fprintf(out, ", %s L2; %s, driver %s, CUDA %s\n\n", r->l2, r->device, r->driver,
                r->toolkit);
    else
        fprintf(out, "; %s: results are checked, times mean nothing and are not shown\n\n",
                r->device);
}

/* ---- one line a contender -------------------------------------------------------------------- */

/* Place of a column that is no field of a row: what preparing takes, in runs. */
enum { PREPARE_IN_RUNS = sizeof(row) };

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
    {"bound", "share", 5, 2, offsetof(row, bound_share)},
    {"gather", "share", 6, 2, offsetof(row, gather_share)},
    {"over", "best", 6, 2, offsetof(row, speedup_vendor_best)},
    {"over", "default", 7, 2, offsetof(row, speedup_vendor_default)},
    {"over the", "step before", 15, 2, offsetof(row, speedup_lab_before)},
    {"prepare", "ms", 8, 3, offsetof(row, prepare_ms)},
    {"prepare", "runs", 7, 1, PREPARE_IN_RUNS},
};
enum { NUM_COLUMNS = sizeof COLUMNS / sizeof COLUMNS[0], SIMT_COLUMNS = 1 };

static int num_columns(const row *r)
{
    return is_cuda(r) ? NUM_COLUMNS : SIMT_COLUMNS;
}

static const char *verdict(const row *r)
{
    if (!strcmp(r->status, "ok")) return "PASS";
    if (!strcmp(r->status, "wrong")) return "FAIL";
    if (!strcmp(r->status, "sample")) return "-";
    return r->status;
}

/* Room for "lab99 ", a contender and its settings. */
enum { NAME_BYTES = sizeof "lab99 " + sizeof((row *)0)->contender + sizeof((row *)0)->tuning };

/* "lab4 tuning", with its settings where a sweep gives the lab several lines. */
static void contender_name(const row *r, bool with_tuning, char *text, size_t bytes)
{
    char lab[12] = "";
    if (r->lab) snprintf(lab, sizeof lab, "lab%d ", r->lab);
    snprintf(text, bytes, "%s%s%s%s", lab, r->contender, with_tuning && *r->tuning ? " " : "",
             with_tuning ? r->tuning : "");
}

static void print_titles(FILE *out, const row *r, int name_width, const inspection *inspected)
{
    fprintf(out, "%-*s  %-5s", name_width, "", "");
    for (int i = 0; i < num_columns(r); i++)
        fprintf(out, "  %*s", COLUMNS[i].width, COLUMNS[i].above);
    fprintf(out, "\n%-*s  %-5s", name_width, "contender", "check");
    for (int i = 0; i < num_columns(r); i++)
        fprintf(out, "  %*s", COLUMNS[i].width, COLUMNS[i].title);
    if (inspected && *checks_text(inspected->which))
        fprintf(out, "  %s", checks_text(inspected->which));
    else if (!inspected && !is_cuda(r))
        fprintf(out, "  %-10s  %s", "time", "over vendor");
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

static double number_of(const row *r, int column)
{
    const size_t offset = COLUMNS[column].offset;
    return offset == PREPARE_IN_RUNS ? r->prepare_ms / r->median_ms
                                     : *(const double *)((const char *)r + offset);
}

/* The number of a column; that over the step before names the step. */
static void print_cell(FILE *out, const row *r, int column)
{
    const size_t offset = COLUMNS[column].offset;
    char step[24] = "";
    if (offset == offsetof(row, speedup_lab_before) && r->before_lab)
        snprintf(step, sizeof step, " (lab%d)", r->before_lab);
    print_number(out, number_of(r, column), COLUMNS[column].width - (int)strlen(step),
                 COLUMNS[column].decimals);
    fputs(step, out);
}

static void print_line(FILE *out, const row *r, const outcome *o, const char *name, int name_width)
{
    if (o->unwritten) {
        fprintf(out, "%-*s  %s\n", name_width, name, o->message);
        return;
    }
    const enum colour c = !strcmp(r->status, "ok")      ? GREEN
                          : !strcmp(r->status, "wrong") ? RED
                                                        : PLAIN;
    fprintf(out, "%-*s  %s%-5s%s", name_width, name, paint(out, c), verdict(r), paint(out, PLAIN));
    for (int i = 0; i < num_columns(r); i++)
        print_cell(out, r, i);
    if (r->checked && r->num_findings)
        fprintf(out, "  %s%" PRId64 " finding%s%s", paint(out, RED), r->num_findings,
                r->num_findings == 1 ? "" : "s", paint(out, PLAIN));
    else if (r->checked)
        fputs("  nothing found", out);
    else if (!is_cuda(r) && !r->inspection)
        fprintf(out, "  %-10s  %s", "n/a (simt)", "n/a (no GPU)");
    putc('\n', out);
}

/* Explains the two shares, and names the limits of the machine that they lack. */
static void print_shares(FILE *out, const row *rows, size_t count)
{
    const char *lacks = "";
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        any |= !isnan(rows[i].bound_share) || !isnan(rows[i].gather_share);
        if (strlen(rows[i].bound_lacks) > strlen(lacks)) lacks = rows[i].bound_lacks;
    }
    if (!any) {
        fputs("bound, gather share: unknown for this GPU until it is measured (make limits)\n",
              out);
        return;
    }
    fputs(
        "bound share: the least possible time / time; gather share: gathers without reuse / time, "
        "which reuse takes past 1\n",
        out);
    if (*lacks)
        fprintf(out, "bound: lower than it could be, for want of limits not measured here: %s\n",
                lacks);
}

/* Prints the notes that have no column: which algorithms "best" and "default" are, and the settings.
 * Returns whether there is any of that. */
static bool print_notes(FILE *out, const row *rows, const outcome *outcomes, size_t count,
                        bool swept)
{
    bool any = *rows[0].vendor_best || *rows[0].vendor_default;
    if (*rows[0].vendor_best) fprintf(out, "best: %s\n", rows[0].vendor_best);
    if (*rows[0].vendor_default) fprintf(out, "default: %s\n", rows[0].vendor_default);
    if (is_cuda(&rows[0])) print_shares(out, rows, count);
    for (size_t i = 0; i < count; i++) {
        const row *r = &rows[i];
        if (!*r->before_precision || (i && r[-1].lab == r->lab)) continue;
        fprintf(out, "lab%d: over lab%d in %s\n", r->lab, r->before_lab, r->before_precision);
        any = true;
    }
    for (size_t i = 0; i < count && !swept; i++) {
        if (!*rows[i].tuning) continue;
        if (rows[i].lab)
            fprintf(out, "lab%d: %s\n", rows[i].lab, rows[i].tuning);
        else
            fprintf(out, "%s: %s\n", rows[i].contender, rows[i].tuning);
        any = true;
    }
    for (size_t i = 0; i < count && is_cuda(&rows[0]); i++) {
        if (!outcomes[i].untimed || (i && rows[i - 1].lab == rows[i].lab)) continue;
        fprintf(out, "lab%d: not timed: %s\n", rows[i].lab, outcomes[i].untimed);
        any = true;
    }
    return any;
}

/* ---- what went wrong ------------------------------------------------------------------------- */

static void print_got(FILE *out, float x)
{
    if (isnan(x))
        fprintf(out, "  %14s", is_unwritten(x) ? "not written" : "nan");
    else
        fprintf(out, "  %14.7g", x);
}

/* Prints wrong elements. On a pattern the number of the nonzero comes first: it is where kernels store it. */
static void print_wrong(FILE *out, const comparison *c, bool on_pattern)
{
    if (on_pattern) fprintf(out, "  %10s", "nonzero");
    fprintf(out, "  %10s %8s  %14s  %14s  %10s  %10s\n", "row", "column", "got", "want", "bound",
            "row length");
    for (int i = 0; i < c->which_bad && i < SHOWN_ERRORS; i++) {
        const wrong_element *e = &c->shown[i];
        if (on_pattern) fprintf(out, "  %10lld", (long long)e->at);
        fprintf(out, "  %10lld %8lld", (long long)e->row, (long long)e->col);
        print_got(out, e->got);
        fprintf(out, "  %14.7g  %10.2g  %10lld\n", e->want, e->bound, (long long)e->row_length);
    }
}

static void print_failure(FILE *out, const problem *p, const row *r, const outcome *o)
{
    char name[NAME_BYTES];
    const comparison *c = &o->comparison;
    contender_name(r, true, name, sizeof name);
    fprintf(out, "%s%s%s: %s\n", paint(out, RED), name, paint(out, PLAIN), o->message);
    if (!c->bad) return;
    const output *wrong = &p->outputs[c->which];
    fprintf(out, "  %lld of %lld elements are wrong; the first%s%s:\n", (long long)c->bad,
            (long long)c->elements, p->num_outputs > 1 ? " of " : "",
            p->num_outputs > 1 ? wrong->name : "");
    print_wrong(out, c, wrong->row_ptr != NULL);
}

/* Prints the verdicts of the checks on all contenders. */
static void print_checks(FILE *out, const row *rows, size_t count)
{
    size_t kernels = 0;
    int64_t launches = 0, found = 0;
    const char *checks = "";
    for (size_t i = 0; i < count; i++) {
        const inspection *n = rows[i].inspection;
        if (!n) continue;
        checks = checks_text(n->which);
        found += (int64_t)n->num_findings;
        kernels += n->num_kernels;
        for (size_t k = 0; k < n->num_kernels; k++)
            launches += n->kernels[k].total.launches;
    }
    if (!*checks) return;
    if (found)
        fprintf(out, "%s: %" PRId64 " finding%s\n", checks, found, found == 1 ? "" : "s");
    else if (kernels)
        fprintf(out, "%s: nothing found in %zu kernels (%" PRId64 " launches)\n", checks, kernels,
                launches);
    else
        fprintf(out, "%s: nothing found\n", checks);
}

/* Prints of how many elements contenders were right: "all 5418976 elements"; of a sample it never says all. */
static void print_extent(FILE *out, const problem *p, const outcome *outcomes, size_t count)
{
    const int64_t all = problem_elements(p);
    int64_t checked = all;
    for (size_t i = 0; i < count; i++) {
        const int64_t elements = outcomes[i].comparison.elements;
        if (outcomes[i].status == STATUS_OK && elements && elements < checked) checked = elements;
    }
    if (checked == all)
        fprintf(out, "right in all %lld elements", (long long)all);
    else
        fprintf(out, "right in a sample of rows, %lld of %lld elements", (long long)checked,
                (long long)all);
}

/* "PASS: 5 of 5 contenders right in all 5418976 elements", or who was not; without a check of the
 * results there is no PASS. */
static void print_verdict(FILE *out, const problem *p, const row *rows, const outcome *outcomes,
                          size_t count)
{
    const enum status verdict = results_verdict(rows, outcomes, count);
    const inspection *inspected = any_inspection(rows, count);
    const bool sampled = inspected && inspected->sample < 1;
    size_t right = 0, wrong = 0, unwritten = 0;
    for (size_t i = 0; i < count; i++) {
        unwritten += outcomes[i].unwritten;
        right += outcomes[i].status == STATUS_OK;
        wrong += outcomes[i].status == STATUS_WRONG;
    }
    const char *word = verdict == STATUS_SKIPPED ? "SKIP"
                       : verdict != STATUS_OK    ? "FAIL"
                       : sampled                 ? "SAMPLE"
                                                 : "PASS";
    const enum colour colour = verdict == STATUS_SKIPPED ? PLAIN
                               : verdict != STATUS_OK    ? RED
                               : sampled                 ? YELLOW
                                                         : GREEN;
    fprintf(out, "%s%s%s: %zu of %zu contenders ", paint(out, colour), word, paint(out, PLAIN),
            right, count);
    if (sampled)
        fputs("traced in part, no result checked", out);
    else
        print_extent(out, p, outcomes, count);
    if (wrong) fprintf(out, ", %zu wrong", wrong);
    if (unwritten) fprintf(out, ", %zu not written yet", unwritten);
    const size_t rest = count - right - wrong - unwritten;
    if (rest) fprintf(out, ", %zu not run", rest);
    fputs("\n\n", out);
}

/* ---- what instruments say -------------------------------------------------------------------- */

static void print_inspections(FILE *out, const row *rows, const char *const *names, size_t count)
{
    size_t counted = 0;
    for (size_t i = 0; i < count; i++)
        counted += rows[i].counted;
    if (counted) profile_legend(out);
    for (size_t i = 0; i < count; i++)
        if (rows[i].counted) profile_print(out, names[i], rows[i].inspection);
    profiles_compare(out, rows, names, count);
    predictions_print(out, rows, names, count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].inspection) findings_print(out, names[i], rows[i].inspection);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void table_print(FILE *out, const problem *p, const row *rows, const outcome *outcomes,
                 size_t count)
{
    char names[count][NAME_BYTES];
    const char *name[count];
    const inspection *inspected = any_inspection(rows, count);
    int name_width = 0;
    bool swept = false;
    for (size_t i = 1; i < count; i++)
        swept |= rows[i].lab && rows[i].lab == rows[i - 1].lab;
    for (size_t i = 0; i < count; i++) {
        name[i] = names[i];
        contender_name(&rows[i], swept, names[i], sizeof names[i]);
        if ((int)strlen(name[i]) > name_width) name_width = (int)strlen(name[i]);
    }
    print_heading(out, p, &rows[0], inspected);
    print_titles(out, &rows[0], name_width, inspected);
    for (size_t i = 0; i < count; i++)
        print_line(out, &rows[i], &outcomes[i], name[i], name_width);
    putc('\n', out);
    const bool noted = print_notes(out, rows, outcomes, count, swept);
    if (inspected) {
        if (noted) putc('\n', out);
        print_inspections(out, rows, name, count);
    }
    for (size_t i = 0; i < count; i++)
        if (outcomes[i].status != STATUS_OK && !outcomes[i].unwritten)
            print_failure(out, p, &rows[i], &outcomes[i]);
    print_checks(out, rows, count);
    print_verdict(out, p, rows, outcomes, count);
}
