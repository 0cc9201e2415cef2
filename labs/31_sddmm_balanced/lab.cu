/*
 * Lab 31 - sddmm balanced: strips of nonzeros, whatever their rows, for groups of lanes.
 *
 * Idea      A result is a number a nonzero, so no row need be whole: every group of lanes gets equally
 *           many nonzeros. Loads are 16 bytes wide, and several are on their way before one is used.
 *           The row of X stays in registers until the next segment. Eight sums, each spread over a
 *           group, become one a lane in 7 shuffles.
 * Changed   Lab 30's warp had a row; each lane loaded 4 bytes; a nonzero took 5 shuffles.
 * Run       make lab31 && ./lab31 arxiv 32
 * Watch     A strip tells where segments begin by a bit a nonzero; a list of rows takes 32.
 */
#include "device/byte_offset.cuh"
#include "device/cuda_try.h"
#include "device/facts.h"
#include "device/half.cuh"
#include "device/occupancy.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "formats/strips.cuh"
#include "models/sddmm_balanced.h"
#include "ops/sddmm.h"

#include <type_traits>

constexpr int WARPS = 4, BLOCK = WARPS * WARP_SIZE;
constexpr int BATCH = 8; /* nonzeros whose sums a group adds up together */
constexpr int LOADS = 8; /* of Y that a lane has on their way */

/* Positions in sddmm_plan.tuning. */
enum { TUNE_PIECES, TUNE_SHARE, TUNE_BLOCKS };

template <class H> struct product {
    int nnz, share;      /* nonzeros of a group: 8, 16 or 32 */
    int vectors, slices; /* of a row of X or Y */
    unsigned row_bytes;
    const strip *__restrict__ strips;
    const int *__restrict__ column; /* of each place */
    const int *__restrict__ row;    /* of each segment */
    const int *__restrict__ offset; /* of each segment, in blocks of columns; else NULL */
    const H *__restrict__ weights;  /* NULL: all 1 */
    const H *__restrict__ X, *__restrict__ Y;
    H *__restrict__ D;
};

/* Blocks of an SM by registers: a lane has 4 for each load on its way, as many for those of X, and 16 for
 * each piece of a row. An SM has 32 for each of its threads. */
constexpr int blocks_per_sm(int pieces)
{
    const int registers = 8 * LOADS + 16 * pieces;
    return THREADS_PER_SM * 32 / (BLOCK * registers);
}

/* The vectors of V features that a lane has of a row: PIECES of them, LANES apart. A row longer than
 * that is taken in slices. Only the last vector may be missing, unless the row is SLICED. A lane without
 * it loads the row's last one instead: a load without a condition. */
template <class H, int V, int LANES, int PIECES, bool SLICED> struct row_part {
    static constexpr unsigned STEP = LANES * V * sizeof(H); /* bytes from one vector to the next */
    typedef H vectors[PIECES][V];
    int begin, count; /* of the slice's vectors this lane's first; of the row all */

    static constexpr __device__ bool sure(int k) { return !SLICED && k < PIECES - 1; }
    __device__ __forceinline__ bool inside(int k) const
    {
        return sure(k) || begin + k * LANES < count;
    }

    __device__ __forceinline__ void load(vectors &x, const H *array, size_t row_begin) const
    {
#pragma unroll
        for (int k = 0; k < PIECES; k++) {
            const int vector = sure(k) ? begin : min(begin + k * LANES, count - 1);
            const H *const from = byte_offset(array + vector * V, row_begin);
            load_vector(x[k], byte_offset(from, sure(k) ? k * STEP : 0));
        }
    }

    /* Copies element by element: of a memcpy of two vectors nvcc 13.0 forgets the second one. */
    static __device__ __forceinline__ void copy(vectors &to, const vectors &from)
    {
#pragma unroll
        for (int k = 0; k < PIECES; k++)
#pragma unroll
            for (int v = 0; v < V; v++)
                to[k][v] = from[k][v];
    }

    /* This lane's part of the product of two rows. */
    __device__ __forceinline__ float dot(const vectors &x, const vectors &y) const
    {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < PIECES; k++) {
            float more = sum;
#pragma unroll
            for (int v = 0; v < V; v++)
                more += widen(x[k][v]) * widen(y[k][v]);
            sum = inside(k) ? more : sum;
        }
        return sum;
    }
};

