/*
 * Lab 35 - attention in three kernels: scores, softmax, weighted sum, each one an earlier lab's.
 *
 * Idea      Scores on a pattern are an SDDMM of Q and K, their softmax is lab 34's, and O is an SpMM whose sparse operand
 *           the softmax has just made. Plans of the fastest contenders are nested, found in the registry by name.
 * Changed   Nothing is new in the kernels. New is the view of H heads as one matrix with H times the rows and columns
 *           (formats/head_pattern.h), so that one launch makes all heads.
 * Run       make lab35 && ./lab35 arxiv 64       ./lab35 arxiv 32 --set HEADS=4,MODE=gat
 * Watch     Scores are written, read twice, written and read again: 5 x 4 bytes a nonzero and head. Lab 36 has none.
 * Paper     P. Velickovic et al.: Graph Attention Networks, ICLR 2018. S. Brody et al.: How Attentive are Graph
 *           Attention Networks?, ICLR 2022.
 */
#include "device/cuda_try.h"
#include "device/warp.cuh"
#include "device/weighted_sum.cuh"
#include "formats/head_pattern.h"
#include "models/choice.h"
#include "models/in_place.h"
#include "ops/attention.h"
#include "ops/sddmm.h"
#include "ops/softmax.h"
#include "ops/spmm.h"
#include "scores.cuh"

#include <stdlib.h>

enum { TUNE_SCORES, TUNE_SUM };

/* SCORES: 0 is the rule's choice. SUM: 0 is the rule's choice, weighted_sum the kernel of device/weighted_sum.cuh. The others
 * read A's values where they are, for each run has others: they are those of models/in_place.h, in its order. */
static const char *const SCORES[] = {"rule", "sddmm", "sddmm_balanced", "sddmm_tiles",
                                     "sddmm_tensor_core"};
static const char *const SUMS[] = {"rule", "weighted_sum", "split_rows",
                                   "roma", "subwarp",      "row_swizzle"};
enum { OWN_SUM = 1, SPLIT_ROWS };

/* Parts of a plan: the pattern of all heads, plans of three operations on it, and what passes between them. */
struct pipeline {
    head_pattern *pattern;
    sddmm_plan scores; /* its nested plan makes them, in mode DOT */
    softmax_plan softmax;
    spmm_plan sum;  /* its nested plan makes it; NULL: device/weighted_sum.cuh does */
    void *d_shares; /* first scores, then shares; in mode WEIGHTED A's values, once a head */
};

static enum precision precision_of(const attention_plan *plan)
{
    return plan->contender->base.precision;
}

static bool is_weighted(const attention_plan *plan)
{
    return plan->mode == ATTENTION_WEIGHTED;
}

/* ---- launching ----------------------------------------------------------------------------------- */

template <class T>
static cudaError_t gat_scores(const device_csr &A, const float *el, const float *er, T *S,
                              cudaStream_t stream)
{
    if (A.nnz == 0) return cudaSuccess;
    attention_gat_scores_kernel<<<(A.nnz - 1) / SCORE_BLOCK + 1, SCORE_BLOCK, 0, stream>>>(
        A.rows, A.nnz, A.d_row_ptr, A.d_col_idx, el, er, S);
    return cudaGetLastError();
}

template <class T>
static cudaError_t gatv2_scores(const device_csr &A, int heads, int d, const T *Q, const T *V,
                                const float *a, T *S, cudaStream_t stream)
{
    const int items = SCORE_BLOCK / SCORE_LANES; /* of a block */
    if (A.nnz == 0) return cudaSuccess;
    attention_gatv2_scores_kernel<<<(A.nnz - 1) / items + 1, SCORE_BLOCK, 0, stream>>>(
        A.rows, A.nnz, heads, d, A.d_row_ptr, A.d_col_idx, Q, V, a, S);
    return cudaGetLastError();
}

/* A value of A for each head, in the order of the pattern of all heads: a thread a value of that. */
template <class T>
static __global__ void attention_repeat_kernel(int rows, int heads, const int *__restrict__ row_ptr,
                                               const T *__restrict__ values, T *__restrict__ shares)
{
    const int row = blockIdx.x * (SUM_BLOCK / WARP_SIZE) + threadIdx.x / WARP_SIZE;
    if (row >= rows) return;
    const int first = row_ptr[row], n = row_ptr[row + 1] - first;
    for (int h = 0; h < heads; h++)
        for (int k = threadIdx.x % WARP_SIZE; k < n; k += WARP_SIZE)
            shares[(size_t)first * heads + (size_t)h * n + k] = values[first + k];
}

static cudaError_t repeat_values(const device_csr &A, int heads, size_t element, void *shares)
{
    const int blocks = (A.rows - 1) / (SUM_BLOCK / WARP_SIZE) + 1;
    if (A.rows == 0) return cudaSuccess;
    if (element == sizeof(float))
        attention_repeat_kernel<<<blocks, SUM_BLOCK>>>(A.rows, heads, A.d_row_ptr, A.d_values,
                                                       (float *)shares);
    else
        attention_repeat_kernel<<<blocks, SUM_BLOCK>>>(A.rows, heads, A.d_row_ptr,
                                                       (const unsigned short *)A.d_values16,
                                                       (unsigned short *)shares);
    return cudaGetLastError();
}

