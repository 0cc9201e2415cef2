/*
 * Lab 12 - tiles of B: matrices whose rows are so full that shared memory beats L2.
 *
 * Idea      A block copies a tile of B, 32 columns wide, into shared memory once, and walks all nonzeros
 *           of its rows that lie in the tile's columns. A lane owns a nonzero, and reads its
 *           row of B in eight 16-byte vectors: lane l takes vector j ^ (l % 8) in load j, so that eight
 *           lanes never meet in a bank. Seven exchanges at the end of a segment add the lanes' sums up.
 * Changed   Lab 11 gathers from L2. Rows are cut at the columns of tiles (formats/b_tiles.h); if there are
 *           several tiles, the last block of a chunk of rows adds their partial sums in one order.
 * Run       make lab12 && ./lab12 ddi 32     ./lab12 rand:rows=300,cols=200,deg=60 32 --counters
 * Watch     Bank conflicts: there are none. Fill: each wave copies its tiles again.
 */
#include "device/async_copy.cuh"
#include "device/cuda_try.h"
#include "device/dynamic_shared.cuh"
#include "device/last_block.cuh"
#include "device/partial_sums.h"
#include "device/shared.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "formats/b_tiles.cuh"
#include "models/b_tiles.h"
#include "ops/plan_state.cuh"
#include "ops/spmm.h"

#include <stdlib.h>

constexpr int VECTORS = TILE_WIDTH / 4; /* of a row of a tile, 16 bytes each */
constexpr int MAX_SLICES = 65535;       /* blocks a grid may have in y */
constexpr int AHEAD = 3;                /* pairs a lane fetches before it needs them */

/* Positions in spmm_plan.tuning. */
enum { TUNE_ROW_LANES, TUNE_THREADS, TUNE_WAVES, TUNE_HOST };

struct tiled_product {
    int rows, cols, N, first_slice;
    int tiles, chunks;
    const int4 *__restrict__ segment;
    const int *__restrict__ first, *__restrict__ chunk_row;
    const int2 *__restrict__ pairs;
    float *partial;
    unsigned *arrived;
    const float *__restrict__ B;
    float *__restrict__ C;
};

/* Starts copying the block's tile of B: row i of it is row i * tiles + tile of B. Columns that B does
 * not have become zero. FLOATS: 4 at a time, or 1 where N is no multiple of 4. */
template <int THREADS, int FLOATS>
static __device__ __forceinline__ void fetch_tile(const tiled_product &p, int tile_number,
                                                  int column, float *tile)
{
    constexpr int COPIES = TILE_WIDTH / FLOATS; /* of a row */
    const int count = (p.cols - tile_number + p.tiles - 1) / p.tiles;
    const int j = threadIdx.x % COPIES * FLOATS;
    const bool inside = column + j < p.N;
    const float *const from = p.B + (inside ? column + j : 0);
    for (int i = threadIdx.x / COPIES; i < count; i += THREADS / COPIES)
        async_copy_zfill<4 * FLOATS>(&tile[i * TILE_WIDTH + j],
                                     from + (size_t)(i * p.tiles + tile_number) * p.N,
                                     inside ? 4 * FLOATS : 0);
    async_commit();
}

/* Four columns of a row of C, as far as C has them. */
template <int FLOATS>
static __device__ __forceinline__ void store_row(const tiled_product &p, int row, int column,
                                                 const float (&x)[4])
{
    if (column >= p.N) return;
    float *const out = &p.C[(size_t)row * p.N + column];
    if constexpr (FLOATS == 4) {
        store_vector_streaming(out, x);
    } else {
        for (int c = 0; c < 4; c++)
            if (column + c < p.N) out[c] = x[c];
    }
}

/* The exchange with the lane `distance` away: to[] += its from[]. */
static __device__ __forceinline__ void add_from(float (&to)[4], const float (&from)[4],
                                                int distance)
{
#pragma unroll
    for (int c = 0; c < 4; c++)
        to[c] += __shfl_xor_sync(FULL_MASK, from[c], distance);
}

/* Lane l has vector j ^ (l % 8) in sum[j]; afterwards it has vector l % 8 in sum[0], summed over the
 * ROW_LANES lanes of the row. */
