/*
 * binned_rows.cu - contenders for the kernel matrix, of binned rows. Those laid out on the host and
 * on the GPU must be the same to the bit. Packed rows must be in the order that was asked for. A
 * plan that was given new values must multiply those. Column blocks in turn and overlapping must
 * work where the rule has none.
 */
#include "formats/binned_rows.cuh"
#include "formats/column_blocks.h"
#include "models/locality.h"

#include <string.h>

#include <vector>

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

static bool same_rows(const binned_rows &a, const binned_rows &b, int rows)
{
    const int used = a.first[a.column_blocks * NUM_BINS], longs = a.first_long[a.column_blocks];
    return a.column_blocks == b.column_blocks && !memcmp(a.first, b.first, sizeof a.first) &&
           !memcmp(a.first_pack, b.first_pack, sizeof a.first_pack) &&
           !memcmp(a.first_long, b.first_long, sizeof a.first_long) &&
           !memcmp(a.first_chunk, b.first_chunk, sizeof a.first_chunk) &&
           a.packs_at == b.packs_at && a.num_pairs == b.num_pairs &&
           same(a.d_place, b.d_place, (int64_t)a.column_blocks * rows) &&
           same(a.d_row, b.d_row, used) && same(a.d_span, b.d_span, used) &&
           same(a.d_pairs, b.d_pairs, a.num_pairs) &&
           same(a.d_chunk, b.d_chunk, a.first_chunk[a.column_blocks]) &&
           (longs == 0 || same(a.d_first_chunk_of, b.d_first_chunk_of, longs + 1));
}

static int column_of(const csr_matrix *A, int row, int order)
{
    return A->col_idx[order == BY_FIRST_COLUMN ? A->row_ptr[row] : A->row_ptr[row + 1] - 1];
}

/* Whether in each bin of packed rows the columns that rows are ordered by ascend; no result shows
 * that. */
static bool is_in_order(const csr_matrix *A, const binned_rows &a)
{
    std::vector<int> row(a.first[EMPTY]);
    if (a.shape.order == AS_THEY_COME || row.empty()) return true;
    if (cudaMemcpy(row.data(), a.d_row, row.size() * sizeof(int), cudaMemcpyDeviceToHost))
        return false;
    for (int b = PACK_16; b < EMPTY; b++)
        for (int i = a.first[b] + 1; i < a.first[b + 1]; i++)
            if (column_of(A, row[i - 1], a.shape.order) > column_of(A, row[i], a.shape.order))
                return false;
    return true;
}

/* Whether the bytes said are those of at least a pair a nonzero, and of no more than all arrays. */
static bool has_bytes(const spmm_matrix &A, const binned_rows &a)
{
    const size_t bytes = binned_rows_bytes(&a), pairs = A.nnz * sizeof(int2);
    return bytes >= pairs && bytes >= a.num_pairs * sizeof(int2);
}

/* Whether each nonzero has a slot of its own, and there the copy of its value. */
static bool slots_hold_values(const spmm_matrix &A, const binned_rows &a)
{
    std::vector<int> slot(A.nnz);
    std::vector<float> value(A.nnz), copy(2 * a.num_pairs);
    int *d_slot = NULL;
    float *d_copies;
    bool ok = allocate(ON_DEVICE, &d_slot, A.nnz) == cudaSuccess &&
              binned_rows_value_slots(&A, &a, d_slot, &d_copies) == cudaSuccess &&
              cudaMemcpy(slot.data(), d_slot, slot.size() * sizeof(int), cudaMemcpyDeviceToHost) ==
                  cudaSuccess &&
              cudaMemcpy(value.data(), A.d_values, value.size() * sizeof(float),
                         cudaMemcpyDeviceToHost) == cudaSuccess &&
              cudaMemcpy(copy.data(), d_copies, copy.size() * sizeof(float),
                         cudaMemcpyDeviceToHost) == cudaSuccess;
    cudaFree(d_slot);
    std::vector<bool> taken(copy.size());
    for (int z = 0; z < A.nnz && ok; z++) {
        ok = slot[z] >= 0 && slot[z] < (int)copy.size() && !taken[slot[z]] &&
             copy[slot[z]] == value[z];
        if (ok) taken[slot[z]] = true;
    }
    return ok;
}

static cudaError_t compare_rows(const spmm_plan *plan, const binned_rows_shape &shape)
{
    binned_rows *of_host, *of_gpu = NULL;
    CUDA_TRY(binned_rows_build(ON_HOST, plan, &shape, &of_host));
    cudaError_t error = binned_rows_build(ON_DEVICE, plan, &shape, &of_gpu);
    if (error == cudaSuccess && plan->A.rows > 0 &&
        !(same_rows(*of_host, *of_gpu, plan->A.rows) && is_in_order(plan->A.host, *of_host) &&
          has_bytes(plan->A, *of_gpu) && slots_hold_values(plan->A, *of_gpu)))
        error = cudaErrorUnknown;
    binned_rows_free(of_host);
    binned_rows_free(of_gpu);
    return error;
}

