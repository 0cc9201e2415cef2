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
#include "device/half.cuh"
#include "device/parallel_for.cuh"
#include "exchange/home.h"
#include "formats/arrival_order.h"
#include "formats/binned_rows.cuh"
#include "formats/named_rows.h"
#include "formats/row_ranges.h"
#include "models/binned_rows.h"
#include "ops/spmm.h"

#include <stdlib.h>

enum { TUNE_RANKS, TUNE_CHUNKS, TUNE_ROWS, TUNE_WIRE };
enum { ALL, NAMED };
enum { WIRE_FP32, WIRE_FP16 };
constexpr int MOST_CHUNKS = 16;

/* A rank: its rows of A in column blocks, and room for B in the order of arrival. */
struct rank_part {
    row_range rows;
    binned_rows *blocks; /* NULL: no rows */
    float *d_B;
    int64_t chunk_rows;               /* places of a chunk in d_B */
    cudaEvent_t arrived[MOST_CHUNKS]; /* the chunk and all before it are there */
    /* Where rows are packed for the wire: those that it gives, by chunk and then by partner, and where in that order each
     * chunk for each partner begins. */
    int *d_gives;
    int64_t gives_at[MOST_CHUNKS * EXCHANGE_MOST_RANKS + 1];
    char *d_given,
        *d_taken; /* packed; d_taken: NULL where the wire has fp32, which goes to d_B at once */
};

struct overlap {
    exchange *ranks;
    int64_t first_row[EXCHANGE_MOST_RANKS + 1]; /* of A and C, of each rank */
    exchange_home B, C;                         /* rows of B and C on the devices of their ranks */
    arrival_order order;
    named_rows named; /* where rows are packed for the wire */
    rank_part part[EXCHANGE_MOST_RANKS];
};

static bool is_packed(const spmm_plan *plan)
{
    return plan->tuning[TUNE_ROWS] == NAMED || plan->tuning[TUNE_WIRE] == WIRE_FP16;
}

static size_t wire_bytes(const spmm_plan *plan)
{
    return plan->tuning[TUNE_WIRE] == WIRE_FP16 ? sizeof(__half) : sizeof(float);
}

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

struct chunk_kernels {
    template <int LANES, int V, int K> static binned_rows_kernel get()
    {
        return spmm_overlapped_communication_kernel<LANES, V, K>;
    }
};

/* ---- prepare --------------------------------------------------------------------------------- */

/* Gives each column of a range the place at which its row of B arrives. */
struct renumber {
    arrival_order order;
    const int *place; /* of each row that the rank names; NULL: all rows arrive */
    int *col_idx;

    __host__ __device__ void operator()(int64_t k) const
    {
        /* BEGIN STUDENT: replace the column by the place of its row of B */
        col_idx[k] = place ? place[col_idx[k]] : (int)arrival_place(&order, col_idx[k]);
        /* END STUDENT */
    }
};

/* Gives the columns of the rank's rows their places. */
static cudaError_t renumber_columns(const overlap *state, int rank, rank_part *mine)
{
    const int64_t cols = mine->rows.A.cols, nnz = mine->rows.A.nnz;
    int *d_place = NULL;
    if (!state->named.rows)
        return device_parallel_for(nnz, renumber{state->order, NULL, mine->rows.d_col_idx}, 0);
    int *const place = (int *)calloc(cols + 1, sizeof *place);
    cudaError_t error = place ? cudaSuccess : cudaErrorMemoryAllocation;
    if (place) named_rows_places(&state->named, rank, place);
    if (error == cudaSuccess) error = cudaMalloc((void **)&d_place, cols * sizeof *place + 1);
    if (error == cudaSuccess)
        error = cudaMemcpy(d_place, place, cols * sizeof *place, cudaMemcpyHostToDevice);
    if (error == cudaSuccess)
        error = device_parallel_for(nnz, renumber{state->order, d_place, mine->rows.d_col_idx}, 0);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    cudaFree(d_place);
    free(place);
    return error;
}

/* Notes which rows the rank gives to whom, and makes room to pack them. */
static cudaError_t prepare_packing(const spmm_plan *plan, const overlap *state, int rank,
                                   rank_part *mine)
{
    const int ranks = state->order.ranks, lists = state->order.chunks * ranks;
    const size_t row_bytes = plan->N * wire_bytes(plan);
    int64_t count;
    for (int i = 0; i < lists; i++) {
        named_rows_list(&state->named, i % ranks, i / ranks, rank, &count);
        mine->gives_at[i + 1] = mine->gives_at[i] + count;
    }
    const int64_t all = mine->gives_at[lists];
    CUDA_TRY(cudaMalloc((void **)&mine->d_gives, all * sizeof(int) + 1));
    CUDA_TRY(cudaMalloc((void **)&mine->d_given, all * row_bytes + 1));
    if (plan->tuning[TUNE_WIRE] == WIRE_FP16)
        CUDA_TRY(cudaMalloc((void **)&mine->d_taken,
                            state->order.chunks * mine->chunk_rows * row_bytes + 1));
    for (int i = 0; i < lists; i++) {
        const int *const list = named_rows_list(&state->named, i % ranks, i / ranks, rank, &count);
        CUDA_TRY(cudaMemcpy(mine->d_gives + mine->gives_at[i], list, count * sizeof(int),
                            cudaMemcpyHostToDevice));
    }
    return cudaSuccess;
}

