/*
 * figures_settings.c - figures of settings: of a knob turned, of the row swizzle, of the rule that chooses: see series.h.
 */
#include "rows/choices.h"
#include "rows/series.h"
#include "rows/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Prints shares of the fastest one's speed, in per cent, that the rule of lab 99 reaches: a line of the figure, with its
 * label, and a point a case. */
static void print_shares(long line, const char *label, const names *cases, const double *share)
{
    mean m = {0};
    long worst = 0;
    const char *series = text("%ld", line);
    if (!cases->count) return;
    fprintf(out, "graph\tlines\t%s\t%s\n", series, label);
    for (long i = 0; i < cases->count; i++) {
        print_point("share", series, cases->name[i], 100 * share[i]);
        mean_add(&m, 100 * share[i]);
        if (share[i] < share[worst]) worst = i;
    }
    print_mean("share", series, &m);
    const char *name = cases->name[worst], *N = strstr(name, " N=") + strlen(" N=");
    const int letters = (int)(N - name - (long)strlen(" N="));
    const bool is_long = letters > 26;
    fprintf(out, "word\t%s\t%.1f %% over %ld; worst %.1f %%,\\n%.*s%s, N = %s\n", series,
            mean_of(&m), cases->count, 100 * share[worst], is_long ? 24 : letters, name,
            is_long ? ".." : "", N);
}

/* Prints the rule's choice, beside the fastest setting of a sweep and beside the fastest of all labs. */
void figure_choice(figure *g)
{
    static const char *const SETS[][2] = {{"graphs", "spmm.csv"},
                                          {"RNN", "spmm-rnn.csv"},
                                          {"sparsity", "spmm-sparsity.csv"},
                                          {"DLMC", "spmm-dlmc.csv"},
                                          {"like DLMC's", "spmm-dlmc-like.csv"}};
    const wanted rule = {.labs = "99", .plain = true}, any = {.N = NULL},
                 labs = {.labs = "+", .plain = true};
    const char *spmm = text("%s/spmm.csv", g->folder),
               *sweep = text("%s/spmm-graphs-sweep.csv", g->folder);
    long shown = 0;
    if (is_readable(spmm) && is_readable(sweep) && find_rows(g, "spmm.csv", &rule).count &&
        find_rows(g, "spmm-graphs-sweep.csv", &any).count) {
        const choices c = choices_read(spmm, sweep, 99);
        names cases = {0};
        double *share = calloc((size_t)c.rule.key.count + 1, sizeof *share);
        if (!share) refuse(STATUS_MEMORY, "out of memory");
        for (long i = 0; i < c.rule.key.count; i++) {
            const double own = choices_share(&c, c.rule.key.name[i]);
            if (own) share[names_add(&cases, c.rule.key.name[i])] = own;
        }
        print_shares(shown, "settings tried,\\ngraphs", &cases, share);
        shown += cases.count > 0;
    }
    for (size_t i = 0; i < sizeof SETS / sizeof *SETS; i++) {
        const rows_taken rows = find_rows(g, SETS[i][1], &labs);
        long count;
        char **N = widths_of(&rows, &count);
        names cases = {0};
        double *share = calloc((size_t)rows.count + 1, sizeof *share);
        if (!share) refuse(STATUS_MEMORY, "out of memory");
        for (long w = 0; w < count; w++) {
            const times t = times_of(&rows, N[w]);
            for (long d = 0; d < t.graphs.count; d++) {
                const double *own = ms_of(&t, "99", t.graphs.name[d]);
                double fastest = own ? *own : 0;
                for (long l = 0; own && l < t.who.count; l++) {
                    const double *ms = ms_of(&t, t.who.name[l], t.graphs.name[d]);
                    if (ms && *ms < fastest) fastest = *ms;
                }
                if (own)
                    share[names_add(&cases, text("%s N=%s", t.graphs.name[d], N[w]))] =
                        fastest / *own;
            }
        }
        print_shares(shown, text("fastest lab,\\n%s", SETS[i][0]), &cases, share);
        shown += cases.count > 0;
    }
    if (!shown) refuse(STATUS_DATASET, "no rows of lab 99 in %s", g->folder);
}

