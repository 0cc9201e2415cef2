/*
 * open.cu - contenders for the kernel matrix, of lab 20's plans: those made on the host and on the GPU
 * must be the same to the bit, packed rows in the order that was asked for; a plan that was given new values must
 * multiply those, and passes may overlap.
 */
#include "labs/10_row_swizzle/tile.h"
#include "labs/20_open/choice.h"
#include "labs/20_open/gather.h"

#include <stdlib.h>
#include <string.h>

#include <vector>

static const spmm_contender *lab20(void)
{
    const contender *c = contenders();
    while (c && c->lab != 20)
        c = c->next;
    return (const spmm_contender *)c;
}

/* ---- the host and the GPU -------------------------------------------------------------------- */

static bool same_bytes(const void *d_one, const void *d_other, size_t bytes)
{
    std::vector<unsigned char> one(bytes + 1), other(bytes + 1);
    if (bytes == 0) return true;
    return cudaMemcpy(one.data(), d_one, bytes, cudaMemcpyDeviceToHost) == cudaSuccess &&
           cudaMemcpy(other.data(), d_other, bytes, cudaMemcpyDeviceToHost) == cudaSuccess &&
           one == other;
}

template <class T> static bool same(const T *d_one, const T *d_other, int64_t count)
{
    return same_bytes(d_one, d_other, (size_t)count * sizeof(T));
}

static bool same_passes(const passes_plan &a, const passes_plan &b, int rows)
{
    const int used = a.first[a.passes * NUM_BINS], longs = a.first_long[a.passes];
    return a.passes == b.passes && !memcmp(a.first, b.first, sizeof a.first) &&
           !memcmp(a.packet, b.packet, sizeof a.packet) &&
           !memcmp(a.first_long, b.first_long, sizeof a.first_long) &&
           !memcmp(a.first_part, b.first_part, sizeof a.first_part) &&
           a.packets_at == b.packets_at && a.num_pairs == b.num_pairs &&
           same(a.d_place, b.d_place, (int64_t)a.passes * rows) && same(a.d_row, b.d_row, used) &&
           same(a.d_span, b.d_span, used) && same(a.d_pairs, b.d_pairs, a.num_pairs) &&
           same(a.d_part, b.d_part, a.first_part[a.passes]) &&
           (longs == 0 || same(a.d_first_part_of, b.d_first_part_of, longs + 1));
}

static int column_of(const csr_matrix *A, int row, int order)
{
    return A->col_idx[order == BY_FIRST_COLUMN ? A->row_ptr[row] : A->row_ptr[row + 1] - 1];
}

/* Whether in each bin of packets the columns that rows are ordered by ascend; no result shows that. */
static bool is_in_order(const csr_matrix *A, const passes_plan &p)
{
    std::vector<int> row(p.first[EMPTY]);
    if (p.shape.order == AS_THEY_COME || row.empty()) return true;
    if (cudaMemcpy(row.data(), p.d_row, row.size() * sizeof(int), cudaMemcpyDeviceToHost))
        return false;
    for (int b = PACK_16; b < EMPTY; b++)
        for (int i = p.first[b] + 1; i < p.first[b + 1]; i++)
            if (column_of(A, row[i - 1], p.shape.order) > column_of(A, row[i], p.shape.order))
                return false;
    return true;
}

static cudaError_t compare_passes(const spmm_plan *plan, const passes_shape &shape)
{
    passes_plan of_host, of_gpu;
    CUDA_TRY(passes_build(ON_HOST, plan, &shape, &of_host));
    cudaError_t error = passes_build(ON_DEVICE, plan, &shape, &of_gpu);
    if (error == cudaSuccess && plan->A.rows > 0 &&
        !(same_passes(of_host, of_gpu, plan->A.rows) && is_in_order(plan->A.host, of_host)))
        error = cudaErrorUnknown;
    passes_free(&of_host);
    passes_free(&of_gpu);
    return error;
}

static bool same_tiles(const tile_plan &a, const tile_plan &b, int rows)
{
    const int64_t segments = (int64_t)a.tiles * rows;
    return a.tiles == b.tiles && a.chunks == b.chunks && a.num_pairs == b.num_pairs &&
           same(a.d_place, b.d_place, segments) && same(a.d_segment, b.d_segment, segments) &&
           same(a.d_first, b.d_first, (int64_t)a.chunks * a.tiles + 1) &&
           same(a.d_chunk_row, b.d_chunk_row, a.chunks + 1) &&
           same(a.d_pairs, b.d_pairs, a.num_pairs);
}

static cudaError_t compare_tiles(const spmm_plan *plan, const tile_shape &shape)
{
    tile_plan of_host, of_gpu;
    CUDA_TRY(tile_build(ON_HOST, plan, &shape, &of_host));
    cudaError_t error = tile_build(ON_DEVICE, plan, &shape, &of_gpu);
    if (error == cudaSuccess && plan->A.rows > 0 && !same_tiles(of_host, of_gpu, plan->A.rows))
        error = cudaErrorUnknown;
    tile_free(&of_host);
    tile_free(&of_gpu);
    return error;
}

static cudaError_t compare_locality(const spmm_plan *plan)
{
    locality of_host, of_gpu;
    CUDA_TRY(locality_measure(ON_HOST, &plan->A, &of_host));
    CUDA_TRY(locality_measure(ON_DEVICE, &plan->A, &of_gpu));
    return memcmp(&of_host, &of_gpu, sizeof of_host) ? cudaErrorUnknown : cudaSuccess;
}

static cudaError_t prepare_lab20(spmm_plan *plan);

