/*
 * series.h - what the figures of the report share: rows that are taken, times, and the lines that are printed.
 *
 * A figure is a function that prints its numbers to `out`. Its small print comes from the rows that it took.
 * series.c lists the figures and says what their lines hold. A theme is a file, figures_THEME.c.
 */
#ifndef ROWS_SERIES_H
#define ROWS_SERIES_H

#include "rows/rows.h"

typedef struct figure {
    const char *folder, *published_path;   /* rows of one device; report/published.tsv */
    names machines, commits, pairs, files; /* of the rows that were taken */
    names notes;                           /* further lines of the small print */
} figure;

void figure_speedups(figure *g);
void figure_published_course(figure *g);
void figure_reference_and_warp(figure *g);
void figure_gather_limit(figure *g);
void figure_roofline(figure *g);
void figure_prepare(figure *g);

void figure_dense(figure *g);
void figure_dlmc(figure *g);
void figure_lab9_split(figure *g);
void figure_precision(figure *g);
void figure_rnn(figure *g);
void figure_sparsity(figure *g);
void figure_storage(figure *g);
void figure_formats(figure *g);

void figure_sddmm_beside_spmm(figure *g);
void figure_sddmm_density(figure *g);

void figure_ablation(figure *g);
void figure_batch_d(figure *g);
void figure_choice(figure *g);
void figure_columns_c(figure *g);
void figure_imbalance(figure *g);
void figure_split_size(figure *g);

void figure_counters(figure *g);
void figure_error(figure *g);
void figure_predictions(figure *g);
void figure_row_lengths(figure *g);

/* ---- rows ------------------------------------------------------------------------------------- */

/* Conditions on rows of a file; NULL: any. */
typedef struct wanted {
    const char *N;
    const char *labs; /* as in "0,5,99"; "+": all labs, and no vendor */
    bool plain;       /* as a lab runs by itself: fp32, warm, no options */
    const char *l2, *flags, *status, *precision, *origin, *contender;
    const names *datasets;
} wanted;

typedef struct rows_taken {
    row_of *row;
    long count;
} rows_taken;

/* The rows of a file that are wanted. They are for choosing: the small print leaves them out. */
rows_taken peek_rows(const figure *g, const char *file, const wanted *w);

/* The rows of a file, which the small print names; none where there is no such file. */
rows_taken find_rows(figure *g, const char *file, const wanted *w);

/* The same of rows that must be there: else the program ends. */
rows_taken take_rows(figure *g, const char *file, wanted w);

/* The rows of all files of a pattern; and the same of rows that must be there. */
rows_taken find_all(figure *g, const char *pattern, wanted w);
rows_taken take_all(figure *g, const char *pattern, wanted w);

/* Two names as a condition on datasets. */
const names *pair_of(const char *first, const char *second);

/* The datasets of rows, in their order. */
names datasets_of(const rows_taken *rows);

/* How a row's dataset is called: all that are not marked as real are stand-ins, as the small print says. */
char *label_of(row_of r);

/* Texts that are whole numbers, by size: in place. */
void sort_by_number(char **list, long count);

/* The widths of rows, by size. */
char **widths_of(const rows_taken *rows, long *count);

/* ---- times ------------------------------------------------------------------------------------ */

/* Who took how long on what: by "who dataset". Who is the number of a lab, whose fastest row counts where several
 * settings were measured, or "best" or "default": that algorithm of the vendor's library. */
typedef struct times {
    names who, graphs;
    texts label;
    numbers ms;
} times;

/* The times of rows at one width, or at all (NULL), which are of one operation. */
times times_of(const rows_taken *rows, const char *N);

bool is_timed(const times *t, const char *who);
/* Ends the program where one has no time. */
void need_time(const times *t, const char *who);
/* NULL: no time. */
const double *ms_of(const times *t, const char *who, const char *dataset);
/* The labs with times, by number: the one after `lab`; 0: none. */
int next_lab(const times *t, int lab);

/* Takes the least of the values that come under one name. */
void keep_least(numbers *map, const char *key, double value);

/* Orders numbers by size, for qsort. */
int by_size(const void *a, const void *b);

/* ---- lines ------------------------------------------------------------------------------------ */

void print_point(const char *panel, const char *series, const char *name, double value);
/* Nothing of no ratios. */
void print_mean(const char *panel, const char *series, const mean *m);
void print_graphs(const char *panel, const times *t);

/* Points of the times of one over those of another, graph by graph, and their mean. */
mean print_ratios(const char *panel, const char *series, const times *above, const char *who,
                  const times *below, const char *over);

/* ---- against zeros ---------------------------------------------------------------------------- */

/* Times of one layer against its zeros: points (% of zeros, us), ascending. */
typedef struct place {
    double x, y;
} place;

typedef struct line {
    place *at;
    long count;
} line;

/* One line of the times {"who dataset": ms}. */
line line_of(const numbers *ms, const char *who, const names *datasets, const numbers *zeros);
void print_line(const char *panel, const char *series, const line *l);

/* ---- the machine, and published figures -------------------------------------------------------- */

/* The measured limits of the machine by name, of limits.tsv, with peak and copy rate; else the program ends. */
numbers read_limits(figure *g);

/* The folder of published.tsv: report/. */
const char *home_of(const figure *g);

typedef struct published {
    texts value; /* by "experiment matrix setting quantity" */
    names devices, matrices;
} published;

/* Reads those of some experiments (separated by commas), which the small print names. Prints how legends call them:
 * the word "published". */
published read_published(figure *g, const char *experiments);

double published_value(const published *p, const char *experiment, const char *matrix,
                       const char *setting, const char *quantity);

#endif
