/*
 * sddmm_tensor_core.cu - mutants of dense tiles on tensor cores (lab 33): three products of tf32 numbers, ragged
 * edges, stored elements picked out of the tile; and the ways to lose bits, an edge or an element.
 */
#include "mutant.h"

#include "device/mma.cuh"
#include "device/warp.cuh"

enum bug {
    HEALTHY_DENSE_TILES,
    ONE_PRODUCT,
    LOW_OF_X_LOST,
    LOW_OF_Y_LOST,
    LAST_ROWS_LOST,
    LAST_COLUMNS_LOST,
    WHOLE_STEPS_ONLY,
    NEXT_COLUMN_PICKED,
    NO_BARRIER_BEFORE_PICKING,
    DENSE_WEIGHT_IGNORED,
};

constexpr int TILE_ROWS = 16, TILE_COLS = 8, STEP = 8;

/* Feature k of a row; 0 where there is none. */
static __device__ float feature(const float *from, int rows, int K, int row, int k)
{
    return row < rows && k < K ? from[(size_t)row * K + k] : 0;
}

/* A warp for a tile. */
template <bug BUG>
__global__ void sddmm_dense_mutant_kernel(int rows, int cols, int K, const int *row_ptr,
                                          const int *col_idx, const float *W, const float *X,
                                          const float *Y, float *D)
{
    __shared__ float tile[TILE_ROWS][TILE_COLS];
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    const int first_row = blockIdx.x * TILE_ROWS, first_column = blockIdx.y * TILE_COLS;
    const int end = BUG == WHOLE_STEPS_ONLY ? K / STEP * STEP : K;
    float sum[4] = {};
    for (int k = 0; k < end; k += STEP) {
        uint32_t x_high[4], x_low[4], y_high[2], y_low[2];
        for (int i = 0; i < 4; i++)
            split_tf32(feature(X, rows, K, first_row + g + i % 2 * 8, k + t + i / 2 * 4), x_high[i],
                       x_low[i]);
        for (int i = 0; i < 2; i++)
            split_tf32(feature(Y, cols, K, first_column + g, k + t + i * 4), y_high[i], y_low[i]);
        /* A tensor core cuts its sums: products begin at zero, and CUDA cores add them up. */
        float part[4] = {};
        if (BUG != ONE_PRODUCT && BUG != LOW_OF_Y_LOST) mma_m16n8k8_tf32(part, x_high, y_low, part);
        if (BUG != ONE_PRODUCT && BUG != LOW_OF_X_LOST) mma_m16n8k8_tf32(part, x_low, y_high, part);
        mma_m16n8k8_tf32(part, x_high, y_high, part);
        for (int e = 0; e < 4; e++)
            sum[e] += part[e];
    }
    for (int e = 0; e < 4; e++)
        tile[g + e / 2 * 8][2 * t + e % 2] = sum[e];
    if (BUG != NO_BARRIER_BEFORE_PICKING) __syncwarp();
    const int row = first_row + lane;
    if (lane >= TILE_ROWS || row >= rows) return;
    for (int z = row_ptr[row]; z < row_ptr[row + 1]; z++) {
        const int column = col_idx[z] - first_column;
        if (column < 0 || column >= TILE_COLS) continue;
        const int picked = BUG == NEXT_COLUMN_PICKED ? (column + 1) % TILE_COLS : column;
        const bool weighs = W && BUG != DENSE_WEIGHT_IGNORED;
        D[z] = tile[lane][picked] * (weighs ? W[z] : 1);
    }
}

template <bug BUG>
static cudaError_t run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream)
{
    const device_csr &W = plan->W;
    dim3 grid((W.rows + TILE_ROWS - 1) / TILE_ROWS, (W.cols + TILE_COLS - 1) / TILE_COLS);
    if (BUG == LAST_ROWS_LOST) grid.x = W.rows / TILE_ROWS;
    if (BUG == LAST_COLUMNS_LOST) grid.y = W.cols / TILE_COLS;
    sddmm_dense_mutant_kernel<BUG><<<grid, WARP_SIZE, 0, stream>>>(
        W.rows, W.cols, plan->K, W.d_row_ptr, W.d_col_idx, W.d_values, X, Y, D);
    return cudaGetLastError();
}

SDDMM_MUTANT(HEALTHY_DENSE_TILES, NULL)
SDDMM_MUTANT(ONE_PRODUCT, "wrong values")
SDDMM_MUTANT(LOW_OF_X_LOST, "wrong values")
SDDMM_MUTANT(LOW_OF_Y_LOST, "wrong values")
SDDMM_MUTANT(LAST_ROWS_LOST, "never written: only the last 384 of 15801 nonzeros")
SDDMM_MUTANT(LAST_COLUMNS_LOST, "never written")
SDDMM_MUTANT(WHOLE_STEPS_ONLY, "only the first 96 of 100 features were summed")
SDDMM_MUTANT(NEXT_COLUMN_PICKED, "in every row that is not empty")
SDDMM_MUTANT_ON(SHOWS_ON_SIMT, NO_BARRIER_BEFORE_PICKING, "never written")
SDDMM_MUTANT_ON(SHOWS_ON_VALUES, DENSE_WEIGHT_IGNORED, "the weight was not multiplied in")
