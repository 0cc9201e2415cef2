/*
 * Lab 71 - overlapped communication: chunks of B are multiplied as they arrive from other GPUs.
 *
 * Idea      In lab 70 the product waits for all of B. Here each rank's part goes out in K chunks. The columns
 *           of A are renumbered in the order in which rows of B arrive, so that chunk k is column block k.
 * Changed   Lab 13's launches, one a column block, each behind the event of its chunk. A row's sum is formed
 *           in the order of the chunks, whenever they come: every run has the same bits.
 * Run       make lab71 && ./lab71 arxiv 32 --set RANKS=3,CHUNKS=4, or on 8 GPUs --devices 8
 * Watch     Every nonzero is in some column block: the rest of lab 13, the shares of few nonzeros, would name
 *           rows of B that have not arrived.
 * Paper     O. Selvitopi et al.: Distributed-memory parallel algorithms for SpMM, ICS 2021
 */
#include "device/parallel_for.cuh"
#include "exchange/home.h"
#include "formats/arrival_order.h"
#include "formats/binned_rows.cuh"
#include "formats/row_ranges.h"
#include "models/binned_rows.h"
#include "ops/spmm.h"

#include <stdlib.h>

enum { TUNE_RANKS, TUNE_CHUNKS };
constexpr int MOST_CHUNKS = 16;

/* A rank: its rows of A in column blocks, and room for B in the order of arrival. */
struct rank_part {
    row_range rows;
    binned_rows *blocks; /* NULL: no rows */
    float *d_B;
    cudaEvent_t arrived[MOST_CHUNKS]; /* the chunk and all before it are there */
};

struct overlap {
    exchange *ranks;
    int64_t first_row[EXCHANGE_MOST_RANKS + 1]; /* of A and C, of each rank */
    exchange_home B, C;                         /* rows of B and C on the devices of their ranks */
    arrival_order order;
    rank_part part[EXCHANGE_MOST_RANKS];
};

/* ---- kernel ---------------------------------------------------------------------------------- */

/* The sum of a segment: it begins at what the chunks before left in C. */
struct sum_of_chunks : sum_kept_in_l2 {
    template <int LANES, int V, int K>
    static __device__ __forceinline__ void begin(const binned_rows_product &p,
                                                 const slice_lanes<LANES, V, K> &at, int row,
                                                 float (&sum)[K][V])
    {
        set_zero(sum);
        if ((row & ADDS) && at.inside)
#pragma unroll
            for (int k = 0; k < K; k++)
                load_vector_plain(sum[k], at.place(p.C, p.N, row & ~ADDS, k));
    }

    template <int LANES, int V, int K>
    static __device__ __forceinline__ void finish(const binned_rows_product &p,
                                                  const slice_lanes<LANES, V, K> &at, int row,
                                                  const float (&sum)[K][V])
    {
        store(p, at, row, sum);
    }

    static __device__ __forceinline__ float held(const float *out)
    {
        return *out;
    }
};

template <int LANES, int V, int K>
static __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM<LANES, K>)
    spmm_overlapped_communication_kernel(const __grid_constant__ binned_rows_product p)
{
    work_on_bins<sum_of_chunks, LANES, V, K>(p);
}

struct kernels {
    template <int LANES, int V, int K> static binned_rows_kernel get()
    {
        return spmm_overlapped_communication_kernel<LANES, V, K>;
    }
};

/* ---- prepare --------------------------------------------------------------------------------- */

/* Gives each column of a range the place at which its row of B arrives. */
struct renumber {
    arrival_order order;
    int *col_idx;

    __host__ __device__ void operator()(int64_t k) const
    {
        /* BEGIN STUDENT: replace the column by the place of its row of B */
        col_idx[k] = (int)arrival_place(&order, col_idx[k]);
        /* END STUDENT */
    }
};

/* Lays out the rank's rows, a column block a chunk. A segment of one nonzero is worth its read of C here: the
 * product would wait for all chunks otherwise. */
static cudaError_t lay_out(const spmm_plan *plan, const overlap *state, rank_part *mine)
{
    spmm_plan local = {.A = mine->rows.A, .N = plan->N, .contender = plan->contender};
    local.A.cols = (int)arrival_rows(&state->order);
    binned_rows_choose(local.A.stats, local.N, local.tuning);
    binned_rows_shape shape = binned_rows_settle(&local);
    shape.pack = 0;
    shape.order = AS_THEY_COME;
    shape.shortest = 1;
    shape.blocks = state->order.chunks;
    CUDA_TRY(device_parallel_for(local.A.nnz, renumber{state->order, mine->rows.d_col_idx}, 0));
    return binned_rows_build(ON_DEVICE, &local, &shape, &mine->blocks);
}

