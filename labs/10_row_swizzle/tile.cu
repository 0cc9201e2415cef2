/*
 * tile.cu - the tile kernel.
 *
 * A lane owns a nonzero and reads all 128 bytes of its row of B with eight 16-byte loads. Lane l takes
 * piece j ^ (l % 8) in load j: the eight lanes that shared memory serves together then read eight
 * different pieces, which lie in eight different sets of four banks, whatever rows they belong to. So
 * every load runs at the full 128 bytes a clock, and no nonzero has to be handed round by a shuffle.
 * The price comes at the end of a segment, where lanes hold the same columns of different nonzeros:
 * seven exchanges of 16 bytes leave each lane one piece.
 */
#include "tile.h"

#include "device/async_copy.cuh"
#include "device/cuda_try.h"
#include "device/shared.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "last_block.cuh"

constexpr int PIECES = TILE_WIDTH / 4; /* 16 bytes each */
constexpr int MAX_SLICES = 65535;      /* blocks a grid may have in y */
constexpr int AHEAD = 3;               /* pairs a lane fetches before it needs them */

struct tile_product {
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
static __device__ __forceinline__ void fetch_tile(const tile_product &p, int tile_number,
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
static __device__ __forceinline__ void store_row(const tile_product &p, int row, int column,
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

/* Lane l has piece j ^ (l % 8) in sum[j]; afterwards it has piece l % 8 in sum[0], summed over the
 * ROW_LANES lanes of the row. */
template <int ROW_LANES> static __device__ __forceinline__ void exchange(float (&sum)[PIECES][4])
{
    /* BEGIN STUDENT: seven exchanges of pieces; then, of a warp a row, two more */
#pragma unroll
    for (int half = PIECES / 2; half > 0; half /= 2)
#pragma unroll
        for (int j = 0; j < half; j++)
            add_from(sum[j], sum[j + half], half);
#pragma unroll
    for (int distance = PIECES; distance < ROW_LANES; distance *= 2)
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
static __device__ __forceinline__ void add_tiles(const tile_product &p, int chunk, int slice)
{
    const int end = p.chunk_row[chunk + 1];
    const float *const partial = p.partial + (size_t)slice * p.tiles * p.rows * TILE_WIDTH;
    for (int i = p.chunk_row[chunk] * PIECES + threadIdx.x; i < end * PIECES; i += THREADS) {
        float total[4] = {};
        for (int t = 0; t < p.tiles; t++) {
            const float4 x = __ldcg((const float4 *)partial + (size_t)t * p.rows * PIECES + i);
            total[0] += x.x;
            total[1] += x.y;
            total[2] += x.z;
            total[3] += x.w;
        }
        store_row<FLOATS>(p, i / PIECES, slice * TILE_WIDTH + i % PIECES * 4, total);
    }
}

template <int ROW_LANES, int THREADS, int FLOATS>
static __global__ void __launch_bounds__(THREADS, tile_resident(THREADS))
    spmm_tile_kernel(const __grid_constant__ tile_product p)
{
    constexpr int ROWS = WARP_SIZE / ROW_LANES; /* segments a warp works on */
    extern __shared__ float4 shared[];
    __shared__ int next;
    const int number = blockIdx.x % p.tiles, chunk = blockIdx.x / p.tiles;
    const int slice = p.first_slice + blockIdx.y, column = slice * TILE_WIDTH;
    const int end = p.first[blockIdx.x + 1];
    const int lane = threadIdx.x % ROW_LANES, own = threadIdx.x % WARP_SIZE / ROW_LANES;
    const int piece = threadIdx.x % PIECES;

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
        p.partial + ((size_t)slice * p.tiles + number) * p.rows * TILE_WIDTH + piece * 4;
    while (at < end) {
        if (threadIdx.x % WARP_SIZE == 0) at = atomicAdd(&next, ROWS);
        at = __shfl_sync(FULL_MASK, at, 0);
        const int4 next_segment = at + own < end ? p.segment[at + own] : none;

        const int2 *from = p.pairs + (size_t)segment.z * 4 + lane;
        const int left = segment.y - lane; /* this lane's pairs are 0, ROW_LANES ... below */
        const int longest = longest_of<ROW_LANES>(segment.y);
        int2 ahead[AHEAD];
        float sum[PIECES][4] = {};
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
                const uint32_t at_piece = tile + piece * sizeof(float4) + pair.x;
                const float value = __int_as_float(pair.y);
                float4 b[PIECES];
#pragma unroll
                for (int j = 0; j < PIECES; j++)
                    b[j] = load_shared<float4>(at_piece ^ (uint32_t)(j * sizeof(float4)));
#pragma unroll
                for (int j = 0; j < PIECES; j++) {
                    sum[j][0] += value * b[j].x;
                    sum[j][1] += value * b[j].y;
                    sum[j][2] += value * b[j].z;
                    sum[j][3] += value * b[j].w;
                }
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
        if (segment.x >= 0 && lane < PIECES) {
            if (p.tiles == 1)
                store_row<FLOATS>(p, segment.x, column + piece * 4, sum[0]);
            else
                store_vector(partial + (size_t)segment.x * TILE_WIDTH, sum[0]);
        }
        segment = next_segment;
    }
    if (p.tiles > 1 && comes_last(&p.arrived[(size_t)slice * p.chunks + chunk], p.tiles))
        add_tiles<THREADS, FLOATS>(p, chunk, slice);
}

typedef void tile_kernel(tile_product);

template <int ROW_LANES, int FLOATS> static tile_kernel *pick(int threads)
{
    return threads == 384   ? spmm_tile_kernel<ROW_LANES, 384, FLOATS>
           : threads == 512 ? spmm_tile_kernel<ROW_LANES, 512, FLOATS>
                            : spmm_tile_kernel<ROW_LANES, 768, FLOATS>;
}

static tile_kernel *pick(const tile_shape &shape, int N)
{
    if (shape.row_lanes == 8) return N % 4 ? pick<8, 1>(shape.threads) : pick<8, 4>(shape.threads);
    return N % 4 ? pick<32, 1>(shape.threads) : pick<32, 4>(shape.threads);
}

cudaError_t tile_allow_shared(const tile_plan *tile, int N)
{
    return cudaFuncSetAttribute(pick(tile->shape, N), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                tile->shared_bytes);
}

cudaError_t tile_run(const tile_plan *tile, const spmm_plan *plan, const float *B, float *C,
                     cudaStream_t stream)
{
    tile_product p = {.rows = plan->A.rows,
                      .cols = plan->A.cols,
                      .N = plan->N,
                      .tiles = tile->tiles,
                      .chunks = tile->chunks,
                      .segment = tile->d_segment,
                      .first = tile->d_first,
                      .chunk_row = tile->d_chunk_row,
                      .pairs = tile->d_pairs,
                      .partial = tile->d_partial,
                      .arrived = tile->d_arrived,
                      .B = B,
                      .C = C};
    if (p.rows == 0) return cudaSuccess;
    tile_kernel *const kernel = pick(tile->shape, p.N);
    for (; p.first_slice < tile->slices; p.first_slice += MAX_SLICES) {
        const dim3 grid(tile->chunks * tile->tiles, min(MAX_SLICES, tile->slices - p.first_slice));
        kernel<<<grid, tile->shape.threads, tile->shared_bytes, stream>>>(p);
        CUDA_TRY(cudaGetLastError());
    }
    return cudaSuccess;
}
