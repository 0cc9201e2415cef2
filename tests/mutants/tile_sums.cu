/*
 * tile_sums.cu - mutants of tiles of B: sums that the last block adds up, work taken from a
 * counter; and the ways to get each of them wrong.
 */
#include "mutant.h"

#include "device/cuda_try.h"

#include <stdlib.h>

enum bug {
    HEALTHY_TILES,
    TILE_SUM_LOST,
    WORK_COUNTER_NOT_RESET,
};

constexpr int BLOCKS = 4, THREADS = 32;

/* ---- tiles ----------------------------------------------------------------------------------- */

typedef struct tiles {
    float *d_partial; /* a tile, a row, a column */
    int *d_next;      /* the next row, of each tile and slice */
    unsigned *d_arrived;
} tiles;

/* One block a tile (column % BLOCKS) and a slice, which takes all rows one after the other. */
template <bug BUG>
__global__ void spmm_tile_mutant_kernel(tiles s, int rows, int N, const int *row_ptr,
                                        const int *col_idx, const float *values, const float *B,
                                        float *C)
{
    __shared__ int row;
    __shared__ bool is_last;
    const int tile = blockIdx.x, j = blockIdx.y * THREADS + threadIdx.x;
    int *const next = &s.d_next[blockIdx.y * BLOCKS + tile];
    for (;;) {
        if (threadIdx.x == 0) row = (*next)++;
        __syncthreads();
        if (row >= rows) break;
        float sum = 0;
        for (int k = row_ptr[row]; k < row_ptr[row + 1] && j < N; k++)
            if (col_idx[k] % BLOCKS == tile) sum += values[k] * B[(size_t)col_idx[k] * N + j];
        if (j < N) s.d_partial[((size_t)tile * rows + row) * N + j] = sum;
        __syncthreads();
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        if (BUG != WORK_COUNTER_NOT_RESET) *next = 0;
        is_last = atomicInc(&s.d_arrived[blockIdx.y], BLOCKS - 1) == BLOCKS - 1;
        __threadfence();
    }
    __syncthreads();
    if (!is_last || j >= N) return;
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int t = 0; t < BLOCKS - (BUG == TILE_SUM_LOST); t++) {
            float *const partial = &s.d_partial[((size_t)t * rows + r) * N + j];
            sum += __ldcg(partial);
            *partial = 0; /* so that what a later run does not compute is missing */
        }
        C[(size_t)r * N + j] = sum;
    }
}

static void release(spmm_plan *plan)
{
    tiles *s = (tiles *)plan->state;
    cudaFree(s->d_partial);
    cudaFree(s->d_next);
    cudaFree(s->d_arrived);
    free(s);
}

static cudaError_t prepare(spmm_plan *plan)
{
    const size_t slices = (plan->N + THREADS - 1) / THREADS;
    const size_t sums = (size_t)BLOCKS * plan->A.rows * plan->N * sizeof(float);
    tiles *s = (tiles *)calloc(1, sizeof *s);
    plan->state = s;
    if (!s) return cudaErrorMemoryAllocation;
    cudaError_t error;
    CUDA_TRY_GOTO(error, failed, cudaMalloc((void **)&s->d_partial, sums));
    CUDA_TRY_GOTO(error, failed, cudaMalloc((void **)&s->d_next, slices * BLOCKS * sizeof(int)));
    CUDA_TRY_GOTO(error, failed, cudaMalloc((void **)&s->d_arrived, slices * sizeof(int)));
    CUDA_TRY_GOTO(error, failed, cudaMemset(s->d_partial, 0, sums));
    CUDA_TRY_GOTO(error, failed, cudaMemset(s->d_next, 0, slices * BLOCKS * sizeof(int)));
    CUDA_TRY_GOTO(error, failed, cudaMemset(s->d_arrived, 0, slices * sizeof(int)));
    return cudaSuccess;
failed:
    release(plan);
    return error;
}

template <bug BUG>
static cudaError_t run_tiles(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const dim3 grid(BLOCKS, (plan->N + THREADS - 1) / THREADS);
    spmm_tile_mutant_kernel<BUG><<<grid, THREADS, 0, stream>>>(
        *(const tiles *)plan->state, A.rows, plan->N, A.d_row_ptr, A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

/* ---------------------------------------------------------------------------------------------- */

#define TILES_MUTANT(bug, diagnosis)                                       \
    static spmm_contender mutant_##bug = {                                 \
        .base = {.lab = SHOWS_ALWAYS, .name = #bug, .summary = diagnosis}, \
        .prepare = prepare,                                                \
        .run = run_tiles<bug>,                                             \
        .release = release,                                                \
    };                                                                     \
    SPMM_REGISTER(mutant_##bug)

TILES_MUTANT(HEALTHY_TILES, NULL)
TILES_MUTANT(TILE_SUM_LOST, "wrong values")
TILES_MUTANT(WORK_COUNTER_NOT_RESET, "in later runs only")