template <int ROW_LANES> static __device__ __forceinline__ void exchange(float (&sum)[VECTORS][4])
{
    /* BEGIN STUDENT: exchange 4 + 2 + 1 vectors; then, where a warp shares a row, two more */
#pragma unroll
    for (int half = VECTORS / 2; half > 0; half /= 2)
#pragma unroll
        for (int j = 0; j < half; j++)
            add_from(sum[j], sum[j + half], half);
#pragma unroll
    for (int distance = VECTORS; distance < ROW_LANES; distance *= 2)
        add_from(sum[0], sum[0], distance);
    /* END STUDENT */
}

/* The longest of the segments that the warp has in hand. */
template <int ROW_LANES> static __device__ __forceinline__ int longest_of(int count)
{
#pragma unroll
    for (int distance = ROW_LANES; distance < WARP_SIZE; distance *= 2)
        count = max(count, __shfl_xor_sync(FULL_MASK, count, distance));
    return count;
}

/* The last of a chunk's blocks adds up the sums of all its tiles. */
template <int THREADS, int FLOATS>
static __device__ __forceinline__ void add_tiles(const tiled_product &p, int chunk, int slice)
{
    const int end = p.chunk_row[chunk + 1];
    const float *const partial = p.partial + (size_t)slice * p.tiles * p.rows * TILE_WIDTH;
    for (int i = p.chunk_row[chunk] * VECTORS + threadIdx.x; i < end * VECTORS; i += THREADS) {
        float total[4] = {};
        for (int t = 0; t < p.tiles; t++) {
            const float4 x = __ldcg((const float4 *)partial + (size_t)t * p.rows * VECTORS + i);
            total[0] += x.x;
            total[1] += x.y;
            total[2] += x.z;
            total[3] += x.w;
        }
        store_row<FLOATS>(p, i / VECTORS, slice * TILE_WIDTH + i % VECTORS * 4, total);
    }
}

template <int ROW_LANES, int THREADS, int FLOATS>
static __global__ void __launch_bounds__(THREADS, b_tiles_resident(THREADS))
    spmm_b_tiles_kernel(const __grid_constant__ tiled_product p)
{
    constexpr int ROWS = WARP_SIZE / ROW_LANES; /* segments a warp works on */
    extern __shared__ float4 shared[];
    __shared__ int next;
    const int number = blockIdx.x % p.tiles, chunk = blockIdx.x / p.tiles;
    const int slice = p.first_slice + blockIdx.y, column = slice * TILE_WIDTH;
    const int end = p.first[blockIdx.x + 1];
    const int lane = threadIdx.x % ROW_LANES, own = threadIdx.x % WARP_SIZE / ROW_LANES;
    const int vector = threadIdx.x % VECTORS;

    /* A row of the tile begins at a multiple of its 128 bytes, so that exclusive or moves inside it. */
    const uint32_t begin = shared_address(shared);
    const uint32_t tile = (begin + TILE_ROW_BYTES - 1) / TILE_ROW_BYTES * TILE_ROW_BYTES;
    fetch_tile<THREADS, FLOATS>(p, number, column, (float *)((char *)shared + (tile - begin)));
    /* Segments are taken from a counter, the longest first. */
    int at = p.first[blockIdx.x] + (int)threadIdx.x / WARP_SIZE * ROWS;
    if (threadIdx.x == 0) next = at + THREADS / ROW_LANES;
    const int4 none = make_int4(-1, 0, 0, 0);
    int4 segment = at + own < end ? p.segment[at + own] : none;
    int2 pair = make_int2(0, 0);
    if (lane < segment.y) pair = __ldcs(&p.pairs[(size_t)segment.z * 4 + lane]);
    async_wait_all();
    __syncthreads();

    float *const partial =
        p.partial + ((size_t)slice * p.tiles + number) * p.rows * TILE_WIDTH + vector * 4;
    while (at < end) {
        if (threadIdx.x % WARP_SIZE == 0) at = atomicAdd(&next, ROWS);
        at = __shfl_sync(FULL_MASK, at, 0);
        const int4 next_segment = at + own < end ? p.segment[at + own] : none;

        const int2 *from = p.pairs + (size_t)segment.z * 4 + lane;
        const int left = segment.y - lane; /* this lane's pairs are 0, ROW_LANES ... below */
        const int longest = longest_of<ROW_LANES>(segment.y);
        int2 ahead[AHEAD];
        float sum[VECTORS][4] = {};
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            ahead[a] = make_int2(0, 0);
            from += ROW_LANES;
            if ((a + 1) * ROW_LANES < left) ahead[a] = __ldcs(from);
        }
        for (int k = 0; k < longest; k += ROW_LANES) {
            int2 last = make_int2(0, 0);
            from += ROW_LANES;
            if (k + (AHEAD + 1) * ROW_LANES < left) last = __ldcs(from);
            if (k < left) {
                const uint32_t at_vector = tile + vector * sizeof(float4) + pair.x;
                const float value = __int_as_float(pair.y);
                /* BEGIN STUDENT: load the row's eight vectors without bank conflicts; multiply, add */
                float4 b[VECTORS];
#pragma unroll
                for (int j = 0; j < VECTORS; j++)
                    b[j] = load_shared<float4>(at_vector ^ (uint32_t)(j * sizeof(float4)));
#pragma unroll
                for (int j = 0; j < VECTORS; j++) {
                    sum[j][0] += value * b[j].x;
                    sum[j][1] += value * b[j].y;
                    sum[j][2] += value * b[j].z;
                    sum[j][3] += value * b[j].w;
                }
                /* END STUDENT */
            }
            pair = ahead[0];
#pragma unroll
            for (int a = 0; a + 1 < AHEAD; a++)
                ahead[a] = ahead[a + 1];
            ahead[AHEAD - 1] = last;
        }
        pair = make_int2(0, 0);
        if (lane < next_segment.y) pair = __ldcs(&p.pairs[(size_t)next_segment.z * 4 + lane]);
        exchange<ROW_LANES>(sum);
        if (segment.x >= 0 && lane < VECTORS) {
            if (p.tiles == 1)
                store_row<FLOATS>(p, segment.x, column + vector * 4, sum[0]);
            else
                store_vector(partial + (size_t)segment.x * TILE_WIDTH, sum[0]);
        }
        segment = next_segment;
    }
    if (p.tiles > 1 && comes_last(&p.arrived[(size_t)slice * p.chunks + chunk], p.tiles))
        add_tiles<THREADS, FLOATS>(p, chunk, slice);
}

