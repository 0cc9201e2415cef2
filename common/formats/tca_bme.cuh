/*
 * tca_bme.cuh - TCA-BME as kernels read it: the repeats, which its bitmaps cannot say.
 */
#ifndef FORMATS_TCA_BME_CUH
#define FORMATS_TCA_BME_CUH

#include "device/half.cuh"
#include "formats/tca_bme.h"

/* Right operand of repeated_products. */
template <class H> struct row_major {
    const H *B;
    int N; /* columns */
};

/* Returns the products of A's repeats of one row with column `column` of B, in fp32. R: row_major or a
 * struct that begins as it does. */
template <class H, template <class> class R>
static __device__ float repeated_products(const tca_bme &A, const R<H> &B, int row, int column)
{
    float sum = 0;
    if (A.num_repeats)
        for (int k = A.repeat_ptr[row]; k < A.repeat_ptr[row + 1]; k++)
            sum += widen(half_of_bits<H>(A.repeat_value[k])) *
                   widen(B.B[(size_t)A.repeat_col[k] * B.N + column]);
    return sum;
}

#endif
