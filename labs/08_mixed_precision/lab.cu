/*
 * Lab 8 - mixed precision: half the bytes of A, B and C; sums as exact as before.
 *
 * Idea      Values, B and C are fp16 (or bf16). A load of 16 bytes brings eight columns of B, so that
 *           8 lanes cover 64 columns, or 4 lanes 32, and a warp takes 4 or 8 rows. Column and value of
 *           a nonzero share one word where 16 bits hold every column. Products are added in fp32,
 *           and rounded once, when C is stored: the error bound knows no other rounding.
 * Changed   Lab 7's subwarps, in 16 bits. Rows longer than SPLIT get a whole block, or several, that
 *           meet in fp32: a sum that was rounded to 16 bits on the way would be wrong.
 * Run       make lab8 && ./lab8 arxiv 32
 * Watch     16-bit B halves the bytes gathered and doubles the instructions for each of them: eight
 *           numbers are widened and multiplied for one load.
 */
#include "device/occupancy.cuh"
#include "device/vec.cuh"
#include "formats/pairs.cuh"
#include "long_rows.cuh"
#include "models/whole_rows.h"
#include "ops/spmm.h"

#include <stdlib.h>

constexpr int WARPS = 4, BLOCK = WARPS * WARP_SIZE;
constexpr int SPLITS_PER_SEGMENT = 16;      /* for a block: 16 subwarps of 8 lanes */
constexpr int NARROWEST = 32, WIDEST = 128; /* columns that a subwarp covers */

/* Positions in spmm_plan.tuning. */
enum { TUNE_SPLIT, TUNE_BATCH, TUNE_C, TUNE_WIDTH, TUNE_BUNDLE };

template <class H, class P> struct product {
    int rows, N, split, num_segments;
    const int *__restrict__ row_ptr, *__restrict__ order;
    const P *__restrict__ pairs;
    const H *__restrict__ B;
    H *__restrict__ C;
    const segment *__restrict__ segments;
    float *sums;
    unsigned *arrived;
    row_epilogue epilogue;
};

/* Blocks of 16 that fit by threads: 40 warps of 48 registers with four loads in flight a lane, 32 of
 * 64 with eight. */
constexpr int blocks_per_sm(int batch)
{
    return THREADS_PER_SM / BLOCK * (batch == 4 ? 10 : 8) / 16;
}

/* One subwarp: sum += nonzeros start, start + 1, ... of each `stride`, up to end, times columns
 * j .. j + C - 1 of B. All lanes of the warp go round as often as its longest subwarp, so that they
 * can shuffle together; those that are done load nothing. */
template <int C, int WIDTH, int BATCH, class H, class P>
static __device__ void gather(const product<H, P> &p, int start, int end, int stride, int j,
                              float (&sum)[C])
{
    constexpr int PER_LANE = WIDTH < BATCH ? BATCH / WIDTH : 1, CHUNK = PER_LANE * WIDTH;
    const int lane = threadIdx.x % WIDTH;
    /* In bytes, so that an address is one multiply-add: column * row_bytes + B. Lanes beyond N load
     * what others load, and store nothing. */
    const unsigned row_bytes = p.N * sizeof(H);
    const char *const B = reinterpret_cast<const char *>(p.B + min(j, p.N - C));
    P next[PER_LANE][1];
    auto fetch = [&](int k) {
        for (int i = 0; i < PER_LANE; i++) {
            next[i][0] = {};
            if (k + i * WIDTH + lane < end) load_vector(next[i], &p.pairs[k + i * WIDTH + lane]);
        }
    };
    fetch(start);
    for (int k = start; __any_sync(FULL_MASK, k < end); k += stride) {
        P mine[PER_LANE];
        for (int i = 0; i < PER_LANE; i++)
            mine[i] = next[i][0];
        fetch(k + stride); /* on its way while B is waited for */
        for (int b = 0; b < CHUNK && __any_sync(FULL_MASK, k + b < end); b += BATCH) {
            P a[BATCH];
            H x[BATCH][C] = {}; /* past the end: 0, for any row of B may hold infinities */
#pragma unroll
            for (int u = 0; u < BATCH; u++) {
                a[u] = shuffle<WIDTH>(mine[u / WIDTH % PER_LANE], (b + u) % WIDTH);
                const char *const row = B + (size_t)(unsigned)column_of(a[u]) * row_bytes;
                if (k + b + u < end) load_vector(x[u], reinterpret_cast<const H *>(row));
            }
#pragma unroll
            for (int u = 0; u < BATCH; u++) {
                const float value = value_of<H>(a[u]);
#pragma unroll
                for (int c = 0; c < C; c++)
                    sum[c] += value * widen(x[u][c]);
            }
        }
    }
}

