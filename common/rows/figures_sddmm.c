/*
 * figures_sddmm.c - figures of SDDMM: see series.h.
 */
#include "rows/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* SDDMM over SpMM of the same width, graph by graph. */
void figure_sddmm_beside_spmm(figure *g)
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

/* Prints each problem "K KEY DATASET" among those of the lab that wins it: K and density. Problems of one K and nearly
 * one density would hide each other, so they stand above and below K. */
static void print_winners(const numbers *winner, const numbers *density)
{
    static const double ASIDE = 1.06;
    names labs = {0}, widths = {0};
    for (long i = 0; i < winner->key.count; i++) {
        names_add(&labs, digits(winner->value[i]));
        names_add(&widths, key_part(winner->key.name[i], 0));
    }
    char **lab = names_in_order(&labs), **K = names_in_order(&widths);
    sort_by_number(lab, labs.count);
    sort_by_number(K, widths.count);
    for (long w = 0; w < widths.count; w++)
        fprintf(out, "graph\tK\t%s\t%s\n", K[w], K[w]);
    numbers alike = {0},
            shown = {0}; /* problems of one place, and those of them that were printed */
    char **group = calloc((size_t)winner->key.count, sizeof *group);
    double *height = calloc((size_t)winner->key.count, sizeof *height);
    if (!group || !height) refuse(STATUS_MEMORY, "out of memory");
    for (long i = 0; i < winner->key.count; i++) {
        group[i] = text("%s" KEY "%.2g", key_part(winner->key.name[i], 0), density->value[i]);
        ++*numbers_at(&alike, group[i], 0);
    }
    for (long i = 0; i < winner->key.count; i++) {
        const double before = (*numbers_at(&shown, group[i], 0))++;
        const double steps = before - (*numbers_find(&alike, group[i]) - 1) / 2;
        height[i] = atoi(key_part(winner->key.name[i], 0)) * pow(ASIDE, steps);
    }
    for (long l = 0; l < labs.count; l++) {
        long won = 0;
        for (long i = 0; i < winner->key.count; i++) {
            if (winner->value[i] != atoi(lab[l])) continue;
            print_point("winners", lab[l], text("%.17g", height[i]), density->value[i]);
            won++;
        }
        fprintf(out, "word\twinners %s\tlab %s: %ld of %ld\n", lab[l], lab[l], won,
                winner->key.count);
    }
}

/* SDDMM and density: the fastest lab of each problem, and one layer's times against its zeros. */
void figure_sddmm_density(figure *g)
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
    print_winners(&winner, &density);

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
