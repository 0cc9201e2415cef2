#include "results.h"

#include "harness/provenance.h"
#include "matrix/files.h"
#include "results/csv.h"
#include "results/json.h"
#include "results/row.h"

#include <math.h>
#include <string.h>

enum { SCHEMA = 1, MOST_CELLS = 64 };

const double CAPACITY_FACTORS[NUM_FACTORS] = {1, 1.25, 1.5, 2};

double result_products_ms(const result *r)
{
    const double relu = r->times.part_ms[PART_RELU];
    return r->times.part_ms[PART_UP] + r->times.part_ms[PART_DOWN] + (isnan(relu) ? 0 : relu);
}

double result_tflops(const result *r)
{
    return shape_flops(&r->shape, shape_slots(&r->shape)) / result_products_ms(r) * 1e-9;
}

/* ---- the table --------------------------------------------------------------------------------- */

static void print_number(double x, int width, int digits)
{
    if (isnan(x))
        printf(" %*s", width, "-");
    else
        printf(" %*.*f", width, digits, x);
}

void results_print_heading(void)
{
    printf("\n%-17s %-5s %8s %7s %10s %9s %9s %9s %11s %9s\n", "way", "check", "of bound", "slots",
           "rows", "ms", "IQR", "products", "TFLOP/s", "MB");
    fflush(stdout);
}

void result_print(const result *r)
{
    printf("%-17s ", way_name(r->way));
    if (r->status != STATUS_OK) {
        printf("%s: %s\n", r->status == STATUS_WRONG ? "FAIL" : row_status(r->status),
               r->error.text);
        return;
    }
    printf("%-5s %8.3f %7d %10.0f", "PASS", verdict_worst(&r->v), r->v.slots, r->computed_rows);
    print_number(r->times.step.median_ms, 9, 4);
    print_number(r->times.step.iqr_ms, 9, 4);
    print_number(result_products_ms(r), 9, 4);
    print_number(result_tflops(r), 11, 1);
    printf(" %9.1f\n", r->bytes * 1e-6);
    fflush(stdout);
}

static bool is_timed(const result *r)
{
    return r->status == STATUS_OK && !isnan(r->times.step.median_ms);
}

static void print_parts(const result *results, int count)
{
    printf("\n%-17s", "parts, ms");
    for (int p = 0; p < NUM_PARTS; p++)
        printf(" %8s", part_name((enum part)p));
    printf("\n");
    for (int i = 0; i < count; i++) {
        if (!is_timed(&results[i])) continue;
        printf("%-17s", way_name(results[i].way));
        for (int p = 0; p < NUM_PARTS; p++)
            print_number(results[i].times.part_ms[p], 8, 4);
        printf("\n");
    }
}

static void print_ratios(const result *results, int count)
{
    const result *own = NULL;
    for (int i = 0; i < count && !own; i++)
        if (is_timed(&results[i])) own = &results[i];
    for (int i = 0; i < count; i++)
        if (own && &results[i] != own && is_timed(&results[i]))
            printf("%s over %s: %.2f in a step, %.2f in its products\n", way_name(results[i].way),
                   way_name(own->way), results[i].times.step.median_ms / own->times.step.median_ms,
                   result_products_ms(&results[i]) / result_products_ms(own));
}

/* Prints what a layer would compute that gives each expert a fixed number of rows, and drops what is beyond. */
static void print_dropping(const result *r)
{
    const moe_shape *s = &r->shape;
    const double slots = shape_slots(s);
    printf("\nwithout dropping, GFLOP: %.3f useful, %.3f with rows that fill up, %.3f with each "
           "expert as large as the fullest\n",
           shape_flops(s, slots) * 1e-9, shape_flops(s, r->v.padded_rows) * 1e-9,
           shape_flops(s, (double)r->v.largest * s->experts) * 1e-9);
    for (int i = 0; i < NUM_FACTORS; i++)
        printf("a capacity of %4.2f times the mean: %.3f GFLOP, and drops %.2f %% of the choices\n",
               CAPACITY_FACTORS[i],
               shape_flops(s, ceil(CAPACITY_FACTORS[i] * slots / s->experts) * s->experts) * 1e-9,
               100 * r->dropped[i]);
    printf("the fullest expert has %d of %.0f choices; %d experts have none\n", r->v.largest, slots,
           r->v.without);
}

