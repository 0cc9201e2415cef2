/*
 * fragments_warp.cuh - what a warp of the product with fragments does with a chunk in shared memory:
 * read its strips, read B, multiply on tensor cores.
 */
#ifndef LAB10_FRAGMENTS_WARP_CUH
#define LAB10_FRAGMENTS_WARP_CUH

#include "fragments.h"

#include "fragments_mma.cuh"

constexpr int BAND = 32;         /* columns of B of which a warp holds a fragment ... */
constexpr int TILES = BAND / 16; /* ... in so many left operands */
constexpr int HALVES = 2;        /* of a strip: right operands, of 8 rows */

/* Numbers from one row of a tile of B to the next. Of floats, lanes that are served together read 32 bytes
 * of four rows: 32 bytes more than a multiple of 128 spread these over all banks. In 16 bits they read 16
 * bytes of eight rows, and rows are an odd number of 16 bytes apart. */
__host__ __device__ constexpr int pitch_of(int width)
{
    return width + 8;
}
template <int WIDTH> constexpr int PITCH = pitch_of(WIDTH);

/* The tile of B of a stage, in units of a float4. */
template <class T> __host__ __device__ constexpr int tile_units(int width)
{
    return CHUNK<T> * pitch_of(width) / (int)(sizeof(float4) / sizeof(T));
}

/* What a warp holds of a chunk of its strips. */
template <class T, int S> struct strip_reader {
    uint32_t bits[S];         /* of this lane: four for each fragment to come */
    const uint32_t *value[S]; /* its next */

    /* From fragment `first` of the chunk on. */
    __device__ __forceinline__ strip_reader(const uint32_t *lines, int first_strip, int first)
    {
        const int word = first / WORD_FRAGMENTS, shift = first % WORD_FRAGMENTS * 4;
#pragma unroll
        for (int s = 0; s < S; s++) {
            const uint32_t *const block =
                lines + lines[first_strip + s] * WARP_SIZE + threadIdx.x % WARP_SIZE;
            const uint32_t mask = block[word * WARP_SIZE];
            int before = __popc(mask & ((1u << shift) - 1));
            if (word > 0) before += __popc(block[0]);
            bits[s] = mask >> shift;
            value[s] = block + (MASK_WORDS + before) * WARP_SIZE;
        }
    }

    /* Right operands for the next fragment of strip s. */
    __device__ __forceinline__ void next(int s, typename operands<T>::right (&a)[HALVES])
    {
#pragma unroll
        for (int half = 0; half < HALVES; half++) {
            uint32_t word[2] = {};
#pragma unroll
            for (int i = 0; i < 2; i++)
                if (bits[s] & (1u << (2 * half + i))) {
                    word[i] = *value[s];
                    value[s] += WARP_SIZE;
                }
            a[half] = operands<T>::make_right(word[0], word[1]);
        }
        bits[s] >>= 4;
    }
};

/* sum += what this warp has of a chunk: `fragments` fragments from `first` on, of S strips. */
template <class T, int S, int WIDTH>
static __device__ __forceinline__ void
multiply_chunk(const float4 *stage, int first_strip, int first, int fragments,
               float (&sum)[WIDTH / BAND][S][TILES][HALVES][4])
{
    typedef operands<T> number;
    constexpr int BANDS = WIDTH / BAND, PAIR = S < 2 ? S : 2, ROW = PITCH<WIDTH>;
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
#pragma unroll 2
    for (int f = 0; f < fragments; f++) {
        const T *const rows = tile + f * FRAGMENT<T> * ROW;
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
                    /* Between two products on the same sums there are others. */
#pragma unroll
                for (int part = 0; part < number::PRODUCTS; part++)
#pragma unroll
                    for (int i = 0; i < PAIR; i++)
#pragma unroll
                        for (int j = 0; j < TILES; j++)
#pragma unroll
                            for (int h = 0; h < HALVES; h++)
                                number::multiply_add(part, sum[band][s + i][j][h], b[j], a[i][h]);
            }
        }
    }
}

#endif
