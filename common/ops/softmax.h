/*
 * softmax.h - softmax over the nonzeros of each row of a sparse matrix, in fp32, fp16 or bf16.
 *
 *   A  rows x cols, CSR     S  a score for each nonzero and head     P  a share, likewise     lse  [rows][H], fp32
 *
 *   x[z] = scale * S[z] + A[z]        P[z] = exp(x[z] - max) / sum over the row of exp(x - max)
 *   lse[row]  = max + log(that sum)               -infinity where a row has no nonzeros
 *
 * An element that is not stored counts as minus infinity, not as 0: a row of one nonzero has a share of 1. A is the
 * dataset. One without values is a pattern, and its values are no part of x; else they are a bias, the same in all
 * heads. Graph attention calls this an edge softmax.
 *
 * There are H heads, which share the pattern. S and P hold them row by row: all scores of row 0 and head 0, of row 0
 * and head 1, ..., of row 1 and head 0, ... So the n scores of a row and head lie side by side and begin at element
 * H * row_ptr[row] + head * n. At H = 1 they are in the order of the nonzeros.
 *
 * lse, the logarithm of a row's sum of exponentials, is all that a backward pass needs to have P again.
 *
 * S, P and the values have the contender's precision. Whatever that is, exponentials and sums are fp32.
 *
 * What a lab of this operation must provide: one softmax_contender, registered with SOFTMAX_REGISTER.
 */
#ifndef OPS_SOFTMAX_H
#define OPS_SOFTMAX_H

#include "ops/device_csr.h"
#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One prepared softmax: what `prepare` filled and `run` uses. */
typedef struct softmax_plan {
    device_csr A;             /* its values are the bias; NULL: there is none */
    int H;                    /* heads, H >= 1; H * A.nnz and H * A.rows are ints */
    int tuning[MAX_TUNABLES]; /* the chosen value of each tunable, in order */
    const struct softmax_contender *contender; /* whose plan it is */
    void *state;                               /* what the lab's prepare leaves here */
    float scale;                               /* 1, but in plans of attention */
} softmax_plan;

typedef struct softmax_contender {
    contender base;
    /* Optional. Chooses plan-independent tunables from the statistics of A's rows and H alone; without
     * it every tunable has its initial value. */
    void (*choose)(const row_stats *stats, int H, int *tuning);
    /* Optional. Preprocesses A and allocates; timed and reported apart from run. On error it frees what it
     * allocated. cudaErrorNotSupported: this contender cannot take this pattern. */
    cudaError_t (*prepare)(softmax_plan *plan);
    /* Enqueues the softmax on `stream`. P and lse hold garbage before and must be defined in full after. P may
     * be S itself. Must not allocate. Both are 256-byte aligned. */
    cudaError_t (*run)(const softmax_plan *plan, const float *S, float *P, float *lse,
                       cudaStream_t stream);
    /* The same in a 16-bit precision, in place of run: S and P are __half or __nv_bfloat16. */
    cudaError_t (*run16)(const softmax_plan *plan, const void *S, void *P, float *lse,
                         cudaStream_t stream);
    /* Optional. A has new values at the same address, and the pattern it had: brings a plan up to date
     * that keeps values of its own. */
    cudaError_t (*update_values)(softmax_plan *plan);
    /* Optional. Bytes of A's pattern and values as this plan stores them and run reads them. Without it the
     * offsets and values of CSR count: no softmax needs columns. */
    size_t (*format_bytes)(const softmax_plan *plan);
    /* Optional. Frees plan->state. */
    void (*release)(softmax_plan *plan);
} softmax_contender;

extern const operation softmax_operation;

/* The contender of that name in that precision (see contender_find); NULL: there is none. */
const softmax_contender *softmax_find(const char *name, enum precision precision);

/* Prepares *plan for contender c, with the settings that c chooses: for operations that hold a plan of this one. A, H
 * and scale are set by the caller. cudaErrorNotSupported: c cannot take the pattern, or needs a newer device. */
cudaError_t softmax_prepare(softmax_plan *plan, const softmax_contender *c);
/* Runs it, in the precision of its contender; and frees what it holds. */
cudaError_t softmax_run(const softmax_plan *plan, const void *S, void *P, float *lse,
                        cudaStream_t stream);
void softmax_release(softmax_plan *plan);

/* ---- for oracles ----------------------------------------------------------------------------- */

/* Numbers that all shares of a row have in common. */
typedef struct row_sum {
    double lse,
        lse_bound; /* the logarithm of the sum of exponentials, and how far a kernel may be off it */
    double
        spread; /* the errors of the exponentials, weighed by shares: what they add to each share */
    double off; /* what the roundings of the sum add, also as a share of each share */
} row_sum;

/* A row's softmax in fp64: `n` scores become shares. error[j] is how far a kernel's score may be off, and becomes how
 * far its exponential may be, as a share of it. */
row_sum softmax_row(int64_t n, const double *score, double *error, double *share);

/* Registers `lab`, a static softmax_contender. */
#define SOFTMAX_REGISTER(lab) CONTENDER_REGISTER(lab, softmax_operation)

#ifdef __cplusplus
}
#endif
#endif
