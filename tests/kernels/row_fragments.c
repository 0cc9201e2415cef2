/*
 * row_fragments.c - contenders for the kernel matrix: lab 21 with settings that its rule takes for no
 * matrix as small and as strange as those here. Between them they run all of the kernels, and every number
 * of blocks that share a panel. Rows are taken as they come, and in an order that is given.
 */
#include "device/argsort.h"
#include "device/cuda_try.h"
#include "formats/row_order.h"
#include "ops/spmm.h"

enum order { AS_THEY_COME, BY_LENGTH };

/* Whether lab 21 takes the matrix: in 16 bits only if no row may name a column twice, and for an even N. */
static bool is_taken(const spmm_plan *plan)
{
    const csr_matrix *A = plan->A.host;
    if (plan->contender->base.precision == PRECISION_FP32) return true;
    for (int64_t row = 0; row < A->rows; row++)
        for (int64_t k = A->row_ptr[row] + 1; k < A->row_ptr[row + 1]; k++)
            if (A->col_idx[k] <= A->col_idx[k - 1]) return false;
    return plan->N % 2 == 0;
}

/* Without an order of its own the lab would sort rows that differ. */
static cudaError_t make_order(const spmm_matrix *A, enum order order, int **d_order)
{
    CUDA_TRY(row_order_make(A, 0, d_order));
    return order == AS_THEY_COME && A->rows > 0 ? device_identity(*d_order, A->rows, 0)
                                                : cudaSuccess;
}

/* A matrix that lab 21 refuses is lab 8's; whether it does is held against is_taken. */
static cudaError_t prepare(spmm_plan *plan, enum order order, int width, int panel, int split)
{
    const enum precision precision = plan->contender->base.precision;
    const int tuning[MAX_TUNABLES] = {width, panel, split};
    int *d_order;
    CUDA_TRY(make_order(&plan->A, order, &d_order));
    cudaError_t error = spmm_nest(plan, spmm_find("row_fragments", precision), tuning, d_order);
    cudaFree(d_order);
    if (error == cudaErrorNotSupported && !is_taken(plan))
        return spmm_nest(plan, spmm_find("mixed", precision), NULL, NULL);
    if (error == cudaSuccess && !is_taken(plan)) {
        spmm_nested_release(plan);
        error = cudaErrorUnknown;
    }
    return error;
}

#define CONTENDER(kind, call, order, width, panel, split)                                    \
    static cudaError_t prepare_##kind##_##width##_##panel(spmm_plan *plan)                   \
    {                                                                                        \
        return prepare(plan, order, width, panel, split);                                    \
    }                                                                                        \
    static spmm_contender fragments_##kind##_##width##_##panel = {                           \
        .base = {.lab = 121,                                                                 \
                 .after = 21,                                                                \
                 .name = #kind " row fragments, panels of " #panel " by " #width ", " #split \
                               " blocks",                                                    \
                 .precision = PRECISION_##kind,                                              \
                 .min_compute_capability = 80},                                              \
        .prepare = prepare_##kind##_##width##_##panel,                                       \
        .call = spmm_nested_##call,                                                          \
        .release = spmm_nested_release,                                                      \
    };                                                                                       \
    SPMM_REGISTER(fragments_##kind##_##width##_##panel)

CONTENDER(FP32, run, BY_LENGTH, 32, 16, 1)
CONTENDER(FP32, run, AS_THEY_COME, 64, 32, 2)
CONTENDER(FP32, run, BY_LENGTH, 32, 64, 8)
CONTENDER(FP32, run, AS_THEY_COME, 32, 128, 1)
CONTENDER(FP16, run16, AS_THEY_COME, 32, 16, 4)
CONTENDER(FP16, run16, BY_LENGTH, 64, 64, 1)
CONTENDER(BF16, run16, BY_LENGTH, 32, 32, 1)
CONTENDER(BF16, run16, AS_THEY_COME, 32, 128, 8)
