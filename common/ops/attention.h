/*
 * attention.h - attention over the nonzeros of a sparse matrix, in fp32, fp16 or bf16.
 *
 *   A  rows x cols, CSR: which keys j a query i attends to
 *   Q  [rows][H][d]     K, V  [cols][H][d]     O  [rows][H][d]     lse  [rows][H], fp32
 *
 *   O[i][h] = sum over the nonzeros (i, j) of p[j] * V[j][h]       p = softmax of the scores s of row i and head h
 *
 *   mode DOT        s = scale * <Q[i][h], K[j][h]> + bias          scale = 1 / sqrt(d)
 *   mode GAT        s = leaky(el[i][h] + er[j][h]) + bias          el [rows][H], er [cols][H], fp32
 *   mode GATV2      s = <a[h], leaky(Q[i][h] + V[j][h])> + bias    a [H][d], fp32; Q is W_left x, V is W_right x
 *   mode WEIGHTED   p = A's value, without a softmax               an SpMM of H heads; no lse
 *
 * leaky(x) is x, or 0.2 x where x is negative. lse[i][h] is the natural logarithm of the sum of exp(s): what the
 * backward pass needs. A row without nonzeros has O = 0 and lse = -infinity. Where a pair (i, j) is stored twice, it
 * counts twice. The bias is A's value, the same in all heads; with BIAS=0 there is none.
 *
 * H (the knob HEADS), the mode and the bias are choices of the problem: ./lab36 arxiv 64 --set HEADS=4,MODE=gat,BIAS=1.
 * The width is d, the size of a head.
 *
 * Q, K, V, O and A's values have the contender's precision; el, er, a and lse are fp32. Exponentials and sums are formed
 * in fp32. In 16 bits a kernel may round each score and each p once to that precision. One that leaves them in memory
 * between kernels does so.
 *
 * What a lab of this operation must provide: one attention_contender, registered with ATTENTION_REGISTER.
 */
#ifndef OPS_ATTENTION_H
#define OPS_ATTENTION_H

#include "ops/device_csr.h"
#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

enum attention_mode { ATTENTION_DOT, ATTENTION_GAT, ATTENTION_GATV2, ATTENTION_WEIGHTED };

/* Which knob of a problem is which. */
enum { KNOB_HEADS, KNOB_MODE, KNOB_BIAS };

/* leaky(x) of a negative x is x times this. */
#define ATTENTION_SLOPE 0.2f

/* The dense inputs of a run on the device, 256-byte aligned. Those that the mode does not name are NULL. */
typedef struct attention_inputs {
    const void *Q, *K, *V; /* of the contender's precision */
    const float *el, *er, *a;
} attention_inputs;

/* One prepared attention: what `prepare` filled and `run` uses. */
typedef struct attention_plan {
    device_csr A; /* its values: p in mode WEIGHTED, else the bias; NULL: there is none */
    int d;        /* of a head, any d >= 1 */
    int tuning[MAX_TUNABLES];                    /* the chosen value of each tunable, in order */
    const struct attention_contender *contender; /* whose plan it is */
    void *state;                                 /* what the lab's prepare leaves here */
    int heads;                                   /* H */
    enum attention_mode mode;
    float scale; /* 1 / sqrt(d), of mode DOT */
} attention_plan;

typedef struct attention_contender {
    contender base;
    /* Optional. Chooses plan-independent tunables from the statistics of A's rows and d alone. */
    void (*choose)(const row_stats *stats, int d, int *tuning);
    /* Optional. Preprocesses A and allocates; timed and reported apart from run. May replace settings that do not fit.
     * On error it frees what it allocated. cudaErrorNotSupported: this contender cannot take this problem. */
    cudaError_t (*prepare)(attention_plan *plan);
    /* Enqueues the attention on `stream`. O and lse hold garbage before and must be defined in full after; lse is NULL
     * in mode WEIGHTED. Must not allocate. What it starts on another stream, `stream` must wait for. */
    cudaError_t (*run)(const attention_plan *plan, const attention_inputs *in, void *O, float *lse,
                       cudaStream_t stream);
    /* Optional. A has new values at the same address, and the pattern it had: brings a plan up to date that keeps
     * values of its own. */
    cudaError_t (*update_values)(attention_plan *plan);
    /* Optional. Bytes of A as this plan stores it and run reads it. Without it the arrays of CSR count. */
    size_t (*format_bytes)(const attention_plan *plan);
    /* Optional. Bytes of device memory that the plan holds beside its inputs: formats and everything that run leaves
     * between its kernels. Without it: none. */
    size_t (*workspace_bytes)(const attention_plan *plan);
    /* Optional. The contenders of other operations that do its work, and their settings: see operation.nested. */
    const contender *(*nested)(const attention_plan *plan, int depth, const int **tuning);
    /* Optional. Frees plan->state. */
    void (*release)(attention_plan *plan);
} attention_contender;

extern const operation attention_operation;

/* Bytes of the arrays of CSR, of the plan's precision. */
size_t attention_csr_bytes(const attention_plan *plan);

/* Registers `lab`, a static attention_contender. */
#define ATTENTION_REGISTER(lab) CONTENDER_REGISTER(lab, attention_operation)

#ifdef __cplusplus
}
#endif
#endif
