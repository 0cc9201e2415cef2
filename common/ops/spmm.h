/*
 * spmm.h - sparse matrix times dense matrix, C = A * B, in fp32, fp16 or bf16.
 *
 *   A  rows x cols, CSR        B  cols x N, row-major        C  rows x N, row-major
 *
 * A contender's precision is that of A's values, of B and of C. Whatever it is, sums are formed in
 * fp32, and rounded once, when C is stored: the verdict holds kernels to that (see oracle in spmm.c).
 *
 * What a lab of this operation must provide: one spmm_contender, registered with SPMM_REGISTER.
 */
#ifndef OPS_SPMM_H
#define OPS_SPMM_H

#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A on the device. Row offsets are 32-bit here: the harness refuses nnz above INT32_MAX. The
 * arrays are cudaMalloc'ed, hence 256-byte aligned, and must not be written. */
typedef struct spmm_matrix {
    int rows, cols, nnz;
    const int *d_row_ptr;   /* rows + 1 */
    const int *d_col_idx;   /* nnz */
    const float *d_values;  /* nnz; NULL in a 16-bit precision, which has ... */
    const void *d_values16; /* ... these: __half or __nv_bfloat16; NULL in fp32 */
    const csr_matrix *host; /* its pattern in host memory, for a prepare that runs there */
    const row_stats *stats;
} spmm_matrix;

/* One prepared product: what `prepare` filled and `run` uses. */
typedef struct spmm_plan {
    spmm_matrix A;
    int N;                    /* columns of B and C, any N >= 1 */
    int tuning[MAX_TUNABLES]; /* the chosen value of each tunable, in order */
    const int *d_row_order;   /* A.rows row numbers: labs from 6 on take the rows in this order, and
                               still store each at its own place; NULL: as they come */
    const struct spmm_contender *contender; /* whose plan it is: for code that serves several */
    void *state; /* what the lab's prepare leaves here; NULL if it has none */
} spmm_plan;

typedef struct spmm_contender {
    contender base;
    /* Optional. Chooses plan-independent tunables from the statistics of A's rows and N alone;
     * without it every tunable has its initial value. */
    void (*choose)(const row_stats *stats, int N, int *tuning);
    /* Optional. Preprocesses A and allocates; timed and reported apart from run. May replace
     * settings in plan->tuning that do not fit N: results name those it leaves. On error it frees
     * what it allocated. */
    cudaError_t (*prepare)(spmm_plan *plan);
    /* Enqueues the product on `stream`. C holds garbage before and must be defined in full after:
     * whatever zeroing a kernel needs is part of run, and timed. Must not allocate. */
    cudaError_t (*run)(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream);
    /* The same in a 16-bit precision, in place of run: B and C are __half or __nv_bfloat16. */
    cudaError_t (*run16)(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream);
    /* Optional. A has new values at the same address, and the pattern it had: brings a plan up to date
     * that keeps values of its own. Without it a plan needs nothing of the kind. */
    cudaError_t (*update_values)(spmm_plan *plan);
    /* Optional. Frees plan->state. */
    void (*release)(spmm_plan *plan);
} spmm_contender;

extern const operation spmm_operation;

/* Fills tuning[]: initial values, then what the contender's own rule says. */
void spmm_choose(const spmm_contender *c, const row_stats *stats, int N, int *tuning);

/* Registers `lab`, a static spmm_contender. */
#define SPMM_REGISTER(lab) CONTENDER_REGISTER(lab, spmm_operation)

#ifdef __cplusplus
}
#endif
#endif
