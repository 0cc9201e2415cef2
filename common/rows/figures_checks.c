/*
 * figures_checks.c - figures of what is checked or counted: errors, counters, estimates, the lengths of rows: see series.h.
 */
#include "rows/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A group of rows with one kind of rounding: a lab or a library, in one precision. */
typedef struct rounding {
    const char *label, *place; /* `place` sorts labs before libraries */
    double *errors, worst;
    const char *dataset; /* of the worst */
    long count;
} rounding;

static int by_place(const void *a, const void *b)
{
    return strcmp(((const rounding *)a)->place, ((const rounding *)b)->place);
}

/* The powers of two by which the bound of a vendor's rounding is wider (common/baselines/sums_rounded.h, cublas.c). */
static int wider(const char *precision)
{
    return !strcmp(precision, "TF32") || !strcmp(precision, "fp16") ? 13
           : !strcmp(precision, "bf16")                             ? 16
                                                                    : 0;
}

/* The worst error of each lab and library over the bound, over all rows, as bars:
 * bar PLACE VALUE LABEL TEXT IS_VENDOR. */
void figure_error(figure *g)
{
    static const char *const PRECISIONS[] = {"fp32", "TF32", "fp16", "bf16"};
    const rows_taken rows = take_all(g, "spmm*.csv", (wanted){.status = "ok"});
    names known = {0};
    rounding *group = NULL;
    for (long i = 0; i < rows.count; i++) {
        const row_of r = rows.row[i];
        if (!*get(r, "worst_error")) continue;
        const char *contender = get(r, "contender");
        const char *precision = strstr(contender, "TF32") ? "TF32" : get(r, "precision");
        int place = 0;
        while (place < 3 && strcmp(precision, PRECISIONS[place]))
            place++;
        size_t letters = strcspn(contender, " ");
        if (letters > 2 && !strncmp(contender + letters - 2, "Lt", 2)) letters -= 2;
        const char *library = text("%.*s", (int)letters, contender);
        const char *key =
            lab_of(r) ? text("0 %03d %d", lab_of(r), place) : text("1 %s %d", library, place);
        const long before = known.count, at = names_add(&known, key);
        if (at == before) {
            group = realloc(group, (size_t)known.count * sizeof *group);
            if (!group) refuse(STATUS_MEMORY, "out of memory");
            const char *bound = wider(precision) ? text(" (bound x 2^{%d})", wider(precision)) : "";
            group[at] = (rounding){.place = key, .worst = -1};
            group[at].label = lab_of(r) ? text("lab %d, %s", lab_of(r), precision)
                                        : text("%s, %s%s", library, precision, bound);
        }
        rounding *own = &group[at];
        const double error = number(r, "worst_error");
        own->errors = realloc(own->errors, (size_t)(own->count + 1) * sizeof *own->errors);
        if (!own->errors) refuse(STATUS_MEMORY, "out of memory");
        own->errors[own->count++] = error;
        const bool later = own->dataset && strcmp(get(r, "dataset"), own->dataset) > 0;
        if (error > own->worst || (error == own->worst && later)) {
            own->worst = error;
            own->dataset = get(r, "dataset");
        }
    }
    if (!known.count) refuse(STATUS_DATASET, "no rows of a worst_error in %s", g->folder);
    qsort(group, (size_t)known.count, sizeof *group, by_place);
    for (long i = 0; i < known.count; i++) {
        const rounding *own = &group[i];
        const bool is_long = strlen(own->dataset) > 26;
        qsort(own->errors, (size_t)own->count, sizeof *own->errors, by_size);
        const double median = (own->errors[own->count / 2] + own->errors[(own->count - 1) / 2]) / 2;
        fprintf(out, "bar\t%ld\t%.17g\t%s\t%.3f, %.*s%s; median %.3f of %ld rows\t%d\n", i,
                own->worst, own->label, own->worst, is_long ? 24 : 99, own->dataset,
                is_long ? ".." : "", median, own->count, *own->place == '1');
    }
}

