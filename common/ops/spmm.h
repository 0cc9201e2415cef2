/*
 * spmm.h - sparse matrix times dense matrix, C = A * B, in fp32, fp16 or bf16.
 *
 *   A  rows x cols, CSR        B  cols x N, row-major        C  rows x N, row-major
 *
 * A contender's precision is that of A's values, of B and of C. Whatever it is, sums are formed in
 * fp32, and rounded once, when C is stored: the verdict holds kernels to that (see oracle in spmm.c).
 *
 * A plan may have an epilogue: C = max(0, A * B + bias of the row). Kernels that say so apply it where they store C, and
 * behind all others a kernel of its own does. The operation's own problems have none (problem.epilogue).
 *
 * A with more than 2^31 - 4096 nonzeros comes to a contender as ranges of rows, each with a plan of
 * its own. The C of each begins at a multiple of 16 bytes (spmm_ranges.h).
 *
 * What a lab of this operation must provide: one spmm_contender, registered with SPMM_REGISTER.
 */
#ifndef OPS_SPMM_H
#define OPS_SPMM_H

#include "device/epilogue.h"
#include "ops/device_csr.h"
#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef device_csr spmm_matrix;

/* One prepared product: what `prepare` filled and `run` uses. */
typedef struct spmm_plan {
    spmm_matrix A;
    int N;                    /* columns of B and C, any N >= 1 */
    int tuning[MAX_TUNABLES]; /* the chosen value of each tunable, in order */
    const int *d_row_order;   /* A.rows row numbers: labs from 6 on take the rows in this order, and
                               still store each at its own place; NULL: as they come */
    row_epilogue
        epilogue; /* stands before prepare: see applies_epilogue. Of rows as A counts them */
    const struct spmm_contender *contender; /* whose plan it is: for code that serves several */
    void *state;              /* what the lab's prepare leaves here; NULL if it has none */
    struct spmm_plan *nested; /* another contender's plan that does the work; NULL: this one does */
} spmm_plan;

typedef struct spmm_contender {
    contender base;
    /* Optional. Chooses plan-independent tunables from the statistics of A's rows and N alone;
     * without it every tunable has its initial value. */
    void (*choose)(const row_stats *stats, int N, int *tuning);
    /* Optional. Microseconds that one run should take on this device, with the settings of `choose`;
     * INFINITY where the model holds nothing of such a matrix. What has an estimate is a candidate of
     * the rule that chooses (models/choice.h). */
    double (*estimate)(const row_stats *stats, int N);
    /* Optional. Preprocesses A and allocates; timed and reported apart from run. May replace
     * settings in plan->tuning that do not fit N: results name those it leaves. On error it frees
     * what it allocated. cudaErrorNotSupported: this contender cannot take this matrix. */
    cudaError_t (*prepare)(spmm_plan *plan);
    /* Enqueues the product on `stream`. C holds garbage before and must be defined in full after:
     * whatever zeroing a kernel needs is part of run, and timed. Must not allocate. What it starts on
     * another stream, `stream` must wait for, by an event: work left there is a wrong result. */
    cudaError_t (*run)(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream);
    /* The same in a 16-bit precision, in place of run: B and C are __half or __nv_bfloat16. */
    cudaError_t (*run16)(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream);
    /* Whether run, or run16, applies plan->epilogue to complete sums, in fp32, before it rounds and stores them. Without it a run is
     * the product alone, and spmm_run does the rest. Who leaves the work to a nested plan need not say so. */
    bool applies_epilogue;
    /* Optional. A has new values at the same address, and the pattern it had: brings a plan up to date
     * that keeps values of its own. Without it a plan needs nothing of the kind. */
    cudaError_t (*update_values)(spmm_plan *plan);
    /* Optional, beside update_values, of plans that copy each value as it is: says where the copies lie. Who makes new
     * values can then write them there, on a stream of his own, in place of update_values. See spmm_value_slots. */
    cudaError_t (*value_slots)(const spmm_plan *plan, int *d_slot, float **d_copies);
    /* Optional, where the plan works on other devices than B's and C's, outside of what is timed: bring B, and C as it
     * is, to where run wants them; and C back. Both wait. */
    cudaError_t (*distribute)(const spmm_plan *plan, const void *B, const void *C);
    cudaError_t (*collect)(const spmm_plan *plan, void *C);
    /* Optional, of rivals alone (lab 0): what a lab makes of B belongs to its run, and is timed. B is at
     * another address, or has other contents: renews what a plan keeps of it. Called after prepare, too. */
    cudaError_t (*rebind)(spmm_plan *plan, const void *B);
    /* Optional. Bytes of A as this plan stores it and run reads it, all of them in every run: the bound
     * of the time is made of them (see least in spmm.c). spmm_csr_bytes, where run reads the CSR arrays.
     * Without it: a contender without prepare has the CSR arrays alone; a dense one has rows * cols
     * values; of any other nothing is known but that it reads a value a nonzero. */
    size_t (*format_bytes)(const spmm_plan *plan);
    /* Optional. Frees plan->state. */
    void (*release)(spmm_plan *plan);
} spmm_contender;

