/*
 * layer.h - a mixture of experts on the device, and ways to run it. They differ in their products; the rest is alike.
 *
 *   blocks, wgmma; blocks, mma.sync   the kernels of product.h: the host knows no count, and a step is one CUDA graph
 *   cuBLAS, loop                      two products an expert, of as many rows as it has
 *   cuBLAS, grouped                   both products of all experts in two calls, of as many rows
 *   cuBLAS, batched                   the same, each expert with the rows of the one that has most
 *
 * cuBLAS is called with numbers of rows. So its ways wait in each step for the counts to reach the host.
 */
#ifndef MOE_LAYER_H
#define MOE_LAYER_H

#include "arrange.h"
#include "harness/timing.h"
#include "training/arrays.h"

#include <cublas_v2.h>
#include <stdbool.h>

enum way { WAY_WGMMA, WAY_MMA, WAY_LOOP, WAY_GROUPED, WAY_BATCHED, NUM_WAYS };

/* Parts of a step, in their order. COUNTS waits for the host, RELU is a kernel: both are of cuBLAS's ways alone. */
enum part {
    PART_ROUTER,
    PART_CHOOSE,
    PART_LAYOUT,
    PART_GATHER,
    PART_COUNTS,
    PART_UP,
    PART_RELU,
    PART_DOWN,
    PART_COMBINE,
    NUM_PARTS
};
#define PART(which) (1u << (which))
#define ALL_PARTS (PART(NUM_PARTS) - 1)

const char *way_name(enum way w);
const char *part_name(enum part p);

/* Whether a way has that part. */
bool way_has(enum way w, enum part p);

/* All of it. Arrays on the device; fp16 where nothing else is said. */
typedef struct layer {
    moe_shape shape;
    enum way way;
    number_source numbers; /* what it was filled with */
    int capacity;          /* rows of each expert, of WAY_BATCHED; 0: as many as it needs */
    int64_t rows;          /* that there is room for */
    void *x, *router;      /* [tokens][features], [features][experts] */
    void *up, *down;       /* [experts][features][hidden], [experts][hidden][features] */
    float *logits, *bias;  /* [tokens][experts], [experts] */
    arrangement a;
    void *of_rows, *hidden, *y; /* [rows][features], [rows][hidden], [rows][features] */
    void *out;                  /* [tokens][features] */
    const void **operands;      /* of WAY_GROUPED: three pointers an expert, for each product */
    int *start, *first; /* those of the arrangement on the host, as PART_COUNTS has brought them */
    device_arrays arrays;
    cublasHandle_t blas;
    void *blas_room;
    cudaStream_t stream;
} layer;

/* Bytes of device memory with room for so many rows. */
double layer_bytes(const moe_shape *s, enum way w, int64_t rows);

/* Makes a layer, filled with random numbers. STATUS_MEMORY: it does not fit, counted before it is made; STATUS_SKIPPED:
 * the device or this program has no such kernel. *made is NULL then. The caller closes it. */
enum status layer_open(const moe_shape *s, enum way w, layer **made, error_text *error);
void layer_close(layer *l);

/* Fills inputs and weights. */
enum status layer_fill(layer *l, enum numbers kind, error_text *error);

/* Sets all bits of what a step makes: a number that nobody wrote is NaN. */
enum status layer_poison(layer *l, error_text *error);

/* Enqueues those parts of a step that the way has. */
enum status layer_run(layer *l, unsigned parts, error_text *error);

/* The largest number of rows of an expert, and how many experts have none: of the last PART_COUNTS. */
int layer_largest(const layer *l);
int layer_without_tokens(const layer *l);

typedef struct layer_times {
    spread step;
    double part_ms[NUM_PARTS]; /* medians; NAN: the way has no such part */
} layer_times;

layer_times layer_not_timed(void);

/* Times a step, as a graph where nothing waits for the host, and each part alone. */
enum status layer_time(layer *l, int runs, layer_times *t, error_text *error);

#endif
