/*
 * cublas_lt.c - cuBLASLt's dense product in 16 bits, by the fastest of its algorithms (lt_product.h).
 *
 * prepare chooses with a cold L2 cache; results name the algorithm's place in the library's list. --set ALGORITHM=3 takes
 * the third. B comes in both layouts, as in cublas.c.
 */
#include "baselines/cublas_status.h"
#include "baselines/dense.h"
#include "baselines/lt_product.h"
#include "baselines/sums_rounded.h"

#include <stdlib.h>

typedef struct lt_state {
    lt_product *product;
    void *d_A;
    void *d_B; /* cols x N, column-major; NULL: run takes B as it is */
} lt_state;

static void release(spmm_plan *plan)
{
    lt_state *s = plan->state;
    if (!s) return;
    lt_product_destroy(s->product);
    cudaFree(s->d_A);
    cudaFree(s->d_B);
    free(s);
    plan->state = NULL;
}

static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    const lt_state *s = plan->state;
    return lt_product_run(s->product, dense_wants_columns(plan) ? s->d_B : B, s->d_A, NULL, C,
                          stream);
}

static cudaError_t rebind(spmm_plan *plan, const void *B)
{
    return dense_by_columns(plan, B, &((lt_state *)plan->state)->d_B);
}

/* By columns, as the library stores: the row-major A, B and C are their transposes, C' = B' A'. A
 * column-major B is none, and the descriptor transposes it. */
static cudaError_t fill_state(spmm_plan *plan, lt_state *s)
{
    const lt_gemm gemm = {.m = plan->N,
                          .n = plan->A.rows,
                          .k = plan->A.cols,
                          .transpose_A = dense_wants_columns(plan),
                          .type = plan->contender->base.precision == PRECISION_FP16 ? CUDA_R_16F
                                                                                    : CUDA_R_16BF,
                          .compute = CUBLAS_COMPUTE_32F,
                          .alpha = 1};
    CUDA_TRY(dense_from_csr(plan, &s->d_A));
    CUDA_TRY(lt_product_create(&gemm, &s->product));
    return lt_product_choose(s->product, true, &plan->tuning[0]);
}

static cudaError_t prepare(spmm_plan *plan)
{
    plan->state = calloc(1, sizeof(lt_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill_state(plan, plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

#define PRODUCT(title, again, kind, factor)                                     \
    {                                                                           \
        .base = {.name = title " (dense)",                                      \
                 .precision = PRECISION_##kind,                                 \
                 .min_compute_capability = 80,                                  \
                 .unit = UNIT_TENSOR_CORES,                                     \
                 .dense = true,                                                 \
                 .bound_factor = factor,                                        \
                 .unsuited = dense_unsuited,                                    \
                 .tunables = LT_TUNABLES},                                      \
        .prepare = prepare, .rebind = again, .run16 = run16, .release = release \
    }

static spmm_contender products[] = {
    PRODUCT("cuBLASLt", NULL, FP16, FP16_SUMS_ROUNDED),
    PRODUCT("cuBLASLt", NULL, BF16, BF16_SUMS_ROUNDED),
    PRODUCT("cuBLASLt" DENSE_COLUMNS, rebind, FP16, FP16_SUMS_ROUNDED),
    PRODUCT("cuBLASLt" DENSE_COLUMNS, rebind, BF16, BF16_SUMS_ROUNDED),
};

__attribute__((constructor)) static void register_cublas_lt(void)
{
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        contender_register(&products[i].base, &spmm_operation);
}
