/*
 * Lab 32 - tiles of Y: patterns of few columns, each of which many rows use.
 *
 * Idea      A block copies a tile of Y, a slice of the features of some of its rows, into shared memory once. A lane
 *           owns a nonzero and reads its row of the tile in eight 16-byte pieces: lane l takes piece j ^ l in
 *           load j, so that eight lanes never meet in a bank. X's row is loaded in the same order: a lane's pieces
 *           match, its sum is whole, and no shuffle is left.
 * Changed   Lab 31 gathers from L2, and its lanes share a row. Here nonzeros come in the order of tiles
 *           (formats/column_tiles.h), and every eight lanes get as many.
 * Run       make lab32 && ./lab32 ddi 32     ./lab32 rand:rows=300,cols=200,deg=60 32 --counters
 * Watch     Wavefronts: one a nonzero and slice. K = 256: the tile is filled eight times.
 */
#include "device/async_copy.cuh"
#include "device/cuda_try.h"
#include "device/dynamic_shared.cuh"
#include "device/facts.h"
#include "device/half.cuh"
#include "device/shared.cuh"
#include "device/vec.cuh"
#include "formats/column_tiles.cuh"
#include "models/sddmm_tiles.h"
#include "ops/plan_state.cuh"
#include "ops/sddmm.h"

#include <limits.h>
#include <stdlib.h>

constexpr int PIECE = 16; /* bytes */

/* Positions in sddmm_plan.tuning. */
enum { TUNE_THREADS };

/* The arguments of the kernel. */
template <class T> struct tile_products {
    column_tiles a;
    int cols, K;
    const T *__restrict__ X, *__restrict__ Y, *__restrict__ W;
    float *sums; /* of the slices before; D, where that is fp32 */
    T *D;
};

/* A row of a slice: PIECES pieces of 16 bytes. */
template <class T, int PIECES> struct slice_of {
    static constexpr int ROW_BYTES = PIECES * PIECE;
    static constexpr int FEATURES = ROW_BYTES / sizeof(T), OF_PIECE = PIECE / sizeof(T);
    int number, first; /* its first feature */
    bool is_last;

    __device__ __forceinline__ slice_of(int number, int K)
        : number(number), first(number * FEATURES), is_last(first + FEATURES >= K)
    {
    }
};

/* Starts copying a slice of the tile's rows of Y, COPY features at a time, which divide K. Features that are not
 * there become zero. */
template <int COPY, int THREADS, class T, int PIECES>
static __device__ __forceinline__ void fetch_tile(const tile_products<T> &p, int tile,
                                                  const slice_of<T, PIECES> &slice, char *to)
{
    constexpr int BYTES = COPY * sizeof(T), COPIES = slice.ROW_BYTES / BYTES; /* of a row */
    const int copy = threadIdx.x % COPIES, k = slice.first + copy * COPY;
    const int first = tile * p.a.tile_cols, rows = min(p.a.tile_cols, p.cols - first);
    const bool inside = k < p.K;
    const T *const from = p.Y + (inside ? (size_t)first * p.K + k : 0);
    for (int i = threadIdx.x / COPIES; i < rows; i += THREADS / COPIES) {
        char *const place = to + i * slice.ROW_BYTES + copy * BYTES;
        const T *const source = from + (inside ? (size_t)i * p.K : 0);
        if constexpr (BYTES > 2)
            async_copy_zfill<BYTES>(place, source, inside ? BYTES : 0);
        else /* which is too little for an asynchronous copy */
            *reinterpret_cast<T *>(place) = inside ? *source : narrow<T>(0);
    }
    async_commit();
}