/* Adds up eight sums over the lanes of each group, and leaves sum j in lane j; where a group has fewer
 * lanes, in lane j % LANES, as sum[j - j % LANES]. A step keeps half of a lane's sums and sends the
 * others away. */
template <int LANES> static __device__ __forceinline__ void reduce_scatter(float (&sum)[BATCH])
{
    /* BEGIN STUDENT: 4 + 2 + 1 shuffles, and one more for each doubling of the lanes beyond 8 */
    constexpr int KEEPERS = LANES < BATCH ? LANES : BATCH;
#pragma unroll
    for (int bit = KEEPERS / 2; bit > 0; bit /= 2) {
        const bool upper = threadIdx.x & bit;
#pragma unroll
        for (int j = 0; j < BATCH; j++)
            if (j % KEEPERS < 2 * bit && !(j & bit)) { /* still here, and the lower of a pair */
                const float low = sum[j], high = sum[j + bit], send = upper ? low : high;
                sum[j] = (upper ? high : low) + __shfl_xor_sync(FULL_MASK, send, bit);
            }
    }
#pragma unroll
    for (int distance = BATCH; distance < LANES; distance *= 2)
        sum[0] += __shfl_xor_sync(FULL_MASK, sum[0], distance);
    /* END STUDENT */
}

/* A group of lanes at work. Lane j % LANES holds nonzero j of a batch, and stores its result. */
template <class H, int V, int LANES, int PIECES, bool SLICED> struct lane_group {
    static constexpr int HOLDERS = LANES < BATCH ? LANES : BATCH, HELD = BATCH / HOLDERS;
    static constexpr int U = LOADS / PIECES; /* nonzeros whose loads are on their way */
    typedef row_part<H, V, LANES, PIECES, SLICED> part;

    const product<H> &p;
    strip own;
    int column[HELD], row[HELD], next_column[HELD], next_row[HELD];
    typename part::vectors x; /* the row of X of the last nonzero */

    __device__ __forceinline__ explicit lane_group(const product<H> &product, int first)
        : p(product), own(p.strips[min(first, p.nnz - 1) / STRIP]), x{}
    {
        fetch(first);
    }

    __device__ __forceinline__ int place(int at, int i) const
    {
        return at + i * HOLDERS + threadIdx.x % HOLDERS;
    }

    /* Loads the columns and rows of the batch at `at`. Places beyond the last repeat it. */
    __device__ __forceinline__ void fetch(int at)
    {
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            const int here = min(place(at, i), p.nnz - 1);
            next_column[i] = p.column[here];
            next_row[i] = p.row[segment_of(own, here)];
        }
    }

    __device__ __forceinline__ void take()
    {
#pragma unroll
        for (int i = 0; i < HELD; i++)
            column[i] = next_column[i], row[i] = next_row[i];
    }

    /* Where the row of X or Y begins that the holder of nonzero j knows. */
    __device__ __forceinline__ size_t row_begin(const int (&held)[HELD], int j) const
    {
        const int number = __shfl_sync(FULL_MASK, held[j / HOLDERS], j % HOLDERS, LANES);
        return (size_t)(unsigned)number * p.row_bytes;
    }

    /* Adds this lane's parts of nonzeros first .. first + U - 1 of the batch. Bit j of fresh: nonzero j
     * has another row of X than the one before. */
    __device__ __forceinline__ void add_products(const part &mine, int first, unsigned fresh,
                                                 float (&sum)[BATCH])
    {
        /* BEGIN STUDENT: load U rows of Y, and of X if one of those is new, before any is used */
        typename part::vectors y[U];
#pragma unroll
        for (int u = 0; u < U; u++)
            mine.load(y[u], p.Y, row_begin(column, first + u));
        if (!__any_sync(FULL_MASK, fresh >> first & ((1u << U) - 1))) {
#pragma unroll
            for (int u = 0; u < U; u++)
                sum[first + u] += mine.dot(x, y[u]);
            return;
        }
        typename part::vectors next[U]; /* a row of X may be there twice: L1 has it then */
#pragma unroll
        for (int u = 0; u < U; u++)
            mine.load(next[u], p.X, row_begin(row, first + u));
#pragma unroll
        for (int u = 0; u < U; u++)
            sum[first + u] += mine.dot(next[u], y[u]);
        part::copy(x, next[U - 1]);
        /* END STUDENT */
    }

    /* Computes the sums of the batch at `at`, each spread over the group. */
    __device__ __forceinline__ void multiply(unsigned fresh, float (&sum)[BATCH])
    {
        const int lane = threadIdx.x % LANES;
        if constexpr (SLICED) {
#pragma unroll 1
            for (int slice = 0; slice < p.slices; slice++) {
                const part mine = {slice * LANES * PIECES + lane, p.vectors};
#pragma unroll
                for (int j = 0; j < BATCH; j += U)
                    add_products(mine, j, fresh | 1, sum); /* x holds another slice */
            }
        } else {
            const part mine = {lane, p.vectors};
#pragma unroll
            for (int j = 0; j < BATCH; j += U)
                add_products(mine, j, fresh, sum);
        }
    }

    /* Multiplies this lane's results by their weights and stores them. */
    __device__ __forceinline__ void store(int at, const float (&sum)[BATCH]) const
    {
        if (threadIdx.x % LANES >= HOLDERS) return;
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            int z = place(at, i);
            if (z >= p.nnz) return;
            if (p.offset) z += p.offset[segment_of(own, z)];
            const float weight = p.weights ? widen(p.weights[z]) : 1;
            const H result[1] = {narrow<H>(weight * sum[i * HOLDERS])};
            store_vector_streaming(&p.D[z], result);
        }
    }
};

