/*
 * parts.h - what a forward pass consists of, and who looks on: a stopwatch, or the checks.
 */
#ifndef SPARSE_TRANSFORMER_PARTS_H
#define SPARSE_TRANSFORMER_PARTS_H

#include "harness/timing.h"

#include <cuda_runtime_api.h>

enum part {
    PART_INPUT,      /* the tokens' features are copied */
    PART_NORM,       /* LayerNorm */
    PART_QKV,        /* Q, K and V of all heads */
    PART_CAST,       /* to 16 bits and back */
    PART_LOGITS,     /* dense attention: Q times K transposed */
    PART_SOFTMAX,    /* dense attention: mask and softmax */
    PART_SUM,        /* dense attention: shares times V */
    PART_ATTENTION,  /* sparse attention, as one plan */
    PART_PROJECTION, /* of what attention returned, added to the features */
    PART_UP,         /* first product of the feed-forward layer */
    PART_BIAS,       /* its bias and ReLU, and the bias of the second product */
    PART_DOWN,       /* second product, added to the features */
    NUM_PARTS
};

/* Names a part, for tables and columns. */
const char *part_name(enum part part);

/* Someone who is told of each part as soon as it is enqueued. */
typedef struct watcher {
    cudaError_t (*after)(struct watcher *self, enum part part);
} watcher;

/* Tells `w`; NULL: nobody looks on. */
cudaError_t part_done(watcher *w, enum part part);

enum { MAX_LAPS = 1024 };

/* Times of parts: an event after each of them. Laps beyond MAX_LAPS are not timed. */
typedef struct stopwatch {
    watcher base;
    cudaEvent_t event[MAX_LAPS + 1];
    enum part part[MAX_LAPS];
    int count;
} stopwatch;

cudaError_t stopwatch_open(stopwatch *w);
void stopwatch_close(stopwatch *w);

/* Begins a pass. */
cudaError_t stopwatch_start(stopwatch *w);

/* Waits for the pass and adds the milliseconds of its parts to ms[NUM_PARTS]. */
cudaError_t stopwatch_read(stopwatch *w, double *ms);

/* Passes ahead of those that are timed. */
enum { WARM_UPS = 2 };

#endif
