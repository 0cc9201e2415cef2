/*
 * rows.h - what the commands of the program `rows` share: files of rows, keys, sets of names, texts.
 *
 * Everything here is of one program, not of a library: what it cannot do ends it, with one line and an
 * exit status (refuse), before anything is printed. Nothing is freed, since it ends soon.
 */
#ifndef ROWS_ROWS_H
#define ROWS_ROWS_H

#include "matrix/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Standard output, which gets its text when the program ends well: a table is whole or not there. */
extern FILE *out;

/* Ends the program: "rows COMMAND: text" on standard error, and nothing on standard output. */
_Noreturn void refuse(enum status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A line on standard error, as refuse has it; the program goes on. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- texts ----------------------------------------------------------------------------------- */

/* A text of its own, as printf has it. */
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A number as its shortest text of six digits: 0.25, 1200. */
char *digits(double value);

/* The parts of `joined` between separators of one character; sets their count. Of "" there are none. */
char **parts_of(const char *joined, char separator, size_t *count);

/* One part of a key, from 0: keys are cells with KEY between them. */
#define KEY "\034"
char *key_part(const char *key, size_t part);

bool starts_with(const char *name, const char *prefix);

/* `name` without the prefix, if it has it. */
const char *without(const char *name, const char *prefix);

/* Whether `name` is among the words of `list` with `separator` between them. */
bool is_among(const char *name, const char *list, char separator);

/* ---- sets and maps by name ------------------------------------------------------------------- */

enum { NONE = -1 };

/* Names in the order of their coming, each once. */
typedef struct names {
    char **name;
    long count, room;
    long *slots; /* a hash table of places plus 1 */
    long num_slots;
} names;

long names_find(const names *set, const char *name); /* its place, or NONE */
long names_add(names *set, const char *name);        /* its place, of a new one the last */

/* The names sorted by their bytes. */
char **names_in_order(const names *set);
/* The same in one text, with commas between them and `around` before and after each. */
char *names_sorted(const names *set, const char *around);

/* A number a name. */
typedef struct numbers {
    names key;
    double *value;
} numbers;

/* The number of a name; a new one has the value `initial`. */
double *numbers_at(numbers *map, const char *key, double initial);
/* NULL where there is none. */
const double *numbers_find(const numbers *map, const char *key);

/* A text a name. */
typedef struct texts {
    names key;
    const char **value;
} texts;

const char **texts_at(texts *map, const char *key); /* a new one is NULL */
const char *texts_find(const texts *map, const char *key);

/* A geometric mean in the making. `ahead` counts ratios above 1. */
typedef struct mean {
    double logs, least, most;
    long count, ahead;
} mean;

void mean_add(mean *m, double ratio);
double mean_of(const mean *m); /* 0 of none */

/* ---- files of rows --------------------------------------------------------------------------- */

/* A CSV file: rows by number, columns by name. */
typedef struct table {
    const char *path, *name; /* `name` without folders */
    names columns;
    const char ***cells; /* [row][column] */
    long count;
} table;

/* One row of one file. */
typedef struct row_of {
    const table *table;
    long row;
} row_of;

/* Reads a whole file. STATUS_DATASET ends the program: it cannot be read, is empty, or a line has not the
 * cells of the first. */
table *table_read(const char *path);

/* The same of rows that `make bench` measures, which it says where they are not there. */
table *table_measured(const char *path);
bool is_readable(const char *path);

/* Ends the program if one of these columns (separated by blanks) is not there. */
void table_needs(const table *t, const char *columns);

bool has(row_of r, const char *column);
/* The cell; a column that is not there ends the program. */
const char *get(row_of r, const char *column);
/* The cell, or `otherwise` where there is no such column. */
const char *get_or(row_of r, const char *column, const char *otherwise);
/* The cell as a number: other texts end the program, with file and line. */
double number(row_of r, const char *column);
/* "FILE:LINE" of the row. */
char *place_of_row(row_of r);

int lab_of(row_of r); /* 0: a vendor's library, or another rival */
/* The operation: rows that do not say it are older than the second operation. */
const char *operation_of(row_of r);
/* Whether the result is right and has a time; its milliseconds. */
bool is_ok(row_of r);
double time_of_row(row_of r); /* 0 where it is not ok */

/* The operation's name for its width: "N", "K". */
const char *width_name(const char *operation);
/* The lab that a lab of the operation grows out of; 0: none. */
int parent_of_lab(const char *operation, int lab);

/* The key of a cell: all that its contenders have in common. */
char *cell_key(row_of r);

/* "NVIDIA H200, driver 580, CUDA 13.0" */
char *machine_of(row_of r);

/* Rows of one table are of one machine and one operation: *first is NULL before the first row. */
void one_machine(const char **first, row_of r);
void one_operation(const char **first, row_of r);

/* A setting of a kernel by one name, whether its lab ran it or a lab that chooses among labs: lab 99 says
 * "KERNEL=length_bins WIDTH=64" of what lab 11, length_bins, calls "WIDTH=64"; lab 10, whose own kernel is
 * none, says "KERNEL=roma SWIZZLE=0" of lab 6's. */
char *setting_of(const char *contender, const char *tuning);

/* A time in milliseconds, for people: 0.0254, 12.345, 210.5; "-" of 0. */
char *show_ms(double ms);
/* A vendor's algorithm without the library's name. */
const char *short_name(const char *contender);

/* ---- options --------------------------------------------------------------------------------- */

/* The words behind a command: options NAME=VALUE first, then files. */
typedef struct request {
    texts options;
    char **files;
    int count;
} request;

/* The option's value, or `otherwise`. */
const char *option(const request *q, const char *name, const char *otherwise);
bool is_option(const request *q, const char *name);

/* A command: its name, what its words are, what it does. */
typedef struct command {
    const char *name, *words, *meaning;
    enum status (*run)(const request *q);
    int least_files, most_files; /* -1: any number */
    const char *options; /* names that it takes, separated by blanks; "*": those of its tables */
} command;

extern const command COMMANDS[];

/* ---- the commands, a file each ---------------------------------------------------------------- */

enum status run_ladder(const request *q);
enum status run_lines(const request *q);
enum status run_leaderboard(const request *q);
enum status run_dense(const request *q);
enum status run_formats(const request *q);
enum status run_resources(const request *q);
enum status run_compare(const request *q);
enum status run_merge(const request *q);
enum status run_plan(const request *q);
enum status run_todo(const request *q);
enum status run_cells(const request *q);
enum status run_blame(const request *q);
enum status run_choices(const request *q);
enum status run_predictions(const request *q);
enum status run_traces(const request *q);
enum status run_counters(const request *q);
enum status run_ncu(const request *q);
enum status run_patterns(const request *q);
enum status run_table(const request *q);
enum status run_value(const request *q);
enum status run_origin(const request *q);
enum status run_series(const request *q);
enum status run_targets(const request *q);
enum status run_plot(const request *q);
enum status run_split(const request *q);
enum status run_curve(const request *q);

#endif