static cudaError_t prepare_rank(exchange_rank *r, void *context)
{
    const spmm_plan *const plan = (const spmm_plan *)context;
    const spmm_matrix &A = plan->A;
    overlap *const state = (overlap *)plan->state;
    rank_part *const mine = &state->part[r->rank];
    const int64_t begin = state->first_row[r->rank], end = state->first_row[r->rank + 1];
    CUDA_TRY(cudaMalloc((void **)&mine->d_B,
                        (size_t)arrival_rows(&state->order) * plan->N * sizeof(float) + 1));
    for (int k = 0; k < state->order.chunks; k++)
        CUDA_TRY(cudaEventCreateWithFlags(&mine->arrived[k], cudaEventDisableTiming));
    if (begin == end) return cudaSuccess;
    CUDA_TRY(row_range_make(A.host, A.d_col_idx, begin, end, sizeof(float), &mine->rows));
    CUDA_TRY(row_range_set_values(&mine->rows, A.host, A.d_values));
    CUDA_TRY(lay_out(plan, state, mine));
    return cudaDeviceSynchronize(); /* copies between devices are there */
}

static cudaError_t release_rank(exchange_rank *r, void *context)
{
    rank_part *const mine = &((overlap *)context)->part[r->rank];
    binned_rows_free(mine->blocks);
    row_range_free(&mine->rows);
    cudaFree(mine->d_B);
    for (int k = 0; k < MOST_CHUNKS; k++)
        if (mine->arrived[k]) cudaEventDestroy(mine->arrived[k]);
    return cudaSuccess;
}

static void release(spmm_plan *plan)
{
    overlap *const state = (overlap *)plan->state;
    if (state->ranks) state->ranks->kind->each(state->ranks, release_rank, state);
    exchange_home_free(&state->B);
    exchange_home_free(&state->C);
    exchange_close(state->ranks);
    free(state);
    plan->state = NULL;
}

/* Cuts rows of A and C, and B into parts and chunks. */
static cudaError_t cut(const spmm_plan *plan, overlap *state)
{
    const csr_matrix *const A = plan->A.host;
    const int ranks = state->ranks->ranks;
    const size_t row_bytes = plan->N * sizeof(float);
    int64_t part[EXCHANGE_MOST_RANKS + 1];
    for (int q = 0; q <= ranks; q++)
        part[q] = exchange_part(A->cols, ranks, q);
    row_ranges_cut(A->row_ptr, A->rows, ranks, state->first_row);
    state->order = arrival_order_of(A->cols, ranks, plan->tuning[TUNE_CHUNKS]);
    if (arrival_rows(&state->order) > INT32_MAX) return cudaErrorNotSupported;
    CUDA_TRY(exchange_home_cut(&state->B, state->ranks, part, row_bytes));
    return exchange_home_cut(&state->C, state->ranks, state->first_row, row_bytes);
}

static cudaError_t prepare(spmm_plan *plan)
{
    overlap *const state = (overlap *)calloc(1, sizeof *state);
    plan->state = state;
    if (!state) return cudaErrorMemoryAllocation;
    cudaError_t error = exchange_open(plan->tuning[TUNE_RANKS], &state->ranks);
    if (error == cudaSuccess) {
        plan->tuning[TUNE_RANKS] = state->ranks->ranks;
        error = cut(plan, state);
        if (error == cudaSuccess)
            error = state->ranks->kind->each(state->ranks, prepare_rank, plan);
        error = exchange_agree(state->ranks, error);
    }
    if (error != cudaSuccess) release(plan);
    return error;
}

/* ---- run ------------------------------------------------------------------------------------- */

/* A product of the plan, and the arrays that it was given. */
struct product {
    const spmm_plan *plan;
    const float *B;
    float *C;
};

/* Enqueues the gathering of a chunk on the wire stream, and an event behind it. */
static cudaError_t gather_chunk(const product *p, exchange_rank *r, int chunk)
{
    overlap *const state = (overlap *)p->plan->state;
    exchange *const ranks = state->ranks;
    rank_part *const mine = &state->part[r->rank];
    const size_t row_bytes = p->plan->N * sizeof(float);
    exchange_piece pieces[EXCHANGE_MOST_RANKS];
    for (int q = 0; q < ranks->ranks; q++) {
        int64_t from, end;
        arrival_chunk(&state->order, q, chunk, &from, &end);
        pieces[q] = {exchange_home_of(&state->B, q, p->B) + (from - state->B.first[q]) * row_bytes,
                     (end - from) * row_bytes,
                     from < end ? arrival_place(&state->order, from) * row_bytes : 0};
    }
    CUDA_TRY(ranks->kind->gather(ranks, r, pieces, mine->d_B));
    return cudaEventRecord(mine->arrived[chunk], r->wire);
}

