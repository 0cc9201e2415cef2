/*
 * Lab 36 - fused attention: scores, softmax and weighted sum in one walk along a row.
 *
 * Idea      A softmax needs the largest score, which is known at the end of the row. Keep the largest so
 *           far, and scale down what was added under a smaller one. Then no score is ever stored.
 * Changed   Lab 35 runs three kernels, and keeps a score for each nonzero and head between them.
 * Run       make lab36 && ./lab36 arxiv 64 --set HEADS=4
 * Watch     Long rows are cut; the warp that comes last puts the segments together, in one order always.
 *           Neighbouring rows that share columns are taken together, and load those once (ROWS, row_panels.h).
 * Paper     M. Milakov, N. Gimelshein: Online normalizer calculation for softmax, 2018
 */
#include "device/facts.h"
#include "device/head_part.cuh"
#include "device/occupancy.cuh"
#include "formats/row_panels.h"
#include "formats/row_walk.cuh"
#include "ops/attention.h"

#include <limits.h>
#include <math.h>

/* Positions in attention_plan.tuning. */
enum { TUNE_LOADS, TUNE_PIECES, TUNE_SIDE, TUNE_SHORT, TUNE_SEGMENT, TUNE_WINDOW, TUNE_ROWS };

/* Arguments of the kernel. */
template <class H> struct attention {
    row_walk rows;                /* of A, or its panels */
    int count;                    /* of A's rows */
    const int *__restrict__ list; /* row_panels.d_list; NULL: rows of A */
    int d, vectors;               /* of a head: features, and vectors of them */
    unsigned node_bytes;          /* of all heads */
    float scale;
    const H *__restrict__ values; /* the bias, or weights; NULL: no bias */
    const H *__restrict__ Q, *__restrict__ K, *__restrict__ V;
    const float *__restrict__ el, *__restrict__ er, *__restrict__ a;
    H *O;
    float *lse; /* NULL: there is no softmax */
};

static __device__ __forceinline__ float leaky(float x)
{
    return x > 0 ? x : x * ATTENTION_SLOPE;
}

/* State of a row and head, once some nonzeros are added: the largest score; the sum of exponentials of scores
 * less that; the sum of rows of V, each times its exponential. Without a SOFTMAX the last one alone. */
template <bool SOFTMAX, int PIECES, int V> struct row_state {
    static constexpr int COUNT = PIECES * V + (SOFTMAX ? 2 : 0);
    float most = -INFINITY, total = 0, sum[PIECES][V] = {};

    /* f of each of its floats. */
    template <class F> __device__ __forceinline__ void each(const F &f)
    {
        if (SOFTMAX) f(most), f(total);
#pragma unroll
        for (int k = 0; k < PIECES; k++)
#pragma unroll
            for (int v = 0; v < V; v++)
                f(sum[k][v]);
    }

    /* Returns the number to subtract from scores: never -infinity, since the difference of two of them is no number. */
    __device__ __forceinline__ float base() const
    {
        return most == -INFINITY ? 0 : most;
    }

    /* Makes room for scores up to `score`. */
    __device__ __forceinline__ void raise(float score)
    {
        /* BEGIN STUDENT: the new largest score; what was added under the old one is scaled down */
        const float old = most;
        most = fmaxf(most, score);
        const float shrink = exponential(old - base());
        total *= shrink;
#pragma unroll
        for (int k = 0; k < PIECES; k++)
#pragma unroll
            for (int v = 0; v < V; v++)
                sum[k][v] *= shrink;
        /* END STUDENT */
    }

    /* Adds what is known of other nonzeros. */
    __device__ __forceinline__ void take(const row_state &other)
    {
        /* BEGIN STUDENT: two triples become one */
        float weight = 1;
        if (SOFTMAX) {
            raise(other.most);
            weight = exponential(other.most - base());
            total += weight * other.total;
        }
        add_scaled(sum, weight, other.sum);
        /* END STUDENT */
    }
};

