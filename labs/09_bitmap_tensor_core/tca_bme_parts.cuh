/*
 * tca_bme_parts.cuh - how a product is cut into blocks, and how their sums become C.
 */
#ifndef LAB9_TCA_BME_PARTS_CUH
#define LAB9_TCA_BME_PARTS_CUH

#include "device/half.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "tca_bme_copy.cuh"

constexpr int SPLITS[] = {1, 2, 3, 4, 6}; /* what SPLIT may be */
constexpr int WIDEST_TILE = 64;

struct parts {
    int splits;         /* blocks that share a row of groups */
    size_t rows, pitch; /* of each part: C's, up to whole groups and tiles */
    float *d_sum;       /* splits x rows x pitch; NULL: what one block has is all */
};

template <class H> struct dense_result {
    H *C;
    int rows, N;
};

/* Columns of C that a block computes: 8, 16, 32 or 64, and how many such tiles N has. */
inline int tile_of(int N)
{
    int tile = 8;
    while (tile < N && tile < WIDEST_TILE)
        tile *= 2;
    return tile;
}

inline int slices_of(int N)
{
    return (N - 1) / tile_of(N) + 1;
}

/* A block waits for its copies most of the time, so the more of them an SM has the better, as long as
 * each has groups enough to be worth its beginning and its end (handout, section 11). */
inline int choose_splits(const tca_bme &A)
{
    constexpr int LEAST_GROUPS = 8;
    int best = 1;
    for (int splits : SPLITS)
        if (A.across / splits >= LEAST_GROUPS) best = splits;
    return best;
}

/* A lane's sums, the first of which is of (row, column) in the layout of mma.cuh: to C, rounded, or in
 * fp32 to its part. */
template <int TILE_N, class H>
static __device__ void store(const parts &to, const dense_result<H> &out, int split, int row,
                             int column, const float (&sum)[TILE_N / 8][4])
{
#pragma unroll
    for (int i = 0; i < TILE_N / 4; i++) {
        const int r = row + i % 2 * 8, c = column + i / 2 * 8;
        const float two[2] = {sum[i / 2][i % 2 * 2], sum[i / 2][i % 2 * 2 + 1]};
        if (to.d_sum) {
            store_vector(&to.d_sum[(split * to.rows + r) * to.pitch + c], two);
        } else if (r < out.rows) {
            for (int e = 0; e < 2 && c + e < out.N; e++)
                out.C[(size_t)r * out.N + c + e] = narrow<H>(two[e]);
        }
    }
}

/* The products of what A names again. */
template <class H>
static __device__ float repeated_products(const tca_bme &A, const dense_rows<H> &B, int row,
                                          int column)
{
    float sum = 0;
    if (A.num_repeats)
        for (int k = A.repeat_ptr[row]; k < A.repeat_ptr[row + 1]; k++)
            sum += widen(half_of_bits<H>(A.repeat_value[k])) *
                   widen(B.B[(size_t)A.repeat_col[k] * B.N + column]);
    return sum;
}

/* A thread an element of C: adds up its parts, always in the same order, and rounds once. */
template <class H>
static __global__ void add_parts_kernel(const __grid_constant__ parts from,
                                        const __grid_constant__ tca_bme A,
                                        const __grid_constant__ dense_rows<H> B,
                                        const __grid_constant__ dense_result<H> out)
{
    const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    const size_t row = i / out.N, column = i % out.N;
    if (row >= (size_t)out.rows) return;
    float sum = repeated_products(A, B, (int)row, (int)column);
    /* BEGIN STUDENT: add up what the splits left, in their order */
    for (int s = 0; s < from.splits; s++)
        sum += from.d_sum[(s * from.rows + row) * from.pitch + column];
    /* END STUDENT */
    out.C[i] = narrow<H>(sum);
}

#endif
