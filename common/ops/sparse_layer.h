/*
 * sparse_layer.h - one step of training a sparse linear layer, in fp32, fp16 or bf16.
 *
 *   W  rows x cols, CSR, fp32      X[t]  cols x N     dY[t]  rows x N     for each of T time steps
 *
 *   Y[t]  = W * X[t]                                  rows x N: the forward pass
 *   dX[t] = W^T * dY[t]                               cols x N: the gradient of the input
 *   G     = sum over t of dY[t] * X[t]^T              on the pattern of W alone: its gradient
 *   new W = W - eta * G                               in fp32
 *
 * dY is the loss's gradient by Y, which the layer above has left. The values of W before the step are those of all
 * products. They are fp32 in every precision: small changes would be lost otherwise. In 16 bits the products take W
 * rounded to that precision; X, dY, Y and dX have it. Sums are formed in fp32; the gradient of a time step may be
 * rounded to the precision once. A pair (i, j) that is stored twice is two weights of one gradient.
 *
 * Choices of the problem. STEPS is T. ORDERS = 2: the layer keeps W by columns, too, in the precision of the products.
 * Each step is handed them, and hands on the new ones.
 *
 * What a lab of this operation must provide: one sparse_layer_contender, registered with SPARSE_LAYER_REGISTER.
 */
#ifndef OPS_SPARSE_LAYER_H
#define OPS_SPARSE_LAYER_H

#include "ops/device_csr.h"
#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LAYER_STEPS = 3 };

/* Which knob of a problem is which. */
enum { KNOB_STEPS, KNOB_ORDERS };

/* The other inputs of a run on the device, of the contender's precision, 256-byte aligned. */
typedef struct sparse_layer_inputs {
    const void *X[LAYER_STEPS], *dY[LAYER_STEPS];
    /* The values of W, rounded, in the order of its transpose: column by column, rows ascending; of nonzeros that are
     * stored twice the order stays. NULL with ORDERS = 1. */
    const void *by_column;
} sparse_layer_inputs;

/* The results. All hold garbage before, and must be defined in full after. */
typedef struct sparse_layer_outputs {
    void *Y[LAYER_STEPS], *dX[LAYER_STEPS];
    float *W;        /* in W's order */
    void *by_column; /* the same, rounded, in the inputs' order; NULL with ORDERS = 1 */
} sparse_layer_outputs;

/* One prepared step: what `prepare` filled and `run` uses. */
typedef struct sparse_layer_plan {
    device_csr W;             /* its values, fp32 in every precision, are those of the next run */
    int N;                    /* columns of X, dY, Y and dX: the batch, any N >= 1 */
    int tuning[MAX_TUNABLES]; /* the chosen value of each tunable, in order */
    const struct sparse_layer_contender *contender; /* whose plan it is */
    void *state;                                    /* what the lab's prepare leaves here */
    int steps;                                      /* T */
    bool both_orders;                               /* ORDERS = 2 */
    float eta;
} sparse_layer_plan;

typedef struct sparse_layer_contender {
    contender base;
    /* Optional. Preprocesses W's pattern and allocates; timed and reported apart from run. A layer whose pattern changes
     * pays for it again. On error it frees what it allocated. cudaErrorNotSupported: this contender cannot take this
     * problem. */
    cudaError_t (*prepare)(sparse_layer_plan *plan);
    /* Enqueues the step on `stream`. Must not allocate. What it starts on another stream, `stream` must wait for. */
    cudaError_t (*run)(const sparse_layer_plan *plan, const sparse_layer_inputs *in,
                       const sparse_layer_outputs *out, cudaStream_t stream);
    /* Optional, of rivals alone (lab 0): W has other values at the same address, as if a step before had left them. For
     * one that holds W with its zeros. */
    cudaError_t (*update_values)(sparse_layer_plan *plan);
    /* Optional. Bytes of device memory that the plan holds beside its inputs. Without it: none. */
    size_t (*workspace_bytes)(const sparse_layer_plan *plan);
    /* Optional. The contenders of other operations that do its work, and their settings: see operation.nested. */
    const contender *(*nested)(const sparse_layer_plan *plan, int depth, const int **tuning);
    /* Optional. Frees plan->state. */
    void (*release)(sparse_layer_plan *plan);
} sparse_layer_contender;

extern const operation sparse_layer_operation;

/* Registers `lab`, a static sparse_layer_contender. */
#define SPARSE_LAYER_REGISTER(lab) CONTENDER_REGISTER(lab, sparse_layer_operation)

#ifdef __cplusplus
}
#endif
#endif
