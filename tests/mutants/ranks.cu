/*
 * ranks.cu - mutants of labs 70 and 71: three ranks of a loopback gather B in two chunks, multiply what is there,
 * and each writes its rows of C; and the ways to get each of them wrong.
 */
#include "mutant.h"

#include "device/cuda_try.h"
#include "exchange/exchange.h"
#include "formats/row_ranges.h"

enum bug {
    HEALTHY_RANKS,
    LAST_PART_LOST,
    OFFSETS_NOT_REBASED,
    ROWS_NOT_REBASED,
    EMPTY_ROWS_LEFT_OUT,
    CHUNK_TOO_EARLY,
    FIRST_CHUNK_ADDS,
    LATER_CHUNK_STORES,
    STALE_PART,
    HEALTHY_PARCELS,
    OWN_PARCEL_LEFT_OUT,
    PARCEL_OF_THE_FIRST_CHUNK,
};

constexpr int RANKS = 3, CHUNKS = 2, THREADS = 32;

/* State of a plan: where ranges begin, and the gathered chunks of each rank, one behind the other. */
struct ranks_state {
    exchange *ranks;
    int64_t first[RANKS + 1];
    float *d_B[RANKS];
    int runs;
};

/* Rows of chunk c of the part of rank q, in B. */
static __host__ __device__ void chunk_rows(int cols, int q, int c, int *from, int *end)
{
    const int begin = (int)((int64_t)cols * q / RANKS),
              stop = (int)((int64_t)cols * (q + 1) / RANKS);
    *from = begin + (stop - begin) * c / CHUNKS;
    *end = begin + (stop - begin) * (c + 1) / CHUNKS;
}

/* One block a row and a slice: the products of the nonzeros whose rows of B the chunk has. */
template <bug BUG>
__global__ void spmm_rank_mutant_kernel(int first_row, int nnz, int cols, int N, int chunk,
                                        const int *row_ptr, const int *col_idx, const float *values,
                                        const float *gathered, float *C)
{
    const int local = blockIdx.x, j = blockIdx.y * THREADS + threadIdx.x;
    const int row = first_row + local;
    const int base = BUG == OFFSETS_NOT_REBASED ? row_ptr[first_row] : 0;
    float sum = 0;
    if (j >= N) return;
    if (BUG == EMPTY_ROWS_LEFT_OUT && row_ptr[row] == row_ptr[row + 1]) return;
    for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++) {
        /* Offsets that are not rebased are added to arrays that begin at the range. */
        const int at = (k + base) % nnz;
        int before = 0;
        for (int q = 0; q < RANKS; q++) {
            int from, end;
            chunk_rows(cols, q, chunk, &from, &end);
            if (col_idx[at] >= from && col_idx[at] < end)
                sum += values[at] * gathered[(size_t)(before + col_idx[at] - from) * N + j];
            before += end - from;
        }
    }
    float *const out = &C[(size_t)(BUG == ROWS_NOT_REBASED ? local : row) * N + j];
    const bool stores = chunk == 0 ? BUG != FIRST_CHUNK_ADDS : BUG == LATER_CHUNK_STORES;
    *out = stores ? sum : *out + sum;
}

static void release(spmm_plan *plan)
{
    ranks_state *const state = (ranks_state *)plan->state;
    exchange_close(state->ranks);
    for (int r = 0; r < RANKS; r++)
        cudaFree(state->d_B[r]);
    free(state);
}

static cudaError_t prepare(spmm_plan *plan)
{
    ranks_state *const state = (ranks_state *)calloc(1, sizeof *state);
    plan->state = state;
    if (!state) return cudaErrorMemoryAllocation;
    cudaError_t error = exchange_open_loopback(RANKS, &state->ranks);
    const size_t bytes = (size_t)plan->A.cols * plan->N * sizeof(float) + 1;
    for (int r = 0; r < RANKS && error == cudaSuccess; r++) {
        error = cudaMalloc((void **)&state->d_B[r], bytes);
        if (error == cudaSuccess) error = cudaMemset(state->d_B[r], 0xff, bytes); /* NaN */
    }
    row_ranges_cut(plan->A.host->row_ptr, plan->A.rows, RANKS, state->first);
    if (error != cudaSuccess) release(plan);
    return error;
}

struct product {
    const spmm_plan *plan;
    const float *B;
    float *C;
};

