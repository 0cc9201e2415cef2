/*
 * b_tiles.cu - mutants of tiles of B in shared memory (lab 12): lanes that own nonzeros, vectors in a rotated
 * order, exchanges at the end of a row; and the ways to lose a lane's sum or a tile.
 */
#include "mutant.h"

#include "device/warp.cuh"

enum bug {
    HEALTHY_B_TILES,
    VECTORS_NOT_ROTATED,
    WARP_EXCHANGES_LOST,
    LAST_TILE_LOST,
};

constexpr int TILE_ROWS = 64, WIDTH = 32, VECTORS = WIDTH / 4;

/* A warp for a row and 32 columns; tiles one after the other. Tile t has the rows t, t + T ... of B. */
template <bug BUG>
__global__ void spmm_b_tiles_mutant_kernel(int cols, int N, const int *row_ptr, const int *col_idx,
                                           const float *values, const float *B, float *C)
{
    __shared__ float tile[TILE_ROWS][WIDTH];
    const int row = blockIdx.x, column = blockIdx.y * WIDTH, lane = threadIdx.x;
    const int tiles = (cols + TILE_ROWS - 1) / TILE_ROWS;
    float sum[VECTORS][4] = {};
    for (int t = 0; t < tiles - (BUG == LAST_TILE_LOST); t++) {
        for (int r = 0; r * tiles + t < cols; r++)
            tile[r][lane] = column + lane < N ? B[(size_t)(r * tiles + t) * N + column + lane] : 0;
        __syncwarp();
        for (int k = row_ptr[row] + lane; k < row_ptr[row + 1]; k += WARP_SIZE) {
            if (col_idx[k] % tiles != t) continue;
            for (int j = 0; j < VECTORS; j++) {
                const int vector = BUG == VECTORS_NOT_ROTATED ? j : j ^ lane % VECTORS;
                for (int c = 0; c < 4; c++)
                    sum[j][c] += values[k] * tile[col_idx[k] / tiles][vector * 4 + c];
            }
        }
        __syncwarp();
    }
    for (int half = VECTORS / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            for (int c = 0; c < 4; c++)
                sum[j][c] += __shfl_xor_sync(FULL_MASK, sum[j + half][c], half);
    for (int distance = VECTORS; distance < WARP_SIZE && BUG != WARP_EXCHANGES_LOST; distance *= 2)
        for (int c = 0; c < 4; c++)
            sum[0][c] += __shfl_xor_sync(FULL_MASK, sum[0][c], distance);
    for (int c = 0; c < 4 && lane < VECTORS; c++)
        if (column + lane * 4 + c < N) C[(size_t)row * N + column + lane * 4 + c] = sum[0][c];
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const dim3 grid(A.rows, (plan->N + WIDTH - 1) / WIDTH);
    spmm_b_tiles_mutant_kernel<BUG><<<grid, WARP_SIZE, 0, stream>>>(A.cols, plan->N, A.d_row_ptr,
                                                                    A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

MUTANT(HEALTHY_B_TILES, NULL)
MUTANT(VECTORS_NOT_ROTATED, "wrong values")
MUTANT(WARP_EXCHANGES_LOST, "only rows longer than")
MUTANT(LAST_TILE_LOST, "wrong values")