void results_print_rest(const result *results, int count)
{
    bool timed = false;
    for (int i = 0; i < count; i++)
        timed = timed || is_timed(&results[i]);
    if (timed) print_parts(results, count);
    print_ratios(results, count);
    for (int i = 0; i < count; i++) {
        if (results[i].status != STATUS_OK) continue;
        print_dropping(&results[i]);
        return;
    }
}

/* ---- cells ------------------------------------------------------------------------------------- */

/* One cell of a row: a text, or a number as it is written; "" where there is none. */
typedef struct cell {
    const char *name;
    bool is_text;
    char value[1024];
} cell;

typedef struct cells {
    cell list[MOST_CELLS];
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

static void add_problem(cells *all, const result *r)
{
    const moe_shape *s = &r->shape;
    add_number(all, "schema", SCHEMA);
    add_text(all, "app", "moe");
    add_text(all, "model", r->model);
    add_text(all, "way", way_name(r->way));
    add_number(all, "tokens", s->tokens);
    add_number(all, "features", s->features);
    add_number(all, "hidden", s->hidden);
    add_number(all, "experts", s->experts);
    add_number(all, "chosen", s->chosen);
    add_number(all, "block", s->block);
    add_number(all, "skew", s->skew);
    add_text(all, "precision", "fp16");
    add_number(all, "seed", (double)s->seed);
}

static void add_results(cells *all, const result *r)
{
    static char part_names[NUM_PARTS][24], dropped_names[NUM_FACTORS][24];
    const bool right = r->status == STATUS_OK;
    const double slots = shape_slots(&r->shape);
    add_text(all, "status", row_status(r->status));
    add_number(all, "of_bound", right ? verdict_worst(&r->v) : NAN);
    add_number(all, "checked_slots", right ? r->v.slots : NAN);
    add_number(all, "largest", right ? r->v.largest : NAN);
    add_number(all, "without_tokens", right ? r->v.without : NAN);
    add_number(all, "computed_rows", right ? r->computed_rows : NAN);
    add_number(all, "gflop", shape_flops(&r->shape, slots) * 1e-9);
    add_number(all, "computed_gflop",
               right ? shape_flops(&r->shape, r->computed_rows) * 1e-9 : NAN);
    for (int i = 0; i < NUM_FACTORS; i++) {
        snprintf(dropped_names[i], sizeof dropped_names[i], "dropped_at_%g", CAPACITY_FACTORS[i]);
        add_number(all, dropped_names[i], right ? r->dropped[i] : NAN);
    }
    add_number(all, "bytes", r->bytes);
    add_number(all, "ms", r->times.step.median_ms);
    add_number(all, "iqr_ms", r->times.step.iqr_ms);
    add_number(all, "runs", r->runs);
    for (int p = 0; p < NUM_PARTS; p++) {
        snprintf(part_names[p], sizeof part_names[p], "%s_ms", part_name((enum part)p));
        add_number(all, part_names[p], r->times.part_ms[p]);
    }
    add_number(all, "products_ms", result_products_ms(r));
    add_number(all, "tflops", result_tflops(r));
    add_number(all, "tokens_per_s", r->shape.tokens / r->times.step.median_ms * 1e3);
    add_text(all, "message", right ? "" : r->error.text);
}

static void fill_cells(cells *all, const device_info *device, const result *r)
{
    all->count = 0;
    add_problem(all, r);
    add_results(all, r);
    add_text(all, "backend", device_backend());
    add_text(all, "device", device->name);
    add_text(all, "driver", device->driver);
    add_text(all, "toolkit", device->toolkit);
    add_text(all, "commit", provenance_commit());
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
