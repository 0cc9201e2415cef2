/*
 * chunks.cu - mutants of sums in chunks without atomics on floats (long rows of lab 11; tiles and
 * fragments add up the same way): chunks of a row are summed by blocks of their own, and the block
 * that comes last adds them up; and the ways to lose a chunk.
 */
#include "mutant.h"

#include "device/cuda_try.h"

#include <stdlib.h>

enum bug {
    HEALTHY_CHUNKS,
    CHUNK_LOST,
    COUNTER_NOT_RESET,
    EVERYBODY_STORES,
    ORDER_IGNORED_AT_STORE,
};

constexpr int CHUNK = 64, THREADS = 32;

typedef struct chunks {
    int max_chunks;
    float *d_partial;    /* a row, a chunk, a column */
    unsigned *d_arrived; /* a row, a slice of columns */
} chunks;

/* One block per row and chunk, one thread per column. */
template <bug BUG>
__global__ void spmm_chunk_mutant_kernel(chunks s, int rows, int N, const int *row_ptr,
                                         const int *col_idx, const float *values, const float *B,
                                         float *C)
{
    __shared__ bool is_last;
    const int row = blockIdx.x / s.max_chunks, chunk = blockIdx.x % s.max_chunks;
    const int j = blockIdx.y * THREADS + threadIdx.x, length = row_ptr[row + 1] - row_ptr[row];
    const int num_chunks = length > CHUNK ? (length + CHUNK - 1) / CHUNK : 1;
    if (chunk >= num_chunks) return;
    const int start = row_ptr[row] + chunk * CHUNK, end = min(start + CHUNK, row_ptr[row + 1]);
    float sum = 0;
    for (int k = start; k < end && j < N; k++)
        sum += values[k] * B[(size_t)col_idx[k] * N + j];
    float *const partial = s.d_partial + (size_t)row * s.max_chunks * N;
    unsigned *const arrived = &s.d_arrived[row * gridDim.y + blockIdx.y];
    if (j < N) partial[(size_t)chunk * N + j] = sum;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned last = num_chunks - 1;
        is_last =
            (BUG == COUNTER_NOT_RESET ? atomicAdd(arrived, 1u) : atomicInc(arrived, last)) == last;
        __threadfence();
    }
    __syncthreads();
    if ((!is_last && BUG != EVERYBODY_STORES) || j >= N) return;
    if (BUG != EVERYBODY_STORES) {
        sum = 0;
        for (int p = 0; p < num_chunks - (BUG == CHUNK_LOST && num_chunks > 1); p++)
            sum += __ldcg(&partial[(size_t)p * N + j]);
    }
    const int to = BUG == ORDER_IGNORED_AT_STORE ? rows - 1 - row : row;
    C[(size_t)to * N + j] = sum;
}

static void release(spmm_plan *plan)
{
    chunks *s = (chunks *)plan->state;
    cudaFree(s->d_partial);
    cudaFree(s->d_arrived);
    free(s);
}

static cudaError_t prepare(spmm_plan *plan)
{
    const size_t rows = plan->A.rows, slices = (plan->N + THREADS - 1) / THREADS;
    chunks *s = (chunks *)calloc(1, sizeof *s);
    plan->state = s;
    if (!s) return cudaErrorMemoryAllocation;
    s->max_chunks = (int)plan->A.stats->max / CHUNK + 1;
    cudaError_t error;
    CUDA_TRY_GOTO(
        error, failed,
        cudaMalloc((void **)&s->d_partial, rows * s->max_chunks * plan->N * sizeof(float)));
    CUDA_TRY_GOTO(error, failed, cudaMalloc((void **)&s->d_arrived, rows * slices * sizeof(int)));
    CUDA_TRY_GOTO(error, failed, cudaMemset(s->d_arrived, 0, rows * slices * sizeof(int)));
    return cudaSuccess;
failed:
    release(plan);
    return error;
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const chunks s = *(const chunks *)plan->state;
    const dim3 grid(A.rows * s.max_chunks, (plan->N + THREADS - 1) / THREADS);
    spmm_chunk_mutant_kernel<BUG><<<grid, THREADS, 0, stream>>>(s, A.rows, plan->N, A.d_row_ptr,
                                                                A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

#define CHUNKS_MUTANT(bug, diagnosis)                                      \
    static spmm_contender mutant_##bug = {                                 \
        .base = {.lab = SHOWS_ALWAYS, .name = #bug, .summary = diagnosis}, \
        .prepare = prepare,                                                \
        .run = run<bug>,                                                   \
        .release = release,                                                \
    };                                                                     \
    SPMM_REGISTER(mutant_##bug)

CHUNKS_MUTANT(HEALTHY_CHUNKS, NULL)
CHUNKS_MUTANT(CHUNK_LOST, "only rows longer than 64 nonzeros")
CHUNKS_MUTANT(COUNTER_NOT_RESET, "later runs wrote nothing")
CHUNKS_MUTANT(EVERYBODY_STORES, "only rows longer than 64 nonzeros")
CHUNKS_MUTANT(ORDER_IGNORED_AT_STORE, "wrong values")
