/*
 * Lab 3 - shared tiles: the row of A is staged in shared memory, 32 nonzeros at a time.
 *
 * Idea      Lane l loads nonzero number l of a batch of 32, so A is read in whole lines, once; then
 *           every lane walks the batch in shared memory, where 32 lanes reading one word cost one
 *           broadcast. The addresses in B are then at hand, so eight loads can go out at a time.
 * Changed   Lab 2 loaded col_idx and values from global memory once a nonzero and warp, and waited
 *           for them before it could ask for B. Lanes beyond column N now help to load A.
 * Run       make lab3 && ./lab3 arxiv 32
 * Watch     Two barriers a batch. The tile belongs to one warp, so __syncwarp() is enough.
 */
#include "device/warp.cuh"
#include "ops/spmm.h"

constexpr int WARPS = 4;        /* a block; each works alone */
constexpr int TILE = WARP_SIZE; /* nonzeros staged at once: one a lane */
constexpr int IN_FLIGHT = 8;    /* loads of B on their way at once */

static __global__ void spmm_shared_tiles_kernel(int rows, int N, const int *__restrict__ row_ptr,
                                                const int *__restrict__ col_idx,
                                                const float *__restrict__ values,
                                                const float *__restrict__ B, float *__restrict__ C)
{
    __shared__ int tile_col[WARPS][TILE];
    __shared__ float tile_value[WARPS][TILE];
    const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    const int row = blockIdx.x * WARPS + warp;
    const int j = blockIdx.y * WARP_SIZE + lane;
    if (row >= rows) return; /* the whole warp leaves: no lane is missed at a barrier */
    /* BEGIN STUDENT: stage 32 nonzeros at a time, multiply from the tile; mind both barriers */
    const int end = row_ptr[row + 1],
              column = min(j, N - 1); /* lanes beyond N only help to load A */
    float sum = 0;
    for (int start = row_ptr[row]; start < end; start += TILE) {
        const int count = min(TILE, end - start);
        if (lane < count) {
            tile_col[warp][lane] = col_idx[start + lane];
            tile_value[warp][lane] = values[start + lane];
        }
        __syncwarp(); /* the tile is complete before anyone reads it */
        for (int k = 0; k < count; k += IN_FLIGHT) {
            float b[IN_FLIGHT];
#pragma unroll
            for (int u = 0; u < IN_FLIGHT; u++) /* past the end: the last one again, unused */
                b[u] = B[(size_t)tile_col[warp][min(k + u, count - 1)] * N + column];
#pragma unroll
            for (int u = 0; u < IN_FLIGHT; u++)
                if (k + u < count) sum += tile_value[warp][k + u] * b[u];
        }
        __syncwarp(); /* everyone has read the tile before it is overwritten */
    }
    if (j < N) C[(size_t)row * N + j] = sum;
    /* END STUDENT */
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    if (A.rows == 0) return cudaSuccess;
    const dim3 grid((A.rows + WARPS - 1) / WARPS, (plan->N + WARP_SIZE - 1) / WARP_SIZE);
    spmm_shared_tiles_kernel<<<grid, WARPS * WARP_SIZE, 0, stream>>>(A.rows, plan->N, A.d_row_ptr,
                                                                     A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

static spmm_contender lab3 = {
    .base = {.lab = 3,
             .after = 2,
             .name = "shared_tiles",
             .summary = "A's row staged in shared memory"},
    .run = run,
};
SPMM_REGISTER(lab3)