/* A group of lanes at work on ROWS neighbouring rows, a panel, and on a head; U nonzeros at a time. */
template <class H, int V, int LANES, int PIECES, int U, attention_mode MODE, int ROWS>
struct attention_group {
    static constexpr bool SOFTMAX = MODE != ATTENTION_WEIGHTED;
    typedef head_part<H, V, LANES, PIECES> part;
    typedef group_walk<LANES, U> walk;

    const attention<H> &p;
    walk way;
    const part mine;
    const size_t head_at;           /* in the features of a node */
    const H *const keys, *const of; /* K and V: of node 0 this lane's first feature */
    typename part::floats q[ROWS] = {}, a = {};
    float left = 0; /* el */
    float value[walk::HELD],
        right[walk::HELD]; /* A's, and er, of the nonzeros that this lane holds */
    row_state<SOFTMAX, PIECES, V> row[ROWS];

    __device__ __forceinline__ explicit attention_group(const attention<H> &given)
        : p(given), way(p.rows), mine(p.vectors), head_at((size_t)way.head * p.d),
          keys(p.K + head_at + mine.feature(0)), of(p.V + head_at + mine.feature(0))
    {
        if (way.length == 0) return; /* of an empty row nothing may be read */
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if ((MODE == ATTENTION_DOT || MODE == ATTENTION_GATV2) && !is_empty(r))
                mine.load_own(q[r], p.Q + place_of_row(r));
        if (MODE == ATTENTION_GATV2) mine.load_own(a, p.a + head_at);
        if (MODE == ATTENTION_GAT) left = p.el[(size_t)way.own.row * p.rows.heads + way.head];
    }

    /* Row r of the panel. */
    __device__ __forceinline__ int row_of(int r) const
    {
        return way.own.row * ROWS + r;
    }

    /* Where its head begins in Q and O. */
    __device__ __forceinline__ size_t place_of_row(int r) const
    {
        return (size_t)row_of(r) * p.rows.heads * p.d + head_at;
    }

    /* Where list k of the panel begins (row_panels.h). */
    __device__ __forceinline__ int list(int k) const
    {
        return way.exists ? p.list[way.own.row * (ROWS + 1) + k] : 0;
    }

    __device__ __forceinline__ bool is_empty(int r) const
    {
        if constexpr (ROWS == 1) return way.own.first == way.own.end;
        return list(0) == list(1) && list(1 + r) == list(2 + r);
    }

    /* Loads what is known of each nonzero of the batch beside its rows of K and V. */
    __device__ __forceinline__ void fetch_scalars(int at)
    {
#pragma unroll
        for (int h = 0; h < walk::HELD; h++) {
            const int place = way.place(at, h * LANES + mine.lane);
            value[h] = p.values ? widen(p.values[place]) : 0;
            if (MODE == ATTENTION_GAT)
                right[h] = p.er[(size_t)way.column[h] * p.rows.heads + way.head];
        }
    }

