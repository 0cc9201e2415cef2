/*
 * Lab 40 - transposed SpMM: the pattern is transposed once, the values in every run.
 *
 * Idea      C = A^T B is the plain product of A's transpose. Training changes A's values in each step, and its pattern
 *           hardly ever. So prepare sorts the nonzeros by column once and keeps where each one came from; a run moves
 *           values alone: it gathers them, scatters them, or the product looks each one up.
 * Changed   No kernel for the product: it is the SpMM of the least estimate. Where that has a format with a copy of the
 *           values, they move straight into it, and gather goes in the copy's order.
 * Run       make lab40 && ./lab40 arxiv 32       ./lab40 weights:rows=8192,cols=2048,sparsity=0.9 128 --set WAY=through
 * Watch     cuSPARSE sorts the matrix anew in each run (Csr2csc), or adds to C by atomics (opA = TRANSPOSE).
 * Paper     T. Gale, M. Zaharia, C. Young, E. Elsen: Sparse GPU Kernels for Deep Learning, SC 2020.
 */
#include "device/argsort.h"
#include "device/cuda_try.h"
#include "device/parallel_for.cuh"
#include "device/weighted_sum.cuh"
#include "formats/transposed_pattern.h"
#include "models/choice.h"
#include "ops/spmm.h"
#include "ops/transposed_spmm.h"

#include <stdint.h>
#include <stdlib.h>

enum { TUNE_WAY, TUNE_KERNEL };

/* WAY: how a value comes to its place in the transpose. */
enum { GATHER, SCATTER, THROUGH };
static const char *const WAYS[] = {"gather", "scatter", "through"};

/* KERNEL: 0 is the rule's choice, weighted_sum the kernel of device/weighted_sum.cuh. The others are contenders by name:
 * the first four read values where they are, the rest have a copy. */
static const char *const KERNELS[] = {"rule",          "weighted_sum",     "split_rows",  "roma",
                                      "subwarp",       "row_swizzle",      "length_bins", "b_tiles",
                                      "column_blocks", "overlapped_blocks"};
enum { KERNEL_BY_RULE, OWN_KERNEL };

constexpr int BLOCK = 256;

/* Parts of a plan. */
struct transposition {
    transposed_pattern *pattern;
    void *d_values;    /* in the order of the transpose, new in each run; NULL: none are there */
    spmm_plan product; /* its nested plan makes it; NULL: device/weighted_sum.cuh does */
    float *d_copies;   /* its copy of the values, if it has one; borrowed */
    int *d_place;      /* of gather and through: which value of A comes first, second, ... */
    int *d_slot;       /* of gather, with d_copies: where each of these goes, ascending */
    int *d_to;         /* of scatter: where each value of A goes */
};

/* ---- kernels ------------------------------------------------------------------------------------- */

/* valT[i] = val[place[i]], a thread a nonzero of the transpose: neighbours write side by side, and read from anywhere.
 * slot: where value i lies in a format, ascending; NULL: at i. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    transposed_gather_kernel(int nnz, const int *__restrict__ place, const int *__restrict__ slot,
                             const T *__restrict__ values, T *__restrict__ to)
{
    /* BEGIN STUDENT: fetch the value of nonzero i of the transpose */
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < nnz) to[slot ? slot[i] : i] = values[place[i]];
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

/* Nests a plan of c, with the slots of its copy of the values if it has one. */
static cudaError_t nest(transposition *t, const spmm_contender *c)
{
    if (!spmm_follows_values(c)) return cudaErrorNotSupported;
    CUDA_TRY(spmm_nest(&t->product, c, NULL, NULL));
    const cudaError_t error = spmm_value_slots(t->product.nested, t->d_slot, &t->d_copies);
    if (error != cudaSuccess) spmm_nested_release(&t->product);
    return error;
}

/* The least estimate of the kernels that KERNEL names; where none holds or takes the matrix, the kernel that takes any. */
static cudaError_t nest_by_rule(transposition *t, const tunable *kernel)
{
    candidate list[MAX_CANDIDATES];
    const spmm_plan &p = t->product;
    const int count = choice_candidates(&spmm_operation, PRECISION_FP32, p.A.stats, p.N, list);
    cudaError_t error = cudaErrorNotSupported;
    for (int i = 0; i < count && error == cudaErrorNotSupported; i++)
        if (tunable_naming(kernel, list[i].contender) != kernel->initial)
            error = nest(t, spmm_of(list[i].contender));
    return error == cudaErrorNotSupported ? cudaSuccess : error;
}

