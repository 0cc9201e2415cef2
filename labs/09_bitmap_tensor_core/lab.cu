/*
 * Lab 9 - pruned weights on tensor cores: a bit for every element, and no column numbers.
 *
 * Idea      Where half of the weights are pruned, 16 bits of column beside each value make as many bytes
 *           as the dense matrix has. A bit for every element is an eighth of those columns (formats/tca_bme.h).
 *           A group of 64 x 64 is copied to shared memory as it is, and spread out in registers: how
 *           many bits are set before mine says where my value lies. Tensor cores multiply the zeros
 *           along with the rest, for nothing.
 * Changed   No CSR: a block takes a group at a time while the next is copied; blocks that share a row
 *           of groups meet in fp32.
 * Run       make lab9 && ./lab9 weights:rows=512,cols=1024,sparsity=0.5 16 --vs lab8
 * Paper     R. Fan et al., SpInfer, EuroSys 2025
 */
#include "device/cuda_try.h"
#include "device/dynamic_shared.cuh"
#include "device/mma.cuh"
#include "device/occupancy.cuh"
#include "ops/plan_state.cuh"
#include "ops/spmm.h"
#include "splits.cuh"

#include <stdlib.h>

constexpr int STAGES = 2; /* a group is multiplied while the next is copied */

enum { TUNE_SPLIT };

template <class H> struct product {
    tca_bme A;
    dense_rows<H> B;
    dense_result<H> C;
    split_sums sums;
    int stage_bytes;
};

/* Returns a lane's two elements of a bitmap tile, which are neighbours: `half` is the half of the bitmap that
 * they are in, `values` begins with the first of that half. */
static __device__ uint32_t decode(uint32_t half, const uint16_t *values)
{
    uint32_t left = 0, right = 0;
    /* BEGIN STUDENT: the lane's two values, if their bits are set: count the bits before them */
    const int bit = 2 * (lane_id() % 16);
    const uint32_t pair = half >> bit, has_left = pair & 1;
    const uint16_t *const own = values + __popc(half & ((1u << bit) - 1)); /* phase 1 counts, ... */
    if (has_left) left = own[0];
    if (pair & 2) right = own[has_left]; /* ... phase 2 knows */
    /* END STUDENT */
    return left | right << 16;
}

/* Adds the warp's strip of the group times X to sum. */
template <int TILE_N, class H>
static __device__ void multiply(const stage<TILE_N, H> &group, float (&sum)[TILE_N / 8][4])
{
    const uint32_t *const halves = reinterpret_cast<const uint32_t *>(group.bitmap);
    const int strip = warp_id(), lane = lane_id();
    /* BEGIN STUDENT: where this lane's values begin, then decode fragments and multiply them */
    /* The 16 bitmaps of a strip are 32 halves, one for each lane to count. The values of mine begin
     * behind those of earlier strips and lower lanes. */
    const uint32_t mine = halves[strip * WARP_SIZE + lane];
    int earlier = 0;
    for (int s = 0; s < STRIPS - 1; s++)
        if (s < strip) earlier += __popc(halves[s * WARP_SIZE + lane]);
    const int start = warp_sum(earlier) + warp_inclusive_sum(__popc(mine)) - __popc(mine);
#pragma unroll
    for (int k = 0; k < GROUP_SIDE / MMA_SIDE; k++) {
        uint32_t a[4], b[2];
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const int at = 2 * (4 * k + q) + lane / 16; /* rows 0 to 3 of the tile, or 4 to 7 */
            const uint32_t half = __shfl_sync(FULL_MASK, mine, at);
            a[q] = decode(half, values_of(group) + __shfl_sync(FULL_MASK, start, at));
        }
#pragma unroll
        for (int n = 0; n < TILE_N / 8; n++) {
            ldmatrix_x2_trans(b, &group.X[k * MMA_SIDE + lane % MMA_SIDE][8 * n]);
            mma_m16n8k16<H>(sum[n], a, b);
        }
    }
    /* END STUDENT */
}

/* Counts blocks that an SM of 2048 threads is to hold: 12 of 40 registers a thread, down to 6 of 80, which
 * the sums of 64 columns take. */
constexpr int blocks_per_sm(int tile_n)
{
    return THREADS_PER_SM / BLOCK * (tile_n <= 16 ? 12 : tile_n <= 32 ? 10 : 6) / 16;
}

/* Multiplies one split of a row of groups by TILE_N columns: a block. */
template <int TILE_N, class H>
static __global__ void __launch_bounds__(BLOCK, blocks_per_sm(TILE_N))
    spmm_bitmap_kernel(const __grid_constant__ product<H> p)
{
    extern __shared__ uint4 shared[];
    const int across = p.A.across, split = blockIdx.y, column = blockIdx.z * TILE_N;
    const int first = (int)((int64_t)across * split / p.sums.splits);
    const int end = (int)((int64_t)across * (split + 1) / p.sums.splits);
    float sum[TILE_N / 8][4] = {};
    auto slot = [&](int k) -> stage<TILE_N, H> & {
        char *const base = reinterpret_cast<char *>(shared);
        return *reinterpret_cast<stage<TILE_N, H> *>(base + k % STAGES * p.stage_bytes);
    };
    auto start_copying = [&](int k) {
        if (k < end) {
            const size_t group = (size_t)blockIdx.x * across + k;
            const int start = p.A.offset[group], next = p.A.offset[group + 1];
            const uint64_t used = p.B.used[k];
            copy_group(p.A, group, start, next, slot(k));
            copy_dense_rows<BLOCK, TILE_N>(p.B, (size_t)k * GROUP_SIDE, used, column, slot(k).X);
        }
        async_commit();
    };
    /* BEGIN STUDENT: copy the next group while this one is multiplied */
    start_copying(first);
    for (int k = first; k < end; k++) {
        async_wait<0>();
        __syncthreads(); /* this group is here, and nobody reads the one before it any more */
        start_copying(k + 1);
        multiply(slot(k), sum);
    }
    /* END STUDENT */
    const int lane = lane_id(), row = blockIdx.x * GROUP_SIDE + warp_id() * MMA_SIDE + lane / 4;
    store_tile<TILE_N>(p.sums, p.C, split, row, column + lane % 4 * 2, sum);
}