/* ---- a knob turned ---------------------------------------------------------------------------- */

/* Times of one graph by "settings value": the other settings, and the value of the knob. */
typedef struct turned {
    names settings, values; /* `settings`: those that were measured with every value */
    numbers ms;
} turned;

/* A tuning without one of its settings. */
static char *without_setting(const char *tuning, const char *name)
{
    size_t count;
    char **word = parts_of(tuning, ' ', &count), *rest = "";
    for (size_t i = 0; i < count; i++)
        if (!starts_with(word[i], text("%s=", name)))
            rest = text("%s%s%s", rest, *rest ? " " : "", word[i]);
    return rest;
}

static turned turn(const rows_taken *rows, const char *graph, const char *knob)
{
    turned t = {0};
    names tried = {0};
    for (long i = 0; i < rows->count; i++) {
        const row_of r = rows->row[i];
        const double ms = time_of_row(r);
        if (strcmp(get(r, "dataset"), graph)) continue;
        const char *value = tuned_to(r, knob);
        if (!*value)
            refuse(STATUS_DATASET, "%s: no %s in its tuning '%s'", place_of_row(r), knob,
                   get(r, "tuning"));
        if (!ms) continue;
        const char *others = without_setting(get(r, "tuning"), knob);
        names_add(&tried, others);
        names_add(&t.values, value);
        keep_least(&t.ms, text("%s" KEY "%s", others, value), ms);
    }
    for (long i = 0; i < tried.count; i++) {
        long measured = 0;
        for (long v = 0; v < t.values.count; v++)
            measured +=
                numbers_find(&t.ms, text("%s" KEY "%s", tried.name[i], t.values.name[v])) != NULL;
        if (measured == t.values.count) names_add(&t.settings, tried.name[i]);
    }
    return t;
}

/* Whether settings have all of `kernel`, as in "D=1 C=1". */
static bool are_of(const char *settings, const char *kernel)
{
    size_t count;
    char **word = parts_of(kernel, ' ', &count);
    for (size_t i = 0; i < count; i++)
        if (!is_among(word[i], settings, ' ')) return false;
    return true;
}

/* The least ms with a value of the knob, among the settings that all graphs have; 0: not measured. */
static double least_ms(const turned *t, const names *common, const char *kernel, const char *value)
{
    double least = 0;
    for (long i = 0; i < common->count; i++) {
        const double *ms = numbers_find(&t->ms, text("%s" KEY "%s", common->name[i], value));
        if (ms && are_of(common->name[i], kernel) && (!least || *ms < least)) least = *ms;
    }
    return least;
}

/* Says what the fastest of a graph had to choose from: "C 1, LANES 32, the fastest D". */
static char *said_of(const names *common, const char *kernel)
{
    size_t count, words;
    char **setting = parts_of(kernel, ' ', &count), *fixed = "", *freely = "";
    for (size_t s = 0; s < count; s++) {
        const char *name = text("%.*s", (int)strcspn(setting[s], "="), setting[s]);
        names values = {0};
        for (long i = 0; i < common->count; i++) {
            char **word = parts_of(common->name[i], ' ', &words);
            for (size_t w = 0; w < words; w++)
                if (starts_with(word[w], text("%s=", name)))
                    names_add(&values, word[w] + strlen(name) + 1);
        }
        if (values.count == 1)
            fixed = text("%s%s%s %s", fixed, *fixed ? ", " : "", name, values.name[0]);
        if (values.count > 1) freely = text("%s%s%s", freely, *freely ? " and " : "", name);
    }
    return text("%s%s%s%s", fixed, *fixed && *freely ? ", " : "", *freely ? "the fastest " : "",
                freely);
}

