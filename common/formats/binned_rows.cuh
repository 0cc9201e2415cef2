/*
 * binned_rows.cuh - binned rows as kernels read them, and who works on each bin.
 *
 * A worker is given to a whole block. SUM says how the sum of a segment begins and ends:
 *
 *   begin(p, at, row, sum)    the first value of a sum
 *   finish(p, at, row, sum)   completes the sum of a segment, and stores it
 *   store(p, at, row, sum)    stores the sum of a row that has one segment
 *   held(out)                 what C holds in one place, where the row is marked ADDS
 */
#ifndef FORMATS_BINNED_ROWS_CUH
#define FORMATS_BINNED_ROWS_CUH

#include "device/epilogue.cuh"
#include "device/lane_groups.cuh"
#include "device/last_block.cuh"
#include "device/occupancy.cuh"
#include "formats/binned_rows.h"
#include "formats/length_bins.h"
#include "formats/segments.h"

constexpr int WARPS = 4, BLOCK = WARPS * WARP_SIZE;
constexpr int MAX_SLICES = 65535; /* blocks a grid may have in y */
constexpr int ZEROED_ROWS = 8;    /* empty rows that a group writes */

/* Mark of a segment's row: the row already has a sum in C, of the launches before. */
constexpr int ADDS = 1 << 31;

struct binned_rows {
    binned_rows_shape shape;
    row_split split;
    int column_blocks; /* the rest included: 1 where rows are whole */
    /* Position at which each bin of each column block begins. */
    int first[MAX_SEGMENTS * NUM_BINS + 1];
    int first_pack[NUM_BINS]; /* number of the first pack of each bin */
    int chunk_length;
    int first_long[MAX_SEGMENTS + 1];  /* LONG segments before each column block */
    int first_chunk[MAX_SEGMENTS + 1]; /* their chunks likewise */

    exec_space where; /* the arrays lie; ON_DEVICE once the rows are built */
    int64_t *d_place; /* of each segment: its first pair; negative: there is no such segment */
    int *d_row;       /* at each position: the row, and the mark ADDS */
    int2 *d_span;     /* first pair, in units of `lanes`, and nonzeros, of SHORT and longer ones */
    int2 *d_pairs;    /* rounds of `lanes`, then packs */
    int64_t packs_at; /* the first pack's first pair; a hole has column -1 */
    int64_t num_pairs;
    int2 *d_chunk;         /* of each chunk: its LONG segment, its number in it */
    int *d_first_chunk_of; /* of each LONG segment: its first chunk; one more: their number */
    float *d_partial;      /* sums of each chunk, N floats */
    unsigned *d_arrived;   /* chunks done, of each LONG segment and slice; 0 between runs */
};

/* The argument of a launch: a column block. Positions, LONG segments and chunks are counted from the
 * column block's first one. */
struct binned_rows_product {
    int N, first_slice, num_slices;
    int first[NUM_BINS + 1]; /* position */
    int block[NUM_BINS + 1]; /* first thread block of each bin; the last: their number */
    int first_pack[NUM_BINS];
    int chunk_length;
    const int *__restrict__ row; /* of each position */
    const int2 *__restrict__ span;
    const int2 *__restrict__ pairs, *__restrict__ packs;
    const int2 *__restrict__ chunk;
    const int *__restrict__ first_chunk_of;
    int before_long, before_chunk; /* the column block's first LONG segment and chunk */
    float *partial;
    unsigned *arrived;
    const float *__restrict__ B;
    float *C;
    row_epilogue epilogue; /* of rows that are complete with this launch */
};

/* Returns the argument of a column block's launch, but for B and C, and without an epilogue. */
binned_rows_product binned_rows_product_of(const binned_rows *rows, int N, int column_block);

typedef void (*binned_rows_kernel)(binned_rows_product);

/* The kernel for the lanes, V and K of the rows' slices. KERNELS: a struct with a function
 * get<LANES, V, K>(). */
template <class KERNELS> static binned_rows_kernel binned_rows_kernel_of(const binned_rows *rows)
{
    if (rows->shape.width == 64) return KERNELS::template get<8, 4, 2>();
    switch (rows->shape.lanes) {
    case 4:
        return KERNELS::template get<4, 4, 1>();
    case 8:
        return KERNELS::template get<8, 4, 1>();
    case 16:
        return KERNELS::template get<16, 2, 1>();
    default:
        return KERNELS::template get<32, 1, 1>();
    }
}

/* Blocks that an SM shall hold. 48 warps of 40 registers a thread; or 32 of 64, where a lane has 8
 * columns or holds four pairs of a pack. */
template <int LANES, int K>
constexpr int BLOCKS_PER_SM = THREADS_PER_SM / BLOCK *(K == 1 && LANES > 4 ? 3 : 2) / 4;

/* Sums that begin at zero. */
struct sum_from_zero {
    template <int LANES, int V, int K>
    static __device__ __forceinline__ void
    begin(const binned_rows_product &, const slice_lanes<LANES, V, K> &, int, float (&sum)[K][V])
    {
        set_zero(sum);
    }
};