/* State that prepare leaves. */
struct bitmap_state {
    tca_bme A;
    uint64_t *d_used;
    split_sums sums;
};

template <int TILE_N, class H> static cudaError_t launch(product<H> &p, cudaStream_t stream)
{
    p.stage_bytes = sizeof(stage<TILE_N, H>) + p.A.longest * sizeof(H);
    const int slices = slices_of(p.B.N), bytes = STAGES * p.stage_bytes;
    CUDA_TRY((allow_shared<spmm_bitmap_kernel<TILE_N, H>>(bytes)));
    const dim3 grid(p.A.down, p.sums.splits, slices);
    spmm_bitmap_kernel<TILE_N, H><<<grid, BLOCK, bytes, stream>>>(p);
    const size_t blocks = ((size_t)p.C.rows * p.C.N - 1) / BLOCK + 1;
    if (p.sums.d_sum)
        add_splits_kernel<<<(unsigned)blocks, BLOCK, 0, stream>>>(p.sums, p.A, p.B, p.C);
    return cudaGetLastError();
}

template <class H>
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    typedef cudaError_t launcher(product<H> &, cudaStream_t);
    static launcher *const LAUNCH[] = {launch<8>, launch<16>, launch<32>, launch<64>};
    const bitmap_state *s = (const bitmap_state *)plan->state;
    const int N = plan->N, tile = tile_of(N);
    product<H> p = {
        .A = s->A,
        .B = {.B = (const H *)B, .N = N, .per_copy = dense_per_copy(N), .used = s->d_used},
        .C = {.C = (H *)C, .rows = plan->A.rows, .N = N, .epilogue = plan->epilogue},
        .sums = s->sums};
    return p.C.rows ? LAUNCH[(tile > 8) + (tile > 16) + (tile > 32)](p, stream) : cudaSuccess;
}

static void release(spmm_plan *plan)
{
    bitmap_state *s = (bitmap_state *)plan->state;
    tca_bme_destroy(&s->A);
    cudaFree(s->d_used);
    cudaFree(s->sums.d_sum);
    free(s);
}

static cudaError_t fill_state(spmm_plan *plan, bitmap_state *s)
{
    int &splits = plan->tuning[TUNE_SPLIT];
    const int N = plan->N, slices = slices_of(N);
    CUDA_TRY(tca_bme_create(&plan->A, &s->A));
    CUDA_TRY(cudaMalloc(&s->d_used, groups_of(plan->A.cols) * sizeof *s->d_used + 1));
    CUDA_TRY(tca_bme_used_columns(&s->A, s->d_used));
    splits = splits_for(splits, s->A.across, plan->A.stats->max);
    const size_t rows = (size_t)s->A.down * GROUP_SIDE, pitch = (size_t)slices * tile_of(N);
    s->sums = split_sums{.splits = splits, .rows = rows, .pitch = pitch, .d_sum = NULL};
    if (splits > 1 || s->A.num_repeats)
        CUDA_TRY(cudaMalloc(&s->sums.d_sum, splits * rows * pitch * sizeof(float)));
    return cudaSuccess;
}

static cudaError_t prepare(spmm_plan *plan)
{
    if (tca_bme_unsuited(plan->A.rows, plan->A.cols, plan->A.nnz)) return cudaErrorNotSupported;
    return plan_state_make<bitmap_state>(plan, fill_state, release);
}

/* A value's place depends on the bits before it, so the matrix is encoded anew. */
static cudaError_t update_values(spmm_plan *plan)
{
    bitmap_state *s = (bitmap_state *)plan->state;
    tca_bme_destroy(&s->A);
    return tca_bme_create(&plan->A, &s->A);
}

static size_t format_bytes(const spmm_plan *plan)
{
    return tca_bme_bytes(&((const bitmap_state *)plan->state)->A);
}

static const char *unsuited(const problem *p)
{
    if (!tca_bme_unsuited(p->A->rows, p->A->cols, p->A->nnz)) return NULL;
    return "a bit for every element, zeros too, is over 4 times CSR's bytes or 2 GiB: try lab 8";
}

constexpr tunable SPLIT = {
    "SPLIT", "blocks that share a row of groups; 0: by a rule", {0, 1, 2, 3, 4, 6}, 6};

#define BITMAP(title, number, kind)                                                   \
    static spmm_contender title = {                                                   \
        .base = {.lab = 9,                                                            \
                 .after = 8,                                                          \
                 .name = #title,                                                      \
                 .summary = "a bitmap in place of columns, decoded for tensor cores", \
                 .precision = kind,                                                   \
                 .min_compute_capability = 80,                                        \
                 .unit = UNIT_TENSOR_CORES,                                           \
                 .unsuited = unsuited,                                                \
                 .tunables = {SPLIT}},                                                \
        .prepare = prepare,                                                           \
        .run16 = run16<number>,                                                       \
        .applies_epilogue = true,                                                     \
        .update_values = update_values,                                               \
        .format_bytes = format_bytes,                                                 \
        .release = release,                                                           \
    };                                                                                \
    SPMM_REGISTER(title)

BITMAP(bitmap_fp16, __half, PRECISION_FP16)
BITMAP(bitmap_bf16, __nv_bfloat16, PRECISION_BF16)
