/*
 * bins.cu - the kernel of the bins: one launch, whose blocks take the bins of bins.h in turn.
 *
 * Everywhere a group of LANES lanes fetches nonzeros LANES at a time, one (column, value) pair a
 * lane in one coalesced load, and hands them round by shuffles; each lane then has IN_FLIGHT loads
 * of B, of K * V floats each, on their way at once.
 */
#include "bins.h"

#include "device/cuda_try.h"
#include "device/occupancy.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "lane_groups.cuh"

#include <stdlib.h>

constexpr int WARPS = 4, BLOCK = WARPS * WARP_SIZE;
constexpr int MAX_SLICES = 65535; /* blocks a grid may have in y */
constexpr int ZEROED_ROWS = 8;    /* empty rows a group writes */

/* What the kernel is given. */
struct product {
    int N, first_slice, num_slices;
    int block[NUM_BINS + 1]; /* first block of each bin */
    bins_layout a;
    const float *__restrict__ B;
    float *__restrict__ C;
};

/* A lane's part of a slice of C: K vectors of V columns, LANES * V apart. K = 2 is for slices that
 * divide N, so that the second vector is at a fixed distance from the first. */
template <int LANES, int V, int K> struct lane_columns {
    static constexpr int WIDTH = LANES * V * K, GROUPS = WARP_SIZE / LANES;
    static constexpr int IN_FLIGHT = V == 4 ? 4 : 8;
    int lane, group; /* this lane in its group, this group in the block */
    int column;      /* first of this lane */
    bool inside;     /* whether C has that column */
    const char *B;   /* row 0 of B at that column, or at the last that B has for the lanes beyond */
    unsigned row_bytes;

    __device__ __forceinline__ lane_columns(const product &p)
        : lane(threadIdx.x % LANES), group(threadIdx.x / LANES),
          column((p.first_slice + blockIdx.y) * WIDTH + lane * V), inside(column < p.N),
          B((const char *)(p.B + min(column, p.N - V))), row_bytes(p.N * sizeof(float))
    {
    }

    __device__ __forceinline__ void load(float (&b)[K][V], int row_of_B) const
    {
        /* Unsigned, so that the address is one multiply-add of 32 x 32 + 64 bits. */
        const float *from = (const float *)(B + (size_t)(unsigned)row_of_B * row_bytes);
#pragma unroll
        for (int k = 0; k < K; k++)
            load_vector(b[k], from + k * LANES * V);
    }

    __device__ __forceinline__ void store(const product &p, int row, const float (&x)[K][V]) const
    {
        if (!inside) return;
#pragma unroll
        for (int k = 0; k < K; k++)
            store_vector_streaming(&p.C[(size_t)row * p.N + column + k * LANES * V], x[k]);
    }
};

template <int K, int V> static __device__ __forceinline__ void clear(float (&sum)[K][V])
{
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
        for (int v = 0; v < V; v++)
            sum[k][v] = 0;
}

/* sum += pairs[0 .. count-1] times B, for each group of the warp its own pairs and count. All lanes
 * of the warp must be here, since they shuffle together as long as one group has pairs left. A group
 * that has none left loads the rows of B again that it had, and adds nothing: loads without
 * conditions go off together, others one by one. So pairs[0 .. LANES-1] must be there even if count
 * is not positive, and what fills up a row's last round must name columns that B has. */
template <int LANES, int V, int K>
static __device__ __forceinline__ void gather(const lane_columns<LANES, V, K> &at,
                                              const int2 *__restrict__ pairs, int count,
                                              float (&sum)[K][V])
{
    constexpr int IN_FLIGHT = at.IN_FLIGHT;
    int most = count;
#pragma unroll
    for (int distance = LANES; distance < WARP_SIZE; distance *= 2)
        most = max(most, __shfl_xor_sync(FULL_MASK, most, distance));
    int2 next = __ldcs(&pairs[at.lane]);
    for (int done = 0; done < most; done += LANES) {
        const int2 mine = next;
        if (done + LANES < count) next = __ldcs(&pairs[done + LANES + at.lane]);
#pragma unroll
        for (int q = 0; q < LANES; q += IN_FLIGHT) {
            if (q > 0 && done + q >= most) break;
            float b[IN_FLIGHT][K][V];
#pragma unroll
            for (int u = 0; u < IN_FLIGHT; u++)
                at.load(b[u], __shfl_sync(FULL_MASK, mine.x, q + u, LANES));
#pragma unroll
            for (int u = 0; u < IN_FLIGHT; u++) {
                const int value = __shfl_sync(FULL_MASK, mine.y, q + u, LANES);
                if (done + q + u < count) multiply_add(sum, value, b[u]);
            }
        }
    }
}

