/*
 * Lab 4 - tuning: how much of A to stage at once, and how many columns of C a warp computes.
 *
 * Idea      D: the tile holds 32 * D nonzeros, so that barriers come D times less often.
 *           C: a lane keeps C sums, for columns 32 apart, so that a tile is used C times.
 *           Both are compile-time constants: the inner loops unroll and the sums live in registers.
 * Changed   Lab 3 is the case D = 1, C = 1.
 * Run       make lab4 && ./lab4 ddi 256 --set D=2,C=4        (on a GPU: --sweep, --tune)
 * Watch     Slot d * 32 + lane of the tile is loaded by `lane`: 32 lanes, 32 banks. The transposed
 *           layout [lane][d] would put D lanes on every bank.
 */
#include "device/warp.cuh"
#include "ops/spmm.h"

constexpr int WARPS = 4;

/* Positions in spmm_plan.tuning. */
enum { TUNE_D, TUNE_C };

template <int D, int C>
__global__ void spmm_tuning_kernel(int rows, int N, const int *__restrict__ row_ptr,
                                   const int *__restrict__ col_idx,
                                   const float *__restrict__ values, const float *__restrict__ B,
                                   float *__restrict__ out)
{
    constexpr int TILE = WARP_SIZE * D;
    __shared__ int tile_col[WARPS][TILE];
    __shared__ float tile_value[WARPS][TILE];
    const int warp = warp_id(), lane = lane_id();
    const int row = blockIdx.x * WARPS + warp;
    const int j = blockIdx.y * WARP_SIZE * C + lane; /* this lane's columns: j, j + 32, ... */
    if (row >= rows) return;
    /* BEGIN STUDENT */
    const int end = row_ptr[row + 1];
    float sum[C] = {};
    for (int start = row_ptr[row]; start < end; start += TILE) {
        const int count = min(TILE, end - start);
        for (int k = lane; k < count; k += WARP_SIZE) {
            tile_col[warp][k] = col_idx[start + k];
            tile_value[warp][k] = values[start + k];
        }
        __syncwarp();
        for (int k = 0; k < count; k++) {
            const float value = tile_value[warp][k];
            const float *b = B + (size_t)tile_col[warp][k] * N + j;
#pragma unroll
            for (int c = 0; c < C; c++)
                if (j + c * WARP_SIZE < N) sum[c] += value * b[c * WARP_SIZE];
        }
        __syncwarp();
    }
#pragma unroll
    for (int c = 0; c < C; c++)
        if (j + c * WARP_SIZE < N) out[(size_t)row * N + j + c * WARP_SIZE] = sum[c];
    /* END STUDENT */
}

typedef void spmm_kernel(int, int, const int *, const int *, const float *, const float *, float *);

/* Tunables take the values 1, 2 and 4, so value / 2 is the index. */
static spmm_kernel *const KERNELS[3][3] = {
    {spmm_tuning_kernel<1, 1>, spmm_tuning_kernel<1, 2>, spmm_tuning_kernel<1, 4>},
    {spmm_tuning_kernel<2, 1>, spmm_tuning_kernel<2, 2>, spmm_tuning_kernel<2, 4>},
    {spmm_tuning_kernel<4, 1>, spmm_tuning_kernel<4, 2>, spmm_tuning_kernel<4, 4>},
};

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    if (A.rows == 0) return cudaSuccess;
    const int d = plan->tuning[TUNE_D], c = plan->tuning[TUNE_C], columns = WARP_SIZE * c;
    spmm_kernel *kernel = KERNELS[d / 2][c / 2];
    const dim3 grid((A.rows + WARPS - 1) / WARPS, (plan->N + columns - 1) / columns);
    kernel<<<grid, WARPS * WARP_SIZE, 0, stream>>>(A.rows, plan->N, A.d_row_ptr, A.d_col_idx,
                                                   A.d_values, B, C);
    return cudaGetLastError();
}

static spmm_contender lab4 = {
    .base =
        {
            .lab = 4,
            .name = "tuning",
            .summary = "D and C: nonzeros a batch, columns a warp, and their tuner",
            .tunables =
                {
                    {"D", "32 D nonzeros are staged between two barriers", {1, 2, 4}, 3, 2},
                    {"C", "a warp computes 32 C columns", {1, 2, 4}, 3, 1},
                },
        },
    .run = run,
};
SPMM_REGISTER(lab4)
