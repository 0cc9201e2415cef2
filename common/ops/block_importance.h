/*
 * block_importance.h - what training by pruning asks of block-sparse weights: which blocks to drop, which to grow.
 *
 *   A          CB x KB, CSR: a nonzero (c, k) is a block of W that exists (matrix/block_layout.h)
 *   X, dY      1 to 8 pairs, as the update of the weights gets them (ops/bsmm_update.h): in fp32 feature-major,
 *              X [pairs][C][N] and dY [pairs][K][N]; in 16 bits token-major, X [pairs][N][C] and dY [pairs][N][K]
 *   W          [blocks][B][B], of the same precision
 *   old        [CB][KB], fp32; only with BETA=1
 *
 *   R(x)       one number for B features of a token: NORM=max, the largest |x|; NORM=l2, the root of the sum of x^2.
 *              It is stored in the precision of the problem
 *   importance [CB][KB], fp32: of every block, whether it exists or not,
 *
 *     importance[c, k] = scale * sum over pairs p and tokens t of R(X_p[t, c]) * R(dY_p[t, k])  +  beta * old[c, k]
 *
 *   norm       [blocks], fp32: R of the B * B weights of each block that exists
 *
 * The sum bounds what a gradient of the block could be, and needs no gradient: with NORM=l2 it is at least the L2 norm of
 * sum_t X_t^T dY_t. So a block of least norm is dropped, and an absent one of greatest importance grows.
 *
 * A norm that is not finite counts as 0, and so does a product that is not: who drops and grows by them must not prefer
 * a block whose features overflowed. With a scale of 0 X and dY are not to be read.
 *
 * BLOCK, PAIRS, NORM, SCALE and BETA are choices of the problem. The width is N. Sums are formed in fp32.
 * Source: openai/blocksparse, feature_reduce_nc and hGemmTN ("reduced_dw").
 *
 * What a lab of this operation must provide: one block_importance_contender, registered with BLOCK_IMPORTANCE_REGISTER.
 */
#ifndef OPS_BLOCK_IMPORTANCE_H
#define OPS_BLOCK_IMPORTANCE_H

#include "matrix/block_layout.h"
#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

enum importance_norm { IMPORTANCE_MAX, IMPORTANCE_L2 };

/* Which knob of a problem is which. */
enum {
    IMPORTANCE_KNOB_BLOCK,
    IMPORTANCE_KNOB_PAIRS,
    IMPORTANCE_KNOB_NORM,
    IMPORTANCE_KNOB_SCALE,
    IMPORTANCE_KNOB_BETA
};

/* The inputs of a run on the device, 256-byte aligned. */
typedef struct importance_inputs {
    const void *X, *dY, *W; /* of the contender's precision */
    const float *old;       /* NULL where beta is 0 */
} importance_inputs;

/* One prepared measure: what `prepare` filled and `run` uses. */
typedef struct block_importance_plan {
    const block_layout *layout; /* on the host, as long as the plan lives */
    int block;                  /* B */
    int N, pairs;
    enum importance_norm norm;
    float scale;
    bool adds_old;
    int tuning[MAX_TUNABLES]; /* the chosen value of each tunable, in order */
    const struct block_importance_contender *contender; /* whose plan it is */
    void *state;                                        /* what the lab's prepare leaves here */
} block_importance_plan;

typedef struct block_importance_contender {
    contender base;
    /* Optional. Chooses tunables from the blocks of X and of dY, and the tokens of all pairs. */
    void (*choose)(int64_t rows, int64_t cols, int64_t tokens, int *tuning);
    /* Optional. Allocates; timed and reported apart from run. On error it frees what it allocated.
     * cudaErrorNotSupported: it cannot take this problem. */
    cudaError_t (*prepare)(block_importance_plan *plan);
    /* Enqueues the measure on `stream`. Both outputs hold garbage before and must be defined in full after. Must not
     * allocate. What it starts on another stream, `stream` must wait for. */
    cudaError_t (*run)(const block_importance_plan *plan, const importance_inputs *in,
                       float *importance, float *norm, cudaStream_t stream);
    /* Optional. Bytes of device memory that the plan holds beside its inputs. Without it: none. */
    size_t (*workspace_bytes)(const block_importance_plan *plan);
    /* Optional. Frees plan->state. */
    void (*release)(block_importance_plan *plan);
} block_importance_contender;

extern const operation block_importance_operation;

/* Registers `lab`, a static block_importance_contender. */
#define BLOCK_IMPORTANCE_REGISTER(lab) CONTENDER_REGISTER(lab, block_importance_operation)

#ifdef __cplusplus
}
#endif
#endif