/* ---- preparing -------------------------------------------------------------------------------- */

/* The contender that SCORES names, or the rule's: the least estimate that takes the pattern. */
static cudaError_t nest_scores(attention_plan *plan, pipeline *p)
{
    candidate list[MAX_CANDIDATES];
    const enum precision precision = precision_of(plan);
    const int which = plan->tuning[TUNE_SCORES];
    cudaError_t error = cudaErrorNotSupported;
    p->scores.W = p->pattern->A;
    p->scores.K = plan->d;
    /* BEGIN STUDENT: nest an SDDMM: the one that SCORES names, or the best candidate that takes the pattern */
    const sddmm_contender *named = which ? sddmm_find(SCORES[which], precision) : NULL;
    if (named) error = sddmm_nest(&p->scores, named, NULL);
    const int count =
        choice_candidates(&sddmm_operation, precision, p->pattern->A.stats, plan->d, list);
    for (int i = 0; i < count && error == cudaErrorNotSupported; i++)
        error = sddmm_nest(&p->scores, sddmm_of(list[i].contender), NULL);
    /* END STUDENT */
    const sddmm_contender *simplest = sddmm_find("sddmm", precision); /* takes any pattern */
    if (error == cudaErrorNotSupported && simplest) error = sddmm_nest(&p->scores, simplest, NULL);
    return error;
}

static cudaError_t prepare_softmax(attention_plan *plan, pipeline *p)
{
    const softmax_contender *c = softmax_find("sparse_softmax", precision_of(plan));
    p->softmax = softmax_plan{.A = plan->A, .H = 1, .scale = 1};
    /* BEGIN STUDENT: H heads share the pattern and its bias; the scale is that of mode DOT */
    p->softmax.H = plan->heads;
    if (plan->mode == ATTENTION_DOT) p->softmax.scale = plan->scale;
    /* END STUDENT */
    return c ? softmax_prepare(&p->softmax, c) : cudaErrorNotSupported;
}

/* In 16 bits every SpMM of the registry keeps a copy of the values, made by prepare. A run cannot make it. */
static cudaError_t nest_sum(attention_plan *plan, pipeline *p)
{
    int &sum = plan->tuning[TUNE_SUM];
    if (precision_of(plan) != PRECISION_FP32)
        sum = OWN_SUM;
    else if (sum == 0)
        sum = SPLIT_ROWS + in_place_fastest(p->pattern->A.stats, plan->d);
    if (sum == OWN_SUM) return cudaSuccess;
    const spmm_contender *c = spmm_find(SUMS[sum], PRECISION_FP32);
    if (!c) return cudaErrorNotSupported;
    p->sum.A = p->pattern->A;
    p->sum.A.d_values = (const float *)p->d_shares;
    p->sum.N = plan->d;
    return spmm_nest(&p->sum, c, NULL, NULL);
}

static size_t shares_bytes(const attention_plan *plan)
{
    const size_t element = precision_format(precision_of(plan))->bytes;
    return (size_t)plan->A.nnz * plan->heads * element;
}

static void release(attention_plan *plan)
{
    pipeline *p = (pipeline *)plan->state;
    if (!p) return;
    sddmm_nested_release(&p->scores);
    softmax_release(&p->softmax);
    spmm_nested_release(&p->sum);
    cudaFree(p->d_shares);
    head_pattern_free(p->pattern);
    free(p);
    plan->state = NULL;
}

/* In mode WEIGHTED the shares are A's values, for each head again. */
static cudaError_t update_values(attention_plan *plan)
{
    pipeline *p = (pipeline *)plan->state;
    if (!is_weighted(plan)) return cudaSuccess;
    return repeat_values(plan->A, plan->heads, precision_format(precision_of(plan))->bytes,
                         p->d_shares);
}

static cudaError_t prepare(attention_plan *plan)
{
    pipeline *p = (pipeline *)calloc(1, sizeof *p);
    cudaError_t error;
    plan->state = p;
    if (!p) return cudaErrorMemoryAllocation;
    CUDA_TRY_GOTO(error, failed, head_pattern_build(&plan->A, plan->heads, &p->pattern));
    CUDA_TRY_GOTO(error, failed, cudaMalloc(&p->d_shares, shares_bytes(plan) + 16));
    if (plan->mode == ATTENTION_DOT) CUDA_TRY_GOTO(error, failed, nest_scores(plan, p));
    if (!is_weighted(plan)) CUDA_TRY_GOTO(error, failed, prepare_softmax(plan, p));
    CUDA_TRY_GOTO(error, failed, nest_sum(plan, p));
    CUDA_TRY_GOTO(error, failed, update_values(plan));
    plan->tuning[TUNE_SCORES] =
        sddmm_nested_value(&p->scores, &plan->contender->base.tunables[TUNE_SCORES]);
    return cudaSuccess;
failed:
    release(plan);
    return error;
}

