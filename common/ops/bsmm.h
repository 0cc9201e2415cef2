/*
 * bsmm.h - products with block-sparse weights: y = W^T x, and x's gradient by the same weights.
 *
 *   A         CB x KB, CSR: a nonzero (c, k) is a block of W that exists (matrix/block_layout.h)
 *   W         [blocks][B][B], a row an input feature; blocks are numbered in z-order
 *   gate      [blocks], fp32, or none: all 1
 *
 *   PASS fprop    Y  of block column k = sum over its blocks b of gate[b] * W[b]^T * X of b's block row
 *   PASS bprop    dX of block row c    = sum over its blocks b of gate[b] * W[b] * dY of b's block column
 *
 * C = CB * B input features, K = KB * B output features, N columns of the minibatch: tokens. What goes in is `in`, what
 * comes out is `out`, in both passes. The precision decides how they lie, as in openai/blocksparse, whose kernels these
 * labs follow:
 *
 *   fp32          feature-major, X [C][N], Y [K][N]
 *   fp16, bf16    token-major,   X [N][C], Y [N][K]
 *
 * Sums are formed in fp32. A block that does not exist is exactly 0, and so is one whose gate is 0: features that no
 * other block reads, and the weights behind a gate of 0, may hold NaN.
 *
 * B, the pass and gates are choices of the problem: ./lab50 blocks:in=1024 64 --set PASS=bprop,GATES=1. B is the
 * dataset's (csr_matrix.block); where it names none, every pattern serves with every B, and BLOCK says which. So B is a
 * knob, which a layout that names a B sets. With GATES=1 a gate is A's value where A has values;
 * else gates are drawn, a quarter of them 0. The width is N.
 *
 * What a lab of this operation must provide: one bsmm_contender, registered with BSMM_REGISTER.
 */
#ifndef OPS_BSMM_H
#define OPS_BSMM_H

#include "matrix/block_layout.h"
#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bsmm_pass { BSMM_FPROP, BSMM_BPROP };

/* Which knob of a problem is which. */
enum { BSMM_KNOB_BLOCK, BSMM_KNOB_PASS, BSMM_KNOB_GATES };

/* The inputs of a run on the device, 256-byte aligned. */
typedef struct bsmm_inputs {
    const void *W, *in; /* of the contender's precision */
    const float *gate;  /* NULL: none */
} bsmm_inputs;

/* One prepared product: what `prepare` filled and `run` uses. */
typedef struct bsmm_plan {
    const block_layout *layout; /* on the host, as long as the plan lives */
    int block;                  /* B */
    int N;
    bool transposed;                        /* bprop: W in place of W^T */
    bool gated;                             /* a run has gates */
    int tuning[MAX_TUNABLES];               /* the chosen value of each tunable, in order */
    const struct bsmm_contender *contender; /* whose plan it is */
    void *state;                            /* what the lab's prepare leaves here */
} bsmm_plan;

typedef struct bsmm_contender {
    contender base;
    /* Optional. Chooses tunables from the layout, whose row statistics these are, B and N. */
    void (*choose)(const row_stats *stats, int block, int N, int *tuning);
    /* Optional. Preprocesses the layout and allocates; timed and reported apart from run. May replace settings that do
     * not fit. On error it frees what it allocated. cudaErrorNotSupported: it cannot take this problem. */
    cudaError_t (*prepare)(bsmm_plan *plan);
    /* Optional. The plan will run on these inputs: for one that keeps W in a form of its own. */
    cudaError_t (*rebind)(bsmm_plan *plan, const bsmm_inputs *in);
    /* Enqueues the product on `stream`. `out` holds garbage before and must be defined in full after. Must not allocate.
     * What it starts on another stream, `stream` must wait for. */
    cudaError_t (*run)(const bsmm_plan *plan, const bsmm_inputs *in, void *out,
                       cudaStream_t stream);
    /* Optional. Bytes of the layout as this plan stores it and run reads it. Without it: two ints a block. */
    size_t (*format_bytes)(const bsmm_plan *plan);
    /* Optional. Bytes of device memory that the plan holds beside its inputs. Without it: none. */
    size_t (*workspace_bytes)(const bsmm_plan *plan);
    /* Optional. Frees plan->state. */
    void (*release)(bsmm_plan *plan);
} bsmm_contender;

extern const operation bsmm_operation;

/* Block rows or columns that a plan reads from, and writes to. */
static inline int bsmm_ins(const bsmm_plan *plan)
{
    return plan->transposed ? plan->layout->cols : plan->layout->rows;
}
static inline int bsmm_outs(const bsmm_plan *plan)
{
    return plan->transposed ? plan->layout->rows : plan->layout->cols;
}

/* Registers `lab`, a static bsmm_contender. */
#define BSMM_REGISTER(lab) CONTENDER_REGISTER(lab, bsmm_operation)

#ifdef __cplusplus
}
#endif
#endif
