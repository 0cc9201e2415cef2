/*
 * passes.cu - mutants of lab 20's tricks: packets with holes, passes over blocks of columns of which the
 * first stores and the others add, tiles whose sums the last block adds up, work taken from a counter;
 * and the ways to get each of them wrong.
 */
#include "mutant.h"

#include "device/cuda_try.h"

#include <stdlib.h>

enum bug {
    HEALTHY_PASSES,
    HOLE_COUNTED,
    PASS_TWICE,
    LEFT_OVER_LOST,
    FIRST_PASS_ADDS,
    LATER_PASS_STORES,
    C_COUNTED_TWICE,
    HEALTHY_TILES,
    TILE_SUM_LOST,
    WORK_COUNTER_NOT_RESET,
};

constexpr int BLOCKS = 4, THREADS = 32, SHORTEST = 4, PACKET = 16;

/* ---- passes ---------------------------------------------------------------------------------- */

/* Nonzeros of the row in the block that begins at column `first`. */
static __device__ int count_in_block(const int *row_ptr, const int *col_idx, int row, int first,
                                     int width)
{
    int count = 0;
    for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++)
        count += col_idx[k] >= first && col_idx[k] < first + width;
    return count;
}

/* One block a row and a slice, one thread a column. Pass 0 has the rows of at most PACKET nonzeros, and
 * what is left over of others, pass 1 + b block b of columns. */
template <bug BUG>
__global__ void spmm_pass_mutant_kernel(int pass, int width, int N, const int *row_ptr,
                                        const int *col_idx, const float *values, const float *B,
                                        float *C)
{
    const int row = blockIdx.x, j = blockIdx.y * THREADS + threadIdx.x;
    const int start = row_ptr[row], length = row_ptr[row + 1] - start;
    const bool packed = length <= PACKET;
    int slots = 1;
    while (slots < length)
        slots *= 2;
    float sum = 0;
    if (j >= N || (packed && pass > 0)) return;
    if (packed && length > 0) {
        /* A hole names the last column again, and has the last value. */
        for (int s = 0; s < slots; s++) {
            const int k = start + min(s, length - 1);
            if (s < length || BUG == HOLE_COUNTED) sum += values[k] * B[(size_t)col_idx[k] * N + j];
        }
    } else {
        for (int b = 0; b < BLOCKS; b++) {
            const int count = count_in_block(row_ptr, col_idx, row, b * width, width);
            const bool left_over = count < SHORTEST;
            if (BUG == LEFT_OVER_LOST && left_over) continue;
            if (pass != (left_over ? 0 : 1 + b)) continue;
            for (int k = start; k < start + length; k++)
                if (col_idx[k] / width == b) sum += values[k] * B[(size_t)col_idx[k] * N + j];
        }
    }
    float *const out = &C[(size_t)row * N + j];
    const bool stores = pass == 0 ? BUG != FIRST_PASS_ADDS : BUG == LATER_PASS_STORES && sum != 0;
    /* Where the sum began already, and again at the end. */
    if (BUG == C_COUNTED_TWICE && pass > 0) sum += *out;
    *out = stores ? sum : *out + sum;
}

template <bug BUG>
static cudaError_t run_passes(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const int width = (A.cols + BLOCKS - 1) / BLOCKS;
    const dim3 grid(A.rows, (plan->N + THREADS - 1) / THREADS);
    for (int pass = 0; pass <= BLOCKS; pass++)
        for (int again = 0; again <= (BUG == PASS_TWICE && pass == 2); again++)
            spmm_pass_mutant_kernel<BUG><<<grid, THREADS, 0, stream>>>(
                pass, width, plan->N, A.d_row_ptr, A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

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

#define PASSES_MUTANT(bug, diagnosis)                                      \
    static spmm_contender mutant_##bug = {                                 \
        .base = {.lab = SHOWS_ALWAYS, .name = #bug, .summary = diagnosis}, \
        .run = run_passes<bug>,                                            \
    };                                                                     \
    SPMM_REGISTER(mutant_##bug)

#define TILES_MUTANT(bug, diagnosis)                                       \
    static spmm_contender mutant_##bug = {                                 \
        .base = {.lab = SHOWS_ALWAYS, .name = #bug, .summary = diagnosis}, \
        .prepare = prepare,                                                \
        .run = run_tiles<bug>,                                             \
        .release = release,                                                \
    };                                                                     \
    SPMM_REGISTER(mutant_##bug)

PASSES_MUTANT(HEALTHY_PASSES, NULL)
PASSES_MUTANT(HOLE_COUNTED, "only in rows of 5 or more nonzeros, though not in all of them")
PASSES_MUTANT(PASS_TWICE, "only rows longer than 5 nonzeros")
PASSES_MUTANT(LEFT_OVER_LOST, "only in rows of 31 or more nonzeros, though not in all of them")
PASSES_MUTANT(FIRST_PASS_ADDS, "adds to what it held before")
PASSES_MUTANT(LATER_PASS_STORES, "only rows longer than 5 nonzeros")
PASSES_MUTANT(C_COUNTED_TWICE, "only rows longer than 5 nonzeros")
TILES_MUTANT(HEALTHY_TILES, NULL)
TILES_MUTANT(TILE_SUM_LOST, "wrong values")
TILES_MUTANT(WORK_COUNTER_NOT_RESET, "in later runs only")