/* Sums that are stored as ordinary data: later launches read C again, which had better stay in
 * L2. */
struct sum_kept_in_l2 {
    template <int LANES, int V, int K>
    static __device__ __forceinline__ void store(const binned_rows_product &p,
                                                 const slice_lanes<LANES, V, K> &at, int row,
                                                 const float (&sum)[K][V])
    {
        if (!at.inside) return;
#pragma unroll
        for (int k = 0; k < K; k++)
            store_vector(at.place(p.C, p.N, row & ~ADDS, k), sum[k]);
    }
};

/* ---- LONG: a block a chunk ------------------------------------------------------------------- */

/* Sums the warp's share of the chunk, in shared memory. */
template <int LANES, int V, int K>
static __device__ __forceinline__ void sum_share(const binned_rows_product &p, int number,
                                                 float *warp_sum)
{
    const slice_lanes<LANES, V, K> at(p);
    const int2 chunk = p.chunk[number], span = p.span[chunk.x - p.before_long];
    const int start = chunk.y * p.chunk_length, count = min(p.chunk_length, span.y - start);
    const int share = share_of<LANES>(count, BLOCK / LANES);
    const int before = at.group * share, own = before < count ? before : 0;
    float sum[K][V] = {};
    gather(at, p.pairs + (size_t)span.x * LANES + start + own, min(share, count - before), sum);
    add_groups<LANES, V, K>(sum);
    if (threadIdx.x % WARP_SIZE < LANES)
#pragma unroll
        for (int k = 0; k < K; k++)
            store_vector(&warp_sum[(k * LANES + at.lane) * V], sum[k]);
}

/* Works on a chunk of a segment too long for a warp. The block that comes last adds up all chunks
 * of the segment in their order. So the sum has the same bits in every run. */
template <class SUM, int LANES, int V, int K>
static __device__ void long_segment(const binned_rows_product &p)
{
    constexpr int WIDTH = slice_lanes<LANES, V, K>::WIDTH;
    __shared__ __align__(16) float warp_sum[WARPS][WIDTH]; /* for stores of vectors */
    __shared__ int segment, row, first, end;               /* of this chunk, and all its chunks */
    const int warp = threadIdx.x / WARP_SIZE, thread = threadIdx.x;
    const int number = p.before_chunk + blockIdx.x; /* of the chunk */
    /* Fetched together with the walk's first loads: nobody waits for it after the walk, which has
     * no register to keep it in. */
    if (thread == BLOCK - 1) {
        segment = p.chunk[number].x;
        row = p.row[segment - p.before_long];
        first = p.first_chunk_of[segment];
        end = p.first_chunk_of[segment + 1];
    }
    sum_share<LANES, V, K>(p, number, warp_sum[warp]);
    __syncthreads();

    /* From here on a thread has one column, of all four warps. */
    const int slice = p.first_slice + blockIdx.y, column = slice * WIDTH + thread;
    const bool has_column = thread < WIDTH && column < p.N;
    float *const out = &p.C[(size_t)(row & ~ADDS) * p.N + column];
    float total = 0;
    for (int w = 0; w < WARPS && has_column; w++)
        total += warp_sum[w][thread];
    if (end - first > 1) {
        if (has_column) p.partial[(size_t)number * p.N + column] = total;
        unsigned *const arrived = &p.arrived[(size_t)segment * p.num_slices + slice];
        if (!comes_last(arrived, end - first)) return;
        for (int c = thread % WARP_SIZE; c < WIDTH; c += WARP_SIZE) {
            const int j = min(slice * WIDTH + c, p.N - 1);
            float some = 0; /* every fourth chunk */
#pragma unroll 8
            for (int i = first + warp; i < end; i += WARPS)
                some += __ldcg(&p.partial[(size_t)i * p.N + j]);
            warp_sum[warp][c] = some;
        }
        __syncthreads();
        total = 0;
        for (int w = 0; w < WARPS && has_column; w++)
            total += warp_sum[w][thread];
    }
    if (!has_column) return;
    if (row & ADDS) total += SUM::held(out);
    float sum[] = {total};
    apply_epilogue(p.epilogue, row & ~ADDS, sum);
    *out = sum[0];
}

/* ---- MEDIUM: a warp a segment; SHORT: a group a segment -------------------------------------- */

template <class SUM, int LANES, int V, int K>
static __device__ void medium_segment(const binned_rows_product &p)
{
    const slice_lanes<LANES, V, K> at(p);
    const int i =
        p.first[MEDIUM] + (blockIdx.x - p.block[MEDIUM]) * WARPS + (int)threadIdx.x / WARP_SIZE;
    if (i >= p.first[SHORT]) return;
    const int2 span = p.span[i];
    const int row = p.row[i], group = at.group % at.GROUPS;
    const int share = share_of<LANES>(span.y, at.GROUPS);
    const int before = group * share, own = before < span.y ? before : 0;
    float sum[K][V];
    SUM::begin(p, at, group == 0 ? row : 0, sum); /* what C holds counts once */
    gather(at, p.pairs + (size_t)span.x * LANES + own, min(share, span.y - before), sum);
    add_groups<LANES, V, K>(sum);
    if (group == 0) SUM::finish(p, at, row, sum);
}

