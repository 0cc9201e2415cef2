/*
 * figures_ladder.c - figures of the ladder on the graphs: see series.h.
 */
#include "rows/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Each lab over the vendor's best, graph by graph. */
void figure_speedups(figure *g)
{
    static const char *const WIDTHS[] = {"32", "256"};
    for (int w = 0; w < 2; w++) {
        const rows_taken rows = take_rows(g, "spmm.csv", (wanted){.N = WIDTHS[w], .plain = true});
        const times t = times_of(&rows, NULL);
        print_graphs(WIDTHS[w], &t);
        need_time(&t, "best");
        for (int lab = 0; (lab = next_lab(&t, lab));)
            print_ratios(WIDTHS[w], text("%d", lab), &t, "best", &t, text("%d", lab));
    }
}

/* Labs 1 to 5 over the vendor's default and best, beside the published speedups. */
void figure_published_course(figure *g)
{
    static const char *const WIDTHS[] = {"32", "256"}, *const EXPERIMENTS[] = {"E1.7", "E1.8"};
    static const char *const OVER[] = {"default", "best"};
    const published p = read_published(g, "E1.7,E1.8");
    for (int w = 0; w < 2; w++) {
        const rows_taken rows = take_rows(
            g, "spmm.csv", (wanted){.N = WIDTHS[w], .labs = "0,1,2,3,4,5", .plain = true});
        const times t = times_of(&rows, NULL);
        mean m = {0};
        print_graphs(WIDTHS[w], &t);
        for (long i = 0; i < p.matrices.count; i++) {
            const char *matrix = p.matrices.name[i];
            const double theirs = published_value(&p, EXPERIMENTS[w], matrix, "cuSPARSE", "time_s");
            const double own = published_value(&p, EXPERIMENTS[w], matrix, "final", "time_s");
            if (!theirs || !own) continue;
            print_point(WIDTHS[w], "published", matrix, theirs / own);
            if (names_find(&t.graphs, matrix) != NONE) mean_add(&m, theirs / own);
        }
        print_mean(WIDTHS[w], "published", &m);
        for (int o = 0; o < 2; o++)
            for (int lab = 1; lab <= 5; lab++) {
                need_time(&t, OVER[o]);
                need_time(&t, text("%d", lab));
                print_ratios(text("%s %s", WIDTHS[w], OVER[o]), text("%d", lab), &t, OVER[o], &t,
                             text("%d", lab));
            }
    }
}

/* Time over the gather limit, graph by graph: one over the share that the harness wrote (common/results/bound.h). */
void figure_gather_limit(figure *g)
{
    static const char *const WIDTHS[] = {"32", "256"}, *const WHO[] = {"best", "5", "11", "99"};
    for (int w = 0; w < 2; w++) {
        const rows_taken rows =
            take_rows(g, "spmm.csv", (wanted){.N = WIDTHS[w], .labs = "0,5,11,99", .plain = true});
        const times t = times_of(&rows, NULL);
        print_graphs(WIDTHS[w], &t);
        need_time(&t, "best");
        for (int k = 0; k < 4; k++) {
            mean m = {0};
            for (long i = 0; i < rows.count && is_timed(&t, WHO[k]); i++) {
                const row_of r = rows.row[i];
                const double *ms = ms_of(&t, WHO[k], get(r, "dataset"));
                const bool is_best =
                    !lab_of(r) && !strcmp(get(r, "contender"), get(r, "vendor_best"));
                const bool is_own = k ? lab_of(r) == atoi(WHO[k]) : is_best;
                if (!is_own || !ms || time_of_row(r) != *ms || !*get(r, "gather_share")) continue;
                const double over = 1 / number(r, "gather_share");
                print_point(WIDTHS[w], WHO[k], get(r, "dataset"), over);
                mean_add(&m, over);
            }
            print_mean(WIDTHS[w], WHO[k], &m);
        }
    }
    names_add(&g->notes, "limits of limits.tsv");
}