template <class H, int V, int LANES, int PIECES, bool SLICED>
static __global__ void __launch_bounds__(BLOCK, blocks_per_sm(PIECES))
    sddmm_balanced_kernel(const __grid_constant__ product<H> p)
{
    const int first = (blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES) * p.share;
    if (!__any_sync(FULL_MASK, first < p.nnz)) return; /* the others shuffle together */
    lane_group<H, V, LANES, PIECES, SLICED> group(p, first);
    unsigned fresh = 1; /* there is no row of X yet */
    for (int at = first; at < first + p.share; at += BATCH) {
        float sum[BATCH] = {};
        group.take();
        if (at + BATCH < first + p.share) group.fetch(at + BATCH);
        group.multiply(fresh | group.own.starts >> at % STRIP, sum);
        reduce_scatter<LANES>(sum);
        group.store(at, sum);
        fresh = 0;
    }
}

/* ---- which instance ---------------------------------------------------------------------------- */

/* How a group takes a row of K features: by the widest loads that suit its length. */
struct group_shape {
    int vector, lanes, pieces; /* features of a load, lanes, loads of a lane */
    bool sliced;
};

static group_shape shape_of(int K, size_t element, int pieces)
{
    int vector = 16 / (int)element, lanes;
    while (K % vector)
        vector /= 2;
    const int vectors = K / vector;
    if (vector * element < 16) return {vector, vectors <= 16 ? 8 : WARP_SIZE, 2, true};
    for (;; pieces /= 2) {
        for (lanes = 4; lanes < WARP_SIZE && lanes * pieces < vectors;)
            lanes *= 2;
        if (pieces == 1 || lanes * (pieces - 1) < vectors) break; /* a lane has all but the last */
    }
    return {vector, lanes, pieces, lanes * pieces < vectors};
}

template <class H> using sddmm_kernel = void (*)(product<H>);

