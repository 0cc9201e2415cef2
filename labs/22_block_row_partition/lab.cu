/*
 * Lab 22 - block-row partition: tensor cores for matrices none of whose blocks is dense.
 *
 * Idea      A window of 16 rows, its nonzeros sorted by column and cut into runs of eight: a run is the 16 x 8 operand of
 *           an mma with one nonzero a column. All runs are alike, however sparse A is (formats/row_windows.h).
 * Changed   Lab 21 has a bit for each element of a panel; here a nonzero has a key, and CSR's 8 bytes. B goes to registers,
 *           not to shared memory: hardly a row of B is used twice in a window.
 * Run       make lab22 && ./lab22 datasets/samples/market.mtx 32
 * Watch     1 of 16 multiplications is of a nonzero, and it does not matter: the bytes of B are those of lab 11.
 * Paper     BRP-SpMM, IPDPS 2025
 */
#include "product.cuh"

#include "device/cuda_try.h"
#include "device/facts.h"
#include "device/partial_sums.h"
#include "formats/row_order.h"
#include "ops/plan_state.cuh"
#include "ops/spmm.h"

#include <stdlib.h>

/* Positions in spmm_plan.tuning. */
enum {
    TUNE_PRODUCT,
    TUNE_WIDTH,
    TUNE_DEPTH,
    TUNE_STAGED,
    TUNE_LONGEST,
    TUNE_RESIDUAL,
    TUNE_ORDER,
    TUNE_ATOMICS,
    TUNE_HOST
};

enum { FP32, TF32 };
static const char *const PRODUCTS_BY_NAME[] = {"fp32", "tf32"};

enum { NO_ATOMICS, ONCE_AN_ITEM, AFTER_EVERY_GROUP, AFTER_EVERY_RUN };

/* Rows with fewer nonzeros are too short for three products: those are off by up to 28 u, of the n + 4 that a row of n
 * may be (u = 2^-24). CUDA cores take them. */
constexpr int SHORT_ROW = 32;

/* Rows of B that are on their way at once, 2 Q DEPTH loads a lane: more would need all registers. */
constexpr int MOST_IN_FLIGHT = 8; /* Q DEPTH */

template <bool EXACT, int Q, int DEPTH, int V, bool FLUSH>
static __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM<EXACT, Q, DEPTH>)
    spmm_block_row_partition_kernel(const __grid_constant__ windows_product p)
{
    const int slice = blockIdx.x / p.item_blocks;
    const int item = (int)blockIdx.x % p.item_blocks * WARPS + (int)threadIdx.x / WARP_SIZE;
    if (item >= p.w.items) return;
    item_product<EXACT, Q, V> own(p, item, slice);
    own.template multiply<DEPTH, FLUSH>();
    if (!FLUSH) own.finish();
}

/* The same by way of shared memory. Registers hold sums, one run's rows of B and three groups of nonzeros: 72 of them
 * make seven blocks, 28 warps, whose 112 KB on their way are twice what Little's law asks for. */
template <bool EXACT, int Q>
static __global__ void __launch_bounds__(BLOCK, (EXACT ? 8 : 9) - 2 * Q)
    spmm_block_row_staged_kernel(const __grid_constant__ windows_product p)
{
    __shared__ __align__(16) staged_rows<Q> staged[WARPS];
    const int slice = blockIdx.x / p.item_blocks;
    const int item = (int)blockIdx.x % p.item_blocks * WARPS + warp_id();
    if (item >= p.w.items) return;
    item_product<EXACT, Q, 4> own(p, item, slice);
    own.multiply_staged(staged[warp_id()]);
    own.finish();
}

using windows_kernel = void(windows_product);

template <bool EXACT, int Q, bool FLUSH> static windows_kernel *pick_depth(int depth)
{
    constexpr int MOST = std::min(4, MOST_IN_FLIGHT / Q);
    if (depth == 1) return spmm_block_row_partition_kernel<EXACT, Q, 1, 4, FLUSH>;
    if (depth == 2) return spmm_block_row_partition_kernel<EXACT, Q, 2, 4, FLUSH>;
    return spmm_block_row_partition_kernel<EXACT, Q, MOST, 4, FLUSH>;
}

