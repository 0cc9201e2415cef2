/*
 * Lab 41 - backward: one training step of a sparse layer, three products and an update, on one pattern.
 *
 * Idea      Y = W X is an SpMM, dX = W^T dY lab 40's product, and W's gradient dY X^T on W's pattern an SDDMM. Plans of the
 *           fastest contenders are nested, found in the registry by name. The update is one pass over the weights.
 * Changed   Nothing is new in the products. New is what lies between them: whose weights each one sees, in which precision
 *           and order, and where gradients of several time steps are summed.
 * Run       make lab41 && ./lab41 weights:rows=8192,cols=2048,sparsity=0.9 128       ./lab41 arxiv 32 --set STEPS=3,ORDERS=2
 * Watch     Each nonzero fetches three rows of N numbers. Weights and gradients are a few bytes beside that, if N is large.
 * Paper     T. Gale, M. Zaharia, C. Young, E. Elsen: Sparse GPU Kernels for Deep Learning, SC 2020. U. Evci et al.: Rigging
 *           the Lottery, ICML 2020 (weights that are dropped and grown).
 */
#include "device/cuda_try.h"
#include "device/weighted_sum.cuh"
#include "formats/transposed_pattern.h"
#include "models/choice.h"
#include "models/in_place.h"
#include "ops/sddmm.h"
#include "ops/sparse_layer.h"
#include "ops/spmm.h"
#include "ops/transposed_spmm.h"

#include <stdlib.h>
#include <string.h>

enum { TUNE_WAY, TUNE_SPMM, TUNE_SDDMM };

/* WAY: lab 40's, where the layer keeps W by rows alone. SPMM and SDDMM: 0 is the rule's choice. weighted_sum is the kernel
 * of device/weighted_sum.cuh, and the others are those of models/in_place.h, in its order. */
static const char *const WAYS[] = {"gather", "scatter", "through"};
static const char *const SPMMS[] = {"rule", "weighted_sum", "split_rows",
                                    "roma", "subwarp",      "row_swizzle"};
static const char *const SDDMMS[] = {"rule", "sddmm", "sddmm_balanced", "sddmm_tiles",
                                     "sddmm_tensor_core"};
enum { OWN_KERNEL = 1, SPLIT_ROWS };

constexpr int BLOCK = 256;
constexpr int ALIGNED = 64; /* elements: a time step's gradients begin at a multiple of so many */

/* Parts of a plan. */
struct layer_state {
    device_csr W;                   /* as the products take it: of their precision */
    void *d_rounded;                /* its values in 16 bits, new in each run; NULL in fp32 */
    spmm_plan forward;              /* its nested plan makes Y; NULL: weighted_sum does */
    transposed_spmm_plan transpose; /* of ORDERS = 1: makes dX */
    transposed_pattern *pattern;    /* of ORDERS = 2 ... */
    spmm_plan by_column;            /* ... whose nested plan makes dX; NULL: weighted_sum does */
    sddmm_plan gradient;            /* its nested plan makes a time step's gradient */
    void *d_gradients;              /* of all time steps, `stride` elements apart */
    size_t stride;
};

/* ---- kernels ------------------------------------------------------------------------------------- */

/* Weights in 16 bits, as the products take them. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    layer_round_kernel(int nnz, const float *__restrict__ W, T *__restrict__ rounded)
{
    const int z = blockIdx.x * BLOCK + threadIdx.x;
    if (z < nnz) rounded[z] = narrow<T>(W[z]);
}

/* Everything that the update is given. */
template <class T> struct update {
    int nnz, steps;
    size_t stride;
    float eta;
    const float *__restrict__ W;
    const T *__restrict__ gradients;
    float *__restrict__ new_W;
    const int *__restrict__ place_in_T;
    T *__restrict__ by_column; /* NULL: the layer keeps W by rows alone */
};

/* A thread a weight: the time steps' gradients are added up, and what is left goes to one order or to both. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    layer_update_kernel(const __grid_constant__ update<T> p)
{
    const int z = blockIdx.x * BLOCK + threadIdx.x;
    if (z >= p.nnz) return;
    /* BEGIN STUDENT: W - eta * G, G the sum over the time steps; also by column, where the layer keeps that */
    float gradient = 0;
    for (int t = 0; t < p.steps; t++)
        gradient += widen(p.gradients[t * p.stride + z]);
    const float w = p.W[z] - p.eta * gradient;
    p.new_W[z] = w;
    if (p.by_column) p.by_column[p.place_in_T[z]] = narrow<T>(w);
    /* END STUDENT */
}

