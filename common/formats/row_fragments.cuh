/*
 * row_fragments.cuh - the arrays of row_fragments.h, as builders write and kernels read them.
 */
#ifndef FORMATS_ROW_FRAGMENTS_CUH
#define FORMATS_ROW_FRAGMENTS_CUH

#include "device/half.cuh"
#include "device/mma_operands.cuh"
#include "device/warp.cuh"
#include "formats/row_fragments.h"

#include <type_traits>

constexpr int STRIP = 16;           /* rows that a warp takes at once */
constexpr int FRAGMENT_WORDS = 8;   /* of a row of A, that an mma takes */
constexpr int CHUNK_FRAGMENTS = 16; /* a stage: two mask words of 4 bits a fragment */
constexpr int WORD_FRAGMENTS = 8;   /* fragments that a mask word tells of */
constexpr int MASK_WORDS = CHUNK_FRAGMENTS / WORD_FRAGMENTS;
constexpr int NO_COLUMN = -1;
constexpr int ROUND_LINES = 4; /* that a warp copies at a time */
static_assert(CHUNK_WORDS == CHUNK_FRAGMENTS * FRAGMENT_WORDS, "a chunk is whole fragments");

/* Widths for T, the numbers of A, B and C: float, __half or __nv_bfloat16. Columns of A in a word, in a fragment
 * and in a chunk. */
template <class T> constexpr int PER_WORD = sizeof(uint32_t) / sizeof(T);
template <class T> constexpr int FRAGMENT = FRAGMENT_WORDS *PER_WORD<T>;
template <class T> constexpr int CHUNK = CHUNK_FRAGMENTS *FRAGMENT<T>;
/* Rows with fewer nonzeros are multiplied in fp32: their bound is too tight for three products. Products
 * of 16-bit numbers are exact. */
template <class T> constexpr int SHORT_ROW = std::is_same_v<T, float> ? 32 : 0;

template <class T>
constexpr enum precision PRECISION_OF = std::is_same_v<T, float>    ? PRECISION_FP32
                                        : std::is_same_v<T, __half> ? PRECISION_FP16
                                                                    : PRECISION_BF16;

template <class T> const T *values_of(const spmm_matrix &A)
{
    if constexpr (std::is_same_v<T, float>)
        return A.d_values;
    else
        return (const T *)A.d_values16;
}

/* The columns and the lines of a chunk. */
template <class T> struct chunk_map {
    int column[CHUNK<T>]; /* of A, ascending; NO_COLUMN where the panel has no more */
    int first_line;       /* in d_lines */
    int lines;            /* how many */
    int unused[2];        /* to a multiple of 16 bytes */
};

/* A line is 32 words, one for each lane. A chunk's first line says at which line each strip's block
 * begins. A block is MASK_WORDS lines of masks, then as many lines of values as its fullest lane has.
 * Bit 4 f + e of lane (g, t) = lane 4 g + t: of fragment f there is the word in row g + 8 (e / 2),
 * place t + 4 (e % 2) of the row's FRAGMENT_WORDS. */
struct fragment_arrays {
    row_fragments_shape shape;
    int panels, long_rows;
    int stage_lines; /* of the largest chunk */
    int stages; /* chunks in shared memory: one to work on, others on their way; 0 until a kernel's
                        prepare says */
    int *d_order; /* A.rows rows: in the given order those with SHORT_ROW nonzeros and more, and
                        then the others */
    int *d_panel_chunk; /* panels + 1: a panel's first chunk */
    void *d_map;        /* chunk_map<T> of each chunk, and one more */
    uint32_t *d_lines;  /* and ROUND_LINES more */
};

/* The map of a chunk. By value: a reference to the struct would change the kernels' machine code. */
template <class T>
__device__ __forceinline__ const chunk_map<T> *map_of(const void *d_map, int chunk)
{
    return &static_cast<const chunk_map<T> *>(d_map)[chunk];
}

constexpr int HALVES = 2; /* of a strip: right operands, of 8 rows */

/* Reads a warp's strips of a chunk, a fragment at a time. */
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
    __device__ __forceinline__ void next(int s, typename mma_operands<T>::right (&a)[HALVES])
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
            a[half] = mma_operands<T>::make_right(word[0], word[1]);
        }
        bits[s] >>= 4;
    }
};

struct row_fragments {
    enum precision precision; /* of T */
    fragment_arrays arrays;
    int rows, chunks;
    int64_t lines;
};

#endif