/* Lays out the rank's rows, a column block a chunk. A segment of one nonzero is worth its read of C here: the
 * product would wait for all chunks otherwise. */
static cudaError_t lay_out(const spmm_plan *plan, const overlap *state, int rank, rank_part *mine)
{
    spmm_plan local = {.A = mine->rows.A, .N = plan->N, .contender = plan->contender};
    CUDA_TRY(renumber_columns(state, rank, mine));
    local.A.cols = (int)(state->order.chunks * mine->chunk_rows);
    binned_rows_choose(local.A.stats, local.N, local.tuning);
    binned_rows_shape shape = binned_rows_settle(&local);
    shape.pack = 0;
    shape.order = AS_THEY_COME;
    shape.shortest = 1;
    shape.blocks = state->order.chunks;
    return binned_rows_build(ON_DEVICE, &local, &shape, &mine->blocks);
}

static cudaError_t prepare_rank(exchange_rank *r, void *context)
{
    const spmm_plan *const plan = (const spmm_plan *)context;
    const spmm_matrix &A = plan->A;
    overlap *const state = (overlap *)plan->state;
    rank_part *const mine = &state->part[r->rank];
    const int64_t begin = state->first_row[r->rank], end = state->first_row[r->rank + 1];
    mine->chunk_rows =
        is_packed(plan) ? state->named.width[r->rank] : arrival_chunk_rows(&state->order);
    const size_t places = (size_t)mine->chunk_rows * state->order.chunks;
    CUDA_TRY(cudaMalloc((void **)&mine->d_B, places * plan->N * sizeof(float) + 1));
    if (is_packed(plan)) CUDA_TRY(prepare_packing(plan, state, r->rank, mine));
    for (int k = 0; k < state->order.chunks; k++)
        CUDA_TRY(cudaEventCreateWithFlags(&mine->arrived[k], cudaEventDisableTiming));
    if (begin == end) return cudaDeviceSynchronize();
    CUDA_TRY(row_range_make(A.host, A.d_col_idx, begin, end, sizeof(float), &mine->rows));
    CUDA_TRY(row_range_set_values(&mine->rows, A.host, A.d_values));
    CUDA_TRY(lay_out(plan, state, r->rank, mine));
    return cudaDeviceSynchronize(); /* copies between devices are there */
}

static cudaError_t release_rank(exchange_rank *r, void *context)
{
    rank_part *const mine = &((overlap *)context)->part[r->rank];
    binned_rows_free(mine->blocks);
    row_range_free(&mine->rows);
    cudaFree(mine->d_B);
    cudaFree(mine->d_gives);
    cudaFree(mine->d_given);
    cudaFree(mine->d_taken);
    for (int k = 0; k < MOST_CHUNKS; k++)
        if (mine->arrived[k]) cudaEventDestroy(mine->arrived[k]);
    return cudaSuccess;
}

static void release(spmm_plan *plan)
{
    overlap *const state = (overlap *)plan->state;
    if (state->ranks) state->ranks->kind->each(state->ranks, release_rank, state);
    named_rows_free(&state->named);
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
    if (is_packed(plan) && !named_rows_make(&state->named, A, state->first_row, &state->order,
                                            plan->tuning[TUNE_ROWS] == ALL))
        return cudaErrorMemoryAllocation;
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

/* Copies rows of B to where the wire takes them, in its precision. */
template <class H> struct pack {
    const float *B; /* from the rank's first row on */
    const int *rows;
    int64_t first;
    int N;
    H *given;

    __device__ void operator()(int64_t i) const
    {
        given[i] = narrow<H>(B[(rows[i / N] - first) * N + i % N]);
    }
};

struct unpack {
    const __half *taken;
    float *B;

    __device__ void operator()(int64_t i) const { B[i] = widen(taken[i]); }
};

/* Packs all that the rank gives, on the wire stream. */
static cudaError_t pack_rank(exchange_rank *r, void *context)
{
    const product *const p = (const product *)context;
    const overlap *const state = (const overlap *)p->plan->state;
    const rank_part *const mine = &state->part[r->rank];
    const int N = p->plan->N;
    const float *const B = (const float *)exchange_home_of(&state->B, r->rank, p->B);
    const int64_t first = state->B.first[r->rank];
    const int64_t count = mine->gives_at[state->order.chunks * state->order.ranks] * N;
    if (p->plan->tuning[TUNE_WIRE] == WIRE_FP16)
        return device_parallel_for(
            count, pack<__half>{B, mine->d_gives, first, N, (__half *)mine->d_given}, r->wire);
    return device_parallel_for(
        count, pack<float>{B, mine->d_gives, first, N, (float *)mine->d_given}, r->wire);
}

/* Enqueues the exchange of a chunk of packed rows. */
static cudaError_t swap_chunk(const product *p, exchange_rank *r, int chunk)
{
    const overlap *const state = (const overlap *)p->plan->state;
    exchange *const ranks = state->ranks;
    const rank_part *const mine = &state->part[r->rank];
    const size_t row_bytes = p->plan->N * wire_bytes(p->plan);
    char *const taken = mine->d_taken ? mine->d_taken : (char *)mine->d_B;
    exchange_parcel parcels[EXCHANGE_MOST_RANKS];
    int64_t rows = 0, count;
    for (int q = 0; q < ranks->ranks; q++) {
        const rank_part *const other = &state->part[q];
        const int64_t *const gives = &mine->gives_at[chunk * ranks->ranks + q];
        const int64_t theirs = other->gives_at[chunk * ranks->ranks + r->rank];
        named_rows_list(&state->named, r->rank, chunk, q, &count);
        parcels[q] = exchange_parcel{
            .give = mine->d_given + gives[0] * row_bytes,
            .give_bytes = (gives[1] - gives[0]) * row_bytes,
            .from = other->d_given + theirs * row_bytes,
            .take = taken + named_rows_place(&state->named, r->rank, chunk, q) * row_bytes,
            .take_bytes = count * row_bytes};
        rows += count;
    }
    CUDA_TRY(ranks->kind->swap(ranks, r, parcels));
    if (!mine->d_taken) return cudaSuccess;
    const int64_t at = chunk * mine->chunk_rows * p->plan->N;
    return device_parallel_for(rows * p->plan->N,
                               unpack{(const __half *)mine->d_taken + at, mine->d_B + at}, r->wire);
}

/* Enqueues the gathering of a chunk. */
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
    return ranks->kind->gather(ranks, r, pieces, mine->d_B);
}

