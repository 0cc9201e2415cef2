#include "arrange.h"

#include "device/argsort.h"
#include "device/half.cuh"
#include "device/parallel_for.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"

#include <math.h>

constexpr int BLOCK = 128, WARPS = BLOCK / WARP_SIZE;

/* ---- gates ------------------------------------------------------------------------------------- */

constexpr int LOGITS =
    MOST_EXPERTS / WARP_SIZE; /* of a lane, at most: those of experts lane, lane + 32 ... */

/* An expert and its logit. */
struct candidate {
    float logit;
    int expert;
};

static __device__ candidate better(candidate a, candidate b)
{
    if (a.logit != b.logit) return a.logit > b.logit ? a : b;
    return a.expert < b.expert ? a : b;
}

/* The best of all lanes, in every lane. */
static __device__ candidate best_of_warp(candidate mine)
{
#pragma unroll
    for (int d = WARP_SIZE / 2; d > 0; d /= 2) {
        const candidate other = {__shfl_xor_sync(FULL_MASK, mine.logit, d),
                                 __shfl_xor_sync(FULL_MASK, mine.expert, d)};
        mine = better(mine, other);
    }
    return mine;
}

static __device__ candidate best_of(const float (&logit)[LOGITS])
{
    candidate mine = {-INFINITY, MOST_EXPERTS};
#pragma unroll
    for (int i = 0; i < LOGITS; i++)
        mine = better(mine, {logit[i], lane_id() + i * WARP_SIZE});
    return best_of_warp(mine);
}

/* A warp a token. */
static __global__ void __launch_bounds__(BLOCK)
    choose_kernel(moe_shape s, const float *logits, const float *bias, int *expert, float *gate)
{
    const int token = blockIdx.x * WARPS + warp_id(), lane = lane_id();
    if (token >= s.tokens) return;
    float logit[LOGITS];
#pragma unroll
    for (int i = 0; i < LOGITS; i++) {
        const int e = lane + i * WARP_SIZE;
        logit[i] = e < s.experts ? logits[(size_t)token * s.experts + e] + bias[e] : -INFINITY;
    }
    candidate best = best_of(logit);
    const float largest = best.logit;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < LOGITS; i++)
        sum += expf(logit[i] - largest);
    sum = subwarp_sum<WARP_SIZE>(sum);
    for (int j = 0; j < s.chosen; j++) {
        if (j) best = best_of(logit);
        if (lane == 0) {
            expert[token * s.chosen + j] = best.expert;
            gate[token * s.chosen + j] = expf(best.logit - largest) / sum;
        }
#pragma unroll
        for (int i = 0; i < LOGITS; i++)
            if (best.expert == lane + i * WARP_SIZE) logit[i] = -INFINITY;
    }
}

cudaError_t arrange_choose(const moe_shape *s, const float *logits, const float *bias,
                           const arrangement *a, cudaStream_t stream)
{
    choose_kernel<<<(s->tokens - 1) / WARPS + 1, BLOCK, 0, stream>>>(*s, logits, bias, a->expert,
                                                                     a->gate);
    return cudaGetLastError();
}

/* ---- the layout -------------------------------------------------------------------------------- */

/* start[e] = the place in `order` of the first slot whose expert is e or a later one. */
struct find_starts {
    const int *expert, *order;
    int slots, experts;
    int *start;
    __device__ void operator()(int64_t i) const
    {
        const int before = i ? expert[order[i - 1]] : -1;
        const int own = i < slots ? expert[order[i]] : experts;
        for (int e = before + 1; e <= own; e++)
            start[e] = (int)i;
    }
};

/* Rows and tiles of an expert, or of all experts up to it. */
struct extent {
    int rows, tiles;
};

/* Replaces every thread's extent by the sum of those up to its own. */
static __device__ extent sum_up_to(extent own, extent *shared)
{
    for (int d = 1; d < MOST_EXPERTS; d *= 2) {
        shared[threadIdx.x] = own;
        __syncthreads();
        if ((int)threadIdx.x >= d) {
            own.rows += shared[threadIdx.x - d].rows;
            own.tiles += shared[threadIdx.x - d].tiles;
        }
        __syncthreads();
    }
    return own;
}

/* One block: a thread an expert, then a thread a tile. */
static __global__ void __launch_bounds__(MOST_EXPERTS)
    layout_kernel(moe_shape s, int capacity, const int *start, int *first, row_tile *tile,
                  int *tiles)
{
    __shared__ extent shared[MOST_EXPERTS];
    __shared__ int end_tile[MOST_EXPERTS], row[MOST_EXPERTS], padded[MOST_EXPERTS];
    const int e = threadIdx.x;
    const int count = e < s.experts ? start[e + 1] - start[e] : 0;
    const int filled = (count + s.block - 1) / s.block * s.block;
    const extent end = sum_up_to({filled, (filled + TILE_ROWS - 1) / TILE_ROWS}, shared);
    end_tile[e] = end.tiles;
    padded[e] = filled;
    row[e] = capacity ? e * capacity : end.rows - filled;
    if (e < s.experts) first[e] = row[e];
    if (e == s.experts - 1) {
        first[s.experts] = row[e] + filled;
        *tiles = end.tiles;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < end_tile[MOST_EXPERTS - 1]; i += MOST_EXPERTS) {
        int low = 0, high = s.experts - 1; /* the first expert whose tiles end behind i */
        while (low < high) {
            const int middle = (low + high) / 2;
            if (end_tile[middle] > i)
                high = middle;
            else
                low = middle + 1;
        }
        const int begin = low ? end_tile[low - 1] : 0, own = i - begin;
        const int band = own / BAND_TILES * BAND_TILES;
        tile[i] = {low, row[low] + own * TILE_ROWS, min(padded[low] - own * TILE_ROWS, TILE_ROWS),
                   begin + band, min(end_tile[low] - begin - band, BAND_TILES)};
    }
}