template <class SUM, int LANES, int V, int K>
static __device__ void short_segment(const binned_rows_product &p)
{
    const slice_lanes<LANES, V, K> at(p);
    const int i = p.first[SHORT] + (blockIdx.x - p.block[SHORT]) * (BLOCK / LANES) + at.group;
    const bool exists = i < p.first[PACK_16];
    int2 span = make_int2(0, 0);
    int row = 0;
    if (exists) {
        span = p.span[i];
        row = p.row[i];
    }
    float sum[K][V];
    SUM::begin(p, at, row, sum);
    gather(at, p.pairs + (size_t)span.x * LANES, span.y, sum);
    if (exists) SUM::finish(p, at, row, sum);
}

/* ---- packed rows: a group a pack ------------------------------------------------------------- */

/* Works on a pack of rows of at most 16 nonzeros, which most graphs are made of. The compiler knows
 * which slots make a row, and where a pack lies follows from its number: its pairs and its rows are
 * fetched at once. A row of another bin waits for three loads in turn (where it begins, its pairs,
 * its rows of B); here two are left. */
template <int BIN, class SUM, int LANES, int V, int K>
static __device__ void packed_rows(const binned_rows_product &p)
{
    const slice_lanes<LANES, V, K> at(p);
    constexpr int SLOTS = slots_of(BIN), ROWS = PACK_SLOTS / SLOTS;
    /* Pairs, or rows, that a lane holds. */
    constexpr int HELD = LANES < PACK_SLOTS ? PACK_SLOTS / LANES : 1;
    constexpr int IN_FLIGHT = 4;
    const int number = (blockIdx.x - p.block[BIN]) * (BLOCK / LANES) + at.group;
    const bool exists = p.first_pack[BIN] + number < p.first_pack[BIN + 1];
    const int2 *const pairs = p.packs + (size_t)(p.first_pack[BIN] + number) * PACK_SLOTS;
    const int first = p.first[BIN] + number * ROWS, end = p.first[BIN + 1];
    int2 pair[HELD];
    int row[HELD];
#pragma unroll
    for (int h = 0; h < HELD; h++) {
        const int i = h * LANES + at.lane;
        pair[h] = make_int2(-1, 0);
        if (exists && i < PACK_SLOTS) pair[h] = __ldcs(&pairs[i]);
        row[h] = -1;
        if (i < ROWS && first + i < end) row[h] = p.row[first + i];
    }
    float sum[K][V] = {};
#pragma unroll 1 /* else the loads of all rounds come first, and have too few registers */
    for (int q = 0; q < PACK_SLOTS; q += IN_FLIGHT) {
        int2 mine = pair[0];
#pragma unroll
        for (int h = 1; h < HELD; h++)
            if (q >= h * LANES) mine = pair[h];
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
            int holder = row[0];
#pragma unroll
            for (int h = 1; h < HELD; h++)
                if (r >= h * LANES) holder = row[h];
            const int to = __shfl_sync(FULL_MASK, holder, r, LANES);
            if (to >= 0) SUM::store(p, at, to, sum);
            set_zero(sum);
        }
    }
}

/* ---- EMPTY: a group 8 rows ------------------------------------------------------------------- */

template <class SUM, int LANES, int V, int K>
static __device__ void empty_rows(const binned_rows_product &p)
{
    const slice_lanes<LANES, V, K> at(p);
    const int group = (blockIdx.x - p.block[EMPTY]) * (BLOCK / LANES) + at.group;
    const int first = p.first[EMPTY] + group * ZEROED_ROWS;
    const float zero[K][V] = {};
    for (int i = first; i < min(first + ZEROED_ROWS, p.first[NUM_BINS]); i++)
        SUM::store(p, at, p.row[i], zero);
}

/* ---- all bins -------------------------------------------------------------------------------- */

/* Gives this block to its bin's worker: the dispatch that lab 11 writes out, for kernels of column
 * blocks. */
template <class SUM, int LANES, int V, int K>
static __device__ __forceinline__ void work_on_bins(const binned_rows_product &p)
{
    const int block = blockIdx.x;
    if (block < p.block[MEDIUM])
        long_segment<SUM, LANES, V, K>(p);
    else if (block < p.block[SHORT])
        medium_segment<SUM, LANES, V, K>(p);
    else if (block < p.block[PACK_16])
        short_segment<SUM, LANES, V, K>(p);
    else if (block < p.block[PACK_8])
        packed_rows<PACK_16, SUM, LANES, V, K>(p);
    else if (block < p.block[PACK_4])
        packed_rows<PACK_8, SUM, LANES, V, K>(p);
    else if (block < p.block[PACK_2])
        packed_rows<PACK_4, SUM, LANES, V, K>(p);
    else if (block < p.block[PACK_1])
        packed_rows<PACK_2, SUM, LANES, V, K>(p);
    else if (block < p.block[EMPTY])
        packed_rows<PACK_1, SUM, LANES, V, K>(p);
    else
        empty_rows<SUM, LANES, V, K>(p);
}

#endif