    /* This lane's part of <a, leaky(q + x)>. */
    __device__ __forceinline__ float leaky_dot(const typename part::floats &q,
                                               const typename part::vectors &x) const
    {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < PIECES; k++)
#pragma unroll
            for (int v = 0; v < V; v++)
                sum += a[k][v] * leaky(q[k][v] + widen(x[k][v]));
        return sum;
    }

    /* The score of nonzero j of the batch in row r, or its weight. */
    __device__ __forceinline__ float score(int r, int j, const typename part::vectors &k,
                                           const typename part::vectors &v) const
    {
        const float known = walk::of(value, j);
        switch (MODE) {
        case ATTENTION_DOT:
            return p.scale * subwarp_sum<LANES>(dot(q[r], k)) + known;
        case ATTENTION_GAT:
            return leaky(left + walk::of(right, j)) + known;
        case ATTENTION_GATV2:
            return subwarp_sum<LANES>(leaky_dot(q[r], v)) + known;
        default:
            return known;
        }
    }

    /* Adds nonzeros first .. first + U - 1 of the batch at `at` to COUNT rows from row FIRST on. */
    template <int FIRST, int COUNT> __device__ __forceinline__ void add(int at, int first)
    {
        /* BEGIN STUDENT: load all rows, then the scores, then their exponentials, then the sum */
        typename part::vectors k[U], v[U];
        float weight[COUNT][U];
#pragma unroll
        for (int u = 0; u < U; u++) {
            const size_t node = (size_t)(unsigned)walk::of(way.column, first + u) * p.node_bytes;
            if (MODE == ATTENTION_DOT) mine.load(k[u], byte_offset(keys, node));
            mine.load(v[u], byte_offset(of, node));
        }
#pragma unroll
        for (int r = 0; r < COUNT; r++)
#pragma unroll
            for (int u = 0; u < U; u++) {
                const float s = score(FIRST + r, first + u, k[u], v[u]);
                weight[r][u] = way.has(at, first + u) ? s : SOFTMAX ? -INFINITY : 0;
            }
#pragma unroll
        for (int r = 0; r < COUNT && SOFTMAX; r++) {
            float largest = weight[r][0];
#pragma unroll
            for (int u = 1; u < U; u++)
                largest = fmaxf(largest, weight[r][u]);
            row[FIRST + r].raise(largest);
#pragma unroll
            for (int u = 0; u < U; u++) {
                weight[r][u] = exponential(weight[r][u] - row[FIRST + r].base());
                row[FIRST + r].total += weight[r][u];
            }
        }
#pragma unroll
        for (int r = 0; r < COUNT; r++)
#pragma unroll
            for (int u = 0; u < U; u++)
                add_scaled(row[FIRST + r].sum, weight[r][u], v[u]);
        /* END STUDENT */
    }

    /* Adds the nonzeros of the share, or of the list that the way was turned to. */
    template <int FIRST, int COUNT> __device__ __forceinline__ void add_all()
    {
        for (int at = 0; at < way.most; at += way.step()) {
            way.advance(at);
            fetch_scalars(at);
            way.for_all(at, [&](int first) { add<FIRST, COUNT>(at, first); });
        }
    }

    /* Adds what row R of the panel has for itself, and then the next rows. */
    template <int R> __device__ __forceinline__ void add_others()
    {
        /* BEGIN STUDENT: turn to the row's list, add it to the row alone, go on */
        way.turn_to(list(1 + R), list(2 + R));
        add_all<R, 1>();
        if constexpr (R + 1 < ROWS) add_others<R + 1>();
        /* END STUDENT */
    }

    __device__ __forceinline__ void store(int r) const
    {
        if (row_of(r) >= p.count) return;
        const float scale = !SOFTMAX ? 1 : is_empty(r) ? 0 : 1 / row[r].total;
        mine.store(p.O + place_of_row(r), row[r].sum, scale);
        if (SOFTMAX && mine.lane == 0)
            p.lse[(size_t)row_of(r) * p.rows.heads + way.head] = row[r].most + logf(row[r].total);
    }
};

/* Blocks of an SM by registers, of which it has 32 for each of its threads. A lane needs those of its loads, a float
 * for each feature of a sum, of q and of a, and others, as compiled. */
constexpr int blocks_per_sm(attention_mode mode, int rows, int features, int load_words)
{
    const int gathered = mode == ATTENTION_DOT ? 2 : 1; /* rows that a nonzero fetches */
    const int kept = mode == ATTENTION_DOT ? 2 : mode == ATTENTION_GATV2 ? 3 : 1;
    const int others = mode == ATTENTION_DOT ? 44 : 64;
    const int registers = gathered * load_words + rows * kept * features + others;
    return THREADS_PER_SM * 32 / (BLOCK * registers);
}

