/*
 * channel.h - what the grader and the runner of a submission say to each other.
 *
 * The grader asks, over a socket that the runner inherits, and the runner answers: one message each,
 * with bytes behind it. The grader holds the seeds, the oracle and the clock; the runner has arrays
 * under numbers, and is told to fill one, to prepare a contender, to run it on some, to hand one back.
 * Nothing that the runner says is believed but the contents of arrays, and those are checked. "Done" is
 * said with the fingerprints of all results: so it cannot be said before they are there.
 */
#ifndef GRADER_CHANNEL_H
#define GRADER_CHANNEL_H

#include "grader/fingerprint.h"
#include "harness/hidden.h"
#include "harness/instruments.h"
#include "ops/operation.h"

enum {
    CHANNEL_FD = 3,     /* the runner's end */
    MAX_ARRAYS = 2048,  /* array numbers are below this */
    MAX_STEPS = 32,     /* of a batch */
    ARRAY_GUARD = 4096, /* bytes before and after each array that are not its own */
    MAX_TOLD_FINDINGS = 4
};

enum command {
    CHANNEL_PUT,     /* array <- the bytes behind: guard, contents, guard */
    CHANNEL_GET,     /* answered with the same of an array, as it is now */
    CHANNEL_PREPARE, /* behind: prepare_request, row_ptr, col_idx */
    CHANNEL_RUN,     /* behind: run_step, one for each run; answered when all are done */
    CHANNEL_LOOK,    /* the same without the runs: what the fingerprints alone take */
    CHANNEL_RELEASE
};

typedef struct message {
    int32_t command;
    int32_t status; /* of an answer: an enum status */
    int32_t array, element;
    bool read_only; /* kernels must not write the array */
    uint64_t bytes; /* that follow */
    uint64_t key;   /* of RUN and LOOK: what the fingerprints begin with */
    char text
        [256]; /* of PUT: the array's name; of PREPARE: settings, "D=2,C=4"; of an answer: why */
} message;

typedef struct prepare_request {
    char operation[32]; /* its name */
    int32_t lab, precision, width;
    int32_t knobs[MAX_KNOBS];
    int32_t inputs[MAX_OPERANDS], num_inputs;
    int64_t rows, cols, nnz;
    bool has_values; /* the matrix; they themselves are not told */
} prepare_request;

typedef struct run_step {
    int32_t inputs[MAX_OPERANDS], outputs[MAX_OUTPUTS]; /* -1 behind the last */
} run_step;

/* Answer of a runner to RUN and LOOK: about the arrays of outputs, guards included. */
typedef struct look {
    fingerprint outputs[MAX_STEPS][MAX_OUTPUTS];
} look;

/* Answer of a traced runner to a RUN. */
typedef struct trace_report {
    counters run;       /* of the kernels of run */
    seen_accesses seen; /* of the arrays of the last run */
    int64_t num_findings;
    struct {
        char kind[32], text[512], where[160];
    } findings[MAX_TOLD_FINDINGS];
} trace_report;

/* Moves exactly so many bytes; false when the other end is gone or wall_ms() has passed `until`. */
bool channel_write(int fd, const void *data, size_t bytes, double until);
bool channel_read(int fd, void *data, size_t bytes, double until);

#endif
