/*
 * study.h - what tables, values and figures of the report are computed from: the times of everybody on each
 * problem, settings of sweeps, limits of the machine, published figures; and which rows were used.
 *
 * A problem is a matrix, real or a stand-in, and a width, of an operation. Of several files that have a
 * problem the first counts: times that are compared are of one sitting. Who is timed: lab5, or a contender by
 * its name; default and best, the vendor's sparse algorithms; dense, the fastest dense product at full
 * precision, and tf32, the fastest that rounds A and B. B is in either layout.
 */
#ifndef ROWS_STUDY_H
#define ROWS_STUDY_H

#include "rows/rows.h"

typedef struct timing {
    double ms, prepare_ms, gflops; /* ms is 0 where there is no right result */
    const char *gather_share, *bound_share, *tuning, *contender, *from;
} timing;

typedef struct problem {
    const char *key; /* dataset, N, origin, operation */
    const char *dataset, *N, *origin, *operation, *file;
    const char *label; /* "arxiv (real)" */
    const char *kind;  /* graphs, RNN, ... */
    double nnz, density, B_rows;
    timing *by_who; /* by the place in study.who */
    long room;
    row_of *later; /* wanted rows of later files: of other sittings, and of rivals */
    long laters;
} problem;

/* The fastest setting of one problem's sweep. */
typedef struct sweep {
    const char *key, *setting, *from;
    double ms;
    long settings;
    numbers ms_of; /* of each setting */
} sweep;

typedef struct study {
    const request *request;
    const char *measured_by; /* the command that makes missing rows */
    table *file[256];
    int files;

    problem *problem;
    long problems, problem_room;
    names keys, who, widths;
    int last_lab;

    sweep *sweep;
    names swept;

    numbers limit, gather; /* by name; by "row bytes span bytes" */
    const char *limits_device;
    texts published; /* by "experiment matrix N setting quantity" */
    texts half;      /* of a split (halves.c): "GROUP HALF" by the matrix's name */
    names operations;
    names used; /* provenance of rows that a number was made of */
} study;

/* Reads the files of a request and sorts their rows by problem. Options, all optional: N, precision (fp32), l2
 * (warm), flags (none: those of the rows, as PASS=bprop), only (a pattern of datasets), lab (whose rule sweeps are
 * compared with). */
study *study_read(const request *q, bool by_problem);

/* How headings call the width of all rows: its own name, or "width". */
const char *common_width(const study *s);

/* Ends the program: rows of such a kind are missing, and what measures them. */
_Noreturn void nothing(const study *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- problems --------------------------------------------------------------------------------- */

bool is_known(const study *s, const char *who);
/* NULL where there is no right result. Does not count as used. */
const timing *timing_of(const study *s, const problem *p, const char *who);
/* In ms, 0 where there is none. Whoever asks shows the number, so its row counts as used. */
double time_of(study *s, const problem *p, const char *who);
problem *problem_find(const study *s, const char *key); /* NULL: not there */
/* The same problem, of another operation. */
problem *twin_of(const study *s, const problem *p, const char *operation);
char *problem_name(const problem *p);
/* Long names of files may go on in the next line after each "_": a zero-width space says so. */
char *may_break(const char *name);

/* Compares two on all problems of a kind and width ("" for any). */
typedef struct comparison {
    mean ratio; /* time of `over` divided by that of `of` */
    const problem *least_at, *most_at;
} comparison;
comparison compare_on(study *s, const char *of, const char *over, const char *kind, const char *N);

/* ---- sweeps ----------------------------------------------------------------------------------- */

/* The value of a setting in a row's tuning, "" if it has no such setting. */
const char *tuned_to(row_of r, const char *name);
bool is_swept_row(row_of r);
char *problem_key(row_of r);
char *rule_setting(const study *s, const sweep *w);
/* The time of the rule's setting in ms: out of the sweep, where it is in there. 0: not measured. */
double rule_ms(study *s, const sweep *w);
/* The share of the best setting's speed that the rule reaches, at most 1; 0: not measured. */
double rule_share(study *s, const sweep *w);
/* Over all cases; `least_at` is where the least is. */
mean judge_rule(study *s, const char **least_at);

/* ---- origin ----------------------------------------------------------------------------------- */

/* Where a row comes from, in one string. */
char *provenance(row_of r);
void use(study *s, const char *from);
void use_row(study *s, row_of r);
/* One line: machine, commits, data of all that was used; "" where nothing was. */
char *origin_of(const names *used);
void print_origin(const study *s);

/* ---- texts ------------------------------------------------------------------------------------ */

char *show_ratio(double ratio); /* and who is behind where it is below 1 */
char *heading(const char *who); /* lab10 is lab 10 */
char *us(double ms);
/* The fastest of the dense products (`who` is dense or tf32) and which it is: "26.1 (SGEMM column-major B)". */
const char *dense_cell(study *s, const problem *p, const char *who);

/* The tables and values of the report (tables.c, values.c). */
typedef struct calculation {
    const char *name, *options;
    bool by_problem;
    void (*run)(study *s);
} calculation;
extern const calculation TABLES[], VALUES[];

/* Tables of networks and of the sparse transformer (networks.c, transformer.c). */
void networks_table(study *s);
void transformer_table(study *s);
void transformer_parts_table(study *s);
void transformer_sweep_table(study *s);
void transformer_crossings_table(study *s);
void transformer_rivals_table(study *s);

/* Compares a lab on the half of a split that its rule was fitted to with the other half (halves.c). */
void halves_table(study *s);

/* Labs beside rivals that are measured apart (rivals.c). */
void rivals_table(study *s);

/* Several GPUs: by a model, of parts that were timed alone; and measured (scaling.c). */
void scaling_table(study *s);
void ranks_table(study *s);

#endif