/* Loads the piece of a row of X that meets the tile's in load j of this lane. */
template <int COPY, class T, int PIECES>
static __device__ __forceinline__ void load_piece(const tile_products<T> &p, int row, int j,
                                                  const slice_of<T, PIECES> &slice,
                                                  T (&x)[PIECE / sizeof(T)])
{
    const int k = slice.first + (j ^ threadIdx.x % PIECES) * slice.OF_PIECE;
    const T *const from = p.X + (size_t)row * p.K + k;
#pragma unroll
    for (int i = 0; i < slice.OF_PIECE; i += COPY) {
        T part[COPY];
#pragma unroll
        for (int c = 0; c < COPY; c++)
            part[c] = narrow<T>(0);
        if (k + i < p.K) load_vector(part, from + i);
#pragma unroll
        for (int c = 0; c < COPY; c++)
            x[i + c] = part[c];
    }
}

/* The product of a row of the tile, at that address, and X's row, both in this lane's order. */
template <class T, int PIECES>
static __device__ __forceinline__ float multiply(uint32_t row,
                                                 const T (&x)[PIECES][PIECE / sizeof(T)])
{
    float sum[4] = {}; /* four, since a multiply-add waits for the one before it */
    /* BEGIN STUDENT: load the row's pieces without bank conflicts; multiply, add */
    const uint32_t own = row + threadIdx.x % PIECES * PIECE;
#pragma unroll
    for (int j = 0; j < PIECES; j++) {
        const uint4 raw = load_shared<uint4>(own ^ (uint32_t)(j * PIECE));
        T y[PIECE / sizeof(T)];
        memcpy(y, &raw, sizeof y);
#pragma unroll
        for (int i = 0; i < (int)(PIECE / sizeof(T)); i++)
            sum[i % 4] += widen(x[j][i]) * widen(y[i]);
    }
    /* END STUDENT */
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The row of X of a group's segment, in this lane's order. In the last turn of a segment the next one's first piece is
 * fetched: the eight lanes of a group then have all of that row in L1 by the time they need it. */
template <class T, int PIECES, int COPY> struct row_of_x {
    T x[PIECES][PIECE / sizeof(T)] = {}, ahead[PIECE / sizeof(T)] = {};
    int ahead_row = -1;

    __device__ __forceinline__ void load(const tile_products<T> &p, int row,
                                         const slice_of<T, PIECES> &slice)
    {
        if (row != ahead_row) load_piece<COPY>(p, row, 0, slice, ahead);
#pragma unroll
        for (int i = 0; i < slice.OF_PIECE; i++)
            x[0][i] = ahead[i];
#pragma unroll
        for (int j = 1; j < PIECES; j++)
            load_piece<COPY>(p, row, j, slice, x[j]);
    }
    __device__ __forceinline__ void load_ahead(const tile_products<T> &p, int row,
                                               const slice_of<T, PIECES> &slice)
    {
        if (row >= p.a.rows) return;
        load_piece<COPY>(p, row, 0, slice, ahead);
        ahead_row = row;
    }
};

/* Adds a slice's products to the sums of a group's nonzeros, those from `begin` to the place `end`: eight at a
 * time, a lane each. */
template <int COPY, class T, int PIECES>
static __device__ __forceinline__ void
multiply_run(const tile_products<T> &p, int tile, const slice_of<T, PIECES> &slice,
             const tile_position &begin, int end, uint32_t address)
{
    const int lane = threadIdx.x % GROUP_PLACES, before = tile * p.a.rows; /* segments */
    row_of_x<T, PIECES, COPY> row;
    /* The first place begins a row, too. */
    int segment = begin.segment - 1, segment_end = INT_MIN, shift = 0;
    int next_end = p.a.d_place[segment + 2];
    int next = begin.place < end ? p.a.d_column[begin.place + lane] : 0;
    for (int place = begin.place; place < end; place += GROUP_PLACES) {
        const int column = next;
        if (place + GROUP_PLACES < end) next = p.a.d_column[place + GROUP_PLACES + lane];
        if (place >= segment_end) { /* in all lanes of a group, or in none */
            do {
                segment++;
                segment_end = next_end;
                next_end = p.a.d_place[segment + 2];
            } while (place >= segment_end);
            row.load(p, segment - before, slice);
            shift = p.a.d_shift[segment];
        }
        if (place + GROUP_PLACES >= segment_end) row.load_ahead(p, segment - before + 1, slice);
        if (column == NO_TILE_COLUMN) continue;
        const int number = place + shift + lane, z = p.a.d_order ? p.a.d_order[number] : number;
        float sum = multiply<T, PIECES>(address + column * slice.ROW_BYTES, row.x);
        if (slice.number > 0) sum += p.sums[z];
        if (!slice.is_last)
            p.sums[z] = sum;
        else
            p.D[z] = narrow<T>(p.W ? sum * widen(p.W[z]) : sum);
    }
}

/* A block has a share of a tile's nonzeros, and goes through all slices of K. */
template <class T, int PIECES, int COPY, int THREADS>
static __global__ void __launch_bounds__(THREADS, 1)
    sddmm_tiles_kernel(const __grid_constant__ tile_products<T> p)
{
    typedef slice_of<T, PIECES> slice;
    constexpr int GROUPS = THREADS / GROUP_PLACES;
    extern __shared__ uint4 shared[];
    const tile_share share = p.a.d_share[blockIdx.x];
    const int group = threadIdx.x / GROUP_PLACES, work = share.end - share.first;
    char *const tile = reinterpret_cast<char *>(shared);
    fetch_tile<COPY, THREADS>(p, share.tile, slice(0, p.K), tile);

    /* Meanwhile: this group's part of the block's share. */
    const tile_position begin =
        find_position(p.a, share.tile, share.first + column_tiles_part(work, group, GROUPS));
    const int end =
        find_position(p.a, share.tile, share.first + column_tiles_part(work, group + 1, GROUPS))
            .place;

    for (int number = 0; number * slice::FEATURES < p.K; number++) {
        const slice current(number, p.K);
        async_wait_all();
        __syncthreads(); /* the slice has arrived */
        multiply_run<COPY>(p, share.tile, current, begin, end, shared_address(tile));
        if (current.is_last) break;
        __syncthreads(); /* nobody reads it any more */
        fetch_tile<COPY, THREADS>(p, share.tile, slice(number + 1, p.K), tile);
    }
}

/* ---- plans ------------------------------------------------------------------------------------ */

template <class T> using tile_kernel = void(tile_products<T>);

template <class T, int PIECES, int COPY> static tile_kernel<T> *pick_threads(int threads)
{
    return threads == 640 ? sddmm_tiles_kernel<T, PIECES, COPY, 640>
                          : sddmm_tiles_kernel<T, PIECES, COPY, 768>;
}

template <class T> static tile_kernel<T> *pick_kernel(int threads, int K, int row_bytes)
{
    constexpr int VECTOR = PIECE / sizeof(T), SHORT = SHORT_SLICE_BYTES / PIECE,
                  LONG = SLICE_BYTES / PIECE;
    if (row_bytes == SHORT_SLICE_BYTES)
        return K % VECTOR ? pick_threads<T, SHORT, 1>(threads)
                          : pick_threads<T, SHORT, VECTOR>(threads);
    return K % VECTOR ? pick_threads<T, LONG, 1>(threads) : pick_threads<T, LONG, VECTOR>(threads);
}

/* plan->state. */
struct tiles_state {
    column_tiles tiles;
    int row_bytes, shared_bytes;
    float *
        d_sums; /* of the slices so far, where D is no place for them; NULL: D is, or there is one slice */
};

static void release(sddmm_plan *plan)
{
    tiles_state *state = (tiles_state *)plan->state;
    column_tiles_free(&state->tiles);
    cudaFree(state->d_sums);
    free(state);
}

template <class T> static cudaError_t fill_state(sddmm_plan *plan, tiles_state *state)
{
    const int K = plan->K, threads = plan->tuning[TUNE_THREADS];
    const enum precision precision = plan->contender->base.precision;
    state->row_bytes = sddmm_tiles_row_bytes(K, precision);
    const bool one_slice = K * (int)sizeof(T) <= state->row_bytes;
    CUDA_TRY(column_tiles_build(&plan->W, sddmm_tiles_cols(K, precision), device_facts_get()->sms,
                                &state->tiles));
    state->shared_bytes = state->tiles.tile_cols * state->row_bytes;
    if (sizeof(T) < sizeof(float) && !one_slice)
        CUDA_TRY(cudaMalloc(&state->d_sums, (plan->W.nnz + 1) * sizeof *state->d_sums));
    return allow_all_shared((const void *)pick_kernel<T>(threads, K, state->row_bytes));
}

template <class T> static cudaError_t prepare(sddmm_plan *plan)
{
    return plan_state_make<tiles_state>(plan, fill_state<T>, release);
}

template <class T>
static cudaError_t launch(const sddmm_plan *plan, const T *X, const T *Y, const T *W, T *D,
                          float *sums, cudaStream_t stream)
{
    const tiles_state *state = (const tiles_state *)plan->state;
    const int threads = plan->tuning[TUNE_THREADS];
    const tile_products<T> p = {.a = state->tiles,
                                .cols = plan->W.cols,
                                .K = plan->K,
                                .X = X,
                                .Y = Y,
                                .W = W,
                                .sums = sums,
                                .D = D};
    tile_kernel<T> *const kernel = pick_kernel<T>(threads, plan->K, state->row_bytes);
    if (state->tiles.blocks == 0) return cudaSuccess; /* nothing is stored */
    kernel<<<state->tiles.blocks, threads, state->shared_bytes, stream>>>(p);
    return cudaGetLastError();
}

static cudaError_t run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream)
{
    return launch(plan, X, Y, plan->W.d_values, D, D, stream);
}

