/*
 * Lab 37 - attention backward: gradients of attention, from scores that are made again.
 *
 * Idea      p = exp(s - lse) needs no second softmax, since the forward pass kept lse, 4 bytes a row and head. So a score is
 *           a dot product, made again wherever it is needed, and none is stored.
 * Changed   Lab 36 walks along rows. Here a second kernel walks down columns, on the transposed pattern: each gradient has
 *           one owner, which adds up in one order, without atomics.
 * Run       make lab37 && ./lab37 arxiv 64 --set HEADS=4
 * Watch     A nonzero gathers two rows of features in each kernel, twice the forward pass. Columns keep two sums.
 * Paper     T. Dao, D. Fu, S. Ermon, A. Rudra, C. Re: FlashAttention, NeurIPS 2022
 *
 *     s = scale <q, k>     p = exp(s - lse)     dp = <dO, v>     ds = p (dp - D)     D = <dO, O>
 *
 * Along a row i: D, and dQ = scale sum of ds k. Down a column j: dV = sum of p dO, dK = scale sum of ds q.
 */
#include "device/head_part.cuh"
#include "device/occupancy.cuh"
#include "formats/row_walk.cuh"
#include "formats/transposed_pattern.h"
#include "ops/attention_backward.h"

#include <math.h>

/* Positions in attention_backward_plan.tuning. */
enum { TUNE_PIECES, TUNE_SIDE, TUNE_SHORT, TUNE_SEGMENT, TUNE_WINDOW };

constexpr int LOADS = 8; /* of a lane, on their way */

/* Arguments of the kernel, along rows or down columns. A nonzero has two products: own[0] times other[0], which makes
 * its score, and own[1] times other[1], which is dp.
 *
 *              own      other    out
 *     rows     Q, dO    K, V     dQ
 *     columns  K, V     Q, dO    dK, dV
 */
template <class H> struct gradients {
    row_walk rows;       /* of A, or of its transpose */
    int d, vectors;      /* of a head: features, and vectors of them */
    unsigned node_bytes; /* of all heads */
    float scale;
    const H *own[2], *other[2];
    H *out[2];
    const H *O; /* rows find D, ... */
    const float *lse;
    float *D; /* ... and columns read it */
};

