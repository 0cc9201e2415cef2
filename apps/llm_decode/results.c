#include "results.h"

#include "harness/provenance.h"
#include "matrix/files.h"
#include "results/csv.h"
#include "results/json.h"
#include "results/row.h"

#include <string.h>

enum { SCHEMA = 1, MAX_COLUMNS_OF_ROWS = 64 };

static const double GIB = 1024.0 * 1024 * 1024;

double result_worst(const result *r)
{
    double worst = NAN;
    for (int i = 0; i < NUM_PARTS; i++)
        if (!(r->v.worst[i] <= worst)) worst = isnan(r->v.worst[i]) ? worst : r->v.worst[i];
    return worst;
}

static bool is_timed(const result *r)
{
    return r->status == STATUS_OK && !isnan(r->times.step_ms);
}

static const char *layout_name(const result *r)
{
    return r->settings.by_column ? "columns" : "rows";
}

/* ---- the table --------------------------------------------------------------------------------- */

static void print_number(double x, int width, int digits)
{
    if (isnan(x))
        printf(" %*s", width, "n/a");
    else
        printf(" %*.*f", width, digits, x);
}

static void print_checks(const result *r)
{
    if (r->status != STATUS_OK && r->status != STATUS_WRONG) {
        printf("%-11s %s\n", kernel_name(r->settings.kind), row_status(r->status));
        return;
    }
    printf("%-11s %s  largest error over its bound:", kernel_name(r->settings.kind),
           r->status == STATUS_OK ? "PASS" : "FAIL");
    for (int i = 0; i < NUM_PARTS; i++)
        if (!isnan(r->v.worst[i])) printf(" %s %.2g", step_part_name((enum part)i), r->v.worst[i]);
    if (r->with_first.rows)
        printf("; logits %.2g of the bound from the first's, %d of %d largest decided",
               r->with_first.most / r->with_first.allowed, r->with_first.decided,
               r->with_first.rows);
    printf("\n");
}

static void print_steps(const result *results, int count)
{
    printf("\n%-11s %8s %9s %8s %10s %9s %9s %9s %9s\n", "a step", "layout", "ms", "IQR",
           "tokens/s", "bound ms", "of bound", "GiB", "formula");
    for (int i = 0; i < count; i++) {
        const result *r = &results[i];
        if (r->status != STATUS_OK) continue;
        printf("%-11s %8s", kernel_name(r->settings.kind), layout_name(r));
        print_number(r->times.step_ms, 9, 3);
        print_number(r->times.step_iqr_ms, 8, 3);
        print_number(r->times.tokens_per_s, 10, 0);
        print_number(r->bound_ms, 9, 3);
        print_number(r->times.step_ms / r->bound_ms, 9, 2);
        print_number(r->weight_bytes / GIB, 9, 3);
        print_number(r->weight_bytes / r->count.bytes[MEMORY_WEIGHTS], 9, 3);
        printf("\n");
    }
    const result *const first = &results[0];
    for (int i = 1; i < count; i++)
        if (is_timed(first) && is_timed(&results[i]))
            printf("%s over %s: %.2f x the tokens a second\n",
                   kernel_name(results[i].settings.kind), kernel_name(first->settings.kind),
                   results[i].times.tokens_per_s / first->times.tokens_per_s);
}

static void print_parts(const result *results, int count)
{
    printf("\n%-11s", "parts, ms");
    for (int part = 0; part < NUM_PARTS; part++)
        printf(" %9s", step_part_name((enum part)part));
    printf(" %9s %9s %9s\n", "sum", "step/sum", "stream");
    for (int i = 0; i < count; i++) {
        const result *r = &results[i];
        if (!is_timed(r)) continue;
        printf("%-11s", kernel_name(r->settings.kind));
        for (int part = 0; part < NUM_PARTS; part++)
            print_number(r->times.part_ms[part], 9, 3);
        print_number(times_sum(&r->times), 9, 3);
        print_number(r->times.step_ms / times_sum(&r->times), 9, 3);
        print_number(r->times.stream_ms, 9, 3);
        printf("\n");
    }
}

/* How long people wait, and for what. */
static void print_waiting(const result *results, int count)
{
    printf("\n%-11s %9s %9s %9s\n", "seconds of", "making", "checking", "timing");
    for (int i = 0; i < count; i++) {
        const result *r = &results[i];
        if (!is_timed(r)) continue;
        printf("%-11s", kernel_name(r->settings.kind));
        print_number(r->making_s, 9, 1);
        print_number(r->checking_s, 9, 1);
        print_number(r->timing_s, 9, 1);
        printf("\n");
    }
}

static void print_prefill(const result *results, int count)
{
    for (int i = 0; i < count; i++) {
        const result *r = &results[i];
        if (r->status != STATUS_OK || !r->prefill) continue;
        printf("%s%-11s a prompt of %d tokens in one pass:", i ? "" : "\n",
               kernel_name(r->settings.kind), r->prefill);
        print_number(r->times.pass_ms, 9, 3);
        printf(" ms\n");
    }
}

void results_print(const result *results, int count)
{
    bool right = false, timed = false;
    for (int i = 0; i < count; i++) {
        print_checks(&results[i]);
        right = right || results[i].status == STATUS_OK;
        timed = timed || is_timed(&results[i]);
    }
    if (right) print_steps(results, count);
    if (timed) print_parts(results, count);
    if (timed) print_waiting(results, count);
    print_prefill(results, count);
}

/* ---- cells ------------------------------------------------------------------------------------- */

