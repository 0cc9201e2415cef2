/*
 * transposed_spmm.h - product of a sparse matrix's transpose and a dense one, C = A^T * B, in fp32, fp16 or bf16.
 *
 *   A  rows x cols, CSR        B  rows x N, row-major        C  cols x N, row-major
 *
 *   C[j][n] = sum over the nonzeros (i, j) of A[i][j] * B[i][n]
 *
 * It is the gradient of a sparse layer's input. Training keeps A's pattern and changes its values in every step. So
 * `prepare` may keep what it makes of the pattern, and nothing of the values: each run takes those that lie in plan->A
 * then. A pair (i, j) that is stored twice counts twice. A column without nonzeros has a row of exactly 0 in C.
 *
 * A contender's precision is that of A's values, of B and of C. Sums are formed in fp32, and rounded once.
 *
 * What a lab of this operation must provide: one transposed_spmm_contender, registered with TRANSPOSED_SPMM_REGISTER.
 */
#ifndef OPS_TRANSPOSED_SPMM_H
#define OPS_TRANSPOSED_SPMM_H

#include "ops/device_csr.h"
#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One prepared product: what `prepare` filled and `run` uses. */
typedef struct transposed_spmm_plan {
    device_csr A;             /* its values are those of the next run */
    int N;                    /* columns of B and C, any N >= 1 */
    int tuning[MAX_TUNABLES]; /* the chosen value of each tunable, in order */
    const struct transposed_spmm_contender *contender; /* whose plan it is */
    void *state;                                       /* what the lab's prepare leaves here */
} transposed_spmm_plan;

typedef struct transposed_spmm_contender {
    contender base;
    /* Optional. Preprocesses A's pattern and allocates; timed and reported apart from run. May replace settings that do
     * not fit. On error it frees what it allocated. cudaErrorNotSupported: this contender cannot take this pattern. */
    cudaError_t (*prepare)(transposed_spmm_plan *plan);
    /* Enqueues the product on `stream`. B and C have the contender's precision and are 256-byte aligned. C holds garbage
     * before and must be defined in full after. Must not allocate. What it starts on another stream, `stream` must wait
     * for. */
    cudaError_t (*run)(const transposed_spmm_plan *plan, const void *B, void *C,
                       cudaStream_t stream);
    /* Optional. Enqueues the first part of `run` alone, which brings A's values to the order of the transpose: to time it.
     * cudaErrorNotSupported: with these settings the run has no such part. */
    cudaError_t (*move_values)(const transposed_spmm_plan *plan, cudaStream_t stream);
    /* Optional. Bytes of A that every run reads, as this plan stores it, values included. Without it the arrays of CSR,
     * or for a dense contender rows * cols values. */
    size_t (*format_bytes)(const transposed_spmm_plan *plan);
    /* Optional. Bytes of device memory that the plan holds beside its inputs. Without it: none. */
    size_t (*workspace_bytes)(const transposed_spmm_plan *plan);
    /* Optional. The contenders of other operations that do its work, and their settings: see operation.nested. */
    const contender *(*nested)(const transposed_spmm_plan *plan, int depth, const int **tuning);
    /* Optional. Frees plan->state. */
    void (*release)(transposed_spmm_plan *plan);
} transposed_spmm_contender;

extern const operation transposed_spmm_operation;

/* The contender of that name in that precision (see contender_find); NULL: there is none. */
const transposed_spmm_contender *transposed_spmm_find(const char *name, enum precision precision);

/* Prepares *plan for contender c with the settings in tuning[] (NULL: those of c): for operations that hold a plan of this
 * one. A and N are set by the caller. cudaErrorNotSupported: c cannot take the pattern, or needs a newer device. */
cudaError_t transposed_spmm_prepare(transposed_spmm_plan *plan, const transposed_spmm_contender *c,
                                    const int *tuning);
/* Runs it; and frees what it holds. A plan that was never prepared holds nothing. */
cudaError_t transposed_spmm_run(const transposed_spmm_plan *plan, const void *B, void *C,
                                cudaStream_t stream);
void transposed_spmm_release(transposed_spmm_plan *plan);

/* Calls move_values for an instance of the operation; cudaErrorNotSupported: its contender has none. */
cudaError_t transposed_spmm_move_values(const void *instance, cudaStream_t stream);

/* Bytes of the arrays of CSR, of the plan's precision. */
size_t transposed_spmm_csr_bytes(const transposed_spmm_plan *plan);

/* Registers `lab`, a static transposed_spmm_contender. */
#define TRANSPOSED_SPMM_REGISTER(lab) CONTENDER_REGISTER(lab, transposed_spmm_operation)

#ifdef __cplusplus
}
#endif
#endif
