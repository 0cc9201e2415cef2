/*
 * tensor_core.cc - the arithmetic of a tensor core, eight numbers at a time.
 *
 * A tensor core cuts where CUDA cores round: each sum goes towards zero. Over a long row these errors add up, and a
 * kernel that leaves its sums in the tensor core is wrong for that. So sums are cut here, too: products of 16-bit and
 * tf32 inputs and their sum with c are exact in a double, nearly, and the sum loses what fp32 cannot hold. The last
 * bits of a GPU may differ: it cuts some bits before it adds, as well.
 * Source: Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores (2021).
 */
#include "simt/tensor_core.h"

#include "ops/wide_vectors.h"

/* Vectors of SIMT_WIDE numbers: gcc makes of one what the processor has. They may lie at any address. */
typedef float floats __attribute__((vector_size(4 * SIMT_WIDE), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * SIMT_WIDE), aligned(4), may_alias));
typedef int32_t flags __attribute__((vector_size(4 * SIMT_WIDE), aligned(4), may_alias));
typedef double doubles __attribute__((vector_size(8 * SIMT_WIDE), aligned(8), may_alias));
typedef int64_t wide_flags __attribute__((vector_size(8 * SIMT_WIDE), aligned(8), may_alias));

/* Widens fp16 as simt_fp16_to_float does. */
WIDE_INLINE void widen_fp16(const words *bits, words *numbers)
{
    const words magnitude = *bits & 0x7fffu, sign = (*bits & 0x8000u) << 16;
    const floats finite = (floats)(magnitude << 13) * 0x1p112f;
    const words signed_number = sign | (magnitude == 0x7c00u ? 0x7f800000u : (words)finite);
    *numbers = magnitude > 0x7c00u ? 0x7fffffffu : signed_number;
}

WIDE_VECTORS
void simt_widen(simt_mma_kind kind, const uint32_t *bits, float *numbers, int count)
{
    for (int i = 0; i < count; i += SIMT_WIDE) {
        const words *from = (const words *)(bits + i);
        words *to = (words *)(numbers + i);
        if (kind == SIMT_MMA_K8_TF32)
            *to = *from & 0xffffe000u; /* the unit ignores the 13 low bits of a tf32 number */
        else if (kind == SIMT_MMA_K16_BF16)
            *to = *from << 16;
        else
            widen_fp16(from, to);
    }
}

/* Finds the fp32 numbers next to those of x on the way to zero. The bits of one, less one, are those of the number before. */
WIDE_INLINE void cut(const doubles *x, floats *result)
{
    const wide_flags NO_SIGN = (wide_flags){} + INT64_MAX;
    const floats nearest = __builtin_convertvector(*x, floats);
    const doubles back = __builtin_convertvector(nearest, doubles);
    const wide_flags farther =
        (doubles)((wide_flags)back & NO_SIGN) > (doubles)((wide_flags)*x & NO_SIGN);
    const flags finite = ((flags)nearest & INT32_MAX) < 0x7f800000;
    /* A comparison that holds is -1. */
    *result = (floats)((flags)nearest + (__builtin_convertvector(farther, flags) & finite));
}

WIDE_VECTORS
void simt_multiply(int rows, int N, int K, const float *A, const float *B, float *D)
{
    enum { MOST_K = 16 };
    doubles b[MOST_K];
    for (int column = 0; column < N; column += SIMT_WIDE) {
        for (int k = 0; k < K; k++)
            b[k] = __builtin_convertvector(*(const floats *)(B + k * N + column), doubles);
        for (int i = 0; i < rows; i++) {
            floats *d = (floats *)(D + i * N + column);
            doubles sum = __builtin_convertvector(*d, doubles);
            for (int k = 0; k < K; k++)
                sum += (double)A[i * K + k] * b[k];
            cut(&sum, d);
        }
    }
}
