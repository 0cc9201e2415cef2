/*
 * mma_operands.cuh - one product of a warp on tensor cores whose result is transposed, by the kind of number:
 * three mma of tf32 numbers for one of fp32 (split_tf32 in mma.cuh), one mma in 16 bits.
 *
 * A tensor core cuts its sums where CUDA cores round them: errors point towards zero and add up, three for 8 terms of
 * fp32. So a long sum of fp32 must leave the tensor core now and then: CUDA cores add up parts of it. In 16 bits the
 * rounding of a stored result hides the cuts.
 *
 * C^T = B^T * A^T: the left operand of an mma are 16 columns of B, the right one 8 rows of A. A lane's two
 * words of a row of A are then neighbours in registers without having to be moved there. A right operand
 * has 8 words of a row, each a float or two 16-bit numbers; a left one as many rows of B.
 *
 *   lane_offset     where in a tile of B this lane begins to read, in numbers; rows lie `pitch` apart
 *   load_left       a lane's part of these rows and 16 columns of B, from there on
 *   make_right      the same of A, from a lane's two words
 *   multiply_add    sum[j][h] += left operand j times right operand h, in the tensor core; the small products first
 *   store_sums      x[0] and x[1] are a lane's sums of one row of C: stores them to their columns of 16
 */
#ifndef DEVICE_MMA_OPERANDS_CUH
#define DEVICE_MMA_OPERANDS_CUH

#include "device/half.cuh"
#include "device/mma.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"

#include <type_traits>

template <class T> struct mma_operands { /* of 16 bits */
    struct left {
        uint32_t b[4];
    };
    struct right {
        uint32_t a[2];
    };

    /* Lane 8 i + r passes row r of quarter i: upper rows with left and right columns, then lower ones. */
    static __device__ __forceinline__ int lane_offset(int lane, int pitch)
    {
        return (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 8;
    }
    static __device__ __forceinline__ void load_left(left &x, const T *from, int)
    {
        ldmatrix_x4_trans(x.b, from);
    }
    static __device__ __forceinline__ right make_right(uint32_t first, uint32_t second)
    {
        return {{first, second}};
    }
    template <int TILES, int HALVES>
    static __device__ __forceinline__ void
    multiply_add(float (&sum)[TILES][HALVES][4], const left (&x)[TILES], const right (&y)[HALVES])
    {
#pragma unroll
        for (int j = 0; j < TILES; j++)
#pragma unroll
            for (int h = 0; h < HALVES; h++)
                mma_m16n8k16<T>(sum[j][h], x[j].b, y[h].a);
    }
    static __device__ __forceinline__ void store_sums(float *to, int lane, const float (&x)[2])
    {
        to[lane / 4] = x[0];
        to[lane / 4 + 8] = x[1];
    }
};

/* A lane takes columns 2 g and 2 g + 1 of B for rows g and g + 8 of the mma. So it loads both at once. Of C
 * they are those columns again. */
template <> struct mma_operands<float> {
    struct left {
        uint32_t high[4], low[4];
    };
    struct right {
        uint32_t high[2], low[2];
    };

    static __device__ __forceinline__ int lane_offset(int lane, int pitch)
    {
        return lane % 4 * pitch + lane / 4 * 2;
    }
    static __device__ __forceinline__ void load_left(left &x, const float *from, int pitch)
    {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            float b[2];
            load_vector_plain(b, from + k * 4 * pitch);
            split_tf32(b[0], x.high[2 * k], x.low[2 * k]);
            split_tf32(b[1], x.high[2 * k + 1], x.low[2 * k + 1]);
        }
    }
    static __device__ __forceinline__ right make_right(uint32_t first, uint32_t second)
    {
        right y;
        split_tf32(__uint_as_float(first), y.high[0], y.low[0]);
        split_tf32(__uint_as_float(second), y.high[1], y.low[1]);
        return y;
    }
    template <int TILES, int HALVES>
    static __device__ __forceinline__ void
    multiply_add(float (&sum)[TILES][HALVES][4], const left (&x)[TILES], const right (&y)[HALVES])
    {
        /* Between two products on the same sums there are others. */
#pragma unroll
        for (int product = 0; product < 3; product++)
#pragma unroll
            for (int j = 0; j < TILES; j++)
#pragma unroll
                for (int h = 0; h < HALVES; h++)
                    mma_m16n8k8_tf32(sum[j][h], product == 1 ? x[j].low : x[j].high,
                                     product == 0 ? y[h].low : y[h].high, sum[j][h]);
    }
    static __device__ __forceinline__ void store_sums(float *to, int lane, const float (&x)[2])
    {
        store_vector(to + lane / 4 * 2, x);
    }
};

#endif
