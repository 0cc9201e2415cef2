/*
 * streams.cu - mutants of a kernel on a stream of its own. It starts after the work before it on
 * `stream`; what comes later on `stream` has to start after it.
 */
#include "mutant.h"

#include "device/cuda_try.h"

enum bug {
    STREAM_JOINED,
    STREAM_NOT_JOINED,
    STREAM_JOINED_TOO_EARLY,
    STREAM_NOT_JOINED_LATER,
    DEFAULT_STREAM_TAKEN,
    OUTPUT_FILLED_ON_DEFAULT_STREAM,
};

/* Stream of a plan. */
typedef struct own_stream {
    cudaStream_t stream;
    cudaEvent_t before, after;
    int runs;
} own_stream;

static __global__ void spmm_stream_kernel(int N, const int *row_ptr, const int *col_idx,
                                          const float *values, const float *B, float *C)
{
    const int row = blockIdx.x, first = row_ptr[row], end = row_ptr[row + 1];
    for (int j = threadIdx.x; j < N; j += blockDim.x) {
        float sum = 0;
        for (int k = first; k < end; k++)
            sum += values[k] * B[(size_t)col_idx[k] * N + j];
        C[(size_t)row * N + j] = sum;
    }
}

static cudaError_t prepare(spmm_plan *plan)
{
    own_stream *own = (own_stream *)calloc(1, sizeof *own);
    plan->state = own;
    if (!own) return cudaErrorMemoryAllocation;
    CUDA_TRY(cudaStreamCreateWithFlags(&own->stream, cudaStreamNonBlocking));
    CUDA_TRY(cudaEventCreate(&own->before));
    return cudaEventCreate(&own->after);
}

static void release(spmm_plan *plan)
{
    own_stream *own = (own_stream *)plan->state;
    cudaStreamDestroy(own->stream);
    cudaEventDestroy(own->before);
    cudaEventDestroy(own->after);
    free(own);
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    own_stream *own = (own_stream *)plan->state;
    const spmm_matrix &A = plan->A;
    const cudaStream_t mine = BUG == DEFAULT_STREAM_TAKEN ? 0 : own->stream;
    own->runs++;
    if (BUG == OUTPUT_FILLED_ON_DEFAULT_STREAM)
        CUDA_TRY(cudaMemset(C, 0, (size_t)A.rows * plan->N * sizeof *C));
    CUDA_TRY(cudaEventRecord(own->before, stream));
    CUDA_TRY(cudaStreamWaitEvent(mine, own->before, 0));
    if (BUG == STREAM_JOINED_TOO_EARLY) CUDA_TRY(cudaEventRecord(own->after, mine));
    spmm_stream_kernel<<<A.rows, 32, 0, mine>>>(plan->N, A.d_row_ptr, A.d_col_idx, A.d_values, B,
                                                C);
    CUDA_TRY(cudaGetLastError());
    if (BUG == STREAM_NOT_JOINED || BUG == DEFAULT_STREAM_TAKEN) return cudaSuccess;
    if (BUG == STREAM_NOT_JOINED_LATER && own->runs > 1) return cudaSuccess;
    if (BUG != STREAM_JOINED_TOO_EARLY) CUDA_TRY(cudaEventRecord(own->after, mine));
    return cudaStreamWaitEvent(stream, own->after, 0);
}

#define STREAMS_MUTANT(bug, shows, diagnosis)                       \
    static spmm_contender mutant_##bug = {                          \
        .base = {.lab = shows, .name = #bug, .summary = diagnosis}, \
        .prepare = prepare,                                         \
        .run = run<bug>,                                            \
        .release = release,                                         \
    };                                                              \
    SPMM_REGISTER(mutant_##bug)

STREAMS_MUTANT(STREAM_JOINED, SHOWS_ALWAYS, NULL)
STREAMS_MUTANT(STREAM_NOT_JOINED, SHOWS_ON_SIMT, "left work on another stream")
STREAMS_MUTANT(STREAM_JOINED_TOO_EARLY, SHOWS_ON_SIMT, "left work on another stream")
STREAMS_MUTANT(STREAM_NOT_JOINED_LATER, SHOWS_ON_SIMT, "left work on another stream")
STREAMS_MUTANT(DEFAULT_STREAM_TAKEN, SHOWS_ON_SIMT, "left work on the default stream")
STREAMS_MUTANT(OUTPUT_FILLED_ON_DEFAULT_STREAM, SHOWS_ON_SIMT, "left work on the default stream")