/* One cell of a row: a text, or a number as it is written; "" where there is none. */
typedef struct cell {
    const char *name;
    bool is_text;
    char value[1024];
} cell;

typedef struct cells {
    cell list[MAX_COLUMNS_OF_ROWS];
    int count;
} cells;

static void add_text(cells *all, const char *name, const char *text)
{
    cell *const c = &all->list[all->count++];
    c->name = name;
    c->is_text = true;
    snprintf(c->value, sizeof c->value, "%s", text);
}

static void add_number(cells *all, const char *name, double x)
{
    cell *const c = &all->list[all->count++];
    c->name = name;
    c->is_text = false;
    c->value[0] = '\0';
    if (isfinite(x)) snprintf(c->value, sizeof c->value, x == floor(x) ? "%.0f" : "%.9g", x);
}

static void add_settings(cells *all, const device_info *device, const result *r)
{
    const decoder_settings *s = &r->settings;
    add_number(all, "schema", SCHEMA);
    add_text(all, "application", "llm_decode");
    add_text(all, "model", s->shape->name);
    add_text(all, "kernel", kernel_name(s->kind));
    add_number(all, "sparsity", s->sparsity);
    add_number(all, "batch", s->sequences);
    add_number(all, "prompt", s->prompt);
    add_number(all, "out", s->capacity - s->prompt);
    add_text(all, "layout", layout_name(r));
    add_text(all, "early", s->early ? "on" : "off");
    add_text(all, "fused", s->fused && s->kind != KERNEL_DENSE ? "on" : "off");
    add_text(all, "backend", device_backend());
    add_text(all, "device", device->name);
    add_text(all, "driver", device->driver);
    add_text(all, "toolkit", device->toolkit);
    add_text(all, "commit", provenance_commit());
    add_number(all, "seed", (double)s->seed);
    add_number(all, "runs", is_timed(r) ? r->runs : 0);
}

static void add_results(cells *all, const result *r)
{
    static char part_names[NUM_PARTS][24], memory_names[NUM_MEMORY][24];
    add_number(all, "step_ms", r->times.step_ms);
    add_number(all, "step_iqr_ms", r->times.step_iqr_ms);
    add_number(all, "tokens_per_s", r->times.tokens_per_s);
    add_number(all, "stream_ms", r->times.stream_ms);
    for (int i = 0; i < NUM_PARTS; i++) {
        snprintf(part_names[i], sizeof part_names[i], "%s_ms", step_part_name((enum part)i));
        add_number(all, part_names[i], r->times.part_ms[i]);
    }
    add_number(all, "step_over_parts", r->times.step_ms / times_sum(&r->times));
    add_number(all, "bound_ms", r->bound_ms);
    add_number(all, "step_over_bound", r->times.step_ms / r->bound_ms);
    add_number(all, "prefill", r->prefill);
    add_number(all, "prefill_ms", r->times.pass_ms);
    add_number(all, "weight_bytes", r->weight_bytes);
    add_number(all, "weights_over_count", r->weight_bytes / r->count.bytes[MEMORY_WEIGHTS]);
    for (int i = 0; i < NUM_MEMORY; i++) {
        snprintf(memory_names[i], sizeof memory_names[i], "count_%s",
                 memory_name((enum memory_use)i));
        add_number(all, memory_names[i], r->count.bytes[i]);
    }
    add_number(all, "making_s", r->making_s);
    add_number(all, "checking_s", r->checking_s);
    add_number(all, "timing_s", r->timing_s);
    add_number(all, "worst_error", result_worst(r));
    add_text(all, "status", row_status(r->status));
    add_text(all, "message", r->status == STATUS_OK ? "" : r->error.text);
}

static void fill_cells(cells *all, const device_info *device, const result *r)
{
    all->count = 0;
    add_settings(all, device, r);
    add_results(all, r);
}

/* ---- files ------------------------------------------------------------------------------------- */

/* All that a file is written from. */
typedef struct written {
    const device_info *device;
    const result *results;
    int count;
} written;

static void write_csv(FILE *out, const void *arg)
{
    const written *w = arg;
    cells all;
    for (int i = 0; i < w->count; i++) {
        fill_cells(&all, w->device, &w->results[i]);
        for (int c = 0; i == 0 && c < all.count; c++)
            fprintf(out, "%s%s", c ? "," : "", all.list[c].name);
        for (int c = 0; c < all.count; c++) {
            fputc(c ? ',' : '\n', out);
            csv_text(out, all.list[c].value);
        }
    }
    fputc('\n', out);
}

static void write_json(FILE *out, const void *arg)
{
    const written *w = arg;
    cells all;
    fputs("[\n", out);
    for (int i = 0; i < w->count; i++) {
        fill_cells(&all, w->device, &w->results[i]);
        for (int c = 0; c < all.count; c++) {
            fprintf(out, "%s\"%s\": ", c ? ", " : " {", all.list[c].name);
            if (all.list[c].is_text)
                json_text(out, all.list[c].value);
            else
                fputs(*all.list[c].value ? all.list[c].value : "null", out);
        }
        fputs(i + 1 < w->count ? "},\n" : "}\n", out);
    }
    fputs("]\n", out);
}

enum status results_write_csv(const char *path, const device_info *device, const result *results,
                              int count, error_text *error)
{
    const written w = {device, results, count};
    return output_write(path, write_csv, &w, error);
}

enum status results_write_json(const char *path, const device_info *device, const result *results,
                               int count, error_text *error)
{
    const written w = {device, results, count};
    return output_write(path, write_json, &w, error);
}
