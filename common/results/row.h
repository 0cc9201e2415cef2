/*
 * row.h - one measured result: the struct behind the table, the CSV and the JSON.
 */
#ifndef RESULTS_ROW_H
#define RESULTS_ROW_H

#include "harness/device.h"
#include "harness/inspect.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Raised whenever a field is renamed, removed or changes its meaning. Since 2 the operation comes first, and
 * bound_ms, bound_share and gather_share stand for roofline_share, which was no bound. Readers find
 * columns by name and take both. */
enum { ROW_SCHEMA = 2 };

/* Numbers that were not measured are NAN: an empty CSV cell, null in JSON, "-" in the table. */
typedef struct row {
    int lab; /* 0: a vendor's library */
    bool is_vendor_default, is_dense;
    char contender[48];
    char operation[24], precision[8];
    char dataset[128], origin[12], source[256];
    int64_t rows, cols, nnz;
    double mean_row, cov_row;
    int64_t max_row;
    int N;
    char backend[8], device[64], driver[24], toolkit[24], commit[24];
    char flags[FLAGS_BYTES], tuning[224];
    uint64_t seed;
    char l2[8];
    double prepare_ms, median_ms, iqr_ms, batch_ms;
    int runs;
    double gflops, compulsory_gbs, gather_gbs;
    double bound_ms;    /* no run of this contender can be faster (bound.h) */
    double bound_share; /* bound_ms over the measured time: at most 1, but for what limits err by */
    double gather_share;  /* time of gathers without reuse over the measured time: reuse passes 1 */
    char bound_lacks[40]; /* limits that the bound went without, not measured here; no column */
    char vendor_best[48], vendor_default[48];
    double speedup_vendor_best, speedup_vendor_default;
    double speedup_lab_before; /* over the step before: the nearest ancestor that ran, ... */
    int before_lab;            /* ... which is this lab (0: none), */
    char before_precision[8]; /* in this precision, where it is another one; neither has a column */
    int ranges;               /* of A's rows, one after the other; 1: the whole (spmm_ranges.h) */
    double
        checked_share; /* of the outputs' elements: less than 1 where a sample of rows was (verify.h) */
    double worst_error; /* largest error over its bound; at most 1 where status is ok */
    char status[8];     /* ok, wrong, oom, skip, error; sample: traced in part, not checked */
    char message[256];  /* why, where status is not ok */

    /* Findings of the instruments, each group empty unless its flag is set. Counters are sums over the
     * kernels of run. */
    bool counted, predicted, checked;
    char model[48]; /* the GPU that was modelled */
    double sampled; /* the share of the blocks that was traced */
    int64_t num_kernels;
    counters total;
    int64_t shared_ld_conflicts, shared_st_conflicts; /* wavefronts beyond the least */
    double simt_efficiency, memory_simt_efficiency;
    double warp_imbalance, block_imbalance,
        sm_imbalance;   /* the most loaded one's work over the mean */
    double l1_hit_rate; /* of the sectors that loads touch */
    double predicted_ms;
    char predicted_limit[16];
    int64_t num_findings;
    inspection *inspection; /* NULL without instruments */
} row;

/* A growing list of rows, and of the inspections behind them, which it frees. */
typedef struct row_list {
    row *rows;
    size_t count, capacity;
} row_list;

/* The word of a row's status column: ok, wrong, oom, skip or error. */
const char *row_status(enum status status);

/* Whether a failure decides how a program ends that runs several networks, after the status `before`: the first one does,
 * but what is missing or does not fit hides no wrong result. */
static inline bool is_graver(enum status next, enum status before)
{
    if (next == STATUS_OK || before == STATUS_OK) return next != STATUS_OK;
    const bool untaken = before == STATUS_MEMORY || before == STATUS_SKIPPED;
    return untaken && next != STATUS_MEMORY && next != STATUS_SKIPPED;
}

enum status row_list_add(row_list *list, const row *rows, size_t count, error_text *error);
void row_list_free(row_list *list);

/* CSV by RFC 4180, but with \n as the line end. JSON by RFC 8259: bytes that are not UTF-8 (file
 * names may hold any) become U+FFFD. */
void rows_write_csv(FILE *out, const row *rows, size_t count);
void rows_write_json(FILE *out, const row *rows, size_t count);

/* Writes the last cells of an app's rows, a comma before each: backend, device, driver, toolkit, commit. */
void row_add_machine(FILE *out, const device_info *device);

/* Whether rows may be written to `path`: STATUS_USAGE if they would replace something else, a dataset
 * for example. Both formats begin with the word "schema". */
enum status rows_may_replace(const char *path, error_text *error);

/* The same, and whether the file can be written at all: asked before hours of work. NULL (no file) and "-" (standard
 * output) are right. */
enum status rows_check(const char *path, error_text *error);

/* Reads the lines that an incomplete run must keep in `path`: *older becomes the lines below the header of a CSV of this
 * schema ("" if there is no file; the caller frees). False: it holds rows that can only be replaced as a whole. */
bool rows_older(const char *path, char **older);

/* Lets `write` fill the file at `path`, and puts `older` behind; "-" is standard output. By files.h, the old file
 * stays until the new one is whole. */
enum status rows_save(const char *path, void (*write)(FILE *, const row *, size_t), const row *rows,
                      size_t count, const char *older, error_text *error);

#endif