/* The cost of preparing on the graphs, and the products until it is earned back from the vendor's best. Labs whose
 * median is below LITTLE_MS are named alone. */
void figure_prepare(figure *g)
{
    static const double LITTLE_MS = 0.02;
    const rows_taken rows = take_rows(g, "spmm.csv", (wanted){.plain = true});
    const times all = times_of(&rows, NULL);
    const char *little = "";
    long count;
    char **N = widths_of(&rows, &count);
    print_graphs("all", &all);
    for (int lab = 0; (lab = next_lab(&all, lab));) {
        double *ms = calloc((size_t)rows.count, sizeof *ms);
        long taken = 0;
        if (!ms) refuse(STATUS_MEMORY, "out of memory");
        for (long i = 0; i < rows.count; i++)
            if (lab_of(rows.row[i]) == lab && time_of_row(rows.row[i]))
                ms[taken++] = number(rows.row[i], "prepare_ms");
        qsort(ms, (size_t)taken, sizeof *ms, by_size);
        const bool is_little = (ms[taken / 2] + ms[(taken - 1) / 2]) / 2 < LITTLE_MS;
        if (is_little) little = text("%s%s%d", little, *little ? ", " : "", lab);
        for (long w = 0; w < count && !is_little; w++) {
            const times t = times_of(&rows, N[w]);
            for (long i = 0; i < rows.count; i++) {
                const row_of r = rows.row[i];
                const double own = time_of_row(r);
                const double *best = ms_of(&t, "best", get(r, "dataset"));
                if (lab_of(r) != lab || strcmp(get(r, "N"), N[w]) || !own) continue;
                print_point(text("prepare %s", N[w]), text("%d", lab), get(r, "dataset"),
                            number(r, "prepare_ms"));
                if (best && own < *best)
                    print_point(text("earned %s", N[w]), text("%d", lab), get(r, "dataset"),
                                number(r, "prepare_ms") / (*best - own));
            }
        }
    }
    for (long i = 0; i < rows.count; i++) {
        const row_of r = rows.row[i];
        if (!lab_of(r) && time_of_row(r) && !strcmp(get(r, "contender"), get(r, "vendor_best")))
            print_point(text("prepare %s", get(r, "N")), "best", get(r, "dataset"),
                        number(r, "prepare_ms"));
    }
    if (*little)
        fprintf(out, "word\tlittle\tlabs %s prepare next to nothing: in the median below %g ms\n",
                little, LITTLE_MS);
}

/* Labs 1 to 3, from a thread a row to a warp a row, beside the published pair of kernels: times, and how many times as
 * fast each is as a thread a row on that GPU. */
void figure_reference_and_warp(figure *g)
{
    static const char *const LABS[] = {"1", "2", "3"}, *const KERNELS[] = {"ref", "opt1"};
    const rows_taken rows = take_rows(
        g, "spmm.csv",
        (wanted){
            .N = "32", .labs = "1,2,3", .plain = true, .datasets = pair_of("arxiv", "collab")});
    const times t = times_of(&rows, NULL);
    const published p = read_published(g, "E1.1");
    print_graphs("all", &t);
    for (long i = 0; i < t.graphs.count; i++) {
        const char *graph = t.graphs.name[i];
        const double *first = ms_of(&t, "1", graph);
        for (int l = 0; l < 3; l++) {
            need_time(&t, LABS[l]);
            const double *ms = ms_of(&t, LABS[l], graph);
            if (ms) print_point(graph, "ms", LABS[l], *ms);
            if (ms && first) print_point(graph, "speedup", LABS[l], *first / *ms);
        }
        const double theirs = published_value(&p, "E1.1", graph, KERNELS[0], "time_s");
        for (int k = 0; k < 2; k++) {
            const double seconds = published_value(&p, "E1.1", graph, KERNELS[k], "time_s");
            if (!theirs || !seconds) continue;
            print_point(graph, "ms", KERNELS[k], 1000 * seconds);
            print_point(graph, "speedup", KERNELS[k], theirs / seconds);
        }
    }
}