/* ---- LONG: a block per part ------------------------------------------------------------------ */

/* The warp's share of the part, summed, in shared memory. */
template <int LANES, int V, int K>
static __device__ __forceinline__ void sum_share(const product &p, float *warp_sum)
{
    const lane_columns<LANES, V, K> at(p);
    const int2 part = p.a.d_part[blockIdx.x]; /* position of the row, place in the row */
    const int2 span = p.a.d_span[part.x];
    const int start = part.y * p.a.part_length, count = min(p.a.part_length, span.y - start);
    const int share = share_of<LANES>(count, BLOCK / LANES);
    const int before = at.group * share, own = before < count ? before : 0;
    float sum[K][V] = {};
    gather(at, p.a.d_pairs + span.x + start + own, min(share, count - before), sum);
    add_groups<LANES, V, K>(sum);
    if (threadIdx.x % WARP_SIZE < LANES)
#pragma unroll
        for (int k = 0; k < K; k++)
            store_vector(&warp_sum[(k * LANES + at.lane) * V], sum[k]);
}

template <int LANES, int V, int K> static __device__ void long_part(const product &p)
{
    constexpr int WIDTH = lane_columns<LANES, V, K>::WIDTH;
    __shared__ __align__(16) float warp_sum[WARPS][WIDTH]; /* for stores of vectors */
    __shared__ bool is_last;
    const int warp = threadIdx.x / WARP_SIZE, thread = threadIdx.x;
    /* BEGIN STUDENT: add up the warps' shares; of several parts, the last block adds up all */
    sum_share<LANES, V, K>(p, warp_sum[warp]);
    __syncthreads();

    /* From here on a thread has one column, of all four warps. */
    const int slice = p.first_slice + blockIdx.y, column = slice * WIDTH + thread;
    const bool has_column = thread < WIDTH && column < p.N;
    const int position = p.a.d_part[blockIdx.x].x;
    const int first = p.a.d_first_part[position], end = p.a.d_first_part[position + 1];
    float *const out = &p.C[(size_t)p.a.d_order[position] * p.N + column];
    float total = 0;
    for (int w = 0; w < WARPS && has_column; w++)
        total += warp_sum[w][thread];
    if (end - first == 1) { /* the only part */
        if (has_column) *out = total;
        return;
    }

    /* The block that comes last adds up all parts, in their order and so with the same result
     * whichever it is. It finds them in L2, where the others' fences have made them visible. */
    if (has_column) p.a.d_partial[(size_t)blockIdx.x * p.N + column] = total;
    __threadfence();
    __syncthreads();
    if (thread == 0) {
        /* Counts to the last part, and then goes back to 0, for the next run. */
        unsigned *const arrived = &p.a.d_arrived[(size_t)position * p.num_slices + slice];
        const unsigned last = end - first - 1;
        is_last = atomicInc(arrived, last) == last;
        __threadfence();
    }
    __syncthreads();
    if (!is_last) return;
    for (int c = thread % WARP_SIZE; c < WIDTH; c += WARP_SIZE) {
        const int j = min(slice * WIDTH + c, p.N - 1);
        float some = 0; /* every fourth part */
#pragma unroll 8
        for (int i = first + warp; i < end; i += WARPS)
            some += __ldcg(&p.a.d_partial[(size_t)i * p.N + j]);
        warp_sum[warp][c] = some;
    }
    __syncthreads();
    total = 0;
    for (int w = 0; w < WARPS && has_column; w++)
        total += warp_sum[w][thread];
    if (has_column) *out = total;
    /* END STUDENT */
}

/* ---- MEDIUM: a warp per row; SHORT: a group per row ------------------------------------------ */

template <int LANES, int V, int K> static __device__ void medium_row(const product &p)
{
    const lane_columns<LANES, V, K> at(p);
    const int block = blockIdx.x - p.block[MEDIUM];
    const int i = p.a.first[MEDIUM] + block * WARPS + (int)threadIdx.x / WARP_SIZE;
    if (i >= p.a.first[SHORT]) return;
    /* BEGIN STUDENT: gather this row's nonzeros with all groups, add the groups, store */
    const int2 span = p.a.d_span[i];
    const int share = share_of<LANES>(span.y, at.GROUPS);
    const int before = at.group % at.GROUPS * share, own = before < span.y ? before : 0;
    float sum[K][V] = {};
    gather(at, p.a.d_pairs + span.x + own, min(share, span.y - before), sum);
    add_groups<LANES, V, K>(sum);
    if (at.group % at.GROUPS == 0) at.store(p, p.a.d_order[i], sum);
    /* END STUDENT */
}

