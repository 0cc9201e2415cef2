/*
 * Lab 5 - split rows: no warp gets more than SPLIT nonzeros.
 *
 * Idea      A row is cut into segments of SPLIT nonzeros. Its first segment, the head, is stored
 *           plainly, which also zeroes empty rows; a second launch adds the further ones, the
 * tails, with atomics. Only rows that really are split pay for them, and C needs no memset. Changed
 * Lab 4's kernel becomes segment_sum(), called by one kernel over rows and one over tails; SPLIT, D
 * and C follow from row-length statistics and N. Run       make lab5 && ./lab5 arxiv 32 Watch The
 * longest row bounds the time of labs 1 to 4 on skewed graphs (arxiv, youtube, am).
 */
#include "device/cuda_try.h"
#include "device/warp.cuh"
#include "ops/spmm.h"
#include "segments.h"

#include <stdlib.h>

constexpr int WARPS = 4;

/* Positions in spmm_plan.tuning. */
enum { TUNE_SPLIT, TUNE_D, TUNE_C, TUNE_HOST };

/* One warp: sum[c] = the product of nonzeros start .. end-1 with column j + 32 c of B. */
template <int D, int C>
__device__ void segment_sum(int start, int end, int N, int j, const int *__restrict__ col_idx,
                            const float *__restrict__ values, const float *__restrict__ B,
                            float (&sum)[C])
{
    constexpr int TILE = WARP_SIZE * D;
    __shared__ int tile_col[WARPS][TILE];
    __shared__ float tile_value[WARPS][TILE];
    const int warp = warp_id();
    for (; start < end; start += TILE) {
        const int count = min(TILE, end - start);
        for (int k = lane_id(); k < count; k += WARP_SIZE) {
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
}

/* One warp per row: its first `split` nonzeros, stored. */
template <int D, int C>
__global__ void spmm_heads_kernel(int rows, int N, int split, const int *__restrict__ row_ptr,
                                  const int *__restrict__ col_idx, const float *__restrict__ values,
                                  const float *__restrict__ B, float *__restrict__ out)
{
    const int row = blockIdx.x * WARPS + warp_id();
    const int j = blockIdx.y * WARP_SIZE * C + lane_id();
    if (row >= rows) return;
    /* BEGIN STUDENT */
    const int start = row_ptr[row], end = min(row_ptr[row + 1] - start, split) + start;
    float sum[C] = {};
    segment_sum<D, C>(start, end, N, j, col_idx, values, B, sum);
#pragma unroll
    for (int c = 0; c < C; c++)
        if (j + c * WARP_SIZE < N) out[(size_t)row * N + j + c * WARP_SIZE] = sum[c];
    /* END STUDENT */
}

/* One warp per tail: its up to `split` nonzeros, added to what the head stored. */
template <int D, int C>
__global__ void spmm_tails_kernel(tail_list tails, int N, int split,
                                  const int *__restrict__ row_ptr, const int *__restrict__ col_idx,
                                  const float *__restrict__ values, const float *__restrict__ B,
                                  float *__restrict__ out)
{
    const int tail = blockIdx.x * WARPS + warp_id();
    const int j = blockIdx.y * WARP_SIZE * C + lane_id();
    if (tail >= tails.count) return;
    /* BEGIN STUDENT */
    const int row = tails.d_row[tail], start = tails.d_start[tail];
    const int end = min(row_ptr[row + 1] - start, split) + start;
    float sum[C] = {};
    segment_sum<D, C>(start, end, N, j, col_idx, values, B, sum);
#pragma unroll
    for (int c = 0; c < C; c++)
        if (j + c * WARP_SIZE < N) atomicAdd(&out[(size_t)row * N + j + c * WARP_SIZE], sum[c]);
    /* END STUDENT */
}

template <int D, int C>
static cudaError_t launch(const spmm_plan *plan, const float *B, float *out, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const tail_list &tails = *(const tail_list *)plan->state;
    const int split = plan->tuning[TUNE_SPLIT] ? plan->tuning[TUNE_SPLIT] : A.nnz;
    const int slices = (plan->N + WARP_SIZE * C - 1) / (WARP_SIZE * C);
    const dim3 heads_grid((A.rows + WARPS - 1) / WARPS, slices);
    spmm_heads_kernel<D, C><<<heads_grid, WARPS * WARP_SIZE, 0, stream>>>(
        A.rows, plan->N, split, A.d_row_ptr, A.d_col_idx, A.d_values, B, out);
    CUDA_TRY(cudaGetLastError());
    if (tails.count == 0) return cudaSuccess;
    const dim3 tails_grid((tails.count + WARPS - 1) / WARPS, slices);
    spmm_tails_kernel<D, C><<<tails_grid, WARPS * WARP_SIZE, 0, stream>>>(
        tails, plan->N, split, A.d_row_ptr, A.d_col_idx, A.d_values, B, out);
    return cudaGetLastError();
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *out, cudaStream_t stream)
{
    typedef cudaError_t launcher(const spmm_plan *, const float *, float *, cudaStream_t);
    static launcher *const LAUNCH[3][3] = {
        {launch<1, 1>, launch<1, 2>, launch<1, 4>},
        {launch<2, 1>, launch<2, 2>, launch<2, 4>},
        {launch<4, 1>, launch<4, 2>, launch<4, 4>},
    };
    if (plan->A.rows == 0) return cudaSuccess;
    return LAUNCH[plan->tuning[TUNE_D] / 2][plan->tuning[TUNE_C] / 2](plan, B, out, stream);
}

static void release(spmm_plan *plan)
{
    tails_free((tail_list *)plan->state);
    free(plan->state);
}

static cudaError_t prepare(spmm_plan *plan)
{
    tail_list *tails = (tail_list *)calloc(1, sizeof *tails);
    plan->state = tails;
    if (!tails) return cudaErrorMemoryAllocation;
    const int split = plan->tuning[TUNE_SPLIT];
    if (split == 0) return cudaSuccess; /* no row is split, no tail exists */
    const cudaError_t error = plan->tuning[TUNE_HOST] ? tails_build_on_host(&plan->A, split, tails)
                                                      : tails_build_on_gpu(&plan->A, split, tails);
    if (error != cudaSuccess) release(plan);
    return error;
}

/* The rule: see README.md, "Choosing". */
static void choose(const row_stats *stats, int N, int *tuning)
{
    const bool uneven = stats->max > 256 && stats->cov > 1;
    tuning[TUNE_SPLIT] = uneven ? 128 : 0;
    tuning[TUNE_D] = 2;
    tuning[TUNE_C] = N > WARP_SIZE ? 2 : 1;
}

static spmm_contender lab5 = {
    .base =
        {
            .lab = 5,
            .name = "split_rows",
            .summary = "rows cut into segments; atomics only where a row is split",
            .tunables =
                {
                    {"SPLIT", "nonzeros a segment; 0: rows stay whole", {0, 32, 64, 128, 256}, 5},
                    {"D", "32 D nonzeros are staged between two barriers", {1, 2, 4}, 3},
                    {"C", "a warp computes 32 C columns", {1, 2, 4}, 3},
                    {"HOST", "1: list the tails on the host", {0, 1}, 2, 0, true},
                },
        },
    .choose = choose,
    .prepare = prepare,
    .run = run,
    .release = release,
};
SPMM_REGISTER(lab5)
