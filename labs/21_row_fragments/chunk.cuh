/*
 * chunk.cuh - multiplies a warp's part of a chunk in shared memory, where formats/row_fragments_stage.cuh has brought it.
 */
#ifndef LAB21_CHUNK_CUH
#define LAB21_CHUNK_CUH

#include "formats/row_fragments_stage.cuh"

constexpr int BAND = 32;         /* columns of B of which a warp holds a fragment ... */
constexpr int TILES = BAND / 16; /* ... in so many left operands */

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

#endif