/* ---- running ---------------------------------------------------------------------------------- */

/* Scores without the bias, and in mode DOT without the factor 1 / sqrt(d): both are the softmax's. */
template <class T>
static cudaError_t make_scores(const attention_plan *plan, const attention_inputs *in,
                               cudaStream_t stream)
{
    const pipeline *p = (const pipeline *)plan->state;
    T *const S = (T *)p->d_shares;
    switch (plan->mode) {
    case ATTENTION_DOT:
        if constexpr (sizeof(T) == sizeof(float))
            return sddmm_nested_run(&p->scores, (const T *)in->Q, (const T *)in->K, S, stream);
        else
            return sddmm_nested_run16(&p->scores, in->Q, in->K, S, stream);
    case ATTENTION_GAT:
        return gat_scores(p->pattern->A, in->el, in->er, S, stream);
    case ATTENTION_GATV2:
        return gatv2_scores(p->pattern->A, plan->heads, plan->d, (const T *)in->Q, (const T *)in->V,
                            in->a, S, stream);
    default:
        return cudaSuccess;
    }
}

template <class T>
static cudaError_t run(const attention_plan *plan, const attention_inputs *in, void *O, float *lse,
                       cudaStream_t stream)
{
    const pipeline *p = (const pipeline *)plan->state;
    T *const shares = (T *)p->d_shares;
    if (plan->A.rows == 0) return cudaSuccess;
    /* BEGIN STUDENT: scores, their softmax in place, the sum: by the nested plan, or by weighted_sum */
    CUDA_TRY(make_scores<T>(plan, in, stream));
    if (!is_weighted(plan)) CUDA_TRY(softmax_run(&p->softmax, shares, shares, lse, stream));
    if constexpr (sizeof(T) == sizeof(float))
        if (p->sum.nested) return spmm_nested_run(&p->sum, (const T *)in->V, (T *)O, stream);
    const device_csr &A = p->pattern->A;
    const values_in_place<T> values = {shares};
    CUDA_TRY(weighted_sum(A.rows, plan->d, A.d_row_ptr, A.d_col_idx, values, (const T *)in->V,
                          (T *)O, stream));
    /* END STUDENT */
    return cudaSuccess;
}

/* The scores of all heads, the pattern if it is another one, and what the nested SDDMM stores in A's place. */
static size_t workspace_bytes(const attention_plan *plan)
{
    const pipeline *p = (const pipeline *)plan->state;
    const sddmm_plan *inner = p->scores.nested;
    const size_t format =
        inner && inner->contender->format_bytes ? inner->contender->format_bytes(inner) : 0;
    return head_pattern_bytes(p->pattern) + shares_bytes(plan) + format;
}

/* In the order in which they run; a mode leaves some out. */
static const contender *nested(const attention_plan *plan, int depth, const int **tuning)
{
    const pipeline *p = (const pipeline *)plan->state;
    if (p->scores.nested && depth-- == 0) {
        *tuning = p->scores.nested->tuning;
        return &p->scores.nested->contender->base;
    }
    if (p->softmax.contender && depth-- == 0) {
        *tuning = p->softmax.tuning;
        return &p->softmax.contender->base;
    }
    if (!p->sum.nested || depth != 0) return NULL;
    *tuning = p->sum.nested->tuning;
    return &p->sum.nested->contender->base;
}

#define ATTENTION(title, kind, number, sums)                                                  \
    static attention_contender title = {                                                      \
        .base = {.lab = 35,                                                                   \
                 .name = #title,                                                              \
                 .summary = "SDDMM, softmax, SpMM: three plans of earlier labs on all heads", \
                 .precision = kind,                                                           \
                 .tunables = {{.name = "SCORES",                                              \
                               .meaning = "of mode dot: the rule's choice, or an SDDMM",      \
                               .values = {0, 1, 2, 3, 4},                                     \
                               .num_values = 5,                                               \
                               .names = SCORES},                                              \
                              {.name = "SUM",                                                 \
                               .meaning = "the rule's choice, this lab's kernel, or an SpMM", \
                               .values = {0, 1, 2, 3, 4, 5},                                  \
                               .num_values = sums,                                            \
                               .names = SUMS}}},                                              \
        .prepare = prepare,                                                                   \
        .run = run<number>,                                                                   \
        .update_values = update_values,                                                       \
        .workspace_bytes = workspace_bytes,                                                   \
        .nested = nested,                                                                     \
        .release = release,                                                                   \
    };                                                                                        \
    ATTENTION_REGISTER(title)

ATTENTION(attention, PRECISION_FP32, float, 6)
ATTENTION(attention_fp16, PRECISION_FP16, __half, 2)
ATTENTION(attention_bf16, PRECISION_BF16, __nv_bfloat16, 2)
