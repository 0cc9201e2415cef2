/*
 * Lab 34 - sparse softmax: a row's scores become shares that add up to 1.
 *
 * Idea      One pass finds the largest score and the sum of exponentials together: where the maximum grows, the sum
 *           so far is multiplied by exp(old - new). A second pass stores exp(score - max) / sum.
 * Changed   The textbook has three passes, a warp a row: maximum, sum, shares. It is here as PASSES=3. Ours reads
 *           scores twice, gives a short row fewer lanes than a warp, and a long row a block.
 * Run       make lab34 && ./lab34 arxiv 1       ./lab34 arxiv 4 --set PASSES=3
 * Watch     A lane that saw no score holds a maximum of minus infinity: minus infinity minus itself is NaN.
 * Paper     M. Milakov, N. Gimelshein: Online normalizer calculation for softmax, 2018.
 */
#include "device/cuda_try.h"
#include "device/half.cuh"
#include "device/warp.cuh"
#include "ops/softmax.h"

#include <stdlib.h>

enum { TUNE_PASSES, TUNE_LANES };

constexpr int BLOCK = 256, WARPS = BLOCK / WARP_SIZE;
constexpr float LOG2E = 1.44269504f;
/* A row that takes its lanes more turns than this gets a block: 1024 nonzeros of a warp. */
constexpr int MOST_TURNS = 32;

/* Rows that a block takes each, on the device. */
struct long_rows {
    int count, limit; /* longer ones than the limit */
    int *d_row;
};

/* Arguments of a kernel; the scores of row and head u % H of row u / H lie side by side (softmax.h). */
template <class T> struct softmax_of {
    int rows, H, num_long, limit;
    const int *row_ptr, *d_long;
    const T *bias; /* NULL: none */
    float scale;
    const T *S; /* may be P */
    T *P;
    float *lse;
};

/* The scores of one row and head. */
template <class T> struct row_scores {
    int n;
    const T *S, *bias;
    T *P;
    float scale;

    __device__ __forceinline__ row_scores(const softmax_of<T> &a, int row, int head)
    {
        const int first = row < a.rows ? a.row_ptr[row] : 0;
        n = row < a.rows ? a.row_ptr[row + 1] - first : 0;
        const size_t at = (size_t)first * a.H + (size_t)head * n;
        S = a.S + at;
        P = a.P + at;
        bias = a.bias ? a.bias + first : nullptr;
        scale = a.scale;
    }

    __device__ __forceinline__ float operator[](int j) const
    {
        const float x = widen(S[j]) * scale;
        return bias ? x + widen(bias[j]) : x;
    }
};

/* exp(x - max), 0 for an x of minus infinity. The difference comes first: the product of a large score with log2(e)
 * would lose what tells it from the maximum. */
__device__ __forceinline__ float power(float x, float max)
{
    return exp2f((x - max) * LOG2E);
}

/* Knowledge of a row so far: the largest of the scores seen, and the sum of exp(score - max) over them. */
struct seen {
    float max = -INFINITY, sum = 0;

    /* Takes another one's knowledge; of one score x that is x and 1. */
    __device__ __forceinline__ void learn(float other_max, float other_sum)
    {
        /* BEGIN STUDENT: the new maximum and sum. Mind those who saw nothing */
        const float top = fmaxf(max, other_max);
        const float base = top == -INFINITY ? 0 : top;
        sum = sum * power(max, base) + other_sum * power(other_max, base);
        max = top;
        /* END STUDENT */
    }
};

/* ---- three passes: the textbook's ------------------------------------------------------------- */

template <class T> static __global__ void softmax_three_passes_kernel(const softmax_of<T> a)
{
    const int unit = blockIdx.x * WARPS + threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    if (unit >= a.rows * a.H) return;
    const row_scores<T> x(a, unit / a.H, unit % a.H);
    float max = -INFINITY, sum = 0;
    for (int j = lane; j < x.n; j += WARP_SIZE)
        max = fmaxf(max, x[j]);
    max = warp_max(max);
    for (int j = lane; j < x.n; j += WARP_SIZE)
        sum += power(x[j], max);
    sum = warp_sum(sum);
    for (int j = lane; j < x.n; j += WARP_SIZE)
        x.P[j] = narrow<T>(power(x[j], max) / sum);
    if (lane == 0) a.lse[unit] = max + logf(sum);
}