template <class T>
static cudaError_t run16(const sddmm_plan *plan, const void *X, const void *Y, void *D,
                         cudaStream_t stream)
{
    return launch(plan, (const T *)X, (const T *)Y, (const T *)plan->W.d_values16, (T *)D,
                  ((const tiles_state *)plan->state)->d_sums, stream);
}

static size_t format_bytes(const sddmm_plan *plan)
{
    const size_t values = plan->W.d_values ? 4 : plan->W.d_values16 ? 2 : 0;
    return column_tiles_bytes(&((const tiles_state *)plan->state)->tiles, plan->W.nnz) +
           plan->W.nnz * values;
}

/* ---- the contenders --------------------------------------------------------------------------- */

template <enum precision PRECISION> static double estimate(const row_stats *stats, int K)
{
    return sddmm_tiles_estimate(stats, K, PRECISION);
}

static const char *unsuited(const problem *p)
{
    const int cols = sddmm_tiles_cols(p->width, p->precision);
    return column_tiles_unsuited(p->stats.rows, p->stats.cols, p->stats.nnz, cols);
}

#define TILES(title, kind, number, call)                                               \
    static sddmm_contender lab_##title = {                                             \
        .base = {.lab = 32,                                                            \
                 .after = 31,                                                          \
                 .name = #title,                                                       \
                 .summary = "tiles of Y in shared memory, a lane a nonzero",           \
                 .precision = kind,                                                    \
                 .unsuited = unsuited,                                                 \
                 .tunables = {{"THREADS", "threads of a block", {640, 768}, 2, 640}}}, \
        .estimate = estimate<kind>,                                                    \
        .prepare = prepare<number>,                                                    \
        call,                                                                          \
        .update_values = sddmm_nested_update_values, /* it keeps none */               \
        .format_bytes = format_bytes,                                                  \
        .release = release,                                                            \
    };                                                                                 \
    SDDMM_REGISTER(lab_##title)

TILES(sddmm_tiles, PRECISION_FP32, float, .run = run)
TILES(sddmm_tiles_fp16, PRECISION_FP16, __half, .run16 = run16<__half>)
TILES(sddmm_tiles_bf16, PRECISION_BF16, __nv_bfloat16, .run16 = run16<__nv_bfloat16>)
