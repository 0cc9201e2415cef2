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
 * With u = 2^-24 that is 16 u |x y| at most, and the unit cuts 6 u off each of the two other small products: 28 u. The
 * operation's bound is u (K + 4) S: enough from K = 24 on.
 *
 * A tensor core cuts sums, too, where CUDA cores round them: errors always point towards zero and add up. So the
 * three products of 8 features begin at zero, the small ones first, and CUDA cores add them to the sum.
 */
#ifndef LAB33_OPERANDS_CUH
#define LAB33_OPERANDS_CUH

#include "device/mma.cuh"

/* 16 bits. What a tensor core cuts of the sums is far below what storing them rounds. */
template <class T> struct operands {
    template <int WORDS> struct words {
        uint32_t word[WORDS];
    };
    typedef words<4> left;  /* 16 rows of X */
    typedef words<2> right; /* 8 rows of Y */

    template <int WORDS>
    static __device__ __forceinline__ void make(words<WORDS> &to, const uint32_t *from)
    {
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            to.word[i] = from[i];
    }
    /* sum[j] += x times y[j]. */
    template <int N>
    static __device__ __forceinline__ void multiply_add(float (*sum)[4], const left &x,
                                                        const right (&y)[N])
    {
#pragma unroll
        for (int j = 0; j < N; j++)
            mma_m16n8k16<T>(sum[j], x.word, y[j].word);
    }
};

template <> struct operands<float> {
    template <int WORDS> struct words {
        uint32_t high[WORDS], low[WORDS];
    };
    typedef words<4> left;
    typedef words<2> right;

    template <int WORDS>
    static __device__ __forceinline__ void make(words<WORDS> &to, const uint32_t *from)
    {
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            split_tf32(__uint_as_float(from[i]), to.high[i], to.low[i]);
    }
    template <int N>
    static __device__ __forceinline__ void multiply_add(float (*sum)[4], const left &x,
                                                        const right (&y)[N])
    {
        /* BEGIN STUDENT: three products of each pair, from zero, the small ones first; add them */
        float part[N][4]; /* between two products on the same part there are others */
        const float zero[4] = {};
#pragma unroll
        for (int j = 0; j < N; j++)
            mma_m16n8k8_tf32(part[j], x.high, y[j].low, zero);
#pragma unroll
        for (int j = 0; j < N; j++)
            mma_m16n8k8_tf32(part[j], x.low, y[j].high, part[j]);
#pragma unroll
        for (int j = 0; j < N; j++)
            mma_m16n8k8_tf32(part[j], x.high, y[j].high, part[j]);
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[j][e] += part[j][e];
        /* END STUDENT */
    }
};

#endif