/* Measured against estimated time, row by row; and the mean of their ratios, with those within a factor of 2. */
void figure_predictions(figure *g)
{
    const rows_taken rows = take_rows(g, "predictions.csv", (wanted){.N = NULL});
    names labs = {0};
    long sampled = 0;
    for (long i = 0; i < rows.count; i++) {
        names_add(&labs, get(rows.row[i], "lab"));
        names_add(&g->commits, get(rows.row[i], "counted_commit"));
        names_add(&g->commits, get(rows.row[i], "measured_commit"));
        sampled += strtod(get(rows.row[i], "sampled"), NULL) < 1;
    }
    for (long l = 0; l < labs.count; l++) {
        mean m = {0};
        long near = 0;
        for (long i = 0; i < rows.count; i++) {
            const row_of r = rows.row[i];
            if (strcmp(get(r, "lab"), labs.name[l])) continue;
            const double estimated = number(r, "predicted_ms"), measured = number(r, "measured_ms");
            print_point("times", labs.name[l], text("%.17g", estimated), measured);
            mean_add(&m, measured / estimated);
            near += measured / estimated >= 0.5 && measured / estimated <= 2;
        }
        m.ahead = near;
        print_mean("near", labs.name[l], &m);
    }
    names_add(&g->notes,
              text("estimates are the CPU backend's, times the modelled GPU's; %ld of %ld estimates"
                   " are of a sample of the blocks",
                   sampled, rows.count));
}

/* ---- counters --------------------------------------------------------------------------------- */

static double sectors_a_request(row_of r)
{
    return number(r, "ld_sectors") / number(r, "ld_requests");
}

static double lanes_active(row_of r)
{
    return 100 * number(r, "simt_efficiency");
}

static double l1_hits(row_of r)
{
    return 100 * number(r, "l1_hit_rate");
}

static double dram_bytes(row_of r)
{
    return number(r, "dram_read_bytes") + number(r, "dram_write_bytes");
}

static double longest_warp(row_of r)
{
    return number(r, "warp_imbalance");
}

/* Counters of the labs' kernels by the CPU backend, graph by graph. A panel is a counter and a width. */
void figure_counters(figure *g)
{
    static const struct {
        const char *name;
        double (*of)(row_of r);
    } COUNTERS[] = {{"sectors", sectors_a_request},
                    {"lanes", lanes_active},
                    {"hits", l1_hits},
                    {"dram", dram_bytes},
                    {"warp", longest_warp}};
    const rows_taken rows = take_rows(g, "counted.csv", (wanted){.N = NULL});
    const names graphs = datasets_of(&rows);
    /* Bytes of all inputs and the output, once, as the program worked them out for its timed rows. */
    const rows_taken timed = peek_rows(g, "spmm.csv", &(wanted){.labs = "1", .datasets = &graphs});
    numbers compulsory = {0};
    for (long i = 0; i < timed.count; i++) {
        const row_of r = timed.row[i];
        *numbers_at(&compulsory, text("%s" KEY "%s", get(r, "dataset"), get(r, "N")), 0) =
            number(r, "compulsory_gbs") * time_of_row(r) * 1e6;
    }
    names labs = {0};
    long sampled = 0, widths;
    char **N = widths_of(&rows, &widths);
    for (long i = 0; i < rows.count; i++) {
        names_add(&labs, get(rows.row[i], "lab"));
        sampled += number(rows.row[i], "sampled") < 1;
    }
    char **lab = names_in_order(&labs);
    sort_by_number(lab, labs.count);
    for (long w = 0; w < widths; w++) {
        names shown = {0};
        for (long i = 0; i < rows.count; i++) {
            const row_of r = rows.row[i];
            const char *dataset = get(r, "dataset");
            if (strcmp(get(r, "N"), N[w]) || names_find(&shown, dataset) != NONE) continue;
            names_add(&shown, dataset);
            fprintf(out, "graph\t%s\t%s\t%s\n", N[w], dataset, label_of(r));
        }
        for (size_t c = 0; c < sizeof COUNTERS / sizeof *COUNTERS; c++)
            for (long l = 0; l < labs.count; l++)
                for (long i = 0; i < rows.count; i++) {
                    const row_of r = rows.row[i];
                    if (strcmp(get(r, "N"), N[w]) || strcmp(get(r, "lab"), lab[l])) continue;
                    double value = COUNTERS[c].of(r);
                    if (COUNTERS[c].of == dram_bytes) {
                        const double *least =
                            numbers_find(&compulsory, text("%s" KEY "%s", get(r, "dataset"), N[w]));
                        if (!least)
                            refuse(STATUS_DATASET, "no rows of lab 1 on %s, N %s in %s/spmm.csv",
                                   get(r, "dataset"), N[w], g->folder);
                        value /= *least;
                    }
                    print_point(text("%s %s", COUNTERS[c].name, N[w]), lab[l], get(r, "dataset"),
                                value);
                }
    }
    names_add(&g->notes, text("counted, not measured; %ld of %ld counts are of a sample of the "
                              "blocks; compulsory: A, B and C once, as spmm.csv has it",
                              sampled, rows.count));
}

