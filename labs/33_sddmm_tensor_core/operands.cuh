/*
 * operands.cuh - rows times rows on tensor cores, by the kind of number. 32 bytes of 16 rows of X and of 8 rows
 * of Y make one product: 8 floats or 16 numbers of 16 bits of each row.
 *
 * ldmatrix moves words and does not ask what they mean, so a lane gets the words of both kinds in the same way:
 * word t of row g of each quarter (mma.cuh). A 16-bit product takes them as they are. Of floats there is a high
 * and a low part, of 11 bits each, and three products:
 *
 *     x y  =  (xh + xl) (yh + yl)  =  xh yl + xl yh + xh yh, and xl yl is left out
 *
 * Parts are rounded: |xl| <= 2^-11 |x|, of which a tensor core cuts one bit, 2^-23 |x|. So a product is off by at most
 * 2^-22 |x y| for xl yl and 2 * 2^-23 for the cuts, 8 u with u = 2^-24: within the operation's bound of u (K + 4) S
 * from K = 8 on, with 4 u left for the sum.
 */
#ifndef LAB33_OPERANDS_CUH
#define LAB33_OPERANDS_CUH

#include "device/mma.cuh"

/* 16 bits. */
template <class T> struct operands {
    static constexpr int PRODUCTS = 1;
    template <int WORDS> struct part {
        uint32_t word[WORDS];
    };
    typedef part<4> left;  /* 16 rows of X */
    typedef part<2> right; /* 8 rows of Y */

    template <int WORDS>
    static __device__ __forceinline__ void make(part<WORDS> &to, const uint32_t *words)
    {
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            to.word[i] = words[i];
    }
    /* sum += part i of PRODUCTS, the smallest first. */
    static __device__ __forceinline__ void multiply_add(int, float (&sum)[4], const left &x,
                                                        const right &y)
    {
        mma_m16n8k16<T>(sum, x.word, y.word);
    }
};

template <> struct operands<float> {
    static constexpr int PRODUCTS = 3;
    template <int WORDS> struct part {
        uint32_t high[WORDS], low[WORDS];
    };
    typedef part<4> left;
    typedef part<2> right;

    template <int WORDS>
    static __device__ __forceinline__ void make(part<WORDS> &to, const uint32_t *words)
    {
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            split_tf32_rounded(__uint_as_float(words[i]), to.high[i], to.low[i]);
    }
    static __device__ __forceinline__ void multiply_add(int i, float (&sum)[4], const left &x,
                                                        const right &y)
    {
        mma_m16n8k8_tf32(sum, i == 1 ? x.low : x.high, i == 0 ? y.low : y.high, sum);
    }
};

#endif