/* The same by parcels between pairs, which lab 71 packs: here they lie in B as they are. */
template <bug BUG>
static cudaError_t swap_parcels(const product *p, exchange_rank *r, int chunk, float *to)
{
    const ranks_state *const state = (const ranks_state *)p->plan->state;
    const size_t row_bytes = p->plan->N * sizeof(float);
    exchange_parcel parcels[RANKS];
    size_t at = 0;
    for (int q = 0; q < RANKS; q++) {
        int from, end, first, none, own, own_end;
        chunk_rows(p->plan->A.cols, q, chunk, &from, &end);
        chunk_rows(p->plan->A.cols, q, 0, &first, &none);
        chunk_rows(p->plan->A.cols, r->rank, chunk, &own, &own_end);
        const bool is_left_out = BUG == OWN_PARCEL_LEFT_OUT && q == r->rank;
        parcels[q] = exchange_parcel{
            .give = p->B + (size_t)own * p->plan->N,
            .give_bytes = (own_end - own) * row_bytes,
            .from = p->B + (size_t)(BUG == PARCEL_OF_THE_FIRST_CHUNK ? first : from) * p->plan->N,
            .take = (char *)to + at,
            .take_bytes = is_left_out ? 0 : (end - from) * row_bytes};
        at += (end - from) * row_bytes;
    }
    return state->ranks->kind->swap(state->ranks, r, parcels);
}

template <bug BUG>
static cudaError_t gather(const product *p, exchange_rank *r, int chunk, float *to)
{
    const ranks_state *const state = (const ranks_state *)p->plan->state;
    exchange_piece pieces[RANKS];
    size_t at = 0;
    if (BUG >= HEALTHY_PARCELS) return swap_parcels<BUG>(p, r, chunk, to);
    for (int q = 0; q < RANKS; q++) {
        int from, end;
        chunk_rows(p->plan->A.cols, q, chunk, &from, &end);
        const size_t bytes = (size_t)(end - from) * p->plan->N * sizeof(float);
        const bool is_cut = BUG == LAST_PART_LOST && q == RANKS - 1;
        pieces[q] = {p->B + (size_t)from * p->plan->N, bytes - (is_cut ? bytes % 4096 : 0), at};
        at += bytes;
    }
    return state->ranks->kind->gather(state->ranks, r, pieces, to);
}

template <bug BUG> static cudaError_t run_rank(exchange_rank *r, void *context)
{
    const product *const p = (const product *)context;
    const ranks_state *const state = (const ranks_state *)p->plan->state;
    const spmm_matrix &A = p->plan->A;
    const int first = (int)state->first[r->rank], rows = (int)state->first[r->rank + 1] - first;
    float *to = state->d_B[r->rank];
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        const bool skips = BUG == STALE_PART && state->runs > 1;
        const bool early = BUG == CHUNK_TOO_EARLY && chunk > 0;
        const dim3 grid(rows, (p->plan->N + THREADS - 1) / THREADS);
        if (!early && !skips) CUDA_TRY(gather<BUG>(p, r, chunk, to));
        if (rows > 0)
            spmm_rank_mutant_kernel<BUG>
                <<<grid, THREADS, 0, r->wire>>>(first, A.nnz, A.cols, p->plan->N, chunk,
                                                A.d_row_ptr, A.d_col_idx, A.d_values, to, p->C);
        CUDA_TRY(cudaGetLastError());
        if (early) CUDA_TRY(gather<BUG>(p, r, chunk, to));
        for (int q = 0; q < RANKS; q++) {
            int from, end;
            chunk_rows(A.cols, q, chunk, &from, &end);
            to += (size_t)(end - from) * p->plan->N;
        }
    }
    return cudaSuccess;
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    ranks_state *const state = (ranks_state *)plan->state;
    product p = {plan, B, C};
    state->runs++;
    CUDA_TRY(exchange_fork(state->ranks, stream));
    CUDA_TRY(state->ranks->kind->each(state->ranks, run_rank<BUG>, &p));
    return exchange_join(state->ranks, stream);
}

static cudaError_t update_values(spmm_plan *)
{
    return cudaSuccess; /* the values are A's own */
}

#define RANKS_MUTANT(bug, diagnosis)                                       \
    static spmm_contender mutant_##bug = {                                 \
        .base = {.lab = SHOWS_ALWAYS, .name = #bug, .summary = diagnosis}, \
        .prepare = prepare,                                                \
        .run = run<bug>,                                                   \
        .update_values = update_values,                                    \
        .release = release,                                                \
    };                                                                     \
    SPMM_REGISTER(mutant_##bug)

RANKS_MUTANT(HEALTHY_RANKS, NULL)
RANKS_MUTANT(LAST_PART_LOST, "never written")
RANKS_MUTANT(OFFSETS_NOT_REBASED, "wrong values")
RANKS_MUTANT(ROWS_NOT_REBASED, "wrong values")
RANKS_MUTANT(EMPTY_ROWS_LEFT_OUT, "never written: only empty rows")
RANKS_MUTANT(CHUNK_TOO_EARLY, "never written")
RANKS_MUTANT(FIRST_CHUNK_ADDS, "adds to what it held before")
RANKS_MUTANT(LATER_CHUNK_STORES, "wrong values")
RANKS_MUTANT(STALE_PART, "with other inputs only")
RANKS_MUTANT(HEALTHY_PARCELS, NULL)
RANKS_MUTANT(OWN_PARCEL_LEFT_OUT, "never written")
RANKS_MUTANT(PARCEL_OF_THE_FIRST_CHUNK, "wrong values")
