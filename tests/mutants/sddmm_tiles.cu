/*
 * sddmm_tiles.cu - mutants of tiles of Y in shared memory (lab 32): slices of features, one after the other, lanes
 * that own nonzeros, pieces in a rotated order; and the ways to lose a slice, a tile or the rotation.
 */
#include "mutant.h"

#include "device/warp.cuh"

enum bug {
    HEALTHY_Y_TILES,
    FIRST_SLICE_ADDED,
    ONLY_LAST_SLICE,
    SLICE_NOT_REFILLED,
    X_NOT_ROTATED,
    NO_BARRIER_AFTER_FILLING,
    NO_BARRIER_BEFORE_REFILLING,
    LAST_COLUMN_TILE_LOST,
    WHOLE_SLICES_ONLY,
    TILE_WEIGHT_IGNORED,
};

constexpr int TILE_ROWS = 64, SLICE = 32, PIECES = 8, OF_PIECE = SLICE / PIECES;

/* A warp for a row: tiles one after the other, and in each the slices. */
template <bug BUG>
__global__ void sddmm_y_tiles_mutant_kernel(int cols, int K, const int *row_ptr, const int *col_idx,
                                            const float *W, const float *X, const float *Y,
                                            float *D)
{
    __shared__ float tile[TILE_ROWS][SLICE];
    const int row = blockIdx.x, lane = threadIdx.x;
    const int slices = BUG == WHOLE_SLICES_ONLY ? K / SLICE : (K + SLICE - 1) / SLICE;
    const int tiles = (cols + TILE_ROWS - 1) / TILE_ROWS - (BUG == LAST_COLUMN_TILE_LOST);
    for (int t = 0; t < tiles; t++)
        for (int s = 0; s < slices; s++) {
            const int feature = s * SLICE;
            if (BUG != NO_BARRIER_BEFORE_REFILLING) __syncwarp();
            for (int r = 0; r < TILE_ROWS && t * TILE_ROWS + r < cols; r++)
                if (BUG != SLICE_NOT_REFILLED || s == 0)
                    tile[r][lane] = feature + lane < K
                                        ? Y[(size_t)(t * TILE_ROWS + r) * K + feature + lane]
                                        : 0;
            if (BUG != NO_BARRIER_AFTER_FILLING) __syncwarp();
            for (int z = row_ptr[row] + lane; z < row_ptr[row + 1]; z += WARP_SIZE) {
                const int column = col_idx[z] - t * TILE_ROWS;
                if (column < 0 || column >= TILE_ROWS) continue;
                float sum = 0;
                for (int j = 0; j < PIECES; j++) {
                    const int piece = j ^ lane % PIECES;
                    const int k = feature + (BUG == X_NOT_ROTATED ? j : piece) * OF_PIECE;
                    for (int i = 0; i < OF_PIECE && k + i < K; i++)
                        sum += X[(size_t)row * K + k + i] * tile[column][piece * OF_PIECE + i];
                }
                const bool adds = s > 0 || BUG == FIRST_SLICE_ADDED;
                if (adds && BUG != ONLY_LAST_SLICE) sum += D[z];
                if (s == slices - 1 && W && BUG != TILE_WEIGHT_IGNORED) sum *= W[z];
                D[z] = sum;
            }
        }
}

template <bug BUG>
static cudaError_t run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream)
{
    const device_csr &W = plan->W;
    sddmm_y_tiles_mutant_kernel<BUG><<<W.rows, WARP_SIZE, 0, stream>>>(
        W.cols, plan->K, W.d_row_ptr, W.d_col_idx, W.d_values, X, Y, D);
    return cudaGetLastError();
}

SDDMM_MUTANT(HEALTHY_Y_TILES, NULL)
SDDMM_MUTANT(FIRST_SLICE_ADDED, "does not zero the output")
SDDMM_MUTANT(ONLY_LAST_SLICE, "in every row that is not empty")
SDDMM_MUTANT(SLICE_NOT_REFILLED, "in every row that is not empty")
SDDMM_MUTANT(X_NOT_ROTATED, "wrong values")
SDDMM_MUTANT_ON(SHOWS_ON_SIMT, NO_BARRIER_AFTER_FILLING, "wrong values")
SDDMM_MUTANT_ON(SHOWS_ON_SIMT, NO_BARRIER_BEFORE_REFILLING, "wrong values")
SDDMM_MUTANT(LAST_COLUMN_TILE_LOST, "never written")
SDDMM_MUTANT(WHOLE_SLICES_ONLY, "only the first 96 of 100 features were summed")
SDDMM_MUTANT_ON(SHOWS_ON_VALUES, TILE_WEIGHT_IGNORED, "the weight was not multiplied in")