/* Sums of other[0], each times its ds; and, down columns, of other[1], each times its p. */
template <int SUMS, int PIECES, int V> struct gradient_sums {
    static constexpr int COUNT = SUMS * PIECES * V;
    float sum[SUMS][PIECES][V] = {};

    /* f of each of its floats. */
    template <class F> __device__ __forceinline__ void each(const F &f)
    {
#pragma unroll
        for (int s = 0; s < SUMS; s++)
#pragma unroll
            for (int k = 0; k < PIECES; k++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    f(sum[s][k][v]);
    }

    __device__ __forceinline__ void take(const gradient_sums &more)
    {
#pragma unroll
        for (int s = 0; s < SUMS; s++)
            add_scaled(sum[s], 1, more.sum[s]);
    }
};

/* A group of lanes at work on a row of A, or of its transpose if DOWN, and on a head; U nonzeros at a time. */
template <class H, int V, int LANES, int PIECES, int U, bool DOWN> struct gradient_group {
    static constexpr int SUMS = DOWN ? 2 : 1;
    typedef head_part<H, V, LANES, PIECES> part;
    typedef group_walk<LANES, U> walk;

    const gradients<H> &p;
    walk way;
    const part mine;
    const size_t head_at;                   /* in the features of a node */
    const H *const first_0, *const first_1; /* other: of node 0 this lane's first feature */
    typename part::floats own_0 = {}, own_1 = {};
    /* Numbers of the row; or of the rows of the nonzeros that this lane holds. */
    float lse[walk::HELD] = {}, D[walk::HELD] = {};
    gradient_sums<SUMS, PIECES, V> gradient;

    __device__ __forceinline__ explicit gradient_group(const gradients<H> &given)
        : p(given), way(p.rows), mine(p.vectors), head_at((size_t)way.head * p.d),
          first_0(p.other[0] + head_at + mine.feature(0)),
          first_1(p.other[1] + head_at + mine.feature(0))
    {
        if (way.length == 0) return; /* of an empty row nothing may be read */
        mine.load_own(own_0, p.own[0] + place_of_row());
        mine.load_own(own_1, p.own[1] + place_of_row());
        if (DOWN) return;
        /* BEGIN STUDENT: what a row knows of itself, its lse and D */
        typename part::vectors o;
        mine.load(o, p.O + place_of_row() + mine.feature(0));
        lse[0] = p.lse[number(way.own.row)];
        D[0] = subwarp_sum<LANES>(dot(own_1, o));
        /* END STUDENT */
    }

    /* Where the row's head begins; the number of a node's head. */
    __device__ __forceinline__ size_t place_of_row() const
    {
        return (size_t)way.own.row * p.rows.heads * p.d + head_at;
    }
    __device__ __forceinline__ size_t number(int node) const
    {
        return (size_t)node * p.rows.heads + way.head;
    }

    /* Loads what columns need of each row that the batch names, beside its features. */
    __device__ __forceinline__ void fetch_scalars()
    {
        if constexpr (DOWN)
#pragma unroll
            for (int h = 0; h < walk::HELD; h++) {
                lse[h] = p.lse[number(way.column[h])];
                D[h] = p.D[number(way.column[h])];
            }
    }

    /* Adds nonzeros first .. first + U - 1 of the batch at `at`. */
    __device__ __forceinline__ void add(int at, int first)
    {
        /* BEGIN STUDENT: load all rows; from both products of each nonzero p and ds; then add */
        typename part::vectors x[U], y[U];
        float share[U], ds[U];
#pragma unroll
        for (int u = 0; u < U; u++) {
            const size_t node = (size_t)(unsigned)walk::of(way.column, first + u) * p.node_bytes;
            mine.load(x[u], byte_offset(first_0, node));
            mine.load(y[u], byte_offset(first_1, node));
        }
#pragma unroll
        for (int u = 0; u < U; u++) {
            const float score = p.scale * subwarp_sum<LANES>(dot(own_0, x[u]));
            const float dp = subwarp_sum<LANES>(dot(own_1, y[u]));
            const float of_lse = DOWN ? walk::of(lse, first + u) : lse[0];
            const float of_D = DOWN ? walk::of(D, first + u) : D[0];
            const bool counts = way.has(at, first + u);
            share[u] = counts ? exponential(score - of_lse) : 0;
            ds[u] = counts ? share[u] * (dp - of_D) : 0;
        }
#pragma unroll
        for (int u = 0; u < U; u++) {
            add_scaled(gradient.sum[0], ds[u], x[u]);
            if (DOWN) add_scaled(gradient.sum[SUMS - 1], share[u], y[u]);
        }
        /* END STUDENT */
    }

    __device__ __forceinline__ void store() const
    {
        mine.store(p.out[0] + place_of_row(), gradient.sum[0], p.scale);
        if (DOWN) mine.store(p.out[1] + place_of_row(), gradient.sum[SUMS - 1], 1);
        if (!DOWN && mine.lane == 0) p.D[number(way.own.row)] = D[0];
    }
};

/* Blocks of an SM by registers, of which it has 32 for each of its threads. A lane needs those of its loads, a float
 * for each feature of its own rows and of sums, and others, as compiled. */
constexpr int blocks_per_sm(bool down, int features, int load_words)
{
    const int sums = down ? 2 : 1, others = down ? 76 : 48;
    const int registers = 2 * load_words + (2 + sums) * features + others;
    return THREADS_PER_SM * 32 / (BLOCK * registers);
}

template <class H, int V, int LANES, int PIECES, int U, bool DOWN>
static __global__ void __launch_bounds__(BLOCK, blocks_per_sm(DOWN, PIECES *V,
                                                              U *PIECES *words_of(V * sizeof(H))))
    fused_attention_backward_kernel(const __grid_constant__ gradients<H> p)
{
    gradient_group<H, V, LANES, PIECES, U, DOWN> group(p);
    for (int at = 0; at < group.way.most; at += group.way.step()) {
        group.way.advance(at);
        group.fetch_scalars();
        group.way.for_all(at, [&](int first) { group.add(at, first); });
    }
    if (group.way.finish(group.gradient)) group.store();
}

/* ---- the plan ---------------------------------------------------------------------------------- */

template <class H> using gradient_kernel = void (*)(gradients<H>);

template <class H, bool DOWN> struct gradient_kernels {
    template <int V, int LANES, int PIECES> gradient_kernel<H> get() const
    {
        constexpr int U = LOADS > 2 * PIECES ? LOADS / (2 * PIECES) : 1;
        return fused_attention_backward_kernel<H, V, LANES, PIECES, U, DOWN>;
    }
};

struct backward_plan {
    head_shape shape;
    transposed_pattern *transposed;
    walk_plan rows, columns;
    float *d_D; /* of each row and head */
};

static size_t element_bytes(const attention_backward_plan *plan)
{
    return precision_format(plan->contender->base.precision)->bytes;
}

/* One after the other: columns need every row's D. */
template <class H>
static cudaError_t run(const attention_backward_plan *plan, const attention_backward_inputs *in,
                       void *dQ, void *dK, void *dV, cudaStream_t stream)
{
    const backward_plan *b = (const backward_plan *)plan->state;
    const H *const Q = (const H *)in->Q, *const K = (const H *)in->K, *const V = (const H *)in->V;
    const H *const dO = (const H *)in->dO;
    gradients<H> p = {.rows = b->rows.rows,
                      .d = plan->d,
                      .vectors = plan->d / b->shape.vector,
                      .node_bytes = (unsigned)(plan->heads * plan->d * sizeof(H)),
                      .scale = plan->scale,
                      .own = {Q, dO},
                      .other = {K, V},
                      .out = {(H *)dQ, NULL},
                      .O = (const H *)in->O,
                      .lse = in->lse,
                      .D = b->d_D};
    if (plan->A.rows > 0) {
        const gradient_kernel<H> along = kernel_of_shape<H>(b->shape, gradient_kernels<H, false>());
        along<<<b->rows.grid, BLOCK, 0, stream>>>(p);
        CUDA_TRY(cudaGetLastError());
    }
    if (plan->A.cols == 0) return cudaSuccess;
    p.rows = b->columns.rows;
    p.own[0] = K, p.own[1] = V, p.other[0] = Q, p.other[1] = dO;
    p.out[0] = (H *)dK, p.out[1] = (H *)dV;
    const gradient_kernel<H> down = kernel_of_shape<H>(b->shape, gradient_kernels<H, true>());
    down<<<b->columns.grid, BLOCK, 0, stream>>>(p);
    return cudaGetLastError();
}

static void release(attention_backward_plan *plan)
{
    backward_plan *b = (backward_plan *)plan->state;
    walk_plan_free(&b->rows);
    walk_plan_free(&b->columns);
    transposed_pattern_free(b->transposed);
    cudaFree(b->d_D);
    free(b);
}

static cudaError_t make(const attention_backward_plan *plan, const walk_settings &settings,
                        backward_plan *b)
{
    const int heads = plan->heads, numbers = b->shape.vector * b->shape.pieces;
    walk_settings of_columns = settings;
    if (of_columns.window >= plan->A.cols) of_columns.window = 0;
    CUDA_TRY(transposed_pattern_build(&plan->A, &b->transposed));
    CUDA_TRY(walk_plan_make(&plan->A, settings, heads, b->shape.lanes, numbers, &b->rows));
    CUDA_TRY(walk_plan_make(&b->transposed->T, of_columns, heads, b->shape.lanes, 2 * numbers,
                            &b->columns));
    return cudaMalloc((void **)&b->d_D, ((size_t)plan->A.rows * heads + 1) * sizeof *b->d_D);
}

static cudaError_t prepare(attention_backward_plan *plan)
{
    int *const tuning = plan->tuning;
    backward_plan *b = (backward_plan *)calloc(1, sizeof *b);
    if (!b) return cudaErrorMemoryAllocation;
    b->shape = head_shape_of(plan->d, element_bytes(plan), tuning[TUNE_PIECES]);
    const bool wide = b->shape.vector * element_bytes(plan) == WIDE;
    tuning[TUNE_PIECES] = wide ? b->shape.pieces : 1;
    tuning[TUNE_SIDE] = side_of(tuning[TUNE_SIDE], plan->heads, b->shape.lanes);
    if (tuning[TUNE_WINDOW] >= plan->A.rows) tuning[TUNE_WINDOW] = 0;
    const walk_settings settings = {.segment = tuning[TUNE_SEGMENT],
                                    .short_row = tuning[TUNE_SHORT],
                                    .window = tuning[TUNE_WINDOW],
                                    .side = tuning[TUNE_SIDE]};
    const cudaError_t error = make(plan, settings, b);
    plan->state = b;
    if (error != cudaSuccess) release(plan);
    return error;
}

/* Columns and shares of both orders. */
static size_t format_bytes(const attention_backward_plan *plan)
{
    const backward_plan *b = (const backward_plan *)plan->state;
    return 2 * (size_t)plan->A.nnz * sizeof(int) + row_shares_bytes(b->rows.shares) +
           row_shares_bytes(b->columns.shares);
}

static const char *unsuited(const problem *p)
{
    return head_unsuited(p->width);
}

template <enum precision PRECISION> static void choose(const row_stats *stats, int d, int *tuning)
{
    (void)stats;
    /* In 16 bits a lane has twice the features of two loads, of two rows and two sums: too many registers. */
    tuning[TUNE_PIECES] = PRECISION == PRECISION_FP32 ? usual_pieces(d, sizeof(float)) : 1;
}

#define BACKWARD(title, kind, type)                                                         \
    static attention_backward_contender title = {                                           \
        .base = {.lab = 37,                                                                 \
                 .name = #title,                                                            \
                 .summary = "gradients, from scores that are made again",                   \
                 .precision = kind,                                                         \
                 .unsuited = unsuited,                                                      \
                 .tunables = {TUNABLE_PIECES, TUNABLE_SIDE, TUNABLE_SHORT, TUNABLE_SEGMENT, \
                              TUNABLE_WINDOW}},                                             \
        .choose = choose<kind>,                                                             \
        .prepare = prepare,                                                                 \
        .run = run<type>,                                                                   \
        .format_bytes = format_bytes,                                                       \
        .release = release,                                                                 \
    };                                                                                      \
    ATTENTION_BACKWARD_REGISTER(title)

BACKWARD(fused_attention_backward, PRECISION_FP32, float)
BACKWARD(fused_attention_backward_fp16, PRECISION_FP16, __half)
BACKWARD(fused_attention_backward_bf16, PRECISION_BF16, __nv_bfloat16)
