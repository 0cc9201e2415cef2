/*
 * Lab 5 - split rows: equal work for every warp, and for every lane of it.
 *
 * Idea      Between warps: a row is cut into segments of SPLIT nonzeros. The first one is stored
 *           plainly, which also zeroes empty rows; a second launch adds the later ones with atomics.
 *           Only rows that really are split pay for atomics, and C needs no memset.
 *           Inside a warp: LANES lanes with C columns each cover what a warp computes of a row; the
 *           32 / LANES groups of lanes take different nonzeros and add up their sums at the end.
 * Changed   Lab 4's kernel becomes segment_sum(), called by one kernel over rows and one over the
 *           later segments. Lab 4 is SPLIT = 0, LANES = 32.
 * Run       make lab5 && ./lab5 arxiv 32
 * Watch     The longest row bounds the time of labs 1 to 4 on skewed graphs (arxiv, youtube, am).
 */
#include "device/cuda_try.h"
#include "device/facts.h"
#include "device/occupancy.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "ops/spmm.h"
#include "segments.h"

#include <stdlib.h>

constexpr int WARPS = 4, BLOCK = WARPS * WARP_SIZE;
constexpr int FLOATS_IN_FLIGHT = 16; /* a lane's loads of B on their way at once, in registers */
constexpr int MAX_SLICES = 65535;    /* blocks a grid may have in y */

/* Positions in spmm_plan.tuning. */
enum { TUNE_SPLIT, TUNE_D, TUNE_C, TUNE_LANES, TUNE_HOST };

/* Arguments of both kernels. */
struct product {
    int N, split, tile; /* tile = 32 * D nonzeros */
    const int *__restrict__ row_ptr, *__restrict__ col_idx;
    const float *__restrict__ values, *__restrict__ B;
    float *__restrict__ C;
};

/* One warp: sum = nonzeros start .. end-1 times columns j .. j+C-1 of B, alike in every group. */
template <int C, int LANES>
static __device__ void segment_sum(const product &p, int start, int end, int j, float (&sum)[C])
{
    constexpr int GROUPS = WARP_SIZE / LANES, IN_FLIGHT = FLOATS_IN_FLIGHT / C;
    extern __shared__ int2 tiles[]; /* (column, value) pairs, p.tile for each warp */
    int2 *const tile = tiles + threadIdx.x / WARP_SIZE * p.tile;
    const int lane = threadIdx.x % WARP_SIZE, group = lane / LANES;
    /* BEGIN STUDENT: lab 4's loop, shared by GROUPS groups of lanes; then add up their sums */
    const int column = min(j, p.N - C); /* lanes beyond N only help to load A */
    for (; start < end; start += p.tile) {
        const int count = min(p.tile, end - start);
#pragma unroll 1 /* D rounds at most: unrolling would only make the code longer */
        for (int k = lane; k < count; k += WARP_SIZE)
            tile[k] = make_int2(p.col_idx[start + k], __float_as_int(p.values[start + k]));
        __syncwarp();
        for (int k = group; k < count; k += GROUPS * IN_FLIGHT) {
            float b[IN_FLIGHT][C];
#pragma unroll
            for (int u = 0; u < IN_FLIGHT; u++) {
                const int col = tile[min(k + u * GROUPS, count - 1)].x;
                load_vector(b[u], &p.B[(size_t)col * p.N + column]);
            }
            /* Values are read from the tile now, not beside the columns: that would take
             * registers while the loads are on their way. */
#pragma unroll
            for (int u = 0; u < IN_FLIGHT; u++)
                if (k + u * GROUPS < count)
#pragma unroll
                    for (int c = 0; c < C; c++)
                        sum[c] += __int_as_float(tile[k + u * GROUPS].y) * b[u][c];
        }
        __syncwarp();
    }
#pragma unroll
    for (int distance = LANES; distance < WARP_SIZE; distance *= 2)
#pragma unroll
        for (int c = 0; c < C; c++)
            sum[c] += __shfl_xor_sync(FULL_MASK, sum[c], distance);
    /* END STUDENT */
}