typedef void tiled_kernel(tiled_product);

template <int ROW_LANES, int FLOATS> static tiled_kernel *pick(int threads)
{
    return threads == 384   ? spmm_b_tiles_kernel<ROW_LANES, 384, FLOATS>
           : threads == 512 ? spmm_b_tiles_kernel<ROW_LANES, 512, FLOATS>
                            : spmm_b_tiles_kernel<ROW_LANES, 768, FLOATS>;
}

static tiled_kernel *pick(const b_tiles_shape &shape, int N)
{
    if (shape.row_lanes == 8) return N % 4 ? pick<8, 1>(shape.threads) : pick<8, 4>(shape.threads);
    return N % 4 ? pick<32, 1>(shape.threads) : pick<32, 4>(shape.threads);
}

/* ---- plans ------------------------------------------------------------------------------------ */

/* plan->state. */
typedef struct tiled_state {
    b_tiles *tiles;
    partial_sums partial; /* slice, tile, row, 32 columns; none if there is one tile */
} tiled_state;

static int slices_of(int N)
{
    return (N + TILE_WIDTH - 1) / TILE_WIDTH;
}

static void release(spmm_plan *plan)
{
    tiled_state *own = (tiled_state *)plan->state;
    b_tiles_free(own->tiles);
    partial_sums_free(&own->partial);
    free(own);
}

/* Several tiles leave partial sums, and count the blocks that are done. */
static cudaError_t make_workspace(const spmm_plan *plan, tiled_state *own)
{
    const b_tiles *t = own->tiles;
    const size_t slices = slices_of(plan->N);
    if (t->tiles == 1 || t->rows == 0) return cudaSuccess;
    return partial_sums_make(slices * t->tiles * t->rows * TILE_WIDTH, slices * t->chunks,
                             &own->partial);
}