template <int LANES, int V, int K> static __device__ void short_row(const product &p)
{
    const lane_columns<LANES, V, K> at(p);
    const int block = blockIdx.x - p.block[SHORT];
    const int i = p.a.first[SHORT] + block * (BLOCK / LANES) + at.group;
    const bool has_row = i < p.a.first[PACK_16];
    int2 span = make_int2(0, 0);
    if (has_row) span = p.a.d_span[i];
    float sum[K][V] = {};
    gather(at, p.a.d_pairs + span.x, span.y, sum);
    if (has_row) at.store(p, p.a.d_order[i], sum);
}

/* ---- packets: a group per packet ------------------------------------------------------------- */

/* Which slots make a row is known when this is compiled, where a packet lies follows from its
 * number: its pairs and its rows are fetched at once, and nothing waits for a row's beginning. */
template <int BIN, int LANES, int V, int K> static __device__ void packet(const product &p)
{
    const lane_columns<LANES, V, K> at(p);
    constexpr int SLOTS = slots_of(BIN), ROWS = PACKET / SLOTS;
    constexpr int HELD =
        LANES < PACKET ? PACKET / LANES : 1; /* pairs, or rows, that a lane holds */
    constexpr int IN_FLIGHT = 4;
    const int number = (blockIdx.x - p.block[BIN]) * (BLOCK / LANES) + at.group;
    const bool exists = p.a.packet[BIN] + number < p.a.packet[BIN + 1];
    const int2 *const pairs = p.a.d_packets + (size_t)(p.a.packet[BIN] + number) * PACKET;
    const int first = p.a.first[BIN] + number * ROWS, end = p.a.first[BIN + 1];
    /* BEGIN STUDENT: walk the packet's slots; after the last slot of each row, store it */
    int2 pair[HELD];
    int row[HELD];
#pragma unroll
    for (int h = 0; h < HELD; h++) {
        const int i = h * LANES + at.lane;
        pair[h] = make_int2(-1, 0);
        if (exists && i < PACKET) pair[h] = __ldcs(&pairs[i]);
        row[h] = -1;
        if (i < ROWS && first + i < end) row[h] = p.a.d_order[first + i];
    }
    float sum[K][V] = {};
#pragma unroll 1 /* else the loads of all rounds come first, and have too few registers */
    for (int q = 0; q < PACKET; q += IN_FLIGHT) {
        const int2 mine = q < LANES ? pair[0] : pair[HELD - 1];
        float b[IN_FLIGHT][K][V];
        int column[IN_FLIGHT];
#pragma unroll
        for (int u = 0; u < IN_FLIGHT; u++) {
            column[u] = __shfl_sync(FULL_MASK, mine.x, q + u, LANES);
            at.load(b[u], max(column[u], 0)); /* of a hole row 0, whatever it holds */
        }
#pragma unroll
        for (int u = 0; u < IN_FLIGHT; u++) {
            const int value = __shfl_sync(FULL_MASK, mine.y, q + u, LANES);
            if (column[u] >= 0) multiply_add(sum, value, b[u]);
            if ((q + u) % SLOTS < SLOTS - 1) continue;
            const int r = (q + u) / SLOTS;
            const int to = __shfl_sync(FULL_MASK, r < LANES ? row[0] : row[HELD - 1], r, LANES);
            if (to >= 0) at.store(p, to, sum);
            clear(sum);
        }
    }
    /* END STUDENT */
}

