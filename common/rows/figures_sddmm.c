/*
 * figures_sddmm.c - figures of SDDMM: see series.h.
 */
#include "rows/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* SDDMM over SpMM of the same width, graph by graph. */
void sddmm_beside_spmm(figure *g)
{
    static const char *const WHO[] = {"best", "31", "32", "33", "99"};
    const rows_taken sddmm = take_rows(g, "sddmm.csv", (wanted){.plain = true});
    const rows_taken spmm =
        take_rows(g, "spmm-beside-sddmm.csv", (wanted){.labs = "99", .plain = true});
    const times all = times_of(&sddmm, NULL);
    long count, shown = 0;
    char **K = widths_of(&sddmm, &count);
    for (long w = 0; w < count; w++) {
        const times own = times_of(&sddmm, K[w]), beside = times_of(&spmm, K[w]);
        if (!is_timed(&beside, "99")) continue;
        shown++;
        print_graphs(K[w], &all);
        for (int i = 0; i < 5; i++)
            if (is_timed(&own, WHO[i])) print_ratios(K[w], WHO[i], &own, WHO[i], &beside, "99");
    }
    if (!shown)
        refuse(STATUS_DATASET, "no width that both sddmm.csv and spmm-beside-sddmm.csv have");
}

/* SDDMM and density: the fastest lab of each problem, and one layer's times against its zeros. A problem's name
 * is "K DATASET". */
void sddmm_density(figure *g)
{
    static const char *const FILES[] = {"sddmm.csv", "sddmm-rnn.csv", "sddmm-sparsity.csv",
                                        "sddmm-dlmc-like.csv"};
    enum { CHOOSES = 99 }; /* has no kernel of its own */
    const wanted plain = {.plain = true};
    numbers fastest = {0}, winner = {0}, density = {0}, zeros = {0}, dense = {0};
    for (int f = 0; f < 4; f++) {
        const rows_taken rows = find_rows(g, FILES[f], &plain);
        for (long i = 0; i < rows.count; i++) {
            const row_of r = rows.row[i];
            const double ms = time_of_row(r);
            const int lab = lab_of(r);
            const char *key = text("%s" KEY "%s", get(r, "N"), get(r, "dataset"));
            if (!ms || !lab || lab == CHOOSES) continue;
            double *least = numbers_at(&fastest, key, INFINITY);
            if (ms >= *least) continue;
            *least = ms;
            *numbers_at(&winner, key, 0) = lab;
            *numbers_at(&density, key, 0) =
                100 * number(r, "nnz") / (number(r, "rows") * number(r, "cols"));
        }
    }
    if (!fastest.key.count)
        refuse(STATUS_DATASET, "no times of labs in sddmm.csv, sddmm-rnn.csv, sddmm-sparsity.csv, "
                               "sddmm-dlmc-like.csv");
    for (long i = 0; i < fastest.key.count; i++)
        print_point(
            "winners", text("%.0f", winner.value[i]),
            text("%s %s", key_part(fastest.key.name[i], 0), key_part(fastest.key.name[i], 1)),
            density.value[i]);
    for (long i = 0; i < fastest.key.count;
         i++) /* in the order of the rows, for points that hide each other */
        print_point(
            "problems", "density",
            text("%s %s", key_part(fastest.key.name[i], 0), key_part(fastest.key.name[i], 1)),
            density.value[i]);

    const rows_taken rows = take_rows(g, "sddmm-sparsity.csv", plain);
    const times t = times_of(&rows, NULL);
    if (!is_timed(&t, "best"))
        refuse(STATUS_DATASET, "no times of cuSPARSE's best among sddmm-sparsity.csv");
    for (long i = 0; i < rows.count; i++) {
        const row_of r = rows.row[i];
        const double ms = time_of_row(r);
        *numbers_at(&zeros, get(r, "dataset"), 0) =
            100 - 100 * number(r, "nnz") / (number(r, "rows") * number(r, "cols"));
        if (!ms || !strstr(get(r, "contender"), "(dense)")) continue;
        double *own = numbers_at(&dense, text("dense" KEY "%s", get(r, "dataset")), ms);
        if (ms < *own) *own = ms;
    }
    for (int lab = 0; (lab = next_lab(&t, lab));) {
        const line own = line_of(&t.ms, text("%d", lab), &t.graphs, &zeros);
        print_line("layer", text("%d", lab), &own);
    }
    const line best = line_of(&t.ms, "best", &t.graphs, &zeros);
    const line products = line_of(&dense, "dense", &t.graphs, &zeros);
    print_line("layer", "best", &best);
    print_line("layer", "dense", &products);
    const row_of first = rows.row[0];
    fprintf(out, "word\tlayer\t%s x %s weights; K = %s\n", get(first, "rows"), get(first, "cols"),
            get(first, "N"));
}