static cudaError_t prepare_state(const spmm_plan *plan, tiled_state *own)
{
    const exec_space where = plan->tuning[TUNE_HOST] ? ON_HOST : ON_DEVICE;
    const b_tiles_shape shape = {.row_lanes = plan->tuning[TUNE_ROW_LANES],
                                 .threads = plan->tuning[TUNE_THREADS],
                                 .waves = plan->tuning[TUNE_WAVES]};
    CUDA_TRY(b_tiles_build(where, &plan->A, plan->N, &shape, &own->tiles));
    CUDA_TRY(make_workspace(plan, own));
    return allow_all_shared((const void *)pick(shape, plan->N));
}

static cudaError_t prepare(spmm_plan *plan)
{
    return plan_state_make<tiled_state>(plan, prepare_state, release);
}

static cudaError_t update_values(spmm_plan *plan)
{
    return b_tiles_update_values(&plan->A, ((tiled_state *)plan->state)->tiles);
}

static cudaError_t value_slots(const spmm_plan *plan, int *d_slot, float **d_copies)
{
    return b_tiles_value_slots(&plan->A, ((tiled_state *)plan->state)->tiles, d_slot, d_copies);
}

static size_t format_bytes(const spmm_plan *plan)
{
    return b_tiles_bytes(((const tiled_state *)plan->state)->tiles);
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const tiled_state *own = (const tiled_state *)plan->state;
    const b_tiles *t = own->tiles;
    const int slices = slices_of(plan->N);
    tiled_product p = {.rows = plan->A.rows,
                       .cols = plan->A.cols,
                       .N = plan->N,
                       .tiles = t->tiles,
                       .chunks = t->chunks,
                       .segment = t->d_segment,
                       .first = t->d_first,
                       .chunk_row = t->d_chunk_row,
                       .pairs = t->d_pairs,
                       .partial = own->partial.d_sums,
                       .arrived = own->partial.d_arrived,
                       .B = B,
                       .C = C};
    if (p.rows == 0) return cudaSuccess;
    tiled_kernel *const kernel = pick(t->shape, p.N);
    for (; p.first_slice < slices; p.first_slice += MAX_SLICES) {
        const dim3 grid(t->chunks * t->tiles, min(MAX_SLICES, slices - p.first_slice));
        kernel<<<grid, t->shape.threads, t->shared_bytes, stream>>>(p);
        CUDA_TRY(cudaGetLastError());
    }
    return cudaSuccess;
}

/* ---- the contender ---------------------------------------------------------------------------- */

static void choose(const row_stats *stats, int N, int *tuning)
{
    b_tiles_shape shape;
    b_tiles_estimate(stats, N, &shape);
    tuning[TUNE_ROW_LANES] = shape.row_lanes;
    tuning[TUNE_THREADS] = shape.threads;
    tuning[TUNE_WAVES] = shape.waves;
}

static double estimate(const row_stats *stats, int N)
{
    b_tiles_shape shape;
    return b_tiles_estimate(stats, N, &shape);
}

static const char *unsuited(const problem *p)
{
    b_tiles_shape shape;
    b_tiles_estimate(&p->stats, p->width, &shape);
    return b_tiles_unsuited(p->stats.rows, p->stats.cols, p->stats.nnz, shape.threads);
}

/* Settings that --tune tries beside the model's choice: those that won on ddi and on pruned weights. */
static const int SHORTLIST[][MAX_TUNABLES] = {
    {32, 768, 1, 0},
    {8, 512, 2, 0},
    {8, 512, 1, 0},
};

static spmm_contender lab12 = {
    .base =
        {
            .lab = 12,
            .after = 11,
            .name = "b_tiles",
            .summary = "tiles of B in shared memory, for rows that are full",
            .unsuited = unsuited,
            .tunables =
                {
                    {"ROW_LANES", "lanes that share a row", {32, 8}, 2, 32},
                    {"THREADS", "of a block; 384: two an SM", {384, 512, 768}, 3, 512},
                    {"WAVES", "blocks, in units of what the GPU holds", {1, 2, 4}, 3, 2},
                    {"HOST", "1: build the format on the host", {0, 1}, 2, 0, true},
                },
            .shortlist = SHORTLIST,
            .num_shortlisted = sizeof SHORTLIST / sizeof *SHORTLIST,
        },
    .choose = choose,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .update_values = update_values,
    .value_slots = value_slots,
    .format_bytes = format_bytes,
    .release = release,
};
SPMM_REGISTER(lab12)