/* The kernel of these settings, as settle leaves them. */
template <bool EXACT> static windows_kernel *pick(int N, const int *set)
{
    const bool flush = set[TUNE_ATOMICS] >= AFTER_EVERY_GROUP;
    const int width = set[TUNE_WIDTH], depth = set[TUNE_DEPTH];
    if (N % 4)
        return flush ? spmm_block_row_partition_kernel<EXACT, 1, 1, 1, true>
                     : spmm_block_row_partition_kernel<EXACT, 1, 1, 1, false>;
    if (flush) return pick_depth<EXACT, 1, true>(depth);
    if (set[TUNE_STAGED])
        return width == 32 ? spmm_block_row_staged_kernel<EXACT, 1>
                           : spmm_block_row_staged_kernel<EXACT, 2>;
    return width == 32   ? pick_depth<EXACT, 1, false>(depth)
           : width == 64 ? pick_depth<EXACT, 2, false>(depth)
                         : pick_depth<EXACT, 4, false>(depth);
}

/* ---- plans ------------------------------------------------------------------------------------ */

/* plan->state. */
typedef struct windows_state {
    row_windows *windows;
    partial_sums partial;
} windows_state;

static void release(spmm_plan *plan)
{
    windows_state *own = (windows_state *)plan->state;
    row_windows_free(own->windows);
    partial_sums_free(&own->partial);
    free(own);
}

/* Replaces settings that no kernel has. Loads of four columns want an N that is a multiple of four. */
static void settle(const spmm_plan *plan, int *set)
{
    const bool scalar = plan->N % 4 != 0, flushes = set[TUNE_ATOMICS] >= AFTER_EVERY_GROUP;
    if (scalar || flushes) set[TUNE_WIDTH] = BAND;
    if (scalar || flushes) set[TUNE_STAGED] = 0;
    if (set[TUNE_STAGED]) { /* 48 KB of shared memory have room for two bands */
        set[TUNE_WIDTH] = std::min(set[TUNE_WIDTH], 2 * BAND);
        set[TUNE_DEPTH] = STAGES;
        return;
    }
    if (scalar || set[TUNE_ATOMICS] == AFTER_EVERY_RUN) set[TUNE_DEPTH] = 1;
    set[TUNE_DEPTH] = std::min(set[TUNE_DEPTH], MOST_IN_FLIGHT / (set[TUNE_WIDTH] / BAND));
}

static cudaError_t prepare_state(spmm_plan *plan, windows_state *own)
{
    const int *const set = plan->tuning;
    const row_windows_shape shape = {.residual = set[TUNE_RESIDUAL] != 0,
                                     .short_row = set[TUNE_PRODUCT] == FP32 ? SHORT_ROW : 0,
                                     .longest = set[TUNE_LONGEST],
                                     .where = set[TUNE_HOST] ? ON_HOST : ON_DEVICE};
    int *d_order = NULL;
    if (!plan->d_row_order)
        CUDA_TRY(row_order_make_of(&plan->A, (row_order_kind)set[TUNE_ORDER], &d_order));
    const cudaError_t error =
        row_windows_build(&plan->A, d_order ? d_order : plan->d_row_order, &shape, &own->windows);
    cudaFree(d_order);
    CUDA_TRY(error);
    const size_t slices = (plan->N + set[TUNE_WIDTH] - 1) / set[TUNE_WIDTH];
    const size_t floats = (size_t)WINDOW_ROWS * set[TUNE_WIDTH];
    if (set[TUNE_ATOMICS] || own->windows->shared == 0) return cudaSuccess;
    return partial_sums_make(own->windows->parts * slices * floats, own->windows->shared * slices,
                             &own->partial);
}

static cudaError_t prepare(spmm_plan *plan)
{
    settle(plan, plan->tuning);
    return plan_state_make<windows_state>(plan, prepare_state, release);
}

static cudaError_t update_values(spmm_plan *plan)
{
    return row_windows_update_values(&plan->A, ((windows_state *)plan->state)->windows);
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const windows_state *own = (const windows_state *)plan->state;
    const int *const set = plan->tuning;
    const row_windows *w = own->windows;
    const windows_product p = {.w = *w,
                               .N = plan->N,
                               .item_blocks = (w->items + WARPS - 1) / WARPS,
                               .atomics = set[TUNE_ATOMICS] != NO_ATOMICS,
                               .B = B,
                               .C = C,
                               .d_partial = own->partial.d_sums,
                               .d_arrived = own->partial.d_arrived};
    if (p.atomics) CUDA_TRY(cudaMemsetAsync(C, 0, (size_t)plan->A.rows * p.N * sizeof *C, stream));
    if (w->items > 0) {
        const int slices = (p.N + set[TUNE_WIDTH] - 1) / set[TUNE_WIDTH];
        windows_kernel *const kernel =
            set[TUNE_PRODUCT] == TF32 ? pick<false>(p.N, set) : pick<true>(p.N, set);
        kernel<<<p.item_blocks * slices, BLOCK, 0, stream>>>(p);
        CUDA_TRY(cudaGetLastError());
    }
    return row_windows_multiply_rest(w, p.N, B, C, stream);
}