/* In 16 bits no SpMM of the registry says where its copies of the values lie, and none can look them up. */
static cudaError_t nest_product(transposed_spmm_plan *plan, transposition *t)
{
    const tunable *const names = &plan->contender->base.tunables[TUNE_KERNEL];
    int &kernel = plan->tuning[TUNE_KERNEL];
    if (precision_of(plan) != PRECISION_FP32 || plan->tuning[TUNE_WAY] == THROUGH)
        kernel = OWN_KERNEL;
    if (kernel == OWN_KERNEL) return cudaSuccess;
    t->product.A = t->pattern->T;
    t->product.A.d_values = (const float *)t->d_values;
    t->product.N = plan->N;
    const spmm_contender *named =
        kernel == KERNEL_BY_RULE ? NULL : spmm_find(KERNELS[kernel], PRECISION_FP32);
    cudaError_t error = named ? nest(t, named) : cudaErrorNotSupported;
    if (error == cudaErrorNotSupported) error = nest_by_rule(t, names);
    kernel = t->product.nested ? spmm_nested_value(&t->product, names) : OWN_KERNEL;
    return error;
}

struct compose_places {
    const int *place, *slot;
    int *to;

    __device__ void operator()(int64_t i) const { to[place[i]] = slot ? slot[i] : (int)i; }
};

struct slots_of_places {
    const int *to, *place;
    int *slot;

    __device__ void operator()(int64_t i) const { slot[i] = to[place[i]]; }
};

/* Puts d_place and d_slot in the order of the slots: neighbours then write to the same sectors of the copy. They read from
 * few rows of A, if the format has blocks of them. d_to: where each value of A goes. */
static cudaError_t order_by_slot(transposition *t, int nnz)
{
    CUDA_TRY(device_argsort(t->d_to, INT32_MAX, t->d_place, nnz, 0));
    CUDA_TRY(device_parallel_for(nnz, slots_of_places{t->d_to, t->d_place, t->d_slot}, 0));
    return cudaDeviceSynchronize();
}

static void drop(int **d_array)
{
    cudaFree(*d_array);
    *d_array = NULL;
}

/* Makes of the places in the transpose, and of its slots in the format, what the WAY needs, and drops the rest. */
static cudaError_t prepare_move(const transposed_spmm_plan *plan, transposition *t)
{
    const bool scatters = plan->tuning[TUNE_WAY] == SCATTER;
    const int nnz = plan->A.nnz;
    if (!t->d_copies) {
        drop(&t->d_slot);
    } else { /* which has been filled */
        cudaFree(t->d_values);
        t->d_values = NULL;
    }
    if (!scatters && !t->d_slot) return cudaSuccess;
    CUDA_TRY(cudaMalloc(&t->d_to, (size_t)nnz * sizeof(int) + 16));
    CUDA_TRY(device_parallel_for(nnz, compose_places{t->d_place, t->d_slot, t->d_to}, 0));
    CUDA_TRY(scatters ? cudaDeviceSynchronize() : order_by_slot(t, nnz));
    if (scatters) {
        drop(&t->d_place);
        drop(&t->d_slot);
    } else {
        drop(&t->d_to);
    }
    return cudaSuccess;
}

static void release(transposed_spmm_plan *plan)
{
    transposition *t = (transposition *)plan->state;
    if (!t) return;
    spmm_nested_release(&t->product);
    cudaFree(t->d_to);
    cudaFree(t->d_slot);
    cudaFree(t->d_place);
    cudaFree(t->d_values);
    transposed_pattern_free(t->pattern);
    free(t);
    plan->state = NULL;
}

static cudaError_t fill(transposed_spmm_plan *plan, transposition *t)
{
    const size_t room = values_bytes(plan) + 16;
    CUDA_TRY(transposed_pattern_build(&plan->A, &t->pattern));
    t->d_place = t->pattern->d_place;
    t->pattern->d_place = NULL;
    CUDA_TRY(transposed_pattern_describe(t->pattern));
    if (plan->tuning[TUNE_WAY] != THROUGH) {
        CUDA_TRY(cudaMalloc(&t->d_values, room));
        CUDA_TRY(cudaMemset(t->d_values, 0, room)); /* a copy is made of it, before the first run */
        CUDA_TRY(cudaMalloc(&t->d_slot, (size_t)plan->A.nnz * sizeof(int) + 16));
    }
    CUDA_TRY(nest_product(plan, t));
    return prepare_move(plan, t);
}