/* Takes a segment a block in blocks below num_segments; in the others each subwarp takes a row. */
template <int C, int WIDTH, int BATCH, class H, class P>
static __global__ void __launch_bounds__(BLOCK, blocks_per_sm(BATCH))
    spmm_mixed_kernel(const __grid_constant__ product<H, P> p)
{
    constexpr int SUBWARPS = BLOCK / WIDTH, CHUNK = WIDTH < BATCH ? BATCH : WIDTH;
    const int subwarp = threadIdx.x / WIDTH, lane = threadIdx.x % WIDTH;
    const int j = (blockIdx.y * WIDTH + lane) * C;
    const bool is_segment = (int)blockIdx.x < p.num_segments;
    float sum[C] = {};
    /* BEGIN STUDENT: find this subwarp's row or segment, gather in fp32, apply_epilogue, round once, store */
    int row = -1, start = 0, end = 0; /* of a subwarp beyond the last row, or of a listed row */
    if (is_segment) {
        start = p.segments[blockIdx.x].start + subwarp * CHUNK;
        end = p.segments[blockIdx.x].end;
    } else {
        const int position = ((int)blockIdx.x - p.num_segments) * SUBWARPS + subwarp;
        if (position < p.rows) {
            row = p.order ? p.order[position] : position;
            start = p.row_ptr[row];
            end = p.row_ptr[row + 1];
        }
        if (end - start > p.split) row = -1, end = start;
    }
    gather<C, WIDTH, BATCH>(p, start, end, is_segment ? SUBWARPS * CHUNK : CHUNK, j, sum);
    if (is_segment)
        store_segment<WARPS, C, WIDTH>(p.segments[blockIdx.x], p.sums, p.arrived, p.N, sum,
                                       p.epilogue, p.C);
    if (row < 0 || j >= p.N) return;
    apply_epilogue(p.epilogue, row, sum);
    H c[C];
#pragma unroll
    for (int i = 0; i < C; i++)
        c[i] = narrow<H>(sum[i]);
    store_vector_streaming(&p.C[(size_t)row * p.N + j], c);
    /* END STUDENT */
}

/* State of a plan: A's nonzeros in pairs, and the list of segments. */
struct mixed_state {
    void *d_pairs;
    work_list work;
};

static int slices(const spmm_plan *plan)
{
    const int columns = plan->tuning[TUNE_C] * plan->tuning[TUNE_WIDTH];
    return (plan->N + columns - 1) / columns;
}

template <int C, int WIDTH, class H, class P>
static cudaError_t launch(const spmm_plan *plan, product<H, P> &p, cudaStream_t stream)
{
    const int subwarps = BLOCK / WIDTH, rows_blocks = (p.rows + subwarps - 1) / subwarps;
    const dim3 grid(p.num_segments + rows_blocks, slices(plan));
    if (plan->tuning[TUNE_BATCH] == 4)
        spmm_mixed_kernel<C, WIDTH, 4><<<grid, BLOCK, 0, stream>>>(p);
    else
        spmm_mixed_kernel<C, WIDTH, 8><<<grid, BLOCK, 0, stream>>>(p);
    return cudaGetLastError();
}

/* The place of a power of two in a list of them. */
static int index_of(int power)
{
    int index = 0;
    while (power >> (index + 1))
        index++;
    return index;
}

template <class H, class P>
static cudaError_t run_pairs(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    typedef cudaError_t launcher(const spmm_plan *, product<H, P> &, cudaStream_t);
    static launcher *const LAUNCH[4][4] = {
        {NULL, NULL, NULL, launch<1, 32>}, /* C = 1, WIDTH = 4, 8, 16, 32: prepare sees to it ... */
        {NULL, NULL, launch<2, 16>, launch<2, 32>}, /* ... that a subwarp covers 32 columns ... */
        {NULL, launch<4, 8>, launch<4, 16>, launch<4, 32>}, /* ... at least, and 128 at most */
        {launch<8, 4>, launch<8, 8>, launch<8, 16>, NULL},
    };
    const spmm_matrix &A = plan->A;
    const mixed_state *state = (const mixed_state *)plan->state;
    product<H, P> p = {.rows = A.rows,
                       .N = plan->N,
                       .split = plan->tuning[TUNE_SPLIT],
                       .num_segments = state->work.num_segments,
                       .row_ptr = A.d_row_ptr,
                       .order = state->work.d_order,
                       .pairs = (const P *)state->d_pairs,
                       .B = (const H *)B,
                       .C = (H *)C,
                       .segments = state->work.d_segments,
                       .sums = state->work.d_sums,
                       .arrived = state->work.d_arrived,
                       .epilogue = plan->epilogue};
    if (A.rows == 0) return cudaSuccess;
    return LAUNCH[index_of(plan->tuning[TUNE_C])][index_of(plan->tuning[TUNE_WIDTH]) - 2](plan, p,
                                                                                          stream);
}

