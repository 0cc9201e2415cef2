/*
 * binned_rows.cu - mutants of labs 11, 13 and 14, made of their own workers
 * (formats/binned_rows.cuh): a bin that no worker gets, sums that forget what earlier launches left
 * in C, or read it too early.
 */
#include "mutant.h"

#include "formats/binned_rows.cuh"

#include <stdlib.h>

enum bug {
    HEALTHY_BINS,
    BIN_SKIPPED,
    PACKS_SKIPPED,
    ONE_BLOCK_TOO_FEW,
    HEALTHY_SUMS,
    EARLIER_SUM_LOST,
    MARK_IGNORED,
    C_READ_EARLY,
};

constexpr int LANES = 32, V = 1, K = 1; /* for any N */

/* One launch, and C as it was before the launch before. */
struct mutant_product : binned_rows_product {
    float *early;
};

template <bug BUG> struct mutant_sum : sum_from_zero, sum_kept_in_l2 {
    static __device__ __forceinline__ void finish(const binned_rows_product &p,
                                                  const slice_lanes<LANES, V, K> &at, int row,
                                                  float (&sum)[K][V])
    {
        const bool adds = BUG == MARK_IGNORED || (BUG != EARLIER_SUM_LOST && (row & ADDS));
        float *const C = BUG == C_READ_EARLY ? static_cast<const mutant_product &>(p).early : p.C;
        if (adds && at.inside) sum[0][0] += __ldcg(at.place(C, p.N, row & ~ADDS, 0));
        store(p, at, row, sum);
    }

    static __device__ __forceinline__ float held(const float *out) { return __ldcg(out); }
};

template <bug BUG> __global__ void spmm_bins_mutant_kernel(const __grid_constant__ mutant_product p)
{
    const int block = blockIdx.x;
    if (BUG == BIN_SKIPPED && block >= p.block[MEDIUM] && block < p.block[SHORT]) return;
    if (BUG == PACKS_SKIPPED && block >= p.block[PACK_8] && block < p.block[PACK_4]) return;
    work_on_bins<mutant_sum<BUG>, LANES, V, K>(p);
}

typedef struct laid_out {
    binned_rows *rows;
    float *d_early[2];
} laid_out;

static void release(spmm_plan *plan)
{
    laid_out *s = (laid_out *)plan->state;
    binned_rows_free(s->rows);
    cudaFree(s->d_early[0]);
    cudaFree(s->d_early[1]);
    free(s);
}

/* BLOCKS: column blocks; 0: whole rows. */
template <int BLOCKS> static cudaError_t prepare(spmm_plan *plan)
{
    const size_t bytes = (size_t)plan->A.rows * plan->N * sizeof(float);
    const binned_rows_shape shape = {.lanes = LANES,
                                     .width = LANES * V * K,
                                     .serial = 32,
                                     .pack = 16,
                                     .blocks = BLOCKS,
                                     .shortest = 1};
    laid_out *s = (laid_out *)calloc(1, sizeof *s);
    plan->state = s;
    if (!s) return cudaErrorMemoryAllocation;
    cudaError_t error;
    CUDA_TRY_GOTO(error, failed, binned_rows_build(ON_DEVICE, plan, &shape, &s->rows));
    CUDA_TRY_GOTO(error, failed, cudaMalloc((void **)&s->d_early[0], bytes));
    CUDA_TRY_GOTO(error, failed, cudaMalloc((void **)&s->d_early[1], bytes));
    return cudaSuccess;
failed:
    release(plan);
    return error;
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const laid_out *s = (const laid_out *)plan->state;
    const size_t bytes = (size_t)plan->A.rows * plan->N * sizeof(float);
    for (int block = 0; block < s->rows->column_blocks; block++) {
        mutant_product p = {binned_rows_product_of(s->rows, plan->N, block), s->d_early[block % 2]};
        p.B = B;
        p.C = C;
        /* For the launch after this one. */
        CUDA_TRY(cudaMemcpyAsync(s->d_early[(block + 1) % 2], C, bytes, cudaMemcpyDeviceToDevice,
                                 stream));
        const int blocks = p.block[NUM_BINS] - (BUG == ONE_BLOCK_TOO_FEW);
        if (blocks <= 0) continue;
        spmm_bins_mutant_kernel<BUG><<<dim3(blocks, p.num_slices), BLOCK, 0, stream>>>(p);
        CUDA_TRY(cudaGetLastError());
    }
    return cudaSuccess;
}

#define BINS_MUTANT(bug, blocks, diagnosis)                                \
    static spmm_contender mutant_##bug = {                                 \
        .base = {.lab = SHOWS_ALWAYS, .name = #bug, .summary = diagnosis}, \
        .prepare = prepare<blocks>,                                        \
        .run = run<bug>,                                                   \
        .release = release,                                                \
    };                                                                     \
    SPMM_REGISTER(mutant_##bug)

BINS_MUTANT(HEALTHY_BINS, 0, NULL)
BINS_MUTANT(BIN_SKIPPED, 0, "never written: only in rows of 33 or more nonzeros")
BINS_MUTANT(PACKS_SKIPPED, 0, "never written")
BINS_MUTANT(ONE_BLOCK_TOO_FEW, 0, "never written: only empty rows")
BINS_MUTANT(HEALTHY_SUMS, 4, NULL)
BINS_MUTANT(EARLIER_SUM_LOST, 4, "only in rows of 5 or more nonzeros, though not in all of them")
BINS_MUTANT(MARK_IGNORED, 4, "adds to what it held before")
BINS_MUTANT(C_READ_EARLY, 4, "only in rows of 5 or more nonzeros, though not in all of them")