template <int LANES, int V, int K> static __device__ void empty_rows(const product &p)
{
    const lane_columns<LANES, V, K> at(p);
    const int group = (blockIdx.x - p.block[EMPTY]) * (BLOCK / LANES) + at.group;
    const int first = p.a.first[EMPTY] + group * ZEROED_ROWS;
    const float zero[K][V] = {};
    for (int i = first; i < min(first + ZEROED_ROWS, p.a.first[NUM_BINS]); i++)
        at.store(p, p.a.d_order[i], zero);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* 48 warps an SM of 40 registers, or 32 of 64 where a lane has 8 columns: more warps beat more loads
 * a warp, until there are too few registers for four loads of 16 bytes. */
template <int LANES, int V, int K>
static __global__ void __launch_bounds__(BLOCK, THREADS_PER_SM / BLOCK * (K == 1 ? 3 : 2) / 4)
    spmm_bins_kernel(const __grid_constant__ product p)
{
    const int block = blockIdx.x;
    if (block < p.block[MEDIUM])
        long_part<LANES, V, K>(p);
    else if (block < p.block[SHORT])
        medium_row<LANES, V, K>(p);
    else if (block < p.block[PACK_16])
        short_row<LANES, V, K>(p);
    else if (block < p.block[PACK_8])
        packet<PACK_16, LANES, V, K>(p);
    else if (block < p.block[PACK_4])
        packet<PACK_8, LANES, V, K>(p);
    else if (block < p.block[PACK_2])
        packet<PACK_4, LANES, V, K>(p);
    else if (block < p.block[PACK_1])
        packet<PACK_2, LANES, V, K>(p);
    else if (block < p.block[EMPTY])
        packet<PACK_1, LANES, V, K>(p);
    else
        empty_rows<LANES, V, K>(p);
}

template <int LANES, int V, int K>
static cudaError_t launch(const bins_layout *layout, int N, const float *B, float *C,
                          cudaStream_t stream)
{
    constexpr int WIDTH = lane_columns<LANES, V, K>::WIDTH, GROUPS = BLOCK / LANES;
    product p = {.N = N, .num_slices = (N + WIDTH - 1) / WIDTH, .a = *layout, .B = B, .C = C};
    for (int b = 0; b < NUM_BINS; b++) {
        const int rows = layout->first[b + 1] - layout->first[b];
        const int packets =
            b >= PACK_16 && b < EMPTY ? layout->packet[b + 1] - layout->packet[b] : 0;
        const int blocks = b == LONG     ? layout->num_parts
                           : b == MEDIUM ? (rows + WARPS - 1) / WARPS
                           : b == SHORT  ? (rows + GROUPS - 1) / GROUPS
                           : b == EMPTY ? (rows + GROUPS * ZEROED_ROWS - 1) / (GROUPS * ZEROED_ROWS)
                                        : (packets + GROUPS - 1) / GROUPS;
        p.block[b + 1] = p.block[b] + blocks;
    }
    if (p.block[NUM_BINS] == 0) return cudaSuccess;
    for (; p.first_slice < p.num_slices; p.first_slice += MAX_SLICES) {
        const dim3 grid(p.block[NUM_BINS], min(MAX_SLICES, p.num_slices - p.first_slice));
        spmm_bins_kernel<LANES, V, K><<<grid, BLOCK, 0, stream>>>(p);
        CUDA_TRY(cudaGetLastError());
    }
    return cudaSuccess;
}

/* 32 columns with the widest vectors that fit a row of B. */
static int lanes_of_group(int N)
{
    return N % 4 == 0 ? 8 : N % 2 == 0 ? 16 : 32;
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const bins_layout *layout = (const bins_layout *)plan->state;
    const int N = plan->N;
    if (plan->tuning[BINS_WIDTH] == 64) return launch<8, 4, 2>(layout, N, B, C, stream);
    switch (lanes_of_group(N)) {
    case 8:
        return launch<8, 4, 1>(layout, N, B, C, stream);
    case 16:
        return launch<16, 2, 1>(layout, N, B, C, stream);
    default:
        return launch<32, 1, 1>(layout, N, B, C, stream);
    }
}

static void release(spmm_plan *plan)
{
    bins_layout_free((bins_layout *)plan->state);
    free(plan->state);
}

static cudaError_t prepare(spmm_plan *plan)
{
    int &width = plan->tuning[BINS_WIDTH];
    if (plan->N % 64) width = 32;
    bins_layout *layout = (bins_layout *)calloc(1, sizeof *layout);
    plan->state = layout;
    if (!layout) return cudaErrorMemoryAllocation;
    const cudaError_t error =
        bins_layout_build(plan, plan->tuning[BINS_SERIAL], plan->tuning[BINS_PACK],
                          lanes_of_group(plan->N), (plan->N + width - 1) / width, layout);
    if (error != cudaSuccess) free(layout);
    return error;
}

const spmm_contender bins_family = {
    .base = {.name = "bins"},
    .prepare = prepare,
    .run = run,
    .release = release,
};