/* ---- preparing ----------------------------------------------------------------------------------- */

static enum precision precision_of(const sparse_layer_plan *plan)
{
    return plan->contender->base.precision;
}

static size_t element_of(const sparse_layer_plan *plan)
{
    return precision_format(precision_of(plan))->bytes;
}

/* Nests in *plan the SpMM that SPMM names, or the rule's. In 16 bits every SpMM of the registry keeps a copy of the
 * values. */
static cudaError_t nest_spmm(const sparse_layer_plan *plan, const device_csr &A, spmm_plan *product)
{
    int kernel = plan->tuning[TUNE_SPMM];
    product->A = A;
    product->N = plan->N;
    if (precision_of(plan) != PRECISION_FP32) kernel = OWN_KERNEL;
    if (kernel == 0) kernel = SPLIT_ROWS + in_place_fastest(A.stats, plan->N);
    if (kernel == OWN_KERNEL) return cudaSuccess;
    const spmm_contender *c = spmm_find(SPMMS[kernel], PRECISION_FP32);
    return c ? spmm_nest(product, c, NULL, NULL) : cudaErrorNotSupported;
}

/* The SDDMM of a pattern without weights, by name or by the least estimate of those that take it. */
static cudaError_t nest_sddmm(const sparse_layer_plan *plan, sddmm_plan *product)
{
    candidate list[MAX_CANDIDATES];
    const enum precision precision = precision_of(plan);
    const int which = plan->tuning[TUNE_SDDMM];
    cudaError_t error = cudaErrorNotSupported;
    product->W = plan->W;
    product->W.d_values = NULL;
    product->K = plan->N;
    const sddmm_contender *named = which ? sddmm_find(SDDMMS[which], precision) : NULL;
    if (named) error = sddmm_nest(product, named, NULL);
    const int count = choice_candidates(&sddmm_operation, precision, plan->W.stats, plan->N, list);
    for (int i = 0; i < count && error == cudaErrorNotSupported; i++)
        error = sddmm_nest(product, sddmm_of(list[i].contender), NULL);
    const sddmm_contender *simplest = sddmm_find("sddmm", precision); /* takes any pattern */
    if (error == cudaErrorNotSupported && simplest) error = sddmm_nest(product, simplest, NULL);
    return error;
}

/* Lab 40's product, whose WAY is that of this plan. */
static cudaError_t prepare_transpose(const sparse_layer_plan *plan, layer_state *s)
{
    const transposed_spmm_contender *c =
        transposed_spmm_find("transposed_spmm", precision_of(plan));
    int tuning[MAX_TUNABLES];
    if (!c) return cudaErrorNotSupported;
    contender_initial_tuning(&c->base, tuning);
    for (int i = 0; i < contender_num_tunables(&c->base); i++) {
        const char *name = c->base.tunables[i].name;
        if (!strcmp(name, "WAY"))
            tunable_read(&c->base.tunables[i], WAYS[plan->tuning[TUNE_WAY]], &tuning[i]);
        if (!strcmp(name, "KERNEL") && precision_of(plan) == PRECISION_FP32)
            tunable_read(&c->base.tunables[i], SPMMS[plan->tuning[TUNE_SPMM]], &tuning[i]);
    }
    s->transpose.A = s->W;
    s->transpose.N = plan->N;
    return transposed_spmm_prepare(&s->transpose, c, tuning);
}

/* W by columns, whose values each step is handed. */
static cudaError_t prepare_by_column(const sparse_layer_plan *plan, layer_state *s)
{
    CUDA_TRY(transposed_pattern_build(&plan->W, &s->pattern));
    CUDA_TRY(transposed_pattern_describe(s->pattern));
    CUDA_TRY(transposed_pattern_invert(s->pattern));
    return nest_spmm(plan, s->pattern->T, &s->by_column);
}