/* ---- row lengths ------------------------------------------------------------------------------ */

/* One table of datasets/standins: the law of the lengths, and bins of rows by their length. */
typedef struct lengths {
    const char *law;
    double bin[4096][4]; /* shortest and longest length, rows, their nonzeros */
    long bins;
} lengths;

static lengths *lengths_read(const char *path)
{
    lengths *own = calloc(1, sizeof *own);
    FILE *in = fopen(path, "r");
    char *line = NULL;
    size_t bytes = 0;
    if (!own) refuse(STATUS_MEMORY, "out of memory");
    if (!in) refuse(STATUS_DATASET, "%s: cannot be read", path);
    while (getline(&line, &bytes, in) >= 0) {
        char law[32];
        double *bin = own->bin[own->bins];
        if (sscanf(line, "lengths %31s", law) == 1) own->law = text("%s", law);
        if (sscanf(line, "%lf %lf %lf %lf", &bin[0], &bin[1], &bin[2], &bin[3]) == 4 &&
            ++own->bins == (long)(sizeof own->bin / sizeof *own->bin))
            refuse(STATUS_DATASET, "%s: more than %ld bins", path, own->bins - 1);
    }
    free(line);
    fclose(in);
    if (!own->law || !own->bins) refuse(STATUS_DATASET, "%s: no table of row lengths", path);
    return own;
}

/* How long the rows of the 13 graphs are: of each the share of rows with at least so many nonzeros. The label of a
 * graph is the law of its lengths. */
void figure_row_lengths(figure *g)
{
    const char *folder = text("%s/../datasets", home_of(g));
    const char *path = text("%s/registry.tsv", folder);
    FILE *in = fopen(path, "r");
    char *line = NULL;
    size_t bytes = 0, count;
    if (!in) refuse(STATUS_DATASET, "%s: cannot be read", path);
    while (getline(&line, &bytes, in) >= 0) {
        line[strcspn(line, "\n")] = 0;
        char **cell = parts_of(line, '\t', &count);
        if (*line == '#' || count < 6 || strcmp(cell[1], "graphs")) continue;
        const lengths *own = lengths_read(text("%s/%s", folder, cell[5]));
        double total = 0, longest = 0, nonzeros = 0, first = 0;
        for (long b = 0; b < own->bins; b++) {
            total += own->bin[b][2];
            nonzeros += own->bin[b][3];
            if (own->bin[b][1] > longest) longest = own->bin[b][1];
        }
        double left = total;
        fprintf(out, "graph\tall\t%s\t%s\n", cell[0], own->law);
        for (long b = 0; b < own->bins; b++) {
            if (own->bin[b][0] > 0) {
                if (!first) first = left / total;
                print_point(cell[0], "share", text("%.0f", own->bin[b][0]), left / total);
            }
            left -= own->bin[b][2];
        }
        const double empty = 100 * (1 - first);
        fprintf(out, "word\t%s\tmean %.3g\\nlongest %.0f%s\n", cell[0], nonzeros / total, longest,
                empty > 0 ? text("\\nempty %.2g%%", empty) : "");
    }
    free(line);
    fclose(in);
    names_add(&g->notes, "row lengths of datasets/standins/*.txt; their headers tell what is known "
                         "of each graph");
}