template <class H, int V, int LANES, int PIECES, int U, attention_mode MODE, int ROWS>
static __global__ void __launch_bounds__(BLOCK, blocks_per_sm(MODE, ROWS, PIECES *V,
                                                              U *PIECES *words_of(V * sizeof(H))))
    fused_attention_kernel(const __grid_constant__ attention<H> p)
{
    attention_group<H, V, LANES, PIECES, U, MODE, ROWS> group(p);
    if constexpr (ROWS > 1) group.way.turn_to(group.list(0), group.list(1));
    group.template add_all<0, ROWS>();
    if constexpr (ROWS > 1) group.template add_others<0>();
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (group.way.finish(group.row[r])) group.store(r);
}

/* ---- which instance ---------------------------------------------------------------------------- */

template <class H> using attention_kernel = void (*)(attention<H>);

/* Loads of a lane that are on their way: MANY are an option of mode DOT. */
constexpr int FEW = 8, MANY = 16;
constexpr int PANEL_FEATURES = 8; /* of a lane, at most, where it has a panel of rows */

template <class H> struct attention_kernels {
    attention_mode mode;
    int loads, rows;

    template <int V, int LANES, int PIECES, attention_mode MODE, int LOADS = FEW, int ROWS = 1>
    static attention_kernel<H> instance()
    {
        constexpr bool HAS_DOT = MODE == ATTENTION_DOT || MODE == ATTENTION_GATV2;
        constexpr int OF_NONZERO = HAS_DOT ? 2 * PIECES : PIECES; /* q takes registers, too */
        constexpr int U = LOADS > OF_NONZERO ? LOADS / OF_NONZERO : 1;
        return fused_attention_kernel<H, V, LANES, PIECES, U, MODE, ROWS>;
    }

    template <int V, int LANES, int PIECES> attention_kernel<H> get() const
    {
        constexpr bool IS_WIDE = V * sizeof(H) == WIDE;
        switch (mode) {
        case ATTENTION_GAT:
            return instance<V, LANES, PIECES, ATTENTION_GAT>();
        case ATTENTION_GATV2:
            return instance<V, LANES, PIECES, ATTENTION_GATV2>();
        case ATTENTION_WEIGHTED:
            return instance<V, LANES, PIECES, ATTENTION_WEIGHTED>();
        default:
            if constexpr (IS_WIDE && V * PIECES <= PANEL_FEATURES) {
                if (rows == 2) return instance<V, LANES, PIECES, ATTENTION_DOT, FEW, 2>();
                if (rows == 4) return instance<V, LANES, PIECES, ATTENTION_DOT, FEW, 4>();
            }
            if constexpr (IS_WIDE)
                if (loads == MANY) return instance<V, LANES, PIECES, ATTENTION_DOT, MANY>();
            return instance<V, LANES, PIECES, ATTENTION_DOT>();
        }
    }
};

/* ---- the plan ---------------------------------------------------------------------------------- */

struct fused_plan {
    head_shape shape;
    row_panels *panels; /* NULL: a walk of A's rows */
    walk_plan walk;
};

static size_t element_bytes(const attention_plan *plan)
{
    return precision_format(plan->contender->base.precision)->bytes;
}

template <class H>
static cudaError_t run(const attention_plan *plan, const attention_inputs *in, void *O, float *lse,
                       cudaStream_t stream)
{
    const fused_plan *f = (const fused_plan *)plan->state;
    const void *values = sizeof(H) == 4 ? plan->A.d_values : plan->A.d_values16;
    const attention<H> p = {.rows = f->walk.rows,
                            .count = plan->A.rows,
                            .list = f->panels ? f->panels->d_list : NULL,
                            .d = plan->d,
                            .vectors = plan->d / f->shape.vector,
                            .node_bytes = (unsigned)(plan->heads * plan->d * sizeof(H)),
                            .scale = plan->scale,
                            .values = (const H *)values,
                            .Q = (const H *)in->Q,
                            .K = (const H *)in->K,
                            .V = (const H *)in->V,
                            .el = in->el,
                            .er = in->er,
                            .a = in->a,
                            .O = (H *)O,
                            .lse = lse};
    if (plan->A.rows == 0) return cudaSuccess;
    const attention_kernels<H> kernels = {plan->mode, plan->tuning[TUNE_LOADS],
                                          plan->tuning[TUNE_ROWS]};
    const attention_kernel<H> kernel = kernel_of_shape<H>(f->shape, kernels);
    kernel<<<f->walk.grid, BLOCK, 0, stream>>>(p);
    return cudaGetLastError();
}

