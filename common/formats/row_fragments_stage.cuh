/*
 * row_fragments_stage.cuh - chunks of row fragments on their way to shared memory. A stage has a tile of B, lines of A, and the
 * map of the chunk to be fetched next into it.
 */
#ifndef FORMATS_ROW_FRAGMENTS_STAGE_CUH
#define FORMATS_ROW_FRAGMENTS_STAGE_CUH

#include "device/async_copy.cuh"
#include "device/byte_offset.cuh"
#include "formats/row_fragments.cuh"

/* Numbers from one row of a tile of B to the next. Of floats, lanes that are served together read 32 bytes
 * of four rows: 32 bytes more than a multiple of 128 spread these over all banks. In 16 bits they read 16
 * bytes of eight rows, and rows are an odd number of 16 bytes apart. */
__host__ __device__ constexpr int pitch_of(int width)
{
    return width + 8;
}

/* The tile of B of a stage, in units of a float4. */
template <class T> __host__ __device__ constexpr int tile_units(int width)
{
    return CHUNK<T> * pitch_of(width) / (int)(sizeof(float4) / sizeof(T));
}

constexpr int WARPS = 8,
              BLOCK = WARPS * WARP_SIZE; /* of a block, whose threads bring a chunk together */
template <class T> constexpr int MAP_UNITS = sizeof(chunk_map<T>) / 16; /* a unit is a float4 */
constexpr int LINE_UNITS = WARP_SIZE * sizeof(uint32_t) / 16;
static_assert(ROUND_LINES * LINE_UNITS == WARP_SIZE, "a unit for each lane");

/* Operands of a product with row fragments: a kernel's arguments. */
template <class T> struct fragment_product {
    int N, slices, rows;
    unsigned row_bytes; /* of B */
    int stage;          /* units */
    fragment_arrays a;
    /* Where blocks share a panel: */
    float *d_partial;                /* [panel][slice][share][row of the panel][column] */
    unsigned *d_arrived;             /* shares done of a panel and a slice; 0 between runs */
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
    constexpr int VECTORS = WIDTH / V, ROWS = CHUNK<T> * VECTORS / BLOCK; /* of a row; a thread's */
    constexpr int BYTES = V * sizeof(T);
    const int vector = threadIdx.x % VECTORS, first = threadIdx.x / VECTORS * ROWS;
    const int j = column + vector * V, valid = j < p.N ? BYTES : 0;
    const T *const B = p.B + (valid ? j : 0);
    T *const tile = reinterpret_cast<T *>(stage) + first * pitch_of(WIDTH) + vector * V;
#pragma unroll
    for (int k = 0; k < ROWS; k += 4) {
        int row[4];
        load_vector_plain(row, &map->column[first + k]);
#pragma unroll
        for (int i = 0; i < 4; i++)
            async_copy_zfill<BYTES>(&tile[(k + i) * pitch_of(WIDTH)],
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
static __device__ __forceinline__ chunk_map<T> *staged_map(const fragment_product<T> &p,
                                                           float4 *stage)
{
    return reinterpret_cast<chunk_map<T> *>(stage + p.stage - MAP_UNITS<T>);
}

template <class T>
static __device__ __forceinline__ void fetch_map(const fragment_product<T> &p, int chunk,
                                                 float4 *stage)
{
    if (threadIdx.x < MAP_UNITS<T>)
        async_copy<16>(reinterpret_cast<float4 *>(staged_map(p, stage)) + threadIdx.x,
                       reinterpret_cast<const float4 *>(map_of<T>(p.a.d_map, chunk)) + threadIdx.x);
}

#endif
