/*
 * bsmm_update.h - the gradient of block-sparse weights: for each block (c, k) that exists, and no other,
 *
 *     dW[b] = alpha * gate[b] * sum over pairs p of X_p of block row c * dY_p^T of block column k  +  beta * U[b]
 *
 *   A         CB x KB, CSR: a nonzero (c, k) is a block (matrix/block_layout.h, ops/bsmm.h)
 *   X, dY     1 to 8 pairs: steps of a recurrent network that share W. In fp32 feature-major, X [pairs][C][N] and
 *             dY [pairs][K][N]; in 16 bits token-major, X [pairs][N][C] and dY [pairs][N][K]
 *   gate      [blocks], fp32, or none
 *   U, dW     [blocks][B][B], a row an input feature. A run may be given one array as both: to accumulate
 *
 * alpha and beta are the scalars of GEMM. Where beta is 0, U is not to be read, as in BLAS. With GATES=apply a gate
 * multiplies alpha; with GATES=stop it does not, but one of 0 stops the block as well. A stopped block is beta * U, whatever
 * X and dY hold for it: no NaN of theirs reaches it.
 *
 * BLOCK, PAIRS, GATES, ALPHA and BETA are choices of the problem. The width is N. Sums are formed in fp32.
 * Thread blocks that share a block of dW may add their sums to beta * U in turn, BSMM_UPDATE_MOST_PARTS of them at most.
 *
 * What a lab of this operation must provide: one bsmm_update_contender, registered with BSMM_UPDATE_REGISTER.
 */
#ifndef OPS_BSMM_UPDATE_H
#define OPS_BSMM_UPDATE_H

#include "matrix/block_layout.h"
#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bsmm_update_gates { BSMM_UPDATE_UNGATED, BSMM_UPDATE_APPLY, BSMM_UPDATE_STOP };

/* Which knob of a problem is which. */
enum {
    UPDATE_KNOB_BLOCK,
    UPDATE_KNOB_PAIRS,
    UPDATE_KNOB_GATES,
    UPDATE_KNOB_ALPHA,
    UPDATE_KNOB_BETA
};

/* The bound of an element allows for beta * U to be rounded with each part that is added to it. */
enum { BSMM_UPDATE_MOST_PARTS = 16 };

/* The inputs of a run on the device, 256-byte aligned. */
typedef struct bsmm_update_inputs {
    const void *X, *dY; /* of the contender's precision */
    const void *U;      /* the same; NULL where beta is 0 */
    const float *gate;  /* NULL: none */
} bsmm_update_inputs;

/* One prepared update: what `prepare` filled and `run` uses. */
typedef struct bsmm_update_plan {
    const block_layout *layout; /* on the host, as long as the plan lives */
    int block;                  /* B */
    int N, pairs;
    float alpha, beta;
    enum bsmm_update_gates gates;
    int tuning[MAX_TUNABLES];                      /* the chosen value of each tunable, in order */
    const struct bsmm_update_contender *contender; /* whose plan it is */
    void *state;                                   /* what the lab's prepare leaves here */
} bsmm_update_plan;

typedef struct bsmm_update_contender {
    contender base;
    /* Optional. Chooses tunables from the layout, whose row statistics these are, B and the tokens of all pairs. */
    void (*choose)(const row_stats *stats, int block, int64_t tokens, int *tuning);
    /* Optional. Preprocesses the layout and allocates; timed and reported apart from run. On error it frees what it
     * allocated. cudaErrorNotSupported: it cannot take this problem. */
    cudaError_t (*prepare)(bsmm_update_plan *plan);
    /* Enqueues the update on `stream`. dW holds garbage before, unless it is in->U, and must be defined in full after.
     * Must not allocate. What it starts on another stream, `stream` must wait for. */
    cudaError_t (*run)(const bsmm_update_plan *plan, const bsmm_update_inputs *in, void *dW,
                       cudaStream_t stream);
    /* Optional. Bytes of device memory that the plan holds beside its inputs. Without it: none. */
    size_t (*workspace_bytes)(const bsmm_update_plan *plan);
    /* Optional. Frees plan->state. */
    void (*release)(bsmm_update_plan *plan);
} bsmm_update_contender;

extern const operation bsmm_update_operation;

/* Registers `lab`, a static bsmm_update_contender. */
#define BSMM_UPDATE_REGISTER(lab) CONTENDER_REGISTER(lab, bsmm_update_operation)

#ifdef __cplusplus
}
#endif
#endif
