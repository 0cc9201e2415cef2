/*
 * Lab 40 - transposed SpMM: the pattern is transposed once, the values in every run.
 *
 * Idea      C = A^T B is the plain product of A's transpose. Training changes A's values in each step, and its pattern
 *           hardly ever. So prepare sorts the nonzeros by column once and keeps where each one came from; a run moves
 *           values alone: it gathers them, scatters them, or the product looks each one up.
 * Changed   No kernel for the product: it is the fastest SpMM that reads values where they are, found by its name.
 * Run       make lab40 && ./lab40 arxiv 32       ./lab40 weights:rows=8192,cols=2048,sparsity=0.9 128 --set WAY=through
 * Watch     cuSPARSE sorts the matrix anew in each run (Csr2csc), or adds to C by atomics (opA = TRANSPOSE).
 * Paper     T. Gale, M. Zaharia, C. Young, E. Elsen: Sparse GPU Kernels for Deep Learning, SC 2020.
 */
#include "device/cuda_try.h"
#include "device/weighted_sum.cuh"
#include "formats/transposed_pattern.h"
#include "models/in_place.h"
#include "ops/spmm.h"
#include "ops/transposed_spmm.h"

#include <stdlib.h>

enum { TUNE_WAY, TUNE_KERNEL };

/* WAY: how a value comes to its place in the transpose. */
enum { GATHER, SCATTER, THROUGH };
static const char *const WAYS[] = {"gather", "scatter", "through"};

/* KERNEL: 0 is the rule's choice, weighted_sum the kernel of device/weighted_sum.cuh. The others are those of
 * models/in_place.h, in its order. */
static const char *const KERNELS[] = {"rule", "weighted_sum", "split_rows",
                                      "roma", "subwarp",      "row_swizzle"};
enum { OWN_KERNEL = 1, SPLIT_ROWS };

constexpr int BLOCK = 256;

/* Parts of a plan. */
struct transposition {
    transposed_pattern *pattern;
    void *d_values;    /* in the order of the transpose, new in each run; NULL: WAY is through */
    spmm_plan product; /* its nested plan makes it; NULL: device/weighted_sum.cuh does */
};

/* ---- kernels ------------------------------------------------------------------------------------- */

/* valT[i] = val[place[i]], a thread a nonzero of the transpose: neighbours write side by side, and read from anywhere. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    transposed_gather_kernel(int nnz, const int *__restrict__ place, const T *__restrict__ values,
                             T *__restrict__ to)
{
    /* BEGIN STUDENT: fetch the value of nonzero i of the transpose */
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < nnz) to[i] = values[place[i]];
    /* END STUDENT */
}

/* valT[place_in_T[z]] = val[z], a thread a nonzero of A: neighbours read side by side, and write anywhere. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    transposed_scatter_kernel(int nnz, const int *__restrict__ place_in_T,
                              const T *__restrict__ values, T *__restrict__ to)
{
    /* BEGIN STUDENT: bring the value of nonzero z of A to its place */
    const int z = blockIdx.x * BLOCK + threadIdx.x;
    if (z < nnz) to[place_in_T[z]] = values[z];
    /* END STUDENT */
}

/* Values in the order of the transpose, looked up when the product needs them. */
template <class T> struct values_through {
    const int *__restrict__ place;
    const T *__restrict__ values;

    __device__ __forceinline__ float of(int i) const
    {
        float value = 0;
        /* BEGIN STUDENT: the value of nonzero i of the transpose, as a float */
        value = widen(values[place[i]]);
        /* END STUDENT */
        return value;
    }
};

/* ---- preparing ----------------------------------------------------------------------------------- */

static enum precision precision_of(const transposed_spmm_plan *plan)
{
    return plan->contender->base.precision;
}

static size_t values_bytes(const transposed_spmm_plan *plan)
{
    return (size_t)plan->A.nnz * precision_format(precision_of(plan))->bytes;
}

/* In 16 bits every SpMM of the registry keeps a copy of the values, and none can look them up. */
static cudaError_t nest_product(transposed_spmm_plan *plan, transposition *t)
{
    int &kernel = plan->tuning[TUNE_KERNEL];
    if (precision_of(plan) != PRECISION_FP32 || plan->tuning[TUNE_WAY] == THROUGH)
        kernel = OWN_KERNEL;
    else if (kernel == 0)
        kernel = SPLIT_ROWS + in_place_fastest(t->pattern->T.stats, plan->N);
    if (kernel == OWN_KERNEL) return cudaSuccess;
    const spmm_contender *c = spmm_find(KERNELS[kernel], PRECISION_FP32);
    if (!c) return cudaErrorNotSupported;
    t->product.A = t->pattern->T;
    t->product.A.d_values = (const float *)t->d_values;
    t->product.N = plan->N;
    return spmm_nest(&t->product, c, NULL, NULL);
}

static void release(transposed_spmm_plan *plan)
{
    transposition *t = (transposition *)plan->state;
    if (!t) return;
    spmm_nested_release(&t->product);
    cudaFree(t->d_values);
    transposed_pattern_free(t->pattern);
    free(t);
    plan->state = NULL;
}

