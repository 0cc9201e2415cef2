/*
 * tensor.cu - mutants of products on tensor cores (lab 21's row fragments). They show what is left of fp32 if
 * parts of a number are dropped, or if sums stay in the tensor core, which cuts them. They also show what leaks if
 * zeros are multiplied by rows that nobody refers to.
 */
#include "mutant.h"

#include "device/mma.cuh"
#include "device/warp.cuh"

enum bug {
    HEALTHY_TENSOR,
    HIGH_PARTS_ONLY,
    SUMS_LEFT_IN_TENSOR_CORE,
    LOW_PART_OF_B_LOST,
    UNUSED_ROW_LEAKS,
    LAST_COLUMNS_LOST,
};

constexpr int STRIP = 16, TILE = 8, DEPTH = 8;

/* The entries of a row in one column, added up; *found: whether there is any. */
static __device__ float element(int row, int column, const int *row_ptr, const int *col_idx,
                                const float *values, bool *found)
{
    float sum = 0;
    for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++)
        if (col_idx[k] == column) {
            sum += values[k];
            *found = true;
        }
    return sum;
}

/* x as two numbers of 11 bits and one bit, rounded. */
static __device__ void cut(float x, uint32_t *high, uint32_t *low)
{
    *high = to_tf32(x);
    *low = __float_as_uint(x - __uint_as_float(*high));
}

/* A warp for 16 rows and 8 columns. Slow: every lane looks for its elements. */
template <bug BUG>
__global__ void spmm_tensor_mutant_kernel(int rows, int cols, int N, const int *row_ptr,
                                          const int *col_idx, const float *values, const float *B,
                                          float *C)
{
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    const int row = blockIdx.x * STRIP + g, j = blockIdx.y * TILE + g;
    const int end = BUG == LAST_COLUMNS_LOST ? cols / DEPTH * DEPTH : cols;
    float sum[4] = {};
    for (int first = 0; first < end; first += DEPTH) {
        uint32_t a_high[4], a_low[4], b_high[2], b_low[2];
        bool found[2] = {};
        for (int e = 0; e < 4; e++) { /* e % 2: upper or lower half; e / 2: left or right */
            const int r = row + 8 * (e % 2), k = first + t + 4 * (e / 2);
            float x = 0;
            if (r < rows && k < cols) x = element(r, k, row_ptr, col_idx, values, &found[e / 2]);
            cut(x, &a_high[e], &a_low[e]);
        }
        for (int half = 0; half < 2; half++) {
            const int k = first + t + 4 * half;
            const unsigned users = __ballot_sync(FULL_MASK, found[half]) & 0x11111111u << t;
            const bool used = users || BUG == UNUSED_ROW_LEAKS;
            cut(used && k < cols && j < N ? B[(size_t)k * N + j] : 0, &b_high[half], &b_low[half]);
        }
        /* A tensor core cuts its sums: products begin at zero, and CUDA cores add them up. */
        float part[4] = {};
        if (BUG == SUMS_LEFT_IN_TENSOR_CORE) memcpy(part, sum, sizeof part);
        if (BUG != HIGH_PARTS_ONLY) {
            mma_m16n8k8_tf32(part, a_low, b_low, part);
            mma_m16n8k8_tf32(part, a_low, b_high, part);
            if (BUG != LOW_PART_OF_B_LOST) mma_m16n8k8_tf32(part, a_high, b_low, part);
        }
        mma_m16n8k8_tf32(part, a_high, b_high, part);
        for (int e = 0; e < 4; e++)
            sum[e] = BUG == SUMS_LEFT_IN_TENSOR_CORE ? part[e] : sum[e] + part[e];
    }
    for (int e = 0; e < 4; e++) {
        const int r = row + 8 * (e / 2), c = (int)blockIdx.y * TILE + 2 * t + e % 2;
        if (r < rows && c < N) C[(size_t)r * N + c] = sum[e];
    }
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const dim3 grid((A.rows + STRIP - 1) / STRIP, (plan->N + TILE - 1) / TILE);
    spmm_tensor_mutant_kernel<BUG><<<grid, WARP_SIZE, 0, stream>>>(
        A.rows, A.cols, plan->N, A.d_row_ptr, A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

MUTANT(HEALTHY_TENSOR, NULL)
MUTANT(HIGH_PARTS_ONLY, "wrong values")
MUTANT(SUMS_LEFT_IN_TENSOR_CORE, "wrong values")
MUTANT(LOW_PART_OF_B_LOST, "wrong values")
MUTANT(UNUSED_ROW_LEAKS, "NaN or infinity computed")
MUTANT(LAST_COLUMNS_LOST, "wrong values")
