/*
 * transformer.c - tables of apps/sparse_transformer: passes of the model and their parts; attention alone on masks from few
 * nonzeros to many, and the density up to which it is faster than dense attention.
 */
#include "results/crossing.h"
#include "rows/study.h"

#include <stdlib.h>
#include <string.h>

/* Rows with a right result and a time, in their order. */
typedef struct timed_rows {
    row_of *at;
    long count;
} timed_rows;

static timed_rows timed_rows_of(study *s)
{
    timed_rows t = {NULL, 0};
    for (int f = 0; f < s->files; f++)
        for (long row = 0; row < s->file[f]->count; row++) {
            const row_of r = {s->file[f], row};
            if (!time_of_row(r)) continue;
            t.at = realloc(t.at, ((size_t)t.count + 1) * sizeof *t.at);
            if (!t.at) refuse(STATUS_MEMORY, "out of memory");
            t.at[t.count++] = r;
            use_row(s, r);
        }
    if (!t.count)
        fputs("Not measured yet.\n", out); /* a build without a GPU leaves rows without times */
    return t;
}

static const char *bold_if(bool ahead, const char *cell)
{
    return ahead ? text("**%s**", cell) : cell;
}

/* ---- passes ------------------------------------------------------------------------------------ */

static bool is_dense(row_of r)
{
    return !strcmp(get(r, "variant"), "dense");
}

static const char *kind_of(row_of r)
{
    if (is_dense(r))
        return strcmp(get(r, "in_place"), "1") ? "dense, two copies" : "dense, one copy";
    return text("sparse, %s%s", get(r, "attention"),
                starts_with(get(r, "dataset"), "mask:") ? "" : ", uniform pattern");
}

/* The dense pass of a row's precision, with a logit's and a share's own place; without a table where it was not timed. */
static row_of dense_beside(const timed_rows *t, row_of r)
{
    for (long i = 0; i < t->count; i++)
        if (!strcmp(kind_of(t->at[i]), "dense, two copies") &&
            !strcmp(get(t->at[i], "precision"), get(r, "precision")))
            return t->at[i];
    return (row_of){NULL, 0};
}

static void print_pass(const timed_rows *t, row_of r)
{
    const row_of dense = dense_beside(t, r);
    const double ms = time_of_row(r), bytes = number(r, "peak_bytes");
    const char *speed = "-", *memory = "-";
    if (dense.table) {
        speed =
            bold_if(!is_dense(r) && ms < time_of_row(dense), text("%.2f", time_of_row(dense) / ms));
        memory = text("%.1f", number(dense, "peak_bytes") / bytes);
    }
    fprintf(out, "| %s | %s | %.2f | %s | %s | %.3f | %s |\n", kind_of(r), get(r, "precision"), ms,
            *get(r, "tokens_per_s") ? text("%.0f", number(r, "tokens_per_s")) : "-", speed,
            1e-9 * bytes, memory);
}

/* Passes of the model, sparse and dense, with tokens a second and peak bytes. */
void transformer_table(study *s)
{
    const timed_rows t = timed_rows_of(s);
    if (!t.count) return;
    fputs("| attention | in | ms | tokens/s | over dense | GB | dense over it |\n"
          "|---|---|---|---|---|---|---|\n",
          out);
    for (long i = 0; i < t.count; i++)
        print_pass(&t, t.at[i]);
}

/* The parts of each pass: the columns PART_ms behind tokens_per_s. Parts that no pass has are left out. */
void transformer_parts_table(study *s)
{
    const timed_rows t = timed_rows_of(s);
    if (!t.count) return;
    fputs("| part, ms |", out);
    for (long i = 0; i < t.count; i++)
        fprintf(out, " %s, %s |", kind_of(t.at[i]), get(t.at[i], "precision"));
    fputs("\n|---|", out);
    for (long i = 0; i < t.count; i++)
        fputs("---|", out);
    putc('\n', out);
    const names *columns = &t.at[0].table->columns;
    for (long c = names_find(columns, "tokens_per_s") + 1; c < names_find(columns, "peak_bytes");
         c++) {
        const char *column = columns->name[c];
        char *line = text("| %.*s |", (int)(strlen(column) - strlen("_ms")), column);
        bool any = false;
        for (long i = 0; i < t.count; i++) {
            const double ms = strtod(get(t.at[i], column), NULL);
            any = any || ms > 0;
            line = ms > 0 ? text("%s %.2f |", line, ms) : text("%s |", line);
        }
        if (any) fprintf(out, "%s\n", line);
    }
}