static cudaError_t prepare(transposed_spmm_plan *plan)
{
    const int way = plan->tuning[TUNE_WAY];
    transposition *t = (transposition *)calloc(1, sizeof *t);
    cudaError_t error;
    plan->state = t;
    if (!t) return cudaErrorMemoryAllocation;
    CUDA_TRY_GOTO(error, failed, transposed_pattern_build(&plan->A, &t->pattern));
    CUDA_TRY_GOTO(error, failed, transposed_pattern_describe(t->pattern));
    if (way == SCATTER) CUDA_TRY_GOTO(error, failed, transposed_pattern_invert(t->pattern));
    if (way != THROUGH)
        CUDA_TRY_GOTO(error, failed, cudaMalloc(&t->d_values, values_bytes(plan) + 16));
    CUDA_TRY_GOTO(error, failed, nest_product(plan, t));
    return cudaSuccess;
failed:
    release(plan);
    return error;
}

/* ---- running ------------------------------------------------------------------------------------- */

template <class T> static const T *values_of(const device_csr &A)
{
    return (const T *)(sizeof(T) == sizeof(float) ? (const void *)A.d_values : A.d_values16);
}

template <class T>
static cudaError_t move_values(const transposed_spmm_plan *plan, cudaStream_t stream)
{
    const transposition *t = (const transposition *)plan->state;
    const int nnz = plan->A.nnz, blocks = (nnz + BLOCK - 1) / BLOCK;
    const T *values = values_of<T>(plan->A);
    T *to = (T *)t->d_values;
    if (plan->tuning[TUNE_WAY] == THROUGH) return cudaErrorNotSupported; /* they stay */
    if (nnz == 0) return cudaSuccess;
    if (plan->tuning[TUNE_WAY] == GATHER)
        transposed_gather_kernel<<<blocks, BLOCK, 0, stream>>>(nnz, t->pattern->d_place, values,
                                                               to);
    else
        transposed_scatter_kernel<<<blocks, BLOCK, 0, stream>>>(nnz, t->pattern->d_place_in_T,
                                                                values, to);
    return cudaGetLastError();
}

template <class T>
static cudaError_t run(const transposed_spmm_plan *plan, const void *B, void *C,
                       cudaStream_t stream)
{
    const transposition *t = (const transposition *)plan->state;
    const device_csr &P = t->pattern->T;
    const T *from = (const T *)B;
    if (plan->tuning[TUNE_WAY] == THROUGH) {
        const values_through<T> values = {t->pattern->d_place, values_of<T>(plan->A)};
        return weighted_sum(P.rows, plan->N, P.d_row_ptr, P.d_col_idx, values, from, (T *)C,
                            stream);
    }
    CUDA_TRY(move_values<T>(plan, stream));
    if (t->product.nested)
        return spmm_nested_run(&t->product, (const float *)B, (float *)C, stream);
    const values_in_place<T> values = {(const T *)t->d_values};
    return weighted_sum(P.rows, plan->N, P.d_row_ptr, P.d_col_idx, values, from, (T *)C, stream);
}

/* Row, place and value of each nonzero. */
static size_t format_bytes(const transposed_spmm_plan *plan)
{
    return plan->A.nnz * 2 * sizeof(int) + values_bytes(plan);
}

/* The pattern, with places in one direction; the values; and what the nested plan stores in A's place. */
static size_t workspace_bytes(const transposed_spmm_plan *plan)
{
    const transposition *t = (const transposition *)plan->state;
    const spmm_plan *inner = t->product.nested;
    const size_t format =
        inner && inner->contender->format_bytes ? inner->contender->format_bytes(inner) : 0;
    const size_t places = plan->tuning[TUNE_WAY] == SCATTER ? 2 : 1;
    return transposed_pattern_bytes(t->pattern, false) + places * plan->A.nnz * sizeof(int) +
           (t->d_values ? values_bytes(plan) : 0) + format;
}

static const contender *nested(const transposed_spmm_plan *plan, int depth, const int **tuning)
{
    const spmm_plan *inner = ((const transposition *)plan->state)->product.nested;
    while (inner && depth-- > 0)
        inner = inner->nested;
    if (!inner) return NULL;
    *tuning = inner->tuning;
    return &inner->contender->base;
}

#define TRANSPOSED(title, kind, number, kernels)                                             \
    static transposed_spmm_contender title = {                                               \
        .base = {.lab = 40,                                                                  \
                 .name = #title,                                                             \
                 .summary = "the pattern transposed once, its values in every run",          \
                 .precision = kind,                                                          \
                 .tunables = {{.name = "WAY",                                                \
                               .meaning = "how a value comes to its place in the transpose", \
                               .values = {GATHER, SCATTER, THROUGH},                         \
                               .num_values = 3,                                              \
                               .names = WAYS},                                               \
                              {.name = "KERNEL",                                             \
                               .meaning = "the rule's choice, weighted_sum, or an SpMM",     \
                               .values = {0, 1, 2, 3, 4, 5},                                 \
                               .num_values = kernels,                                        \
                               .names = KERNELS}}},                                          \
        .prepare = prepare,                                                                  \
        .run = run<number>,                                                                  \
        .move_values = move_values<number>,                                                  \
        .format_bytes = format_bytes,                                                        \
        .workspace_bytes = workspace_bytes,                                                  \
        .nested = nested,                                                                    \
        .release = release,                                                                  \
    };                                                                                       \
    TRANSPOSED_SPMM_REGISTER(title)

TRANSPOSED(transposed_spmm, PRECISION_FP32, float, 6)
TRANSPOSED(transposed_spmm_fp16, PRECISION_FP16, __half, 2)
TRANSPOSED(transposed_spmm_bf16, PRECISION_BF16, __nv_bfloat16, 2)