static cudaError_t fill(sparse_layer_plan *plan, layer_state *s)
{
    const size_t nnz = (size_t)plan->W.nnz, element = element_of(plan);
    s->W = plan->W;
    s->stride = (nnz + ALIGNED - 1) / ALIGNED * ALIGNED;
    if (precision_of(plan) != PRECISION_FP32) {
        CUDA_TRY(cudaMalloc(&s->d_rounded, nnz * element + 16));
        s->W.d_values = NULL;
        s->W.d_values16 = s->d_rounded;
        plan->tuning[TUNE_SPMM] = OWN_KERNEL;
    }
    CUDA_TRY(cudaMalloc(&s->d_gradients, plan->steps * s->stride * element + 16));
    CUDA_TRY(nest_spmm(plan, s->W, &s->forward));
    if (plan->both_orders)
        CUDA_TRY(prepare_by_column(plan, s));
    else
        CUDA_TRY(prepare_transpose(plan, s));
    return nest_sddmm(plan, &s->gradient);
}

static void release(sparse_layer_plan *plan)
{
    layer_state *s = (layer_state *)plan->state;
    if (!s) return;
    spmm_nested_release(&s->forward);
    spmm_nested_release(&s->by_column);
    transposed_spmm_release(&s->transpose);
    sddmm_nested_release(&s->gradient);
    transposed_pattern_free(s->pattern);
    cudaFree(s->d_rounded);
    cudaFree(s->d_gradients);
    free(s);
    plan->state = NULL;
}

static cudaError_t prepare(sparse_layer_plan *plan)
{
    layer_state *s = (layer_state *)calloc(1, sizeof *s);
    plan->state = s;
    if (!s) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill(plan, s);
    if (error != cudaSuccess) {
        release(plan);
        return error;
    }
    plan->tuning[TUNE_SDDMM] =
        sddmm_nested_value(&s->gradient, &plan->contender->base.tunables[TUNE_SDDMM]);
    return cudaSuccess;
}

/* ---- running ------------------------------------------------------------------------------------- */

/* C = A * B with the values of this run, by the nested plan or by weighted_sum. A nested plan reads values where they
 * are: it is told where. */
template <class T>
static cudaError_t multiply(const spmm_plan *plan, const T *values, const void *B, void *C,
                            cudaStream_t stream)
{
    const device_csr &A = plan->A;
    if constexpr (sizeof(T) == sizeof(float)) {
        for (spmm_plan *inner = plan->nested; inner; inner = inner->nested)
            inner->A.d_values = values;
        if (plan->nested) return spmm_nested_run(plan, (const float *)B, (float *)C, stream);
    }
    return weighted_sum(A.rows, plan->N, A.d_row_ptr, A.d_col_idx, values_in_place<T>{values},
                        (const T *)B, (T *)C, stream);
}

/* dX = W^T dY of a time step: lab 40's product, or that with W by columns. */
template <class T>
static cudaError_t input_gradient(const sparse_layer_plan *plan, const layer_state *s,
                                  const sparse_layer_inputs *in, const T *dY, void *dX,
                                  cudaStream_t stream)
{
    if (!plan->both_orders) return transposed_spmm_run(&s->transpose, dY, dX, stream);
    return multiply(&s->by_column, (const T *)in->by_column, dY, dX, stream);
}

/* A time step's gradient by W: D[z] = <dY[row of z], X[column of z]>. */
template <class T>
static cudaError_t weight_gradient(const layer_state *s, const T *dY, const T *X, T *D,
                                   cudaStream_t stream)
{
    if constexpr (sizeof(T) == sizeof(float))
        return sddmm_nested_run(&s->gradient, dY, X, D, stream);
    else
        return sddmm_nested_run16(&s->gradient, dY, X, D, stream);
}