/* A walk reads A's values where they are, so nothing is to be done. */
static cudaError_t update_values(attention_plan *)
{
    return cudaSuccess;
}

static void release(attention_plan *plan)
{
    fused_plan *f = (fused_plan *)plan->state;
    walk_plan_free(&f->walk);
    row_panels_free(f->panels);
    free(f);
}

/* Whether panels of so many rows are worth a try: a warp takes each of their rows anyhow; no row is cut, for panels are not;
 * and there are warps enough, twice as many as registers leave room for, a quarter of all. */
static bool may_share(const attention_plan *plan, int rows)
{
    const device_facts *device = device_facts_get();
    const int64_t panels = plan->A.rows / rows;
    return plan->A.stats->mean > plan->tuning[TUNE_SHORT] &&
           plan->A.stats->max <= plan->tuning[TUNE_SEGMENT] &&
           panels * plan->heads / plan->tuning[TUNE_SIDE] * 2 >=
               (int64_t)device->sms * device->sm_warps;
}

/* Makes panels of as many rows as are asked for; or of two, if none are and they save a tenth of the rows of K and V that
 * are loaded. Neighbours that share so much stay together, so L1 may have what the one before has loaded. In 16 bits that
 * is all: a panel's rows take too many registers for half of the bytes. */
static cudaError_t find_panels(attention_plan *plan, size_t element, fused_plan *f)
{
    int *const rows = &plan->tuning[TUNE_ROWS];
    const bool by_rule = *rows == 0;
    const int wanted = by_rule ? 2 : *rows;
    *rows = 1;
    if (wanted == 1 || (by_rule && !may_share(plan, wanted))) return cudaSuccess;
    CUDA_TRY(row_panels_build(&plan->A, wanted, &f->panels));
    const bool share = f->panels->P.nnz < 0.9 * plan->A.nnz;
    if (by_rule && share) plan->tuning[TUNE_WINDOW] = 1;
    if (!by_rule || (share && element == sizeof(float))) {
        *rows = wanted;
    } else {
        row_panels_free(f->panels);
        f->panels = NULL;
    }
    return cudaSuccess;
}

/* Panels have no values: a common column would have one of each row. */
static bool has_panels(const attention_plan *plan)
{
    return plan->mode == ATTENTION_DOT && plan->A.rows > 0 && !plan->A.d_values &&
           !plan->A.d_values16;
}

static cudaError_t make(attention_plan *plan, fused_plan *f)
{
    int *const tuning = plan->tuning;
    const size_t element = element_bytes(plan);
    head_shape shape = head_shape_of(plan->d, element, tuning[TUNE_PIECES]);
    const bool wide = shape.vector * element == WIDE;
    tuning[TUNE_SIDE] = side_of(tuning[TUNE_SIDE], plan->heads, shape.lanes);
    if (!wide || !has_panels(plan)) tuning[TUNE_ROWS] = 1;
    CUDA_TRY(find_panels(plan, element, f));
    if (f->panels && shape.vector * shape.pieces > PANEL_FEATURES) {
        shape = head_shape_of(plan->d, element, 1);
        tuning[TUNE_SIDE] = side_of(tuning[TUNE_SIDE], plan->heads, shape.lanes);
    }
    f->shape = shape;
    tuning[TUNE_PIECES] = wide ? shape.pieces : 1;
    if (!wide || plan->mode != ATTENTION_DOT || f->panels) tuning[TUNE_LOADS] = FEW;
    walk_settings settings = {.segment = tuning[TUNE_SEGMENT],
                              .short_row = tuning[TUNE_SHORT],
                              .window = tuning[TUNE_WINDOW],
                              .side = tuning[TUNE_SIDE]};
    if (f->panels) settings.segment = INT_MAX, settings.short_row = -1; /* a warp each */
    const device_csr *walked = f->panels ? &f->panels->P : &plan->A;
    if (settings.window >= walked->rows) settings.window = tuning[TUNE_WINDOW] = 0;
    const int numbers = shape.vector * shape.pieces + 2; /* see row_state */
    return walk_plan_make(walked, settings, plan->heads, shape.lanes, numbers, &f->walk);
}

