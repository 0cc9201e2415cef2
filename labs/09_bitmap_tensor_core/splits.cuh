/*
 * splits.cuh - how the sums of blocks that share a row of groups (device/split_sums.cuh) become C.
 */
#ifndef LAB9_SPLITS_CUH
#define LAB9_SPLITS_CUH

#include "copy.cuh"
#include "device/split_sums.cuh"
#include "formats/tca_bme.cuh"

/* Adds up the splits of an element of C, a thread each, always in the same order, and rounds once. */
template <class H>
static __global__ void add_splits_kernel(const __grid_constant__ split_sums from,
                                         const __grid_constant__ tca_bme A,
                                         const __grid_constant__ dense_rows<H> B,
                                         const __grid_constant__ dense_result<H> out)
{
    const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    const size_t row = i / out.N, column = i % out.N;
    if (row >= (size_t)out.rows) return;
    float sum[] = {repeated_products(A, B, (int)row, (int)column)};
    /* BEGIN STUDENT: add up what the splits left, in their order */
    for (int s = 0; s < from.splits; s++)
        sum[0] += from.d_sum[(s * from.rows + row) * from.pitch + column];
    /* END STUDENT */
    apply_epilogue(out.epilogue, (int)row, sum);
    out.C[i] = narrow<H>(sum[0]);
}

#endif
