/*
 * chunk.cuh - brings a chunk into shared memory, and multiplies a warp's part of it there. A stage of
 * shared memory has a tile of B, lines of A, and the map of the chunk to be fetched next into it.
 */
#ifndef LAB21_CHUNK_CUH
#define LAB21_CHUNK_CUH

#include "device/async_copy.cuh"
#include "device/byte_offset.cuh"
#include "formats/row_fragments.cuh"

constexpr int BAND = 32;         /* columns of B of which a warp holds a fragment ... */
constexpr int TILES = BAND / 16; /* ... in so many left operands */

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

/* Sums of S strips and WIDTH columns. */
template <int S, int WIDTH> using strip_sums = float[WIDTH / BAND][S][TILES][HALVES][4];

/* to += from, on CUDA cores. */
template <class SUMS> static __device__ __forceinline__ void add_sums(SUMS &to, const SUMS &from)
{
    float *const t = reinterpret_cast<float *>(to);
    const float *const f = reinterpret_cast<const float *>(from);
#pragma unroll
    for (int i = 0; i < (int)(sizeof to / sizeof(float)); i++)
        t[i] += f[i];
}

/* sum += this warp's part of a chunk: `fragments` fragments from `first` on, of S strips. A tensor core cuts sums of
 * fp32 (mma_operands.cuh). With 32 sums a lane, four fragments stay in it: their parts are 32 registers more. With
 * 64 sums there is no room for as many parts, and each strip leaves it after a fragment. */
template <class T, int S, int WIDTH>
static __device__ __forceinline__ void multiply_chunk(const float4 *stage, int first_strip,
                                                      int first, int fragments,
                                                      strip_sums<S, WIDTH> &sum)
{
    typedef mma_operands<T> number;
    constexpr int BANDS = WIDTH / BAND, PAIR = S < 2 ? S : 2, ROW = pitch_of(WIDTH);
    constexpr bool CUTS = sizeof(T) == 4, CHAINED = CUTS && BANDS * S <= 2;
    const T *const tile = reinterpret_cast<const T *>(stage) + first * FRAGMENT<T> * ROW +
                          number::lane_offset(threadIdx.x % WARP_SIZE, ROW);
    strip_reader<T, S> reader(reinterpret_cast<const uint32_t *>(stage + tile_units<T>(WIDTH)),
                              first_strip, first);
    typename number::left b[TILES];
    auto load_band = [&](const T *from) {
#pragma unroll
        for (int j = 0; j < TILES; j++)
            number::load_left(b[j], from + 16 * j, ROW);
    };
    auto multiply_fragment = [&](int f, strip_sums<S, WIDTH> &to) {
        const T *const rows = tile + f * FRAGMENT<T> * ROW;
        /* BEGIN STUDENT: load B for each band, read A for each strip, multiply all parts */
        if (BANDS == 1) load_band(rows);
#pragma unroll
        for (int s = 0; s < S; s += PAIR) {
            typename number::right a[PAIR][HALVES];
#pragma unroll
            for (int i = 0; i < PAIR; i++)
                reader.next(s + i, a[i]);
#pragma unroll
            for (int band = 0; band < BANDS; band++) {
                if (BANDS > 1) load_band(rows + band * BAND);
#pragma unroll
                for (int i = 0; i < PAIR; i++) {
                    if constexpr (CUTS && !CHAINED) {
                        float part[TILES][HALVES][4] = {};
                        number::multiply_add(part, b, a[i]);
                        add_sums(to[band][s + i], part);
                    } else {
                        number::multiply_add(to[band][s + i], b, a[i]);
                    }
                }
            }
        }
        /* END STUDENT */
    };
    if constexpr (CHAINED) {
        constexpr int CHAIN = 4;
        for (int f = 0; f < fragments; f += CHAIN) {
            strip_sums<S, WIDTH> part = {};
#pragma unroll 2
            for (int i = 0; i < min(CHAIN, fragments); i++)
                multiply_fragment(f + i, part);
            add_sums(sum, part);
        }
    } else {
#pragma unroll 2
        for (int f = 0; f < fragments; f++)
            multiply_fragment(f, sum);
    }
}

/* ---- fetching ---------------------------------------------------------------------------------- */

constexpr int WARPS = 8, BLOCK = WARPS * WARP_SIZE;
template <class T> constexpr int MAP_UNITS = sizeof(chunk_map<T>) / 16; /* a unit is a float4 */
constexpr int LINE_UNITS = WARP_SIZE * sizeof(uint32_t) / 16;
static_assert(ROUND_LINES * LINE_UNITS == WARP_SIZE, "a unit for each lane");

/* The arguments of the kernel. */
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
