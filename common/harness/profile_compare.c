/* The labs side by side: what profile_table.h promises of several rows. */
#include "harness/profile_table.h"
#include "harness/terminal.h"

#include <math.h>
#include <string.h>

/* ---- the counters ----------------------------------------------------------------------------- */

/* Figures that may differ from lab to lab, the most telling first; shown as an amount, as a share or
 * as a plain ratio. */
enum figure_form { AMOUNT, BYTES, SHARE, EACH, TIMES };
typedef struct figure {
    const char *above, *title;
    enum figure_form form;
    double (*of)(const row *r);
} figure;

static double load_requests(const row *r)
{
    return (double)r->total.access[GLOBAL_LOAD].requests;
}
static double load_sectors(const row *r)
{
    return (double)r->total.access[GLOBAL_LOAD].cost;
}
static double load_each(const row *r)
{
    return per_request(r->total.access[GLOBAL_LOAD].cost, &r->total.access[GLOBAL_LOAD]);
}
static double load_efficiency(const row *r)
{
    return coalescing(&r->total.access[GLOBAL_LOAD]);
}
static double store_sectors(const row *r)
{
    return (double)r->total.access[GLOBAL_STORE].cost;
}
static double atomic_requests(const row *r)
{
    return (double)r->total.access[GLOBAL_ATOMIC].requests;
}
static double shared_wavefronts(const row *r)
{
    return (double)(r->total.access[SHARED_LOAD].cost + r->total.access[SHARED_STORE].cost);
}
static double shared_conflicts(const row *r)
{
    return (double)(r->shared_ld_conflicts + r->shared_st_conflicts);
}
static double barriers(const row *r)
{
    return (double)r->total.operations[OP_BARRIER];
}
static double shuffles(const row *r)
{
    return (double)r->total.operations[OP_SHUFFLE];
}
static double tensor_operations(const row *r)
{
    return (double)r->total.operations[OP_MMA];
}
static double active_lanes(const row *r)
{
    return r->memory_simt_efficiency;
}
static double longest_warp(const row *r)
{
    return (double)r->total.longest_warp;
}
static double warp_balance(const row *r)
{
    return r->warp_imbalance;
}
static double block_balance(const row *r)
{
    return r->block_imbalance;
}
static double sm_balance(const row *r)
{
    return r->sm_imbalance;
}
static double l1_hits(const row *r)
{
    return r->l1_hit_rate;
}
static double l2_reads(const row *r)
{
    return (double)r->total.l2_read_bytes;
}
static double dram_reads(const row *r)
{
    return (double)r->total.dram_read_bytes;
}
static double dram_writes(const row *r)
{
    return (double)r->total.dram_write_bytes;
}

static const figure FIGURES[] = {
    {"load", "requests", AMOUNT, load_requests},
    {"load", "sectors", AMOUNT, load_sectors},
    {"sectors/", "request", EACH, load_each},
    {"load", "effic.", SHARE, load_efficiency},
    {"lanes", "active", SHARE, active_lanes},
    {"store", "sectors", AMOUNT, store_sectors},
    {"atomic", "requests", AMOUNT, atomic_requests},
    {"shared", "wavefr.", AMOUNT, shared_wavefronts},
    {"bank", "conflicts", AMOUNT, shared_conflicts},
    {"", "barriers", AMOUNT, barriers},
    {"", "shuffles", AMOUNT, shuffles},
    {"", "mma", AMOUNT, tensor_operations},
    {"longest", "warp", AMOUNT, longest_warp},
    {"warp/", "mean", TIMES, warp_balance},
    {"longest", "block", TIMES, block_balance},
    {"busiest", "SM", TIMES, sm_balance},
    {"L1", "hits", SHARE, l1_hits},
    {"L2", "read", BYTES, l2_reads},
    {"DRAM", "read", BYTES, dram_reads},
    {"DRAM", "written", BYTES, dram_writes},
};
enum { NUM_FIGURES = sizeof FIGURES / sizeof FIGURES[0], COLUMN = 9 };

/* Whether the labs differ in it by more than one part in a hundred. */
static bool tells(const figure *f, const row *rows, size_t count)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        const double value = rows[i].counted ? f->of(&rows[i]) : NAN;
        least = fmin(least, value);
        most = fmax(most, value);
    }
    return most - least > 0.01 * fabs(most);
}