template <class H, int LANES> static sddmm_kernel<H> wide_kernel(int pieces)
{
    constexpr int V = 16 / sizeof(H);
    return pieces == 1 ? sddmm_balanced_kernel<H, V, LANES, 1, false>
                       : sddmm_balanced_kernel<H, V, LANES, 2, false>;
}

/* Rows that begin at no multiple of 16 bytes. */
template <class H, int V> static sddmm_kernel<H> sliced_kernel(int lanes)
{
    return lanes == 8 ? sddmm_balanced_kernel<H, V, 8, 2, true>
                      : sddmm_balanced_kernel<H, V, WARP_SIZE, 2, true>;
}

template <class H> static sddmm_kernel<H> kernel_of(const group_shape &shape)
{
    switch (shape.vector * sizeof(H)) {
    case 8:
        return sliced_kernel<H, 8 / sizeof(H)>(shape.lanes);
    case 4:
        return sliced_kernel<H, 4 / sizeof(H)>(shape.lanes);
    case 2:
        return sliced_kernel<H, 1>(shape.lanes);
    }
    constexpr int V = 16 / sizeof(H);
    return shape.sliced        ? sddmm_balanced_kernel<H, V, WARP_SIZE, 2, true> /* a long row */
           : shape.lanes == 4  ? wide_kernel<H, 4>(shape.pieces)
           : shape.lanes == 8  ? wide_kernel<H, 8>(shape.pieces)
           : shape.lanes == 16 ? wide_kernel<H, 16>(shape.pieces)
                               : wide_kernel<H, WARP_SIZE>(shape.pieces);
}

template <class H>
static cudaError_t run_as(const sddmm_plan *plan, const H *X, const H *Y, H *D, const H *weights,
                          cudaStream_t stream)
{
    const group_shape shape = shape_of(plan->K, sizeof(H), plan->tuning[TUNE_PIECES]);
    const strips *s = (const strips *)plan->state;
    const int vectors = plan->K / shape.vector;
    const product<H> p = {.nnz = plan->W.nnz,
                          .share = plan->tuning[TUNE_SHARE],
                          .vectors = vectors,
                          .slices = (vectors - 1) / (shape.lanes * shape.pieces) + 1,
                          .row_bytes = (unsigned)(plan->K * sizeof(H)),
                          .strips = s->d_strip,
                          .column = s->d_column,
                          .row = s->d_row,
                          .offset = s->d_offset,
                          .weights = weights,
                          .X = X,
                          .Y = Y,
                          .D = D};
    if (p.nnz == 0) return cudaSuccess;
    const sddmm_kernel<H> kernel = kernel_of<H>(shape);
    kernel<<<(p.nnz - 1) / (BLOCK / shape.lanes * p.share) + 1, BLOCK, 0, stream>>>(p);
    return cudaGetLastError();
}

static cudaError_t run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream)
{
    return run_as(plan, X, Y, D, plan->W.d_values, stream);
}

template <class H>
static cudaError_t run16(const sddmm_plan *plan, const void *X, const void *Y, void *D,
                         cudaStream_t stream)
{
    return run_as(plan, (const H *)X, (const H *)Y, (H *)D, (const H *)plan->W.d_values16, stream);
}

static size_t element_bytes(const sddmm_plan *plan)
{
    return precision_format(plan->contender->base.precision)->bytes;
}

static cudaError_t prepare(sddmm_plan *plan)
{
    const size_t element = element_bytes(plan);
    int *const tuning = plan->tuning;
    strips *s;
    if ((size_t)plan->K > UINT32_MAX / element) return cudaErrorNotSupported; /* rows of 4 GB */
    const group_shape shape = shape_of(plan->K, element, tuning[TUNE_PIECES]);
    tuning[TUNE_PIECES] = shape.pieces;
    if (shape.sliced) tuning[TUNE_PIECES] = 2;
    CUDA_TRY(strips_build(&plan->W, tuning[TUNE_BLOCKS], &s));
    tuning[TUNE_BLOCKS] = s->blocks;
    plan->state = s;
    return cudaSuccess;
}