/* The weights as the products take them. */
template <class T>
static cudaError_t take_weights(const sparse_layer_plan *plan, const layer_state *s,
                                const T **values, cudaStream_t stream)
{
    const int nnz = plan->W.nnz;
    if constexpr (sizeof(T) == sizeof(float)) {
        *values = plan->W.d_values;
    } else {
        *values = (const T *)s->d_rounded;
        if (nnz)
            layer_round_kernel<<<(nnz + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(
                nnz, plan->W.d_values, (T *)s->d_rounded);
    }
    return cudaGetLastError();
}

template <class T>
static cudaError_t change_weights(const sparse_layer_plan *plan, const layer_state *s,
                                  const sparse_layer_outputs *out, cudaStream_t stream)
{
    const int nnz = plan->W.nnz;
    const update<T> p = {.nnz = nnz,
                         .steps = plan->steps,
                         .stride = s->stride,
                         .eta = plan->eta,
                         .W = plan->W.d_values,
                         .gradients = (const T *)s->d_gradients,
                         .new_W = out->W,
                         .place_in_T = plan->both_orders ? s->pattern->d_place_in_T : NULL,
                         .by_column = (T *)out->by_column};
    if (nnz) layer_update_kernel<<<(nnz + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(p);
    return cudaGetLastError();
}

template <class T>
static cudaError_t run(const sparse_layer_plan *plan, const sparse_layer_inputs *in,
                       const sparse_layer_outputs *out, cudaStream_t stream)
{
    const layer_state *s = (const layer_state *)plan->state;
    const T *values;
    CUDA_TRY(take_weights<T>(plan, s, &values, stream));
    for (int t = 0; t < plan->steps; t++) {
        T *const gradient = (T *)s->d_gradients + t * s->stride;
        const T *X = (const T *)in->X[t], *dY = (const T *)in->dY[t];
        /* BEGIN STUDENT: the three products of time step t, with the weights before the update */
        CUDA_TRY(multiply(&s->forward, values, X, out->Y[t], stream));
        CUDA_TRY(input_gradient(plan, s, in, dY, out->dX[t], stream));
        CUDA_TRY(weight_gradient(s, dY, X, gradient, stream));
        /* END STUDENT */
    }
    return change_weights<T>(plan, s, out, stream);
}

/* ---- what a plan holds ------------------------------------------------------------------------- */

/* Weights in 16 bits, gradients, the transpose, and what nested plans store in W's place. */
static size_t workspace_bytes(const sparse_layer_plan *plan)
{
    const layer_state *s = (const layer_state *)plan->state;
    const transposed_spmm_contender *c = s->transpose.contender;
    const sddmm_plan *inner = s->gradient.nested;
    size_t bytes = plan->steps * s->stride * element_of(plan);
    if (s->d_rounded) bytes += plan->W.nnz * element_of(plan);
    if (s->pattern) bytes += transposed_pattern_bytes(s->pattern, true) + plan->W.nnz * sizeof(int);
    if (c) bytes += c->workspace_bytes(&s->transpose);
    if (inner && inner->contender->format_bytes) bytes += inner->contender->format_bytes(inner);
    return bytes;
}

/* In the order in which they run. */
static const contender *nested(const sparse_layer_plan *plan, int depth, const int **tuning)
{
    const layer_state *s = (const layer_state *)plan->state;
    const spmm_plan *const products[] = {s->forward.nested, s->by_column.nested};
    for (const spmm_plan *p : products)
        if (p && depth-- == 0) {
            *tuning = p->tuning;
            return &p->contender->base;
        }
    if (s->transpose.contender && depth-- == 0) {
        *tuning = s->transpose.tuning;
        return &s->transpose.contender->base;
    }
    if (!s->gradient.nested || depth != 0) return NULL;
    *tuning = s->gradient.nested->tuning;
    return &s->gradient.nested->contender->base;
}

#define BACKWARD(title, kind, number, spmms)                                                   \
    static sparse_layer_contender title = {                                                    \
        .base = {.lab = 41,                                                                    \
                 .name = #title,                                                               \
                 .summary = "SpMM, transposed SpMM and SDDMM of earlier labs, and the update", \
                 .precision = kind,                                                            \
                 .tunables = {{.name = "WAY",                                                  \
                               .meaning = "how a weight comes to its place in the transpose",  \
                               .values = {0, 1, 2},                                            \
                               .num_values = 3,                                                \
                               .names = WAYS},                                                 \
                              {.name = "SPMM",                                                 \
                               .meaning = "the rule's choice, weighted_sum, or an SpMM",       \
                               .values = {0, 1, 2, 3, 4, 5},                                   \
                               .num_values = spmms,                                            \
                               .names = SPMMS},                                                \
                              {.name = "SDDMM",                                                \
                               .meaning = "the rule's choice, or an SDDMM",                    \
                               .values = {0, 1, 2, 3, 4},                                      \
                               .num_values = 5,                                                \
                               .names = SDDMMS}}},                                             \
        .prepare = prepare,                                                                    \
        .run = run<number>,                                                                    \
        .workspace_bytes = workspace_bytes,                                                    \
        .nested = nested,                                                                      \
        .release = release,                                                                    \
    };                                                                                         \
    SPARSE_LAYER_REGISTER(title)

BACKWARD(backward, PRECISION_FP32, float, 6)
BACKWARD(backward_fp16, PRECISION_FP16, __half, 2)
BACKWARD(backward_bf16, PRECISION_BF16, __nv_bfloat16, 2)