/* A graph's name and a time. */
typedef struct end {
    const char *name;
    double ms;
} end;

static int by_ms(const void *a, const void *b)
{
    const double x = ((const end *)a)->ms, y = ((const end *)b)->ms;
    return (x > y) - (x < y);
}

/* A knob of lab 5 turned through its values: the time on each graph, and the mean speedup over the vendor's default
 * beside the published one. The other settings are the fastest of each graph, among those that every graph was
 * measured with: a graph that was measured with more would have a lead. Then those of the published `kernel` alone. */
static void turn_knob(figure *g, const char *knob, const char *N, const char *experiment,
                      const char *kernel)
{
    const rows_taken rows =
        take_all(g, "spmm-lab5-sweep*.csv",
                 (wanted){.N = N, .labs = "5", .l2 = "warm", .precision = "fp32"});
    const names graphs = datasets_of(&rows);
    const rows_taken vendors =
        take_rows(g, "spmm.csv", (wanted){.N = N, .labs = "0", .plain = true, .datasets = &graphs});
    const times vendor = times_of(&vendors, NULL);
    turned *of = calloc((size_t)graphs.count, sizeof *of);
    end *ends = calloc((size_t)graphs.count, sizeof *ends);
    names common = {0}, values = {0};
    if (!of || !ends) refuse(STATUS_MEMORY, "out of memory");
    need_time(&vendor, "default");
    for (long i = 0; i < graphs.count; i++)
        of[i] = turn(&rows, graphs.name[i], knob);
    for (long s = 0; s < of[0].settings.count; s++) {
        bool everywhere = true;
        for (long i = 1; i < graphs.count; i++)
            everywhere = everywhere && names_find(&of[i].settings, of[0].settings.name[s]) != NONE;
        if (everywhere) names_add(&common, of[0].settings.name[s]);
    }
    for (long i = 0; i < graphs.count && common.count; i++)
        for (long v = 0; v < of[i].values.count; v++)
            names_add(&values, of[i].values.name[v]);
    char **value = names_in_order(&values);
    sort_by_number(value, values.count);
    if (values.count < 2)
        refuse(STATUS_DATASET, "no rows of lab 5 at N = %s that differ in %s alone in %s", N, knob,
               g->folder);

    for (long v = 0; v < values.count; v++)
        fprintf(out, "graph\tvalues\t%s\t%s\n", value[v],
                strcmp(value[v], "0") ? value[v] : "whole rows");
    long count = 0;
    bool alike = true;
    for (long i = 0; i < graphs.count; i++) {
        for (long v = 0; v < values.count; v++) {
            const double ms = least_ms(&of[i], &common, "", value[v]);
            if (ms) print_point("times", graphs.name[i], value[v], ms);
            alike = alike && ms == least_ms(&of[i], &common, kernel, value[v]);
            if (ms && v == values.count - 1) ends[count++] = (end){graphs.name[i], ms};
        }
    }
    qsort(ends, (size_t)count, sizeof *ends, by_ms);
    for (long i = 0; i < count; i++) /* the names beside the lines, from below */
        print_point("ends", texts_find(&vendor.label, ends[i].name), text("%ld", i), ends[i].ms);

    const char *const KERNELS[] = {"", kernel}, *const SERIES[] = {"fastest", "kernel"};
    for (int k = 0; k < (alike ? 1 : 2); k++)
        for (long v = 0; v < values.count; v++) {
            mean m = {0};
            for (long i = 0; i < graphs.count; i++) {
                const double ms = least_ms(&of[i], &common, KERNELS[k], value[v]);
                const double *theirs = ms_of(&vendor, "default", graphs.name[i]);
                if (ms && theirs) mean_add(&m, *theirs / ms);
            }
            if (m.count == graphs.count) print_point("means", SERIES[k], value[v], mean_of(&m));
        }
    const published p = read_published(g, experiment);
    for (long v = 0; v < values.count; v++) {
        const double theirs =
            published_value(&p, experiment, "geomean", text("%s=%s", knob, value[v]), "speedup");
        if (theirs) print_point("means", "published", value[v], theirs);
    }
    const char *label = texts_find(&vendor.label, graphs.name[0]);
    fprintf(out, "word\tfastest\tlab 5, %s\n", said_of(&common, kernel));
    size_t words;
    char **setting = parts_of(kernel, ' ', &words), *list = "";
    for (size_t s = 0; s < words; s++) {
        const size_t name = strcspn(setting[s], "=");
        list =
            text("%s%s%.*s %s", list, s ? ", " : "", (int)name, setting[s], setting[s] + name + 1);
    }
    fprintf(out, "word\tkernel\tlab 5, %s\n", list);
    fprintf(out, "word\taxis\t%s, N = %s\n", knob, N);
    fprintf(out, "word\tgraphs\t%s\n",
            graphs.count == 1 ? label : text("%ld graphs", graphs.count));
    fprintf(out, "word\tmean of\t%s\n",
            graphs.count == 1 ? label : text("geometric mean of %ld graphs", graphs.count));
}

