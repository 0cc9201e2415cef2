/*
 * warpgroup.cuh - a step of a tile on Hopper, in fp32: four warps multiply together, and rows of Y come from shared
 * memory without an instruction.
 *
 * The three products are those of operands.cuh. A product takes the rows of X from registers, where a warp splits
 * them as it always does. It takes those of Y as they lie in the stage, and ignores the 13 low bits of a float:
 * the rows themselves are `high`. Only `low` must be written, once for all warps.
 *
 * A warp has 16 rows and both strips. Eight features of a strip are three products, from zero, which its warpgroup
 * awaits and adds to its sums. An SM holds four warpgroups: while one adds, others multiply.
 */
#ifndef LAB33_WARPGROUP_CUH
#define LAB33_WARPGROUP_CUH

#include "tile.cuh"

#include "device/vec.cuh"
#include "device/wgmma.cuh"

constexpr int WARPGROUP_ROWS = 16; /* of a tile, that a warp has */
constexpr int LOW_BYTES = TILE_COLS * STEP_BYTES;

/* Writes what is left of a step's rows of Y without their 11 leading bits, in the same layout. A barrier follows;
 * then products may read both. */
template <int THREADS>
static __device__ __forceinline__ void write_low(const char *y_rows, char *y_low)
{
#pragma unroll
    for (int at = 0; at < LOW_BYTES; at += THREADS * PIECE) {
        const int own = at + threadIdx.x * PIECE;
        float y[PIECE / sizeof(float)], low[PIECE / sizeof(float)];
        load_vector_plain(y, reinterpret_cast<const float *>(y_rows + own));
#pragma unroll
        for (int i = 0; i < (int)(PIECE / sizeof(float)); i++) {
            uint32_t high, rest;
            split_tf32(y[i], high, rest);
            low[i] = __uint_as_float(rest);
        }
        store_vector(reinterpret_cast<float *>(y_low + own), low);
    }
    wgmma_publish();
}

/* sum += a step: 16 rows of X times both strips of Y, sum[strip]. */
static __device__ __forceinline__ void multiply_together(const char *x_rows, const char *y_rows,
                                                         const char *y_low,
                                                         float (&sum)[2][RIGHTS][4])
{
    const uint64_t high = wgmma_operand(y_rows), low = wgmma_operand(y_low);
#pragma unroll
    for (int piece = 0; piece < PIECES; piece += 2) {
        uint32_t words[4];
        operands<float>::left x;
        load_x(words, x_rows, 0, piece);
        operands<float>::make(x, words);
#pragma unroll
        for (int strip = 0; strip < 2; strip++) {
            const int at = strip * STRIP_COLS * STEP_BYTES + piece * PIECE;
            /* BEGIN STUDENT: three products, from zero, the small ones first; wait; add them */
            float part[RIGHTS][4];
            wgmma_fence(x.high, x.low);
            wgmma_m64n64k8_tf32<false>(part, x.high, low + at / 16);
            wgmma_m64n64k8_tf32<true>(part, x.low, high + at / 16);
            wgmma_m64n64k8_tf32<true>(part, x.high, high + at / 16);
            wgmma_commit();
            wgmma_wait(part);
#pragma unroll
            for (int j = 0; j < RIGHTS; j++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    sum[strip][j][e] += part[j][e];
            /* END STUDENT */
        }
    }
}

#endif