static size_t format_bytes(const sddmm_plan *plan)
{
    const device_csr &W = plan->W;
    const size_t values = W.d_values || W.d_values16 ? W.nnz * element_bytes(plan) : 0;
    return strips_bytes((const strips *)plan->state) + values;
}

static void release(sddmm_plan *plan)
{
    strips_free((strips *)plan->state);
}

/* Blocks of columns that a pattern may be cut into. */
#define BLOCKS_VALUES                            \
    {                                            \
        1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64 \
    }

/* The share of a group: 32, or less if that makes too few warps. Those of narrow rows are done sooner than
 * they begin; those of wide ones must be many, so that the last end together. */
static int share_for(const row_stats *stats, const group_shape &shape)
{
    const device_facts *device = device_facts_get();
    const int narrow = shape.lanes * shape.pieces <= 8;
    const double resident = device->sms * device->sm_warps / 3.0;
    int share = STRIP;
    while (share > BATCH &&
           (double)stats->nnz * shape.lanes / (WARP_SIZE * share) < (narrow ? 3 : 8) * resident)
        share /= 2;
    return share;
}

template <enum precision PRECISION> static sddmm_balanced_shape model_shape(int K, int pieces)
{
    const size_t element = precision_format(PRECISION)->bytes;
    const group_shape shape = shape_of(K, element, pieces);
    return {(double)K * element, (double)element, shape.lanes, shape.pieces};
}

template <enum precision PRECISION> static void choose(const row_stats *stats, int K, int *tuning)
{
    static const int BLOCKS[] = BLOCKS_VALUES;
    const size_t element = precision_format(PRECISION)->bytes, vectors = K * element / 16;
    /* Two loads a lane take fewer instructions for a row, where that leaves a group of 8 lanes or more. */
    const int pieces = vectors <= 8 ? 1 : 2;
    const sddmm_balanced_shape shape = model_shape<PRECISION>(K, pieces);
    tuning[TUNE_PIECES] = pieces;
    tuning[TUNE_SHARE] = share_for(stats, shape_of(K, element, pieces));
    tuning[TUNE_BLOCKS] =
        sddmm_balanced_blocks(stats, &shape, BLOCKS, sizeof BLOCKS / sizeof *BLOCKS);
}

template <enum precision PRECISION> static double estimate(const row_stats *stats, int K)
{
    int tuning[MAX_TUNABLES];
    choose<PRECISION>(stats, K, tuning);
    const sddmm_balanced_shape shape = model_shape<PRECISION>(K, tuning[TUNE_PIECES]);
    return sddmm_balanced_time(stats, &shape, tuning[TUNE_BLOCKS]);
}

#define BALANCED(title, kind, runner, function)                                              \
    static sddmm_contender title = {                                                         \
        .base = {.lab = 31,                                                                  \
                 .after = 30,                                                                \
                 .name = #title,                                                             \
                 .summary = "strips of nonzeros, 16-byte loads, eight sums at a time",       \
                 .precision = kind,                                                          \
                 .tunables = {{"PIECES", "loads that a lane makes of a row", {1, 2}, 2, 1},  \
                              {"SHARE", "nonzeros of a group of lanes", {8, 16, 32}, 3, 32}, \
                              {"BLOCKS", "blocks of columns", BLOCKS_VALUES, 12, 1}}},       \
        .choose = choose<kind>,                                                              \
        .estimate = estimate<kind>,                                                          \
        .prepare = prepare,                                                                  \
        .runner = function,                                                                  \
        .update_values = sddmm_nested_update_values, /* it keeps none */                     \
        .format_bytes = format_bytes,                                                        \
        .release = release,                                                                  \
    };                                                                                       \
    SDDMM_REGISTER(title)

BALANCED(sddmm_balanced, PRECISION_FP32, run, run)
BALANCED(sddmm_balanced_fp16, PRECISION_FP16, run16, run16<__half>)
BALANCED(sddmm_balanced_bf16, PRECISION_BF16, run16, run16<__nv_bfloat16>)
