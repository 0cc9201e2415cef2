/*
 * options.h - the command line, the same for every lab.
 */
#ifndef HARNESS_OPTIONS_H
#define HARNESS_OPTIONS_H

#include "harness/instruments.h"
#include "ops/operation.h"

#include <stdio.h>

enum { MAX_WIDTHS = 16 };

enum mode { MODE_RUN, MODE_HELP, MODE_VERSION, MODE_LIST, MODE_CELLS };
enum l2_state { L2_WARM, L2_COLD };
enum rivals { RIVALS_BEST, RIVALS_VENDOR, RIVALS_DEFAULT, RIVALS_DENSE, RIVALS_LAB, RIVALS_NONE };

/* --set D=2,KERNEL=subwarp: a value for every tunable of that name that takes it. */
typedef struct setting {
    char name[16];
    char value[24]; /* as it was written: a number, or the name of a value (tunable_read) */
} setting;

/* Room for the text of options_flags, whatever was set: its words take 100 bytes at most. */
enum { FLAGS_BYTES = 128 + MAX_TUNABLES * (int)sizeof(setting) };

typedef struct options {
    enum mode mode;
    const char *dataset;        /* NULL: the bundled sample */
    const operation *operation; /* whose labs are run */
    int widths[MAX_WIDTHS];     /* to run, in the order given: operation->width of each problem */
    int num_widths;
    bool widths_asked, l2_asked; /* or they are the defaults, which options_settle may replace */
    bool check, bench;           /* what to do: --check-only and --bench-only clear one */
    int runs;                    /* timed runs; 0: as many as a stable median takes */
    uint64_t seed;
    enum l2_state l2;
    bool rivals_asked;
    enum rivals rivals;     /* whom the speedup column compares with, hence who else runs */
    int rival_lab;          /* for RIVALS_LAB */
    unsigned precisions;    /* run contenders of these alone: bit (1 << PRECISION_...); 0: of all */
    bool tune;              /* choose tunables by measuring */
    bool sweep;             /* run the own lab with every combination of its tunables */
    int instruments;        /* INSTRUMENT_* ored: trace one run instead of timing several */
    bool predict;           /* estimate a time from the counters */
    const char *model;      /* the GPU whose caches and limits are modelled */
    double sample;          /* the share of the blocks to trace; 1: all, and results are checked */
    const char *trace_path; /* NULL: no page of a recorded block */
    enum trace_pick pick;   /* which block and warp it shows ... */
    int64_t trace_block, trace_warp; /* ... if they are given; -1: they are not */
    setting settings[MAX_TUNABLES];
    int num_settings;
    const char *csv_path, *json_path; /* NULL: none; "-": standard output */
    const char *data_dir;
    int device;
    bool device_asked;
    int devices; /* ranks of an exchange, with a device each; 0: they share one */
} options;

/* Parses argv. On STATUS_USAGE the message names the word that was wrong, and the nearest legal one.
 */
enum status options_parse(int argc, char **argv, options *o, error_text *error);

/* The options for weights that are `decoded` (dataset.h), or for others: what was asked for, else widths
 * of 8, 16, 32 and a cold L2 cache for the former. */
options options_settle(const options *asked, bool decoded);

/* "warm" or "cold": the column `l2`. */
const char *options_l2(const options *o);

/* The text of --help for this program. */
void options_help(FILE *out, const char *program);

/* Whether only a sample of the blocks is traced: no result is whole then, and none is checked. */
bool options_sampled(const options *o);

/* The options that change what is measured, as one word for the `flags` column: "runs=50;D=2". (L2
 * and the seed have columns of their own.) bytes: FLAGS_BYTES, or the end of a long list is lost. */
void options_flags(const options *o, char *text, size_t bytes);

#endif