static amount_text shown(const figure *f, double value)
{
    amount_text a = {"-"};
    switch (f->form) {
    case AMOUNT:
        return amount(value);
    case BYTES:
        return bytes_in_words(value);
    case SHARE:
        return percent(value);
    case TIMES:
        return times(value);
    case EACH:
        if (isfinite(value)) snprintf(a.text, sizeof a.text, "%.2f", value);
    }
    return a;
}

static int widest(const char *const *names, size_t count)
{
    int width = 0;
    for (size_t i = 0; i < count; i++)
        if ((int)strlen(names[i]) > width) width = (int)strlen(names[i]);
    return width;
}

/* A line without blanks at its end: those that line up figures, too. */
static void print_cells(FILE *out, const char *name, int name_width, const amount_text *cells,
                        int columns)
{
    char line[320];
    int used = snprintf(line, sizeof line, "%-*s", name_width, name);
    for (int k = 0; k < columns; k++)
        used += snprintf(line + used, sizeof line - used, " %*s", COLUMN, cells[k].text);
    while (used > 0 && line[used - 1] == ' ')
        used--;
    fprintf(out, "%.*s\n", used, line);
}

static amount_text title(const char *words)
{
    amount_text a;
    snprintf(a.text, sizeof a.text, "%s", words);
    return a;
}

static void print_band(FILE *out, const figure *const *band, int columns, const row *rows,
                       const char *const *names, size_t count, int name_width)
{
    amount_text cells[NUM_FIGURES];
    for (int k = 0; k < columns; k++)
        cells[k] = title(band[k]->above);
    print_cells(out, "", name_width, cells, columns);
    for (int k = 0; k < columns; k++)
        cells[k] = title(band[k]->title);
    print_cells(out, "step by step", name_width, cells, columns);
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].counted) continue;
        for (int k = 0; k < columns; k++)
            cells[k] = shown(band[k], band[k]->of(&rows[i]));
        print_cells(out, names[i], name_width, cells, columns);
    }
    putc('\n', out);
}

/* As many bands as the width asks for, all as wide as each other. */
void profiles_compare(FILE *out, const row *rows, const char *const *names, size_t count)
{
    const figure *telling[NUM_FIGURES];
    const int name_width = (int)fmax(widest(names, count), strlen("step by step"));
    const int most = (int)fmax(1, (TERMINAL_WIDTH - name_width) / (COLUMN + 1));
    int figures = 0, counted = 0;
    for (size_t i = 0; i < count; i++)
        counted += rows[i].counted;
    if (counted < 2) return;
    for (int k = 0; k < NUM_FIGURES; k++)
        if (tells(&FIGURES[k], rows, count)) telling[figures++] = &FIGURES[k];
    for (int bands = (figures + most - 1) / most, first = 0; bands > 0; bands--) {
        const int columns = (figures - first + bands - 1) / bands;
        print_band(out, telling + first, columns, rows, names, count, name_width);
        first += columns;
    }
}

/* ---- the estimate ---------------------------------------------------------------------------- */

/* Four decimals, fewer where they would break the column. */
static amount_text milliseconds(double ms)
{
    amount_text a;
    snprintf(a.text, sizeof a.text, "%.*f", ms < 99.99995 ? 4 : ms < 999.9995 ? 3 : 1, ms);
    return a;
}

void predictions_print(FILE *out, const row *rows, const char *const *names, size_t count)
{
    const int name_width = (int)fmax(widest(names, count), strlen("estimate, ms"));
    const char *model = NULL;
    for (size_t i = 0; i < count && !model; i++)
        if (rows[i].predicted) model = rows[i].inspection->model;
    if (!model) return;
    fprintf(out,
            "estimate, not a measurement: the time that %s would take for what was counted,\n"
            "by a model of its resources; then what each of them alone would take\n\n",
            model);
    fprintf(out, "%-*s %8s  %-12s", name_width, "estimate, ms", "in all", "limited by");
    for (int r = 0; r < RESOURCES; r++)
        fprintf(out, " %7.7s", RESOURCE_NAMES[r]);
    putc('\n', out);
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].predicted) continue;
        const prediction *p = &rows[i].inspection->prediction;
        fprintf(out, "%-*s %8s  %-12s", name_width, names[i], milliseconds(p->ms).text,
                RESOURCE_NAMES[p->limit]);
        for (int r = 0; r < RESOURCES; r++)
            fprintf(out, " %7s", milliseconds(p->resource_ms[r]).text);
        putc('\n', out);
    }
    putc('\n', out);
}
