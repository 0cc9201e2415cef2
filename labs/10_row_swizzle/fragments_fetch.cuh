/*
 * fragments_fetch.cuh - what a block of the product with fragments brings into shared memory for a chunk, and
 * when it has arrived: a stage has a tile of B, lines of A, and the map of the chunk to be fetched next into it.
 */
#ifndef LAB10_FRAGMENTS_FETCH_CUH
#define LAB10_FRAGMENTS_FETCH_CUH

#include "device/async_copy.cuh"
#include "device/byte_offset.cuh"
#include "fragments_warp.cuh"

constexpr int WARPS = 8, BLOCK = WARPS * WARP_SIZE;
template <class T> constexpr int MAP_UNITS = sizeof(chunk_map<T>) / 16; /* a unit is a float4 */
constexpr int LINE_UNITS = WARP_SIZE * sizeof(uint32_t) / 16;
static_assert(ROUND_LINES * LINE_UNITS == WARP_SIZE, "a unit for each lane");

/* What the kernel is given. */
template <class T> struct fragment_product {
    int N, slices, rows;
    unsigned row_bytes; /* of B */
    int stage;          /* units */
    row_fragments<T> a;
    const int *__restrict__ row_ptr; /* of A, for short rows */
    const int *__restrict__ col_idx;
    const T *__restrict__ values;
    const T *__restrict__ B;
    T *__restrict__ C;
};

/* Starts bringing a chunk into shared memory: the rows of B that its map names, WIDTH columns from
 * `column` on, with zeros for rows and columns that are not there; its lines of A, and what follows
 * them in the last round. */
template <int WIDTH, int V, class T>
static __device__ __forceinline__ void fetch(const fragment_product<T> &p, int column,
                                             const chunk_map<T> *map, float4 *stage)
{
    constexpr int PIECES = WIDTH / V, ROWS = CHUNK<T> * PIECES / BLOCK; /* of a row; a thread's */
    constexpr int BYTES = V * sizeof(T);
    const int piece = threadIdx.x % PIECES, first = threadIdx.x / PIECES * ROWS;
    const int j = column + piece * V, valid = j < p.N ? BYTES : 0;
    const T *const B = p.B + (valid ? j : 0);
    T *const tile = reinterpret_cast<T *>(stage) + first * PITCH<WIDTH> + piece * V;
#pragma unroll
    for (int k = 0; k < ROWS; k += 4) {
        int row[4];
        load_vector_plain(row, &map->column[first + k]);
#pragma unroll
        for (int i = 0; i < 4; i++)
            async_copy_zfill<BYTES>(&tile[(k + i) * PITCH<WIDTH>],
                                    byte_offset(B, (size_t)(unsigned)row[i] * p.row_bytes),
                                    row[i] == NO_COLUMN ? 0 : valid);
    }
    const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    stage += tile_units<T>(WIDTH) + lane;
    const uint4 *const lines =
        reinterpret_cast<const uint4 *>(p.a.d_lines + (size_t)map->first_line * WARP_SIZE) + lane;
    for (int i = warp * ROUND_LINES; i < map->lines; i += WARPS * ROUND_LINES)
        async_copy<16>(&stage[i * LINE_UNITS], &lines[i * LINE_UNITS]);
}

/* The map lies at the end of the stage. */
template <class T>
static __device__ __forceinline__ chunk_map<T> *map_of(const fragment_product<T> &p, float4 *stage)
{
    return reinterpret_cast<chunk_map<T> *>(stage + p.stage - MAP_UNITS<T>);
}

template <class T>
static __device__ __forceinline__ void fetch_map(const fragment_product<T> &p, int chunk,
                                                 float4 *stage)
{
    if (threadIdx.x < MAP_UNITS<T>)
        async_copy<16>(reinterpret_cast<float4 *>(map_of(p, stage)) + threadIdx.x,
                       reinterpret_cast<const float4 *>(&p.a.d_map[chunk]) + threadIdx.x);
}

/* Until no more than ahead - 1 chunks are on their way. */
static __device__ __forceinline__ void wait_for_stage(int ahead)
{
    if (ahead == 1)
        async_wait<0>();
    else if (ahead == 2)
        async_wait<1>();
    else
        async_wait<2>();
}

#endif
