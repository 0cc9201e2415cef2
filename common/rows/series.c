/*
 * series.c - the numbers that figures of the report are drawn from: rows series FIGURE FOLDER PUBLISHED.tsv
 *
 * FOLDER holds the rows of one device; beside PUBLISHED.tsv lies storage.csv, and datasets/ beside its folder. Prints
 * lines of cells between tabs, of which the first says the kind:
 *
 *     graph   PANEL NAME LABEL             a place on an axis, in order: a dataset, as a rule
 *     point   PANEL SERIES NAME VALUE      one number of a line, whose points follow each other
 *     mean    PANEL SERIES VALUE AHEAD COUNT   its geometric mean, how many are above 1, of how many
 *     word    NAME TEXT                    what a legend or a title says; "\\n" begins a new line
 *     bar     PLACE VALUE LABEL TEXT IS_VENDOR   a bar from the top, and the words beside it
 *     origin  TEXT                         machine, commits, data, files; lines of the figure's small print
 *
 * report/plots/NAME.gp or NAME.py draws them and computes nothing.
 */
#include "rows/series.h"

#include <stdlib.h>
#include <string.h>

static void print_small_print(const figure *g)
{
    names origins = {0};
    const char *data = "";
    for (long i = 0; i < g->pairs.count; i++)
        names_add(&origins, key_part(g->pairs.name[i], 0));
    char **origin = names_in_order(&origins);
    for (long o = 0; o < origins.count; o++) {
        names of = {0};
        for (long i = 0; i < g->pairs.count; i++)
            if (!strcmp(key_part(g->pairs.name[i], 0), origin[o]))
                names_add(&of, key_part(g->pairs.name[i], 1));
        data = text("%s%s%s: %s", data, o ? "; " : "", origin[o],
                    of.count <= 3 ? names_sorted(&of, "") : text("%ld matrices", of.count));
    }
    char **machine = names_in_order(&g->machines);
    const char *machines = "";
    for (long i = 0; i < g->machines.count; i++)
        machines = text("%s%s%s", machines, i ? "; " : "", machine[i]);
    if (g->files.count) {
        fprintf(out, "origin\t%s; commits %s\n", machines, names_sorted(&g->commits, ""));
        fprintf(out, "origin\tdata %s; rows of %s\n", data,
                g->files.count <= 8 ? names_sorted(&g->files, "")
                                    : text("%ld files", g->files.count));
    }
    for (long i = 0; i < g->notes.count; i++)
        fprintf(out, "origin\t%s\n", g->notes.name[i]);
}

static const struct {
    const char *name;
    void (*run)(figure *g);
} FIGURES[] = {
    {"ablation", figure_ablation},
    {"batch_d", figure_batch_d},
    {"choice", figure_choice},
    {"columns_c", figure_columns_c},
    {"counters", figure_counters},
    {"dense", figure_dense},
    {"dlmc", figure_dlmc},
    {"error", figure_error},
    {"formats", figure_formats},
    {"gather_limit", figure_gather_limit},
    {"imbalance", figure_imbalance},
    {"lab9_split", figure_lab9_split},
    {"precision", figure_precision},
    {"predictions", figure_predictions},
    {"prepare", figure_prepare},
    {"published_course", figure_published_course},
    {"reference_and_warp", figure_reference_and_warp},
    {"rnn", figure_rnn},
    {"roofline", figure_roofline},
    {"row_lengths", figure_row_lengths},
    {"sddmm_beside_spmm", figure_sddmm_beside_spmm},
    {"sddmm_density", figure_sddmm_density},
    {"sparsity", figure_sparsity},
    {"speedups", figure_speedups},
    {"split_size", figure_split_size},
    {"storage", figure_storage},
};

enum status run_series(const request *q)
{
    const char *name = option(q, "", "");
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++) {
        if (!strcmp(name, "list")) fprintf(out, "%s\n", FIGURES[i].name);
        if (strcmp(name, FIGURES[i].name)) continue;
        if (q->count != 2) refuse(STATUS_USAGE, "usage: rows series FIGURE FOLDER PUBLISHED.tsv");
        figure g = {.folder = q->files[0], .published_path = q->files[1]};
        FIGURES[i].run(&g);
        print_small_print(&g);
        return STATUS_OK;
    }
    if (strcmp(name, "list"))
        refuse(STATUS_USAGE, "no figure '%s' (rows series list names them)", name);
    return STATUS_OK;
}
