/*
 * contest.h - a network that trains on the suite's kernels, and beside it the same one on those of others: checked, trained,
 * timed and shown alike.
 */
#ifndef TRAINING_CONTEST_H
#define TRAINING_CONTEST_H

#include "harness/device.h"
#include "training/differences.h"
#include "training/linear.h"
#include "training/parts.h"

#include <stdio.h>

/* Results of training. NAN: there is none. */
typedef struct outcome {
    double first_loss, last_loss, held_out; /* the last is the share of right answers */
    int changes;                            /* of the pattern */
    double select_ms;                       /* of all changes: what is dropped and grown */
    pattern_cost cost;                      /* of all changes */
} outcome;

/* A kind of network. `context` is the program's: problem and options. */
typedef struct trained_kind {
    const char *app;     /* "mlp" */
    const char *columns; /* that describe the problem in rows: "batch,sparsity" */
    void (*write_columns)(const void *context, FILE *out); /* as many cells, commas between */
    const char *const
        *parts; /* of a step, ended by NULL; the last one is what the step does not mark */
    /* The operation whose kernels of the vendor name its pipelines: transposed_spmm; or spmm, where a step transposes no
     * product of such a layer. Then the one that a user writes first. */
    const char *pipelines, *first_pipeline;
    bool has_dense; /* layers can be dense, too */
    bool
        measures_memory; /* of the device: each network is made twice, as libraries take their own at first */
    enum status (*create)(const void *context, const linear_kernels *kernels, cublasHandle_t blas,
                          void **net, error_text *error);
    void (*destroy)(void *net);
    /* Checks the gradient at the start. */
    enum status (*check)(void *net, amount how_much, verdict *v, error_text *error);
    /* Trains from the start; prints how the loss falls if `show`. */
    enum status (*train)(void *net, bool show, outcome *o, error_text *error);
    /* Enqueues a step, and marks its parts. */
    enum status (*step)(void *net, parts *p, error_text *error);
    /* Optional. The layer whose transposed product a step runs, and how often. */
    linear *(*turned_layer)(void *net, int *times);
    void (*kernel_names)(const void *net, char *text, size_t bytes);
} trained_kind;

typedef struct contest_options {
    const char *rival; /* none; or best, default, dense, and kernels by name, with commas */
    const char *csv_path;
    int device, runs;
    uint64_t seed;
    bool check_only;
} contest_options;

/* Whether the options make sense: asked before anything is made. */
enum status contest_check_options(const trained_kind *kind, const contest_options *o,
                                  error_text *error);

/* Runs the suite's network and its rivals, prints a table and writes rows. A wrong gradient, or a loss that does not fall,
 * is STATUS_WRONG; rivals that cannot take the problem are left out. */
enum status contest_run(const trained_kind *kind, const void *context, const contest_options *o,
                        const device_info *device, error_text *error);

#endif