/* The row of lab 99 with the highest rate on a layer of a recurrent network at N = 128. */
static row_of fastest_layer(const figure *g)
{
    const wanted w = {.N = "128", .labs = "99", .plain = true, .status = "ok"};
    const rows_taken rows = peek_rows(g, "spmm-rnn.csv", &w);
    if (!rows.count)
        refuse(STATUS_DATASET, "no rows of N 128, lab 99 in %s/spmm-rnn.csv", g->folder);
    row_of fastest = rows.row[0];
    for (long i = 1; i < rows.count; i++)
        if (number(rows.row[i], "gflops") > number(fastest, "gflops")) fastest = rows.row[i];
    return fastest;
}

/* Prints rates on each problem of these rows, at its flop a compulsory byte: the gather limit, as the harness wrote its
 * share; those of each lab and of the vendor's best; the lowest of all. A `graph` has the problem's label there. */
static void print_rates(const char *panel, const rows_taken *rows)
{
    const times t = times_of(rows, NULL);
    numbers flops = {0}, x = {0}, limit = {0};
    for (long i = 0; i < rows->count; i++) {
        const row_of r = rows->row[i];
        const char *dataset = get(r, "dataset");
        const double ms = time_of_row(r);
        if (!ms) continue;
        *numbers_at(&flops, dataset, 0) = number(r, "gflops") * ms;
        *numbers_at(&x, dataset, 0) = number(r, "gflops") / number(r, "compulsory_gbs");
        if (*get(r, "gather_share"))
            *numbers_at(&limit, dataset, 0) = number(r, "gflops") / number(r, "gather_share");
    }
    for (long i = 0; i < flops.key.count; i++) {
        const char *problem = flops.key.name[i];
        const char *at = text("%.17g", x.value[i]);
        double slowest = 0;
        for (long w = 0; w < t.who.count; w++) {
            const double *ms = ms_of(&t, t.who.name[w], problem);
            if (ms && *ms > slowest) slowest = *ms;
        }
        if (numbers_find(&limit, problem))
            print_point(panel, "gather_limit", at, *numbers_find(&limit, problem));
        if (slowest) print_point(panel, "lowest", at, flops.value[i] / slowest);
        fprintf(out, "graph\t%s\t%s\t%s\n", panel, at, texts_find(&t.label, problem));
    }
    need_time(&t, "best");
    for (int lab = 0, more = true; more;) {
        const char *who = lab ? text("%d", lab) : "best";
        for (long i = 0; i < flops.key.count; i++) {
            const double *ms = ms_of(&t, who, flops.key.name[i]);
            if (ms) print_point(panel, who, text("%.17g", x.value[i]), flops.value[i] / *ms);
        }
        more = (lab = next_lab(&t, lab)) != 0;
    }
}

/* The ceilings of the machine, and where labs stand below them: on the real graphs, and on the layer of a recurrent
 * network on which lab 99 has the highest rate. */
void figure_roofline(figure *g)
{
    static const char *const LIMITS[] = {"fp32_gflops", "copy_gbs", "l2_read_gbs"};
    const numbers limits = read_limits(g);
    for (int i = 0; i < 3; i++) {
        const double *limit = numbers_find(&limits, LIMITS[i]);
        if (limit) print_point("limits", LIMITS[i], LIMITS[i], *limit);
    }
    wanted graphs = {
        .N = "32", .plain = true, .origin = "real", .datasets = pair_of("arxiv", "ddi")};
    const rows_taken narrow = take_rows(g, "spmm.csv", graphs);
    graphs.N = "256";
    const rows_taken wide = take_rows(g, "spmm.csv", graphs);
    const char *layer = get(fastest_layer(g), "dataset");
    const rows_taken recurrent = take_rows(
        g, "spmm-rnn.csv", (wanted){.N = "128", .plain = true, .datasets = pair_of(layer, layer)});
    print_rates("32", &narrow);
    print_rates("256", &wide);
    print_rates("128", &recurrent);
    fprintf(out, "word\tlayer\t%s\n", layer);
}