static size_t format_bytes(const spmm_plan *plan)
{
    return row_windows_bytes(((const windows_state *)plan->state)->windows);
}

/* ---- the contenders --------------------------------------------------------------------------- */

/* The longest item: a warp of each SM's 32 has work then, once at least where there is enough. Wide slices where C has
 * them, 256 bytes of each row of B; half of that where L2 holds half of B's slice, but not all of it. Long rows want the
 * same rows of B from window to window, and L1 has them: copies to shared memory would pass it by (LOG.md). */
static void choose(const row_stats *stats, int N, int *tuning)
{
    const int64_t runs = stats->nnz / RUN / (std::max(device_facts_get()->sms, 1) * 32);
    const int64_t band_bytes = stats->cols * BAND * (int64_t)sizeof(float),
                  l2_bytes = device_facts_get()->l2_bytes;
    const bool half_fits = band_bytes <= l2_bytes && 2 * band_bytes > l2_bytes;
    const double long_row = 128;
    tuning[TUNE_STAGED] = stats->mean < long_row;
    tuning[TUNE_WIDTH] = N > BAND && !half_fits ? 2 * BAND : BAND;
    tuning[TUNE_LONGEST] = 32;
    while (tuning[TUNE_LONGEST] < 256 && tuning[TUNE_LONGEST] < runs)
        tuning[TUNE_LONGEST] *= 2;
}

static const char *unsuited(const problem *p)
{
    return p->A->cols > MAX_WINDOW_COLUMNS ? "a key holds columns below 2^28" : NULL;
}

/* Rounding to tf32 (11 bits) makes each of two factors wrong by 2^-11 of itself at most: their product by 2^-10 and
 * 2^-22, in units of 2^-24. Tensor cores cut sums: each product is cut, and the sum that it is added to. That is 4 units
 * of the sum's size at most. A product takes part in as many sums as a row has nonzeros in an item. In fp32 it has three parts. */
static double product_rounding(const int *tuning)
{
    return tuning[TUNE_PRODUCT] == TF32 ? 0x1p14 + 4 + 4 * RUN * tuning[TUNE_LONGEST]
                                        : THREE_PARTS_ROUNDING;
}

static bool flushes_subnormals(const int *tuning)
{
    return tuning[TUNE_ATOMICS] > 0;
}

static spmm_contender lab22 = {
    .base = {.lab = 22,
             .after = 21,
             .name = "block_row_partition",
             .summary = "runs of 8 nonzeros on tensor cores, whatever the pattern",
             .min_compute_capability = 80,
             .unit = UNIT_TENSOR_CORES,
             .product_rounding = product_rounding,
             .flushes_subnormals = flushes_subnormals,
             .unsuited = unsuited,
             .tunables =
                 {{"PRODUCT",
                   "tf32: factors of 11 bits; fp32: three such products",
                   {FP32, TF32},
                   2,
                   FP32,
                   true,
                   PRODUCTS_BY_NAME},
                  {"WIDTH", "columns of C a warp takes", {32, 64, 128}, 3, 32},
                  {"DEPTH", "runs whose rows of B are loaded at once", {1, 2, 4}, 3, 2},
                  {"STAGED", "1: rows of B by way of shared memory", {0, 1}, 2, 1},
                  {"LONGEST", "runs a warp takes", {8, 16, 32, 64, 128, 256}, 6, 32},
                  {"RESIDUAL", "1: CUDA cores take what windows have left", {0, 1}, 2, 0},
                  {"ORDER", "rows: as they come, by length, by column", {0, 1, 2}, 3, 0},
                  {"ATOMICS", "0: none; an item, every DEPTH runs, every run", {0, 1, 2, 3}, 4, 0},
                  {"HOST", "1: build the format on the host", {0, 1}, 2, 0, true}}},
    .choose = choose,
    .prepare = prepare,
    .run = run,
    .update_values = update_values,
    .format_bytes = format_bytes,
    .release = release,
};
SPMM_REGISTER(lab22)