/* ---- the sweep --------------------------------------------------------------------------------- */

static const char *const PRECISIONS[] = {"fp32", "fp16"};
enum { NUM_PRECISIONS = sizeof PRECISIONS / sizeof *PRECISIONS };
static const char DENSE[] = "cuBLAS dense";

/* A mask's share of the pairs on the diagonal and below it. */
static double causal_density(row_of r)
{
    const double rows = number(r, "rows");
    return number(r, "nnz") / (0.5 * rows * (rows + 1));
}

/* The time of a mask, or of DENSE, in a precision; NAN: not measured. */
static double sweep_ms(const timed_rows *t, const char *name, const char *precision)
{
    for (long i = 0; i < t->count; i++) {
        const row_of r = t->at[i];
        const bool dense = !strcmp(get(r, "contender"), DENSE);
        if (!strcmp(dense ? DENSE : get(r, "dataset"), name) &&
            !strcmp(get(r, "precision"), precision))
            return time_of_row(r);
    }
    return NAN;
}

static const char *sweep_cells(const timed_rows *t, const char *mask, const char *precision)
{
    const double ms = sweep_ms(t, mask, precision), dense = sweep_ms(t, DENSE, precision);
    if (isnan(ms) || isnan(dense)) return " - | - |";
    return text(" %.3f | %s |", ms, bold_if(ms < dense, text("%.2f", dense / ms)));
}

static const char *all_pairs_cell(const timed_rows *t, const char *precision)
{
    const double ms = sweep_ms(t, DENSE, precision);
    return isnan(ms) ? "-" : text("%.3f", ms);
}

/* The value of NAME= in a mask's name; "" where there is none. */
static const char *part_of_mask(const char *mask, const char *name)
{
    const char *at = strstr(mask, text("%s=", name));
    return at ? text("%.*s", (int)strcspn(at + strlen(name) + 1, ","), at + strlen(name) + 1) : "";
}

/* Dense attention, of cuBLAS or a rival: every mask of the sweep has a share. */
static bool is_all_pairs(row_of r)
{
    return !*part_of_mask(get(r, "dataset"), "share");
}

static int by_density(const void *a, const void *b)
{
    const double x = ((const timed_density *)a)->density, y = ((const timed_density *)b)->density;
    return (x > y) - (x < y);
}

/* Where attention on masks of one kind meets dense attention of dense_ms: bands alone, or one band with more and more
 * beyond it. */
static const char *crossing_of(const timed_rows *t, const char *band, const char *precision,
                               double dense_ms)
{
    timed_density *point = calloc((size_t)t->count, sizeof *point);
    int count = 0;
    if (!point) refuse(STATUS_MEMORY, "out of memory");
    for (long i = 0; i < t->count; i++) {
        const row_of r = t->at[i];
        const char *mask = get(r, "dataset");
        if (is_all_pairs(r) || strcmp(get(r, "precision"), precision) ||
            strcmp(*band ? part_of_mask(mask, "band") : part_of_mask(mask, "share"),
                   *band ? band : "0"))
            continue;
        point[count++] = (timed_density){causal_density(r), time_of_row(r)};
    }
    qsort(point, (size_t)count, sizeof *point, by_density);
    const double density = crossing_density(point, count, dense_ms);
    free(point);
    return isnan(density) ? "-"
           : density == 0 ? "none"
           : density > 1  ? "all"
                          : text("%.1f", 100 * density);
}