static cudaError_t prepare_both(spmm_plan *plan)
{
    const passes_shape shapes[] = {
        {.serial = 64, .pack = 16},
        {.serial = 128, .pack = 0, .window = 16},
        {.serial = 64, .pack = 16, .order = BY_FIRST_COLUMN},
        {.serial = 64, .pack = 16, .blocks = 4, .shortest = 2},
        {.serial = 64,
         .pack = 16,
         .window = 16,
         .order = BY_LAST_COLUMN,
         .blocks = 4,
         .shortest = 2},
        {.serial = 64, .pack = 0, .window = 32, .blocks = 64, .shortest = 1},
    };
    if (plan->N > 1) return prepare_lab20(plan); /* of C a plan knows the lanes of a group alone */
    for (const int lanes : {4, 8, 16, 32})
        for (passes_shape shape : shapes) {
            shape.lanes = lanes;
            shape.slices = 1;
            CUDA_TRY(compare_passes(plan, shape));
        }
    CUDA_TRY(compare_tiles(plan, {.row_lanes = 8, .threads = 384, .waves = 4}));
    CUDA_TRY(compare_tiles(plan, {.row_lanes = 32, .threads = 768, .waves = 1}));
    CUDA_TRY(compare_locality(plan));
    return prepare_lab20(plan);
}

/* ---- lab 20 inside ---------------------------------------------------------------------------- */

typedef struct inside {
    spmm_plan plan; /* the lab's own */
    float *d_values;
} inside;

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    return lab20()->run(&((const inside *)plan->state)->plan, B, C, stream);
}

static void release(spmm_plan *plan)
{
    inside *in = (inside *)plan->state;
    lab20()->release(&in->plan);
    cudaFree(in->d_values);
    free(in);
}

/* A plan of the lab, made while the values were other ones if `stale`. */
static cudaError_t prepare_inside(spmm_plan *plan, const int *tuning, bool stale)
{
    inside *in = (inside *)calloc(1, sizeof *in);
    const size_t bytes = plan->A.nnz * sizeof(float);
    cudaError_t error;
    plan->state = in;
    if (!in) return cudaErrorMemoryAllocation;
    in->plan = *plan;
    in->plan.contender = lab20();
    memcpy(in->plan.tuning, tuning, sizeof in->plan.tuning);
    CUDA_TRY_GOTO(error, failed, cudaMalloc((void **)&in->d_values, bytes + 1));
    if (stale) {
        in->plan.A.d_values = in->d_values;
        CUDA_TRY_GOTO(error, failed, cudaMemset(in->d_values, 0x40, bytes));
    }
    CUDA_TRY_GOTO(error, failed, lab20()->prepare(&in->plan));
    if (!stale) return cudaSuccess;
    CUDA_TRY_GOTO(error, failed,
                  cudaMemcpy(in->d_values, plan->A.d_values, bytes, cudaMemcpyDeviceToDevice));
    error = lab20()->update_values(&in->plan);
    if (error == cudaSuccess) return cudaSuccess;
    lab20()->release(&in->plan);
failed:
    cudaFree(in->d_values);
    free(in);
    return error;
}

static cudaError_t prepare_lab20(spmm_plan *plan)
{
    int tuning[MAX_TUNABLES];
    spmm_choose(lab20(), plan->A.stats, plan->N, tuning);
    return prepare_inside(plan, tuning, false);
}

static spmm_contender both_sites = {
    .base = {.lab = 120, .name = "plans of host and GPU"},
    .prepare = prepare_both,
    .run = run,
    .release = release,
};
SPMM_REGISTER(both_sites)

/* ---- new values ------------------------------------------------------------------------------- */

/* What the values are given to. */
enum { PLAN_OF_ROWS, PLAN_OF_PASSES, PLAN_OF_TILES, PLAN_OF_FRAGMENTS };

static cudaError_t prepare_stale(spmm_plan *plan)
{
    static const int FAMILY[] = {GATHER, GATHER, TILE_8, FRAGMENTS};
    const int kind = plan->tuning[0];
    int tuning[MAX_TUNABLES];
    spmm_choose(lab20(), plan->A.stats, plan->N, tuning);
    tuning[TUNE_FAMILY] = FAMILY[kind];
    tuning[TUNE_BLOCKS] = kind == PLAN_OF_PASSES ? 4 : 0;
    tuning[TUNE_PACK] = 16;
    tuning[TUNE_SHORTEST] = 2;
    return prepare_inside(plan, tuning, true);
}

static spmm_contender new_values = {
    .base = {.lab = 220,
             .name = "values given later",
             .tunables = {{"PLAN",
                           "whose values are new",
                           {PLAN_OF_ROWS, PLAN_OF_PASSES, PLAN_OF_TILES, PLAN_OF_FRAGMENTS},
                           4}}},
    .prepare = prepare_stale,
    .run = run,
    .release = release,
};
SPMM_REGISTER(new_values)

/* ---- passes that overlap ---------------------------------------------------------------------- */

/* With segments of every bin, of the longest too. Choices for matrices so small have no blocks, so no sweep
 * around a choice comes here. */
static cudaError_t prepare_overlapping(spmm_plan *plan)
{
    int tuning[MAX_TUNABLES];
    spmm_choose(lab20(), plan->A.stats, plan->N, tuning);
    tuning[TUNE_FAMILY] = GATHER;
    tuning[TUNE_SERIAL] = 64;
    tuning[TUNE_PACK] = 16;
    tuning[TUNE_BLOCKS] = 2;
    tuning[TUNE_SHORTEST] = 1;
    tuning[TUNE_OVERLAP] = 1;
    return prepare_inside(plan, tuning, false);
}

static spmm_contender overlapping = {
    .base = {.lab = 320, .name = "passes that overlap"},
    .prepare = prepare_overlapping,
    .run = run,
    .release = release,
};
SPMM_REGISTER(overlapping)