/* SPLIT, the most nonzeros that a warp takes of one row. */
void figure_split_size(figure *g)
{
    turn_knob(g, "SPLIT", "32", "E1.3", "D=1 C=1 LANES=32");
}

/* D, the tile of A in units of 32 nonzeros. */
void figure_batch_d(figure *g)
{
    turn_knob(g, "D", "32", "E1.5", "SPLIT=128 C=1 LANES=32");
}

/* C, the columns of the output that a lane computes. */
void figure_columns_c(figure *g)
{
    turn_knob(g, "C", "256", "E1.6", "SPLIT=128 D=2 LANES=32");
}

/* ---- the row swizzle -------------------------------------------------------------------------- */

/* Kernels by the name of their contender, with the lab whose each is: lab 10 runs them in several orders of the rows. */
static const struct kernel {
    const char *name;
    int lab;
} KERNELS[] = {{"split_rows", 5},   {"roma", 6},     {"subwarp", 7},
               {"length_bins", 11}, {"b_tiles", 12}, {"row_fragments", 21}};
/* The order in which lab 10 takes the rows: its setting SWIZZLE. */
static const char *const ORDERS[] = {"0", "1", "4096"};
enum { NUM_KERNELS = sizeof KERNELS / sizeof *KERNELS, NUM_ORDERS = 3 };

/* Which kernel ran, and in which order of the rows: "roma" KEY "4096". */
static char *kernel_of(row_of r)
{
    const char *name = tuned_to(r, "KERNEL"), *order = tuned_to(r, "SWIZZLE");
    return text("%s" KEY "%s", *name ? name : get(r, "contender"), *order ? order : "0");
}

/* Throughput as row lengths vary, in per cent of that on a balanced matrix: a panel "LAB KERNEL" for each, a
 * line for each order of the rows. */
void figure_imbalance(figure *g)
{
    const rows_taken rows = take_rows(g, "spmm-swizzle-cov.csv", (wanted){.status = "ok"});
    numbers most = {0};
    names covs = {0};
    for (long i = 0; i < rows.count; i++) {
        const row_of r = rows.row[i];
        const double gflops = number(r, "gflops");
        names_add(&covs, get(r, "cov_row"));
        double *own =
            numbers_at(&most, text("%s" KEY "%s", kernel_of(r), get(r, "cov_row")), gflops);
        if (gflops > *own) *own = gflops;
    }
    char **cov = names_in_order(&covs);
    sort_by_number(cov, covs.count);
    const published p = read_published(g, "E2.3");
    for (int k = 0; k < NUM_KERNELS; k++) {
        const char *panel = text("%d %s", KERNELS[k].lab, KERNELS[k].name);
        double balanced = 0;
        for (int o = 0; o < NUM_ORDERS; o++)
            for (long c = 0; c < covs.count; c++) {
                const double *gflops = numbers_find(
                    &most, text("%s" KEY "%s" KEY "%s", KERNELS[k].name, ORDERS[o], cov[c]));
                if (!gflops) continue;
                if (!balanced) balanced = *gflops; /* of the least variation, as they come */
                print_point(panel, ORDERS[o], cov[c], 100 * *gflops / balanced);
            }
        if (balanced) fprintf(out, "word\t%s\t100 %% = %.1f TFLOP/s\n", panel, balanced / 1000);
    }
    for (long i = 0; i < p.value.key.count; i++)
        print_point("published", "published", text("%ld", i), strtod(p.value.value[i], NULL));
}