/* One warp per row: its first `split` nonzeros, stored. */
template <int C, int LANES>
static __global__ void __launch_bounds__(BLOCK, THREADS_PER_SM / BLOCK)
    spmm_first_segments_kernel(const __grid_constant__ product p, int rows)
{
    const int row = blockIdx.x * WARPS + threadIdx.x / WARP_SIZE;
    const int lane = threadIdx.x % WARP_SIZE, j = (blockIdx.y * LANES + lane % LANES) * C;
    if (row >= rows) return;
    /* BEGIN STUDENT: sum the row's first `split` nonzeros and store, for empty rows too */
    const int start = p.row_ptr[row], length = p.row_ptr[row + 1] - start;
    float sum[C] = {};
    segment_sum<C, LANES>(p, start, start + min(length, p.split), j, sum);
    if (j < p.N && lane < LANES) store_vector(&p.C[(size_t)row * p.N + j], sum);
    /* END STUDENT */
}

/* One warp per later segment: its up to `split` nonzeros, added to what the first one stored. */
template <int C, int LANES>
static __global__ void __launch_bounds__(BLOCK, THREADS_PER_SM / BLOCK)
    spmm_later_segments_kernel(const __grid_constant__ product p, segment_list later)
{
    const int segment = blockIdx.x * WARPS + threadIdx.x / WARP_SIZE;
    const int lane = threadIdx.x % WARP_SIZE, j = (blockIdx.y * LANES + lane % LANES) * C;
    if (segment >= later.count) return;
    /* BEGIN STUDENT: sum this segment's nonzeros and add them to C with atomics */
    const int row = later.d_row[segment], start = later.d_start[segment];
    const int length = p.row_ptr[row + 1] - start;
    float sum[C] = {};
    segment_sum<C, LANES>(p, start, start + min(length, p.split), j, sum);
    if (j < p.N && lane < LANES)
        for (int c = 0; c < C; c++)
            atomicAdd(&p.C[(size_t)row * p.N + j + c], sum[c]);
    /* END STUDENT */
}

/* Warps that share a row, each with `lanes` * `c` columns of it. */
static int slices(int N, int lanes, int c)
{
    return (N + lanes * c - 1) / (lanes * c);
}

template <int C, int LANES>
static cudaError_t launch(const product &p, int rows, const segment_list &later,
                          cudaStream_t stream)
{
    const int width = slices(p.N, LANES, C);
    const size_t shared = WARPS * p.tile * sizeof(int2);
    const dim3 first((rows + WARPS - 1) / WARPS, width);
    spmm_first_segments_kernel<C, LANES><<<first, BLOCK, shared, stream>>>(p, rows);
    CUDA_TRY(cudaGetLastError());
    if (later.count == 0) return cudaSuccess;
    const dim3 others((later.count + WARPS - 1) / WARPS, width);
    spmm_later_segments_kernel<C, LANES><<<others, BLOCK, shared, stream>>>(p, later);
    return cudaGetLastError();
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    typedef cudaError_t launcher(const product &, int, const segment_list &, cudaStream_t);
    static launcher *const LAUNCH[3][3] = {
        {launch<1, 8>, launch<1, 16>, launch<1, 32>},
        {launch<2, 8>, launch<2, 16>, launch<2, 32>},
        {launch<4, 8>, launch<4, 16>, launch<4, 32>},
    };
    const spmm_matrix &A = plan->A;
    const int *tuning = plan->tuning;
    const product p = {.N = plan->N,
                       .split = tuning[TUNE_SPLIT] ? tuning[TUNE_SPLIT] : A.nnz,
                       .tile = WARP_SIZE * tuning[TUNE_D],
                       .row_ptr = A.d_row_ptr,
                       .col_idx = A.d_col_idx,
                       .values = A.d_values,
                       .B = B,
                       .C = C};
    if (A.rows == 0) return cudaSuccess;
    launcher *const chosen = LAUNCH[tuning[TUNE_C] / 2][tuning[TUNE_LANES] / 16];
    return chosen(p, A.rows, *(segment_list *)plan->state, stream);
}