/* Bands with more beyond them, in the order of their coming. */
static names bands_of(const timed_rows *t)
{
    names bands = {0};
    for (long i = 0; i < t->count; i++) {
        const char *mask = get(t->at[i], "dataset");
        if (!is_all_pairs(t->at[i]) && strcmp(part_of_mask(mask, "share"), "0"))
            names_add(&bands, part_of_mask(mask, "band"));
    }
    return bands;
}

static void print_crossing(const timed_rows *t, const char *kind, const char *band)
{
    fprintf(out, "| %s |", kind);
    for (int p = 0; p < NUM_PRECISIONS; p++)
        fprintf(out, " %s |",
                crossing_of(t, band, PRECISIONS[p], sweep_ms(t, DENSE, PRECISIONS[p])));
    putc('\n', out);
}

/* Attention alone by density, beside dense attention. */
void transformer_sweep_table(study *s)
{
    const timed_rows t = timed_rows_of(s);
    names masks = {0};
    if (!t.count) return;
    fputs("| mask | % of the causal half | fp32 ms | over cuBLAS | fp16 ms | over cuBLAS |\n"
          "|---|---|---|---|---|---|\n",
          out);
    for (long i = 0; i < t.count; i++) {
        const row_of r = t.at[i];
        const char *mask = get(r, "dataset");
        const long before = masks.count;
        if (is_all_pairs(r) || names_add(&masks, mask) < before) continue;
        const char *label = strchr(mask, ',');
        fprintf(out, "| %s | %.2f |%s%s\n", label ? label + 1 : mask, 100 * causal_density(r),
                sweep_cells(&t, mask, "fp32"), sweep_cells(&t, mask, "fp16"));
    }
    fprintf(out, "| all pairs, dense | 100 | %s | 1 | %s | 1 |\n", all_pairs_cell(&t, "fp32"),
            all_pairs_cell(&t, "fp16"));
}

/* Up to which density attention on masks is faster than dense attention of cuBLAS. */
void transformer_crossings_table(study *s)
{
    const timed_rows t = timed_rows_of(s);
    if (!t.count) return;
    fputs("| sparse is faster up to, % of the causal half | fp32 | fp16 |\n|---|---|---|\n", out);
    const names bands = bands_of(&t);
    print_crossing(&t, "a band alone", "");
    for (long b = 0; b < bands.count; b++)
        print_crossing(&t, text("a band of %s, and beyond it", bands.name[b]), bands.name[b]);
}

/* Prints dense attention of others on as many tokens and heads, from the files behind the sweep's. Beside each stands the
 * share of the causal half up to which attention on masks is faster. */
void transformer_rivals_table(study *s)
{
    const timed_rows t = timed_rows_of(s);
    if (!t.count) return;
    const names bands = bands_of(&t);
    const row_of first = t.at[0];
    fputs("| dense attention | in | ms | a band alone, % |", out);
    for (long b = 0; b < bands.count; b++)
        fprintf(out, " a band of %s, and beyond it, %% |", bands.name[b]);
    fputs("\n|---|---|---:|---:|", out);
    for (long b = 0; b < bands.count; b++)
        fputs("---:|", out);
    putc('\n', out);
    for (long i = 0; i < t.count; i++) {
        const row_of r = t.at[i];
        if (!is_all_pairs(r) || strcmp(get(r, "rows"), get(first, "rows")) ||
            strcmp(get(r, "N"), get(first, "N")) || strcmp(get(r, "flags"), get(first, "flags")))
            continue;
        if (strcmp(get(r, "device"), get(first, "device")))
            refuse(STATUS_DATASET, "%s: measured on %s, the masks on %s", place_of_row(r),
                   get(r, "device"), get(first, "device"));
        const char *precision = get(r, "precision");
        const double ms = time_of_row(r);
        fprintf(out, "| %s | %s | %.3f | %s |", get(r, "contender"), precision, ms,
                crossing_of(&t, "", precision, ms));
        for (long b = 0; b < bands.count; b++)
            fprintf(out, " %s |", crossing_of(&t, bands.name[b], precision, ms));
        putc('\n', out);
    }
}