/* Kernels with and without the row swizzle on pruned layers: speed in per cent of the fastest of the layer. A panel
 * of `graph` is a layer, its places are matrices; a line is "LAB KERNEL ORDER", with its mean where all were tried. */
void figure_ablation(figure *g)
{
    const rows_taken rows = take_rows(g, "spmm-swizzle-ablation.csv", (wanted){.status = "ok"});
    numbers ms = {0};
    names layers = {0}, matrices = {0}, order = {0};
    texts layer_of = {0}, pruning = {0};
    for (long i = 0; i < rows.count; i++) {
        const row_of r = rows.row[i];
        const char *dataset = get(r, "dataset"), *name = strchr(dataset, '.');
        size_t count;
        char **part = parts_of(name ? name + 1 : dataset, '-', &count);
        keep_least(&ms, text("%s" KEY "%s", kernel_of(r), dataset), number(r, "median_ms"));
        if (count < 3)
            refuse(STATUS_DATASET, "%s: '%s' is no SET.LAYER-PRUNING-SPARSITY", place_of_row(r),
                   dataset);
        const char *layer = part[0];
        for (size_t w = 1; w + 2 < count; w++)
            layer = text("%s-%s", layer, part[w]);
        layer = text("%s\\n%s x %s", layer, get(r, "rows"), get(r, "cols"));
        names_add(&layers, layer);
        names_add(&matrices, dataset);
        *texts_at(&layer_of, dataset) = layer;
        *texts_at(&pruning, dataset) = part[count - 2];
    }
    for (long l = 0; l < layers.count; l++)
        for (long m = 0; m < matrices.count; m++) {
            const char *dataset = matrices.name[m];
            if (strcmp(texts_find(&layer_of, dataset), layers.name[l])) continue;
            names_add(&order, dataset);
            fprintf(out, "graph\t%s\t%s\t%s\n", layers.name[l], dataset,
                    texts_find(&pruning, dataset));
        }
    numbers least = {0};
    for (int k = 0; k < NUM_KERNELS * NUM_ORDERS; k++)
        for (long m = 0; m < order.count; m++) {
            const double *own =
                numbers_find(&ms, text("%s" KEY "%s" KEY "%s", KERNELS[k / NUM_ORDERS].name,
                                       ORDERS[k % NUM_ORDERS], order.name[m]));
            if (own) keep_least(&least, order.name[m], *own);
        }
    for (int k = 0; k < NUM_KERNELS * NUM_ORDERS; k++) {
        const struct kernel *own = &KERNELS[k / NUM_ORDERS];
        const char *line = text("%d %s %s", own->lab, own->name, ORDERS[k % NUM_ORDERS]);
        mean m = {0};
        for (long i = 0; i < order.count; i++) {
            const char *dataset = order.name[i];
            const double *time = numbers_find(
                &ms, text("%s" KEY "%s" KEY "%s", own->name, ORDERS[k % NUM_ORDERS], dataset));
            if (!time) continue;
            const double share = 100 * *numbers_find(&least, dataset) / *time;
            print_point("speed", line, dataset, share);
            mean_add(&m, share);
        }
        if (m.count == order.count) print_mean("speed", line, &m);
    }
    fprintf(out, "word\tN\t%s\n", get(rows.row[0], "N"));
}
