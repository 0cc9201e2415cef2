/*
 * attention_backward.h - the gradients of attention in mode DOT without a bias (attention.h), in fp32, fp16 or bf16.
 *
 *   A  rows x cols, CSR     Q, O, dO  [rows][H][d]     K, V  [cols][H][d]     lse  [rows][H], fp32
 *
 * O and lse are what the forward pass left; dO is the loss's gradient by O. With scale = 1 / sqrt(d), for each nonzero
 * (i, j) and head h:
 *
 *   p  = exp(scale * <Q[i][h], K[j][h]> - lse[i][h])         D[i][h] = <dO[i][h], O[i][h]>
 *   dp = <dO[i][h], V[j][h]>                                 ds = p * (dp - D[i][h])
 *
 *   dQ[i][h] = scale * sum over j of ds * K[j][h]            [rows][H][d]
 *   dK[j][h] = scale * sum over i of ds * Q[i][h]            [cols][H][d]
 *   dV[j][h] = sum over i of p * dO[i][h]                    [cols][H][d]
 *
 * Where a pair (i, j) is stored twice, it counts twice. Rows and columns without nonzeros have gradients of exactly 0;
 * what the inputs hold for them is not to be read. The knob HEADS is H, the width is d. Everything but lse has the
 * contender's precision; sums, and ds and p, are formed in fp32.
 *
 * What a lab of this operation must provide: one attention_backward_contender, registered with
 * ATTENTION_BACKWARD_REGISTER.
 */
#ifndef OPS_ATTENTION_BACKWARD_H
#define OPS_ATTENTION_BACKWARD_H

#include "ops/device_csr.h"
#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The dense inputs of a run on the device, 256-byte aligned. */
typedef struct attention_backward_inputs {
    const void *Q, *K, *V, *O, *dO; /* of the contender's precision */
    const float *lse;
} attention_backward_inputs;

/* One prepared backward pass: what `prepare` filled and `run` uses. */
typedef struct attention_backward_plan {
    device_csr A;             /* a pattern: its values are NULL */
    int d;                    /* of a head, any d >= 1 */
    int tuning[MAX_TUNABLES]; /* the chosen value of each tunable, in order */
    const struct attention_backward_contender *contender; /* whose plan it is */
    void *state;                                          /* what the lab's prepare leaves here */
    int heads;                                            /* H */
    float scale;                                          /* 1 / sqrt(d) */
} attention_backward_plan;

typedef struct attention_backward_contender {
    contender base;
    /* Optional. Chooses plan-independent tunables from the statistics of A's rows and d alone. */
    void (*choose)(const row_stats *stats, int d, int *tuning);
    /* Optional. Preprocesses A (its transpose, for one) and allocates; timed and reported apart from run. On error it
     * frees what it allocated. cudaErrorNotSupported: this contender cannot take this problem. */
    cudaError_t (*prepare)(attention_backward_plan *plan);
    /* Enqueues the pass on `stream`. The gradients hold garbage before and must be defined in full after. Must not
     * allocate. What it starts on another stream, `stream` must wait for. */
    cudaError_t (*run)(const attention_backward_plan *plan, const attention_backward_inputs *in,
                       void *dQ, void *dK, void *dV, cudaStream_t stream);
    /* Optional. Bytes of A as this plan stores it, in both orders, and run reads it. Without it the pattern in CSR. */
    size_t (*format_bytes)(const attention_backward_plan *plan);
    /* Optional. Frees plan->state. */
    void (*release)(attention_backward_plan *plan);
} attention_backward_contender;

extern const operation attention_backward_operation;

/* Registers `lab`, a static attention_backward_contender. */
#define ATTENTION_BACKWARD_REGISTER(lab) CONTENDER_REGISTER(lab, attention_backward_operation)

#ifdef __cplusplus
}
#endif
#endif