static cudaError_t prepare(transposed_spmm_plan *plan)
{
    transposition *t = (transposition *)calloc(1, sizeof *t);
    plan->state = t;
    if (!t) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill(plan, t);
    if (error != cudaSuccess) release(plan);
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
    T *to = (T *)(t->d_copies ? t->d_copies : t->d_values);
    if (plan->tuning[TUNE_WAY] == THROUGH) return cudaErrorNotSupported; /* they stay */
    if (nnz == 0) return cudaSuccess;
    if (t->d_to)
        transposed_scatter_kernel<<<blocks, BLOCK, 0, stream>>>(nnz, t->d_to, values, to);
    else
        transposed_gather_kernel<<<blocks, BLOCK, 0, stream>>>(nnz, t->d_place, t->d_slot, values,
                                                               to);
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
        const values_through<T> values = {t->d_place, values_of<T>(plan->A)};
        return weighted_sum(P.rows, plan->N, P.d_row_ptr, P.d_col_idx, values, from, (T *)C,
                            stream);
    }
    CUDA_TRY(move_values<T>(plan, stream));
    if (t->product.nested)
        return spmm_nested_run(&t->product, (const float *)B, (float *)C, stream);
    const values_in_place<T> values = {(const T *)t->d_values};
    return weighted_sum(P.rows, plan->N, P.d_row_ptr, P.d_col_idx, values, from, (T *)C, stream);
}

/* Places, and slots where there are any: numbers of each nonzero. */
static size_t numbers_bytes(const transposed_spmm_plan *plan)
{
    const transposition *t = (const transposition *)plan->state;
    const size_t numbers = (t->d_place != NULL) + (t->d_slot != NULL) + (t->d_to != NULL);
    return numbers * plan->A.nnz * sizeof(int);
}

/* Row, place, slot if it has one, and value of each nonzero. */
static size_t format_bytes(const transposed_spmm_plan *plan)
{
    return plan->A.nnz * sizeof(int) + numbers_bytes(plan) + values_bytes(plan);
}

/* The pattern; places and slots; the values, where no format has them; and what the nested plan stores in A's place. */
static size_t workspace_bytes(const transposed_spmm_plan *plan)
{
    const transposition *t = (const transposition *)plan->state;
    const spmm_plan *inner = t->product.nested;
    const size_t format =
        inner && inner->contender->format_bytes ? inner->contender->format_bytes(inner) : 0;
    return transposed_pattern_bytes(t->pattern, false) + numbers_bytes(plan) +
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

#define TRANSPOSED(title, kind, number, kernels)                                               \
    static transposed_spmm_contender title = {                                                 \
        .base = {.lab = 40,                                                                    \
                 .name = #title,                                                               \
                 .summary = "the pattern transposed once, its values in every run",            \
                 .precision = kind,                                                            \
                 .tunables = {{.name = "WAY",                                                  \
                               .meaning = "how a value comes to its place in the transpose",   \
                               .values = {GATHER, SCATTER, THROUGH},                           \
                               .num_values = 3,                                                \
                               .names = WAYS},                                                 \
                              {.name = "KERNEL",                                               \
                               .meaning = "the rule's choice, weighted_sum, or an SpMM",       \
                               .values = {KERNEL_BY_RULE, OWN_KERNEL, 2, 3, 4, 5, 6, 7, 8, 9}, \
                               .num_values = kernels,                                          \
                               .names = KERNELS}}},                                            \
        .prepare = prepare,                                                                    \
        .run = run<number>,                                                                    \
        .move_values = move_values<number>,                                                    \
        .format_bytes = format_bytes,                                                          \
        .workspace_bytes = workspace_bytes,                                                    \
        .nested = nested,                                                                      \
        .release = release,                                                                    \
    };                                                                                         \
    TRANSPOSED_SPMM_REGISTER(title)

TRANSPOSED(transposed_spmm, PRECISION_FP32, float, 10)
TRANSPOSED(transposed_spmm_fp16, PRECISION_FP16, __half, 2)
TRANSPOSED(transposed_spmm_bf16, PRECISION_BF16, __nv_bfloat16, 2)