extern const operation spmm_operation;

/* ---- plans of other contenders --------------------------------------------------------------- */

/* The contender of that name in the plan's precision (see contender_find); NULL: there is none. */
const spmm_contender *spmm_find(const char *name, enum precision precision);

/* A contender of this operation as what it is. */
const spmm_contender *spmm_of(const contender *c);

/* Prepares a plan of contender c on the matrix and width of `plan`, with the settings in tuning[] (NULL:
 * those c chooses), its rows taken in d_row_order (borrowed; NULL: as they come), and leaves it in
 * plan->nested. A plan in between that does nothing itself is left out. On error plan->nested is NULL;
 * cudaErrorNotSupported: c cannot take the matrix, or needs a newer device. */
cudaError_t spmm_nest(spmm_plan *plan, const spmm_contender *c, const int *tuning,
                      const int *d_row_order);

/* The same of the contender that is called so in the precision of `plan`, with its own settings.
 * cudaErrorNotSupported: this program has none. */
cudaError_t spmm_nest_named(spmm_plan *plan, const char *name, const int *d_row_order);

/* Enqueues the product of a prepared plan and its epilogue, whoever applies it: how plans are run. */
cudaError_t spmm_run(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream);

/* Whether plans of c follow values that are new in each run: they read them where they are, or say where copies go. */
bool spmm_follows_values(const spmm_contender *c);

/* d_slot[z]: which of the floats *d_copies is the plan's copy of nonzero z's value; d_slot: A.nnz numbers on the device.
 * *d_copies is NULL, and d_slot stays as it is, where the plan reads A's values themselves. Waits. cudaErrorNotSupported:
 * the plan keeps copies, and cannot say where. *d_copies is NULL after any error. */
cudaError_t spmm_value_slots(const spmm_plan *plan, int *d_slot, float **d_copies);

/* Whether a contender applies the epilogue itself, or hands it on to its nested plan with all its work. */
bool spmm_applies_epilogue(const spmm_contender *c);

/* The value of t, a tunable whose values are contenders' names, that names the nested plan's contender;
 * t->initial if none does. */
int spmm_nested_value(const spmm_plan *plan, const tunable *t);

/* Functions run, run16, update_values and release of a contender that leaves the work to the nested
 * plan. Where there is none they do nothing: C stays unwritten, as the checks will say. */
cudaError_t spmm_nested_run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream);
cudaError_t spmm_nested_run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream);
cudaError_t spmm_nested_update_values(spmm_plan *plan);
void spmm_nested_release(spmm_plan *plan);

/* Fills tuning[]: initial values, then what the contender's own rule says. */
void spmm_choose(const spmm_contender *c, const row_stats *stats, int N, int *tuning);

/* Bytes of the arrays of CSR, of the plan's precision: 4 a row and one more, 4 and the value a nonzero. */
size_t spmm_csr_bytes(const spmm_plan *plan);

/* Registers `lab`, a static spmm_contender. */
#define SPMM_REGISTER(lab) CONTENDER_REGISTER(lab, spmm_operation)

#ifdef __cplusplus
}
#endif
#endif
