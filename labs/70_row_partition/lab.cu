/*
 * Lab 70 - row partition: a range of rows of C for each of several GPUs.
 *
 * Idea      Rows of C depend on nothing but their rows of A and on B. So P ranks take a range each, cut
 *           where the work before (nonzeros, and 4 for each row) reaches a P-th, 2 P-ths ... of all.
 * Changed   A rank's product is the rule's (labs 15 and 99). New is what it needs of the others: each rank
 *           has 1 / P of B, and gathers the rest before it multiplies; or all have all of B.
 * Run       make lab70 && ./lab70 arxiv 32 --set RANKS=8, or on 8 GPUs --devices 8
 * Watch     An empty rank takes part in the exchange, too: who calls fewer times than the others hangs them.
 *           Without --devices all ranks share a device (a loopback), so no time is shown.
 * Paper     O. Selvitopi et al.: Distributed-memory parallel algorithms for SpMM, ICS 2021
 */
#include "device/cuda_try.h"
#include "exchange/home.h"
#include "formats/row_ranges.h"
#include "ops/spmm.h"

#include <stdlib.h>

enum { TUNE_RANKS, TUNE_B };
enum { REPLICATED, GATHERED };

/* A rank: its rows of A, the plan of its product, and room for all of B. */
struct rank_part {
    row_range rows;
    spmm_plan local;
    char *d_B;            /* NULL where B is replicated */
    cudaEvent_t gathered; /* all of B is there */
};

struct partition {
    exchange *ranks;
    int64_t first_row[EXCHANGE_MOST_RANKS + 1]; /* of A and C, of each rank */
    exchange_home B, C;                         /* rows of B and C on the devices of their ranks */
    rank_part part[EXCHANGE_MOST_RANKS];
};

static size_t element_bytes(const spmm_plan *plan)
{
    return precision_format(plan->contender->base.precision)->bytes;
}

static const void *values_of(const spmm_plan *plan)
{
    return plan->A.d_values ? plan->A.d_values : plan->A.d_values16;
}

/* ---- prepare --------------------------------------------------------------------------------- */

/* Makes the rank's rows of A and its plan: the best of this program by the rule. */
static cudaError_t prepare_rank(exchange_rank *r, void *context)
{
    spmm_plan *const plan = (spmm_plan *)context;
    const spmm_matrix &A = plan->A;
    partition *const state = (partition *)plan->state;
    rank_part *const mine = &state->part[r->rank];
    const int64_t *const first = state->first_row;
    if (plan->tuning[TUNE_B] == GATHERED) {
        CUDA_TRY(
            cudaMalloc((void **)&mine->d_B, (size_t)A.cols * plan->N * element_bytes(plan) + 1));
        CUDA_TRY(cudaEventCreateWithFlags(&mine->gathered, cudaEventDisableTiming));
    }
    int64_t begin = 0, end = 0;
    /* BEGIN STUDENT: which rows are the rank's */
    begin = first[r->rank];
    end = first[r->rank + 1];
    /* END STUDENT */
    if (begin == end) return cudaSuccess; /* no rows, no product */
    CUDA_TRY(row_range_make(A.host, A.d_col_idx, begin, end, element_bytes(plan), &mine->rows));
    CUDA_TRY(row_range_set_values(&mine->rows, A.host, values_of(plan)));
    mine->local = spmm_plan{.A = mine->rows.A, .N = plan->N, .contender = plan->contender};
    const cudaError_t error = spmm_nest_named(&mine->local, "open", NULL);
    CUDA_TRY(error == cudaErrorNotSupported ? spmm_nest_named(&mine->local, "selection", NULL)
                                            : error);
    return cudaDeviceSynchronize(); /* copies between devices are there */
}

/* Makes room for rows of B and C where ranks have devices of their own. */
static cudaError_t make_homes(const spmm_plan *plan, partition *state)
{
    const exchange *const ranks = state->ranks;
    const size_t row_bytes = plan->N * element_bytes(plan);
    int64_t part[EXCHANGE_MOST_RANKS + 1];
    for (int q = 0; q <= ranks->ranks; q++)
        part[q] = exchange_part(plan->A.cols, ranks->ranks, q);
    CUDA_TRY(exchange_home_cut(&state->C, ranks, state->first_row, row_bytes));
    return plan->tuning[TUNE_B] == GATHERED
               ? exchange_home_cut(&state->B, ranks, part, row_bytes)
               : exchange_home_whole(&state->B, ranks, plan->A.cols, row_bytes);
}

static cudaError_t release_rank(exchange_rank *r, void *context)
{
    rank_part *const mine = &((partition *)context)->part[r->rank];
    spmm_nested_release(&mine->local);
    row_range_free(&mine->rows);
    cudaFree(mine->d_B);
    if (mine->gathered) cudaEventDestroy(mine->gathered);
    return cudaSuccess;
}

static void release(spmm_plan *plan)
{
    partition *const state = (partition *)plan->state;
    if (state->ranks) state->ranks->kind->each(state->ranks, release_rank, state);
    exchange_home_free(&state->B);
    exchange_home_free(&state->C);
    exchange_close(state->ranks);
    free(state);
    plan->state = NULL;
}