static cudaError_t compare_locality(const spmm_plan *plan)
{
    locality of_host, of_gpu;
    CUDA_TRY(locality_measure(&plan->A, true, &of_host));
    CUDA_TRY(locality_measure(&plan->A, false, &of_gpu));
    return memcmp(&of_host, &of_gpu, sizeof of_host) ? cudaErrorUnknown : cudaSuccess;
}

static cudaError_t prepare_both(spmm_plan *plan)
{
    const binned_rows_shape shapes[] = {
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
    /* A layout knows nothing of C but the lanes of a group: one width is enough. */
    for (const int lanes : {4, 8, 16, 32})
        for (binned_rows_shape shape : shapes) {
            if (plan->N > 1) break;
            shape.lanes = lanes;
            shape.width = lanes == 4 ? 16 : 32;
            CUDA_TRY(compare_rows(plan, shape));
        }
    CUDA_TRY(compare_locality(plan));
    return spmm_nest_named(plan, "length_bins", NULL);
}

static spmm_contender both_spaces = {
    .base = {.lab = 111, .name = "rows of host and GPU"},
    .prepare = prepare_both,
    .run = spmm_nested_run,
    .release = spmm_nested_release,
};
SPMM_REGISTER(both_spaces)

/* ---- column blocks --------------------------------------------------------------------------- */

/* Settings with segments of every bin, of the longest too. Choices for matrices as small as these
 * have no blocks, so no sweep around a choice comes here. */
static cudaError_t nest_blocks(spmm_plan *plan, const char *name, int blocks)
{
    const spmm_contender *c = spmm_find(name, PRECISION_FP32);
    int tuning[MAX_TUNABLES];
    if (!c) return cudaErrorNotSupported;
    spmm_choose(c, plan->A.stats, plan->N, tuning);
    tuning[TUNE_SERIAL] = 64;
    tuning[TUNE_PACK] = 16;
    tuning[TUNE_BLOCKS] = blocks;
    tuning[TUNE_SHORTEST] = blocks == 2 ? 1 : 2;
    return spmm_nest(plan, c, tuning, NULL);
}

static cudaError_t prepare_in_turn(spmm_plan *plan)
{
    return nest_blocks(plan, "column_blocks", 2);
}

static cudaError_t prepare_overlapping(spmm_plan *plan)
{
    return nest_blocks(plan, "overlapped_blocks", 2);
}

#define BLOCKS_CONTENDER(title, number, text, how) \
    static spmm_contender title = {                \
        .base = {.lab = number, .name = text},     \
        .prepare = how,                            \
        .run = spmm_nested_run,                    \
        .release = spmm_nested_release,            \
    };                                             \
    SPMM_REGISTER(title)

BLOCKS_CONTENDER(in_turn, 113, "column blocks in turn", prepare_in_turn)
BLOCKS_CONTENDER(overlapping, 114, "column blocks that overlap", prepare_overlapping)

/* ---- new values ------------------------------------------------------------------------------ */

/* The rows that the values are given to. */
enum { WHOLE_ROWS, BLOCKS_IN_TURN, BLOCKS_THAT_OVERLAP, NO_BLOCKS };

static cudaError_t nest_kind(spmm_plan *plan)
{
    switch (plan->tuning[0]) {
    case WHOLE_ROWS:
        return spmm_nest_named(plan, "length_bins", NULL);
    case BLOCKS_IN_TURN:
        return nest_blocks(plan, "column_blocks", 4);
    case BLOCKS_THAT_OVERLAP:
        return nest_blocks(plan, "overlapped_blocks", 4);
    default:
        return nest_blocks(plan, "overlapped_blocks", 0);
    }
}

static void release_stale(spmm_plan *plan)
{
    spmm_nested_release(plan);
    cudaFree(plan->state);
}

/* Nests a plan that was made while the values were other ones. */
static cudaError_t prepare_stale(spmm_plan *plan)
{
    const float *const d_values = plan->A.d_values;
    const size_t bytes = plan->A.nnz * sizeof(float);
    cudaError_t error;
    CUDA_TRY(cudaMalloc(&plan->state, bytes + 1));
    CUDA_TRY_GOTO(error, done, cudaMemset(plan->state, 0x40, bytes));
    plan->A.d_values = (const float *)plan->state;
    error = nest_kind(plan);
    plan->A.d_values = d_values;
    if (error != cudaSuccess) goto done;
    CUDA_TRY_GOTO(error, done, cudaMemcpy(plan->state, d_values, bytes, cudaMemcpyDeviceToDevice));
    error = spmm_nested_update_values(plan);
done:
    if (error != cudaSuccess) release_stale(plan);
    return error;
}

static spmm_contender new_values = {
    .base = {.lab = 211,
             .name = "values given later",
             .tunables = {{"ROWS",
                           "whose values are new",
                           {WHOLE_ROWS, BLOCKS_IN_TURN, BLOCKS_THAT_OVERLAP, NO_BLOCKS},
                           4}}},
    .prepare = prepare_stale,
    .run = spmm_nested_run,
    .release = release_stale,
};
SPMM_REGISTER(new_values)