/* ---- two passes ------------------------------------------------------------------------------- */

/* The second pass, of STEP threads; all of them have seen the whole row. */
template <class T>
__device__ __forceinline__ void store_shares(const row_scores<T> &x, const seen &all, int first,
                                             int step)
{
    const float inverse = 1 / all.sum;
    for (int j = first; j < x.n; j += step)
        x.P[j] = narrow<T>(power(x[j], all.max) * inverse);
}

/* Tells all lanes of a group what each of them has seen. */
template <int LANES> __device__ __forceinline__ void share(seen &s)
{
    const unsigned mask = subwarp_mask<LANES>();
    /* BEGIN STUDENT: in log2(LANES) steps */
#pragma unroll
    for (int d = LANES / 2; d > 0; d /= 2) {
        const float max = __shfl_xor_sync(mask, s.max, d), sum = __shfl_xor_sync(mask, s.sum, d);
        s.learn(max, sum);
    }
    /* END STUDENT */
}

/* A block, a long row and head. */
template <class T>
__device__ __forceinline__ void long_row(const softmax_of<T> &a, int row, int head)
{
    __shared__ float max[WARPS], sum[WARPS];
    const row_scores<T> x(a, row, head);
    seen s;
    for (int j = threadIdx.x; j < x.n; j += BLOCK)
        s.learn(x[j], 1);
    share<WARP_SIZE>(s);
    if (threadIdx.x % WARP_SIZE == 0) {
        max[threadIdx.x / WARP_SIZE] = s.max;
        sum[threadIdx.x / WARP_SIZE] = s.sum;
    }
    __syncthreads();
    s = seen();
    for (int w = 0; w < WARPS; w++)
        s.learn(max[w], sum[w]);
    store_shares(x, s, threadIdx.x, BLOCK);
    if (threadIdx.x == 0) a.lse[(size_t)row * a.H + head] = s.max + logf(s.sum);
}

/* Blocks of long rows come first in the grid: they take longest. */
template <class T, int LANES>
static __global__ void __launch_bounds__(BLOCK) softmax_two_passes_kernel(const softmax_of<T> a)
{
    const int num_long = a.num_long * a.H, block = blockIdx.x;
    if (block < num_long) {
        long_row(a, a.d_long[block / a.H], block % a.H);
        return;
    }
    const int unit = (block - num_long) * (BLOCK / LANES) + threadIdx.x / LANES;
    const int lane = threadIdx.x % LANES;
    const row_scores<T> x(a, unit / a.H, unit % a.H);
    if (unit >= a.rows * a.H || x.n > a.limit) return; /* alike for all lanes of the group */
    /* BEGIN STUDENT: the first pass, then the second */
    seen s;
    for (int j = lane; j < x.n; j += LANES)
        s.learn(x[j], 1);
    share<LANES>(s);
    store_shares(x, s, lane, LANES);
    if (lane == 0) a.lse[unit] = s.max + logf(s.sum); /* of an empty row: minus infinity */
    /* END STUDENT */
}

/* ---- plans ------------------------------------------------------------------------------------ */

static cudaError_t prepare(softmax_plan *plan)
{
    const csr_matrix *A = plan->A.host;
    long_rows *rows = (long_rows *)calloc(1, sizeof *rows);
    if (!rows) return cudaErrorMemoryAllocation;
    int *list = (int *)malloc(((size_t)plan->A.rows + 1) * sizeof *list);
    cudaError_t error = list ? cudaSuccess : cudaErrorMemoryAllocation;
    if (plan->tuning[TUNE_PASSES] == 3) plan->tuning[TUNE_LANES] = WARP_SIZE;
    rows->limit = MOST_TURNS * plan->tuning[TUNE_LANES];
    for (int i = 0; list && i < plan->A.rows; i++)
        if (A->row_ptr[i + 1] - A->row_ptr[i] > rows->limit) list[rows->count++] = i;
    const size_t bytes = rows->count * sizeof *list;
    if (error == cudaSuccess && bytes) error = cudaMalloc((void **)&rows->d_row, bytes);
    if (error == cudaSuccess && bytes)
        error = cudaMemcpy(rows->d_row, list, bytes, cudaMemcpyHostToDevice);
    free(list);
    plan->state = rows;
    if (error == cudaSuccess) return error;
    cudaFree(rows->d_row);
    free(rows);
    plan->state = NULL;
    return error;
}