static void release(spmm_plan *plan)
{
    segment_list_free((segment_list *)plan->state);
    free(plan->state);
}

static cudaError_t prepare(spmm_plan *plan)
{
    segment_list *later = (segment_list *)calloc(1, sizeof *later);
    plan->state = later;
    if (!later) return cudaErrorMemoryAllocation;
    int &c = plan->tuning[TUNE_C], &lanes = plan->tuning[TUNE_LANES];
    while (plan->N % c) /* a vector must not straddle two rows of B */
        c /= 2;
    while (slices(plan->N, lanes, c) > MAX_SLICES)
        lanes *= 2;
    const int split = plan->tuning[TUNE_SPLIT];
    if (split == 0) return cudaSuccess; /* no row is split: no list */
    const cudaError_t error = plan->tuning[TUNE_HOST]
                                  ? segment_list_build_on_host(&plan->A, split, later)
                                  : segment_list_build_on_gpu(&plan->A, split, later);
    if (error != cudaSuccess) release(plan);
    return error;
}

/* The rule, found by --sweep on 13 graphs (LOG.md, "Choosing"). */
static void choose(const row_stats *stats, int N, int *tuning)
{
    /* Four segments for each warp that the device holds balance well; below 64 nonzeros a segment,
     * and above 256, nothing is gained. */
    const device_facts *device = device_facts_get();
    const int64_t segments = 4LL * device->sms * device->sm_warps;
    int split = 64, c = 4, lanes = 8;
    while (split < 256 && stats->nnz >= 2 * split * segments)
        split *= 2;
    /* Almost regular, and nearly every row within one segment: a launch for the rest costs more. */
    const int64_t p99 = stats->quantile[ROW_QUANTILES - 1];
    if (stats->cov < 1 && p99 <= split) split = 0;
    while (N % c) /* the widest vectors that fit a row of B ... */
        c /= 2;
    while (lanes < WARP_SIZE && lanes * c < N) /* ... and no more lanes than cover it, ... */
        lanes *= 2;
    if (lanes == WARP_SIZE && stats->mean > 16) lanes = 16; /* ... half of them for long rows */
    tuning[TUNE_SPLIT] = split;
    tuning[TUNE_D] = 1;
    tuning[TUNE_C] = c;
    tuning[TUNE_LANES] = lanes;
}

static bool flushes_subnormals(const int *tuning)
{
    return tuning[TUNE_SPLIT] > 0;
}

static spmm_contender lab5 = {
    .base =
        {
            .lab = 5,
            .after = 4,
            .name = "split_rows",
            .summary = "rows cut into segments; atomics only where a row is split",
            .flushes_subnormals = flushes_subnormals,
            .tunables =
                {
                    {"SPLIT", "nonzeros a segment; 0: rows stay whole", {0, 32, 64, 128, 256}, 5},
                    {"D", "32 D nonzeros are staged between two barriers", {1, 2, 4}, 3},
                    {"C", "a lane computes C neighbouring columns", {1, 2, 4}, 3},
                    {"LANES",
                     "lanes that share a nonzero; other groups take others",
                     {8, 16, 32},
                     3},
                    {"HOST", "1: list the segments on the host", {0, 1}, 2, 0, true},
                },
        },
    .choose = choose,
    .prepare = prepare,
    .run = run,
    .update_values = spmm_nested_update_values, /* nothing is nested: it reads A's values */
    .format_bytes = spmm_csr_bytes,
    .release = release,
};
SPMM_REGISTER(lab5)