/* The last chunk whose rows of B a column block names; -1: it names none. Column block 0 has the empty rows
 * alone, unless it has all. */
static int last_chunk_of(const overlap *state, const binned_rows *rows, int block)
{
    if (rows->column_blocks == 1) return state->order.chunks - 1;
    const int64_t end = (int64_t)block * rows->split.block_cols;
    const int64_t last = (end - 1) / arrival_chunk_rows(&state->order);
    return block == 0 ? -1 : (int)min(last, (int64_t)state->order.chunks - 1);
}

static cudaError_t launch_block(const product *p, const exchange_rank *r, int block)
{
    const overlap *const state = (const overlap *)p->plan->state;
    const rank_part *const mine = &state->part[r->rank];
    const binned_rows_kernel kernel = binned_rows_kernel_of<kernels>(mine->blocks);
    binned_rows_product b = binned_rows_product_of(mine->blocks, p->plan->N, block);
    if (b.block[NUM_BINS] == 0) return cudaSuccess;
    b.B = mine->d_B;
    b.C = (float *)exchange_home_of(&state->C, r->rank, p->C);
    for (; b.first_slice < b.num_slices; b.first_slice += MAX_SLICES) {
        const dim3 grid(b.block[NUM_BINS], min(MAX_SLICES, b.num_slices - b.first_slice));
        kernel<<<grid, BLOCK, 0, r->work>>>(b);
        CUDA_TRY(cudaGetLastError());
    }
    return cudaSuccess;
}

/* Enqueues all chunks of the exchange, then the column blocks, each behind the chunks that it needs. */
static cudaError_t run_rank(exchange_rank *r, void *context)
{
    const product *const p = (const product *)context;
    const overlap *const state = (const overlap *)p->plan->state;
    const rank_part *const mine = &state->part[r->rank];
    for (int k = 0; k < state->order.chunks; k++)
        CUDA_TRY(gather_chunk(p, r, k));
    if (!mine->blocks) return cudaSuccess; /* no rows; the others have its part */
    /* BEGIN STUDENT: let each column block wait for the chunks that it needs, and launch it */
    for (int block = 0; block < mine->blocks->column_blocks; block++) {
        const int last = last_chunk_of(state, mine->blocks, block);
        if (last >= 0) CUDA_TRY(cudaStreamWaitEvent(r->work, mine->arrived[last], 0));
        CUDA_TRY(launch_block(p, r, block));
    }
    /* END STUDENT */
    return cudaSuccess;
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    exchange *const ranks = ((overlap *)plan->state)->ranks;
    product p = {plan, B, C};
    CUDA_TRY(exchange_fork(ranks, stream));
    CUDA_TRY(ranks->kind->each(ranks, run_rank, &p));
    return exchange_join(ranks, stream);
}

/* B goes to its homes, and so does C: what a run must write shows, since it holds garbage before. */
static cudaError_t distribute(const spmm_plan *plan, const void *B, const void *C)
{
    const overlap *const state = (const overlap *)plan->state;
    CUDA_TRY(exchange_distribute(&state->B, state->ranks, B));
    return exchange_distribute(&state->C, state->ranks, C);
}

static cudaError_t collect(const spmm_plan *plan, void *C)
{
    const overlap *const state = (const overlap *)plan->state;
    return exchange_collect(&state->C, state->ranks, C);
}

/* ---- new values ------------------------------------------------------------------------------ */

static cudaError_t update_rank(exchange_rank *r, void *context)
{
    spmm_plan *const plan = (spmm_plan *)context;
    rank_part *const mine = &((overlap *)plan->state)->part[r->rank];
    if (!mine->blocks) return cudaSuccess;
    CUDA_TRY(row_range_set_values(&mine->rows, plan->A.host, plan->A.d_values));
    CUDA_TRY(binned_rows_update_values(&mine->rows.A, mine->blocks));
    return cudaDeviceSynchronize();
}

static cudaError_t update_values(spmm_plan *plan)
{
    exchange *const ranks = ((overlap *)plan->state)->ranks;
    return ranks->kind->each(ranks, update_rank, plan);
}

static spmm_contender lab71 = {
    .base = {.lab = 71,
             .after = 70,
             .name = "overlapped_communication",
             .summary = "B arrives in chunks, and those that are there are multiplied",
             .untimed = exchange_untimed,
             .tunables = {{"RANKS", "partners that share the product", {1, 3, 8}, 3, 3},
                          {"CHUNKS", "pieces of a rank's part of B", {1, 2, 4, 16}, 4, 4}}},
    .prepare = prepare,
    .run = run,
    .update_values = update_values,
    .distribute = distribute,
    .collect = collect,
    .release = release,
};
SPMM_REGISTER(lab71)