static void release(softmax_plan *plan)
{
    long_rows *rows = (long_rows *)plan->state;
    if (rows) cudaFree(rows->d_row);
    free(rows);
}

/* Nothing is kept of the bias. */
static cudaError_t update_values(softmax_plan *plan)
{
    (void)plan;
    return cudaSuccess;
}

/* Lanes for the mean row: with more of them than nonzeros some have nothing to do. */
static void choose(const row_stats *stats, int H, int *tuning)
{
    (void)H;
    int lanes = WARP_SIZE;
    while (lanes > 4 && stats->mean <= lanes / 2)
        lanes /= 2;
    tuning[TUNE_LANES] = lanes;
}

template <class T>
static cudaError_t launch(const softmax_plan *plan, const T *bias, const T *S, T *P, float *lse,
                          cudaStream_t stream)
{
    const long_rows *rows = (const long_rows *)plan->state;
    const softmax_of<T> a = {plan->A.rows, plan->H, rows->count, rows->limit, plan->A.d_row_ptr,
                             rows->d_row,  bias,    plan->scale, S,           P,
                             lse};
    const int lanes = plan->tuning[TUNE_LANES];
    const int groups = BLOCK / lanes;
    const int blocks = (int)(((int64_t)a.rows * a.H + groups - 1) / groups);
    const int all = blocks + a.num_long * a.H;
    if (a.rows == 0) return cudaSuccess;
    if (plan->tuning[TUNE_PASSES] == 3)
        softmax_three_passes_kernel<<<blocks, BLOCK, 0, stream>>>(a);
    else if (lanes == 4)
        softmax_two_passes_kernel<T, 4><<<all, BLOCK, 0, stream>>>(a);
    else if (lanes == 8)
        softmax_two_passes_kernel<T, 8><<<all, BLOCK, 0, stream>>>(a);
    else if (lanes == 16)
        softmax_two_passes_kernel<T, 16><<<all, BLOCK, 0, stream>>>(a);
    else
        softmax_two_passes_kernel<T, WARP_SIZE><<<all, BLOCK, 0, stream>>>(a);
    return cudaGetLastError();
}

static cudaError_t run(const softmax_plan *plan, const float *S, float *P, float *lse,
                       cudaStream_t stream)
{
    return launch<float>(plan, plan->A.d_values, S, P, lse, stream);
}

template <class T>
static cudaError_t run16(const softmax_plan *plan, const void *S, void *P, float *lse,
                         cudaStream_t stream)
{
    return launch<T>(plan, (const T *)plan->A.d_values16, (const T *)S, (T *)P, lse, stream);
}

#define SPARSE_SOFTMAX(title, kind, runner, function)                                              \
    static softmax_contender title = {                                                             \
        .base = {.lab = 34,                                                                        \
                 .name = #title,                                                                   \
                 .summary = "maximum and sum in one pass; lanes by the mean row, blocks for long", \
                 .precision = kind,                                                                \
                 .tunables = {{"PASSES", "over a row: 3 are the textbook's", {2, 3}, 2, 2},        \
                              {"LANES", "of a row, with PASSES=2", {4, 8, 16, 32}, 4, 32}}},       \
        .choose = choose,                                                                          \
        .prepare = prepare,                                                                        \
        .runner = function,                                                                        \
        .update_values = update_values,                                                            \
        .release = release,                                                                        \
    };                                                                                             \
    SOFTMAX_REGISTER(title)

SPARSE_SOFTMAX(sparse_softmax, PRECISION_FP32, run, run)
SPARSE_SOFTMAX(sparse_softmax_fp16, PRECISION_FP16, run16, run16<__half>)
SPARSE_SOFTMAX(sparse_softmax_bf16, PRECISION_BF16, run16, run16<__nv_bfloat16>)