static cudaError_t prepare(spmm_plan *plan)
{
    const csr_matrix *const A = plan->A.host;
    partition *const state = (partition *)calloc(1, sizeof *state);
    plan->state = state;
    if (!state) return cudaErrorMemoryAllocation;
    cudaError_t error = exchange_open(plan->tuning[TUNE_RANKS], &state->ranks);
    if (error == cudaSuccess) {
        plan->tuning[TUNE_RANKS] = state->ranks->ranks;
        row_ranges_cut(A->row_ptr, A->rows, state->ranks->ranks, state->first_row);
        error = make_homes(plan, state);
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
    const char *B;
    char *C;
};

/* Enqueues the gathering of B on the rank's wire stream, and lets its work stream wait for it. */
static cudaError_t gather(const product *p, exchange_rank *r)
{
    partition *const state = (partition *)p->plan->state;
    exchange *const ranks = state->ranks;
    rank_part *const mine = &state->part[r->rank];
    const size_t row_bytes = p->plan->N * element_bytes(p->plan);
    exchange_piece pieces[EXCHANGE_MOST_RANKS];
    for (int q = 0; q < ranks->ranks; q++) {
        const int64_t from = exchange_part(p->plan->A.cols, ranks->ranks, q);
        const int64_t end = exchange_part(p->plan->A.cols, ranks->ranks, q + 1);
        pieces[q] = {exchange_home_of(&state->B, q, p->B), (end - from) * row_bytes,
                     from * row_bytes};
    }
    /* BEGIN STUDENT: gather B; products wait until all of it is there */
    CUDA_TRY(ranks->kind->gather(ranks, r, pieces, mine->d_B));
    CUDA_TRY(cudaEventRecord(mine->gathered, r->wire));
    CUDA_TRY(cudaStreamWaitEvent(r->work, mine->gathered, 0));
    /* END STUDENT */
    return cudaSuccess;
}

/* Enqueues the rank's share of a product. A rank without rows gathers as well: the others need its part. */
static cudaError_t run_rank(exchange_rank *r, void *context)
{
    const product *const p = (const product *)context;
    partition *const state = (partition *)p->plan->state;
    const spmm_plan *const local = &state->part[r->rank].local;
    const void *B = exchange_home_of(&state->B, r->rank, p->B);
    cudaError_t error = cudaSuccess;
    if (p->plan->tuning[TUNE_B] == GATHERED) {
        CUDA_TRY(gather(p, r));
        B = state->part[r->rank].d_B;
    }
    if (!local->nested) return cudaSuccess; /* no rows */
    /* BEGIN STUDENT: multiply into the rank's rows of C */
    void *const C = exchange_home_of(&state->C, r->rank, p->C);
    error = p->plan->contender->base.precision == PRECISION_FP32
                ? spmm_nested_run(local, (const float *)B, (float *)C, r->work)
                : spmm_nested_run16(local, B, C, r->work);
    /* END STUDENT */
    return error;
}

static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    exchange *const ranks = ((partition *)plan->state)->ranks;
    product p = {plan, (const char *)B, (char *)C};
    CUDA_TRY(exchange_fork(ranks, stream));
    CUDA_TRY(ranks->kind->each(ranks, run_rank, &p));
    return exchange_join(ranks, stream);
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    return run16(plan, B, C, stream);
}

/* B goes to its homes, and so does C: what a run must write shows, since it holds garbage before. */
static cudaError_t distribute(const spmm_plan *plan, const void *B, const void *C)
{
    const partition *const state = (const partition *)plan->state;
    CUDA_TRY(exchange_distribute(&state->B, state->ranks, B));
    return exchange_distribute(&state->C, state->ranks, C);
}

static cudaError_t collect(const spmm_plan *plan, void *C)
{
    const partition *const state = (const partition *)plan->state;
    return exchange_collect(&state->C, state->ranks, C);
}

/* ---- new values ------------------------------------------------------------------------------ */

static cudaError_t update_rank(exchange_rank *r, void *context)
{
    spmm_plan *const plan = (spmm_plan *)context;
    rank_part *const mine = &((partition *)plan->state)->part[r->rank];
    if (!mine->local.nested) return cudaSuccess;
    CUDA_TRY(row_range_set_values(&mine->rows, plan->A.host, values_of(plan)));
    CUDA_TRY(spmm_nested_update_values(&mine->local));
    return cudaDeviceSynchronize();
}

static cudaError_t update_values(spmm_plan *plan)
{
    exchange *const ranks = ((partition *)plan->state)->ranks;
    return ranks->kind->each(ranks, update_rank, plan);
}

static const char *const WAYS[] = {"replicated", "gathered"};

#define ROW_PARTITION(title, kind)                                                           \
    static spmm_contender title = {                                                          \
        .base = {.lab = 70,                                                                  \
                 .after = 15,                                                                \
                 .name = #title,                                                             \
                 .summary = "a range of rows a rank; B on all of them, or gathered",         \
                 .precision = kind,                                                          \
                 .untimed = exchange_untimed,                                                \
                 .tunables = {{"RANKS", "partners that share the product", {1, 3, 8}, 3, 3}, \
                              {.name = "B",                                                  \
                               .meaning = "all of it on every rank, or 1 / RANKS",           \
                               .values = {REPLICATED, GATHERED},                             \
                               .num_values = 2,                                              \
                               .initial = GATHERED,                                          \
                               .names = WAYS}}},                                             \
        .prepare = prepare,                                                                  \
        .run = run,                                                                          \
        .run16 = run16,                                                                      \
        .update_values = update_values,                                                      \
        .distribute = distribute,                                                            \
        .collect = collect,                                                                  \
        .release = release,                                                                  \
    };                                                                                       \
    SPMM_REGISTER(title)

ROW_PARTITION(row_partition, PRECISION_FP32);
ROW_PARTITION(row_partition_fp16, PRECISION_FP16);