static cudaError_t prepare(attention_plan *plan)
{
    fused_plan *f = (fused_plan *)calloc(1, sizeof *f);
    if (!f) return cudaErrorMemoryAllocation;
    plan->state = f;
    const cudaError_t error = make(plan, f);
    if (error != cudaSuccess) release(plan);
    return error;
}

/* The columns, the values if there are any, and the shares. */
static size_t format_bytes(const attention_plan *plan)
{
    const device_csr &A = plan->A;
    const size_t value = A.d_values || A.d_values16 ? element_bytes(plan) : 0;
    const fused_plan *f = (const fused_plan *)plan->state;
    const size_t shares = row_shares_bytes(f->walk.shares);
    return shares + (f->panels ? row_panels_bytes(f->panels) : A.nnz * (sizeof(int) + value));
}

static size_t workspace_bytes(const attention_plan *plan)
{
    const fused_plan *f = (const fused_plan *)plan->state;
    return walk_plan_bytes(&f->walk) + (f->panels ? row_panels_bytes(f->panels) : 0);
}

static const char *unsuited(const problem *p)
{
    return head_unsuited(p->width);
}

/* Where most rows are long, segments of 1,024 leave more of them whole; there are enough of them, too. Elsewhere a warp
 * that walks 1,024 nonzeros alone is what all others wait for, and groups may take longer rows (LOG.md). */
template <enum precision PRECISION> static void choose(const row_stats *stats, int d, int *tuning)
{
    const bool are_long = stats->mean >= 64;
    tuning[TUNE_SHORT] = are_long ? 64 : 128;
    tuning[TUNE_SEGMENT] = are_long ? 1024 : 512;
    const int bytes = precision_format(PRECISION)->bytes;
    /* A head of four lines or more keeps a warp busy by itself, as long as rows have enough nonzeros. */
    tuning[TUNE_PIECES] = are_long && d * bytes >= 512 ? 1 : usual_pieces(d, bytes);
}

#define FUSED(title, kind, type)                                                                  \
    static attention_contender title = {                                                          \
        .base =                                                                                   \
            {.lab = 36,                                                                           \
             .after = 35,                                                                         \
             .name = #title,                                                                      \
             .summary = "scores, softmax and sum in one walk along a row",                        \
             .precision = kind,                                                                   \
             .unsuited = unsuited,                                                                \
             .tunables = {{"LOADS", "loads of a lane on their way", {FEW, MANY}, 2, FEW},         \
                          TUNABLE_PIECES,                                                         \
                          TUNABLE_SIDE,                                                           \
                          TUNABLE_SHORT,                                                          \
                          TUNABLE_SEGMENT,                                                        \
                          TUNABLE_WINDOW,                                                         \
                          {"ROWS", "rows of a warp; 0: by shared columns", {0, 1, 2, 4}, 4, 0}}}, \
        .choose = choose<kind>,                                                                   \
        .prepare = prepare,                                                                       \
        .run = run<type>,                                                                         \
        .update_values = update_values,                                                           \
        .format_bytes = format_bytes,                                                             \
        .workspace_bytes = workspace_bytes,                                                       \
        .release = release,                                                                       \
    };                                                                                            \
    ATTENTION_REGISTER(title)

FUSED(fused_attention, PRECISION_FP32, float)
FUSED(fused_attention_fp16, PRECISION_FP16, __half)
FUSED(fused_attention_bf16, PRECISION_BF16, __nv_bfloat16)