size_t arrange_workspace(int slots)
{
    return device_argsort_workspace(slots);
}

cudaError_t arrange_layout(const moe_shape *s, int capacity, const arrangement *a,
                           cudaStream_t stream)
{
    const int slots = shape_slots(s);
    CUDA_TRY(device_identity(a->order, slots, stream));
    CUDA_TRY(device_argsort_in(a->workspace, a->expert, s->experts - 1, a->order, slots, stream));
    CUDA_TRY(device_parallel_for(
        (int64_t)slots + 1, find_starts{a->expert, a->order, slots, s->experts, a->start}, stream));
    layout_kernel<<<1, MOST_EXPERTS, 0, stream>>>(*s, capacity, a->start, a->first, a->tile,
                                                  a->tiles);
    return cudaGetLastError();
}

/* ---- rows -------------------------------------------------------------------------------------- */

constexpr int GATHER_ROWS = 16, SHARES = TILE_ROWS / GATHER_ROWS;

/* A block a share of a tile, a warp a row at a time. */
static __global__ void __launch_bounds__(BLOCK)
    gather_kernel(moe_shape s, const __half *x, const arrangement a, __half *rows)
{
    if ((int)blockIdx.x / SHARES >= *a.tiles) return;
    const row_tile t = a.tile[blockIdx.x / SHARES];
    const int begin = blockIdx.x % SHARES * GATHER_ROWS, end = min(begin + GATHER_ROWS, t.rows);
    for (int r = begin + warp_id(); r < end; r += WARPS) {
        const int row = t.row + r, at = a.start[t.expert] + row - a.first[t.expert];
        const int slot = at < a.start[t.expert + 1] ? a.order[at] : -1;
        if (lane_id() == 0) {
            a.slot_of[row] = slot;
            if (slot >= 0) a.row_of[slot] = row;
        }
        for (int f = lane_id() * 8; f < s.features; f += WARP_SIZE * 8) {
            __half piece[8] = {};
            if (slot >= 0) load_vector(piece, x + (size_t)(slot / s.chosen) * s.features + f);
            store_vector(rows + (size_t)row * s.features + f, piece);
        }
    }
}

cudaError_t arrange_gather(const moe_shape *s, const void *x, const arrangement *a, void *rows,
                           cudaStream_t stream)
{
    gather_kernel<<<shape_most_tiles(s) * SHARES, BLOCK, 0, stream>>>(*s, (const __half *)x, *a,
                                                                      (__half *)rows);
    return cudaGetLastError();
}

/* A warp a token. */
static __global__ void __launch_bounds__(BLOCK)
    combine_kernel(moe_shape s, const __half *y, const int *row_of, const float *gate, __half *out)
{
    const int token = blockIdx.x * WARPS + warp_id();
    if (token >= s.tokens) return;
    for (int f = lane_id() * 8; f < s.features; f += WARP_SIZE * 8) {
        float sum[8] = {};
        for (int j = 0; j < s.chosen; j++) {
            const int slot = token * s.chosen + j;
            __half piece[8];
            load_vector(piece, y + (size_t)row_of[slot] * s.features + f);
#pragma unroll
            for (int i = 0; i < 8; i++)
                sum[i] += gate[slot] * widen(piece[i]);
        }
        __half result[8];
#pragma unroll
        for (int i = 0; i < 8; i++)
            result[i] = narrow<__half>(sum[i]);
        store_vector(out + (size_t)token * s.features + f, result);
    }
}

cudaError_t arrange_combine(const moe_shape *s, const void *y, const arrangement *a, void *out,
                            cudaStream_t stream)
{
    combine_kernel<<<(s->tokens - 1) / WARPS + 1, BLOCK, 0, stream>>>(
        *s, (const __half *)y, a->row_of, a->gate, (__half *)out);
    return cudaGetLastError();
}

/* Eight numbers a thread. */
struct relu_of {
    __half *x;
    __device__ void operator()(int64_t i) const
    {
        __half piece[8];
        load_vector_plain(piece, x + 8 * i);
#pragma unroll
        for (int j = 0; j < 8; j++)
            if (widen(piece[j]) < 0) piece[j] = narrow<__half>(0); /* a NaN stays */
        store_vector(x + 8 * i, piece);
    }
};

cudaError_t relu_run(int64_t count, void *x, cudaStream_t stream)
{
    return device_parallel_for(count / 8, relu_of{(__half *)x}, stream);
}

/* ---- inputs ------------------------------------------------------------------------------------ */

struct fill {
    number_source n;
    enum filled what;
    __half *to;
    __device__ void operator()(int64_t i) const
    {
        const int64_t matrix = (int64_t)n.features * n.hidden, in = i % matrix;
        const int e = (int)(i / matrix);
        float x;
        if (what == FILL_X)
            x = number_of_x(&n, i / n.features, (int)(i % n.features));
        else if (what == FILL_ROUTER)
            x = number_of_router(&n, i / n.experts, (int)(i % n.experts));
        else if (what == FILL_UP)
            x = number_of_up(&n, e, (int)(in / n.hidden), (int)(in % n.hidden));
        else
            x = number_of_down(&n, e, (int)(in / n.features), (int)(in % n.features));
        to[i] = narrow<__half>(x);
    }
};

cudaError_t numbers_fill(const number_source *n, enum filled what, int64_t count, void *to,
                         cudaStream_t stream)
{
    return device_parallel_for(count, fill{*n, what, (__half *)to}, stream);
}