template <class H>
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    return pairs_are_packed(&plan->A) ? run_pairs<H, packed_pair>(plan, B, C, stream)
                                      : run_pairs<H, wide_pair>(plan, B, C, stream);
}

static size_t format_bytes(const spmm_plan *plan)
{
    const size_t pair = pairs_are_packed(&plan->A) ? sizeof(packed_pair) : sizeof(wide_pair);
    return ((size_t)plan->A.rows + 1) * sizeof(int) + plan->A.nnz * pair;
}

static void release(spmm_plan *plan)
{
    mixed_state *state = (mixed_state *)plan->state;
    cudaFree(state->d_pairs);
    work_list_free(&state->work);
    free(state);
}

static cudaError_t prepare(spmm_plan *plan)
{
    int &c = plan->tuning[TUNE_C], &lanes = plan->tuning[TUNE_WIDTH];
    const int split = plan->tuning[TUNE_SPLIT];
    mixed_state *state = (mixed_state *)calloc(1, sizeof *state);
    plan->state = state;
    if (!state) return cudaErrorMemoryAllocation;
    while (plan->N % c) /* a vector must not straddle two rows of B */
        c /= 2;
    while (c * lanes < NARROWEST)
        lanes *= 2;
    while (c * lanes > WIDEST)
        lanes /= 2;
    cudaError_t error = pairs_build(&plan->A, plan->contender->base.precision, &state->d_pairs);
    if (error == cudaSuccess)
        error = work_list_create(plan, split, SPLITS_PER_SEGMENT * split, slices(plan),
                                 plan->tuning[TUNE_BUNDLE], &state->work);
    if (error != cudaSuccess) release(plan);
    return error;
}

static cudaError_t update_values(spmm_plan *plan)
{
    void *&d_pairs = ((mixed_state *)plan->state)->d_pairs;
    cudaFree(d_pairs);
    d_pairs = NULL;
    return pairs_build(&plan->A, plan->contender->base.precision, &d_pairs);
}

/* A first rule, from what labs 5 and 7 measured in fp32 (LOG.md, "Choosing"). */
static void choose(const row_stats *stats, int N, int *tuning)
{
    const bool long_rows = stats->mean > 32;
    int c = 8, lanes = 4;
    while (N % c)
        c /= 2;
    /* Takes one slice where 64 columns hold N. Of a wider N short rows take 128, to be walked less
     * often. Long ones take 64, so that the slice of B in use is small. */
    const int columns = N <= 64 || long_rows ? 64 : WIDEST;
    while (lanes < WARP_SIZE && lanes * c < min(N, columns))
        lanes *= 2;
    tuning[TUNE_SPLIT] = mixed_split(stats);
    tuning[TUNE_BATCH] = long_rows ? 8 : 4;
    tuning[TUNE_C] = c;
    tuning[TUNE_WIDTH] = lanes;
    tuning[TUNE_BUNDLE] = stats->cov > 0.25;
}

#define MIXED(title, number, kind)                                                               \
    static spmm_contender title = {                                                              \
        .base = {.lab = 8,                                                                       \
                 .after = 7,                                                                     \
                 .name = #title,                                                                 \
                 .summary = "16-bit values, B and C, 16-bit columns; sums in fp32",              \
                 .precision = kind,                                                              \
                 .tunables = {{"SPLIT", "longer rows get whole blocks", {64, 128, 256}, 3},      \
                              {"BATCH", "loads of B that a lane has in flight", {4, 8}, 2},      \
                              {"C", "a lane computes C neighbouring columns", {1, 2, 4, 8}, 4},  \
                              {"WIDTH", "lanes that share a row: a subwarp", {4, 8, 16, 32}, 4}, \
                              {"BUNDLE", "1: neighbours of like length", {0, 1}, 2, 0, true}}},  \
        .choose = choose,                                                                        \
        .estimate = mixed_estimate,                                                              \
        .prepare = prepare,                                                                      \
        .run16 = run16<number>,                                                                  \
        .applies_epilogue = true,                                                                \
        .update_values = update_values,                                                          \
        .format_bytes = format_bytes,                                                            \
        .release = release,                                                                      \
    };                                                                                           \
    SPMM_REGISTER(title)

MIXED(mixed_fp16, __half, PRECISION_FP16)
MIXED(mixed_bf16, __nv_bfloat16, PRECISION_BF16)