/* The last chunk whose rows of B a column block names; -1: it names none. Column block 0 has the empty rows
 * alone, unless it has all. */
static int last_chunk_of(const overlap *state, const rank_part *mine, int block)
{
    if (mine->blocks->column_blocks == 1) return state->order.chunks - 1;
    const int64_t end = (int64_t)block * mine->blocks->split.block_cols;
    const int64_t last = (end - 1) / mine->chunk_rows;
    return block == 0 ? -1 : (int)min(last, (int64_t)state->order.chunks - 1);
}

static cudaError_t launch_block(const product *p, const exchange_rank *r, int block)
{
    const overlap *const state = (const overlap *)p->plan->state;
    const rank_part *const mine = &state->part[r->rank];
    const binned_rows_kernel kernel = binned_rows_kernel_of<chunk_kernels>(mine->blocks);
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
    for (int k = 0; k < state->order.chunks; k++) {
        CUDA_TRY(is_packed(p->plan) ? swap_chunk(p, r, k) : gather_chunk(p, r, k));
        CUDA_TRY(cudaEventRecord(mine->arrived[k], r->wire));
    }
    if (!mine->blocks) return cudaSuccess; /* no rows; the others have its part */
    /* BEGIN STUDENT: let each column block wait for the chunks that it needs, and launch it */
    for (int block = 0; block < mine->blocks->column_blocks; block++) {
        const int last = last_chunk_of(state, mine, block);
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
    if (is_packed(plan)) {
        CUDA_TRY(ranks->kind->each(ranks, pack_rank, &p));
        CUDA_TRY(exchange_meet(ranks)); /* rows of others are packed before they are taken */
    }
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

/* Rounding B to fp16 is off by 2^-11, which is 2^13 times fp32's 2^-24. Below 2^-14 fp16 has steps of 2^-24, and the
 * harness draws multiples of 2^-23. */
static double product_rounding(const int *tuning)
{
    return tuning[TUNE_WIRE] == WIRE_FP16 ? 1 << 13 : 0;
}

static const char *const WHICH[] = {"all", "named"}, *const WIRES[] = {"fp32", "fp16"};

static spmm_contender lab71 = {
    .base = {.lab = 71,
             .after = 70,
             .name = "overlapped_communication",
             .summary = "B arrives in chunks, and those that are there are multiplied",
             .untimed = exchange_untimed,
             .product_rounding = product_rounding,
             .tunables = {{"RANKS", "partners that share the product", {1, 3, 8}, 3, 3},
                          {"CHUNKS", "pieces of a rank's part of B", {1, 2, 4, 16}, 4, 4},
                          {.name = "ROWS",
                           .meaning = "of B that travel: all, or those that a rank names",
                           .values = {ALL, NAMED},
                           .num_values = 2,
                           .initial = ALL,
                           .names = WHICH},
                          {.name = "WIRE",
                           .meaning = "the precision of B on its way",
                           .values = {WIRE_FP32, WIRE_FP16},
                           .num_values = 2,
                           .initial = WIRE_FP32,
                           .names = WIRES}}},
    .prepare = prepare,
    .run = run,
    .update_values = update_values,
    .distribute = distribute,
    .collect = collect,
    .release = release,
};
SPMM_REGISTER(lab71)
