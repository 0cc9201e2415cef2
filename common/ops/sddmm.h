/*
 * sddmm.h - sampled dense-dense matrix product, D = W o (X * Y^T), in fp32, fp16 or bf16.
 *
 *   X  rows x K, row-major     Y  cols x K, row-major
 *   W  rows x cols, CSR        D  a number for each nonzero of W, in its order
 *
 *   D[z] = W[z] * sum over k of X[row of z][k] * Y[column of z][k]
 *
 * W is the dataset. One without values is a pattern: all its weights are 1, and kernels get NULL for
 * them. A contender's precision is that of W, X, Y and D. Whatever it is, sums are formed in fp32, and
 * rounded once, when D is stored: the verdict holds kernels to that (see oracle in sddmm.c).
 *
 * What a lab of this operation must provide: one sddmm_contender, registered with SDDMM_REGISTER.
 */
#ifndef OPS_SDDMM_H
#define OPS_SDDMM_H

#include "ops/device_csr.h"
#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One prepared product: what `prepare` filled and `run` uses. */
typedef struct sddmm_plan {
    device_csr W; /* its values may be NULL in every precision: then all weights are 1 */
    int K;        /* columns of X and Y, the inner dimension, any K >= 1 */
    int tuning[MAX_TUNABLES];                /* the chosen value of each tunable, in order */
    const struct sddmm_contender *contender; /* whose plan it is */
    void *state;                             /* what the lab's prepare leaves here */
    struct sddmm_plan
        *nested; /* another contender's plan that does the work; NULL: this one does */
} sddmm_plan;

typedef struct sddmm_contender {
    contender base;
    /* Optional. Chooses plan-independent tunables from the statistics of W's rows and K alone; without
     * it every tunable has its initial value. */
    void (*choose)(const row_stats *stats, int K, int *tuning);
    /* Optional. Microseconds that one run should take on this device, with the settings of `choose`;
     * INFINITY where the model holds nothing of such a pattern. What has an estimate is a candidate of
     * the rule that chooses (models/choice.h). */
    double (*estimate)(const row_stats *stats, int K);
    /* Optional. Preprocesses W and allocates; timed and reported apart from run. May replace settings in
     * plan->tuning that do not fit K: results name those it leaves. On error it frees what it
     * allocated. cudaErrorNotSupported: this contender cannot take this pattern. */
    cudaError_t (*prepare)(sddmm_plan *plan);
    /* Enqueues the product on `stream`. D holds garbage before and must be defined in full after. Must
     * not allocate. X and Y are 256-byte aligned, and may be one array. What it starts on another
     * stream, `stream` must wait for, by an event: work left there is a wrong result. */
    cudaError_t (*run)(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream);
    /* The same in a 16-bit precision, in place of run: X, Y and D are __half or __nv_bfloat16. */
    cudaError_t (*run16)(const sddmm_plan *plan, const void *X, const void *Y, void *D,
                         cudaStream_t stream);
    /* Optional. W has new values at the same address, and the pattern it had: brings a plan up to date
     * that keeps values of its own. Without it a plan needs nothing of the kind. */
    cudaError_t (*update_values)(sddmm_plan *plan);
    /* Optional. Bytes of W's pattern and values as this plan stores them and run reads them, all of
     * them in every run: the bound of the time is made of them (see least in sddmm.c). Without it the
     * arrays of CSR count, or for a dense contender nothing. */
    size_t (*format_bytes)(const sddmm_plan *plan);
    /* Optional. Frees plan->state. */
    void (*release)(sddmm_plan *plan);
} sddmm_contender;

extern const operation sddmm_operation;

/* ---- plans of other contenders --------------------------------------------------------------- */

/* The contender of that name in the plan's precision (see contender_find); NULL: there is none. */
const sddmm_contender *sddmm_find(const char *name, enum precision precision);

/* A contender of this operation as what it is. */
const sddmm_contender *sddmm_of(const contender *c);

/* The value of t, a tunable whose values are contenders' names, that names the nested plan's contender;
 * t->initial if none does. */
int sddmm_nested_value(const sddmm_plan *plan, const tunable *t);

/* Prepares a plan of contender c on the pattern and K of `plan`, with the settings in tuning[] (NULL:
 * those c chooses), and leaves it in plan->nested. On error plan->nested is NULL; cudaErrorNotSupported:
 * c cannot take the pattern, or needs a newer device. */
cudaError_t sddmm_nest(sddmm_plan *plan, const sddmm_contender *c, const int *tuning);

/* The same of the contender that is called so in the precision of `plan`, with its own settings.
 * cudaErrorNotSupported: this program has none. */
cudaError_t sddmm_nest_named(sddmm_plan *plan, const char *name);

/* Functions run, run16, update_values and release of a contender that leaves the work to the nested
 * plan. */
cudaError_t sddmm_nested_run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                             cudaStream_t stream);
cudaError_t sddmm_nested_run16(const sddmm_plan *plan, const void *X, const void *Y, void *D,
                               cudaStream_t stream);
cudaError_t sddmm_nested_update_values(sddmm_plan *plan);
void sddmm_nested_release(sddmm_plan *plan);

/* Fills tuning[]: initial values, then what the contender's own rule says. */
void sddmm_choose(const sddmm_contender *c, const row_stats *stats, int K, int *tuning);

/* Bytes of W as CSR, of the plan's precision: 4 a row and one more, 4 and the value, if any, a nonzero. */
size_t sddmm_csr_bytes(const sddmm_plan *plan);

/* Registers `lab`, a static sddmm_contender. */
#define SDDMM_REGISTER(lab) CONTENDER_REGISTER(lab, sddmm_operation)

#ifdef __cplusplus
}
#endif
#endif
