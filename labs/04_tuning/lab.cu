/*
 * Lab 4 - tuning: how much of A to stage at once, and how many columns of C a lane computes.
 *
 * Idea      D: the tile holds 32 * D nonzeros, so that barriers come D times less often.
 *           C: a lane computes C neighbouring columns, which it loads with one instruction of 4 * C
 *           bytes; the tile is read once for all of them, and a row needs C times fewer warps.
 * Changed   Lab 3 is D = 1, C = 1. New too: a thread gets so few registers that an SM is full of them.
 * Run       make lab4 && ./lab4 ddi 256 --set D=2,C=4        (on a GPU: --sweep, --tune)
 * Watch     Slot d * 32 + lane of the tile is loaded by `lane`: 32 lanes, 32 banks. The transposed
 *           layout [lane][d] would put D lanes on every bank.
 */
#include "device/occupancy.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "ops/spmm.h"

constexpr int WARPS = 4, BLOCK = WARPS * WARP_SIZE;
constexpr int FLOATS_IN_FLIGHT = 16; /* a lane's loads of B on their way at once, in registers */

/* Positions in spmm_plan.tuning. */
enum { TUNE_D, TUNE_C };

template <int D, int C>
static __global__ void __launch_bounds__(BLOCK, THREADS_PER_SM / BLOCK)
    spmm_tuning_kernel(int rows, int N, const int *__restrict__ row_ptr,
                       const int *__restrict__ col_idx, const float *__restrict__ values,
                       const float *__restrict__ B, float *__restrict__ out)
{
    constexpr int TILE = WARP_SIZE * D;
    constexpr int IN_FLIGHT = FLOATS_IN_FLIGHT / C;
    __shared__ int tile_col[WARPS][TILE];
    __shared__ float tile_value[WARPS][TILE];
    const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    const int row = blockIdx.x * WARPS + warp;
    const int j = (blockIdx.y * WARP_SIZE + lane) * C; /* this lane's columns: j .. j + C - 1 */
    if (row >= rows) return;
    /* BEGIN STUDENT: stage TILE nonzeros, then compute C neighbouring columns with vector loads */
    const int end = row_ptr[row + 1], column = min(j, N - C);
    float sum[C] = {};
    for (int start = row_ptr[row]; start < end; start += TILE) {
        const int count = min(TILE, end - start);
        for (int k = lane; k < count; k += WARP_SIZE) {
            tile_col[warp][k] = col_idx[start + k];
            tile_value[warp][k] = values[start + k];
        }
        __syncwarp();
        for (int k = 0; k < count; k += IN_FLIGHT) {
            float b[IN_FLIGHT][C];
#pragma unroll
            for (int u = 0; u < IN_FLIGHT; u++)
                load_vector(b[u], &B[(size_t)tile_col[warp][min(k + u, count - 1)] * N + column]);
#pragma unroll
            for (int u = 0; u < IN_FLIGHT; u++)
                if (k + u < count)
#pragma unroll
                    for (int c = 0; c < C; c++)
                        sum[c] += tile_value[warp][k + u] * b[u][c];
        }
        __syncwarp();
    }
    if (j < N) store_vector(&out[(size_t)row * N + j], sum);
    /* END STUDENT */
}

typedef void spmm_kernel(int, int, const int *, const int *, const float *, const float *, float *);

/* Tunables take the values 1, 2 and 4, so value / 2 is the index. */
static spmm_kernel *const KERNELS[3][3] = {
    {spmm_tuning_kernel<1, 1>, spmm_tuning_kernel<1, 2>, spmm_tuning_kernel<1, 4>},
    {spmm_tuning_kernel<2, 1>, spmm_tuning_kernel<2, 2>, spmm_tuning_kernel<2, 4>},
    {spmm_tuning_kernel<4, 1>, spmm_tuning_kernel<4, 2>, spmm_tuning_kernel<4, 4>},
};

static cudaError_t prepare(spmm_plan *plan)
{
    while (plan->N % plan->tuning[TUNE_C]) /* a vector must not straddle two rows of B */
        plan->tuning[TUNE_C] /= 2;
    return cudaSuccess;
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const int d = plan->tuning[TUNE_D], c = plan->tuning[TUNE_C], N = plan->N;
    if (A.rows == 0) return cudaSuccess;
    spmm_kernel *const spmm_tuning = KERNELS[d / 2][c / 2];
    const dim3 grid((A.rows + WARPS - 1) / WARPS, (N + WARP_SIZE * c - 1) / (WARP_SIZE * c));
    spmm_tuning<<<grid, BLOCK, 0, stream>>>(A.rows, N, A.d_row_ptr, A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

/* The widest vector that leaves no lane without a column. */
static void choose(const row_stats *stats, int N, int *tuning)
{
    (void)stats;
    tuning[TUNE_D] = 1;
    tuning[TUNE_C] = N >= 4 * WARP_SIZE ? 4 : N >= 2 * WARP_SIZE ? 2 : 1;
}

static spmm_contender lab4 = {
    .base =
        {
            .lab = 4,
            .after = 3,
            .name = "tuning",
            .summary = "D and C: nonzeros a batch, columns a lane, and their tuner",
            .tunables =
                {
                    {"D", "32 D nonzeros are staged between two barriers", {1, 2, 4}, 3},
                    {"C", "a lane computes C neighbouring columns", {1, 2, 4}, 3},
                },
        },
    .choose = choose,
    .prepare = prepare,
    .run = run,
    .update_values = spmm_nested_update_values, /* nothing is nested: it reads A's values */
    .format_bytes = spmm_csr_bytes,
};
SPMM_REGISTER(lab4)
