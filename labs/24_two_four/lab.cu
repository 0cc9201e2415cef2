/*
 * Lab 24 - two of each four: sparse tensor cores for what has their pattern, CSR for the rest.
 *
 * Idea      A sparse tensor core multiplies 16 x 32 elements of A in the time of 16 x 16, if of each four neighbours of a
 *           row only two are there. Pruned weights do not ask for that pattern. So a matrix is split: the first two
 *           elements of each four go to the tensor cores, with two bits each for their place; those left over stay
 *           in CSR, and CUDA cores multiply them. Nothing is decoded: a load brings a fragment as mma.sp wants it.
 * Changed   Lab 9's bitmap and its counting are gone; a second kernel adds up splits, and the rest with them.
 * Run       make lab24 && ./lab24 weights:rows=512,cols=1024,sparsity=0.5 16 --vs lab9
 * Watch     At 50 % zeros the first part has 9/16 of the dense bytes, and the rest a quarter more.
 * Paper     N. Zheng et al., SparTA, OSDI 2022
 */
#include "device/cuda_try.h"
#include "device/dense_rows.cuh"
#include "device/dynamic_shared.cuh"
#include "device/facts.h"
#include "device/mma.cuh"
#include "device/mma_sparse.cuh"
#include "device/split_sums.cuh"
#include "device/warp.cuh"
#include "formats/two_four.h"
#include "ops/plan_state.cuh"
#include "ops/spmm.h"
#include "rest.cuh"

#include <stdlib.h>

constexpr int FRAGMENTS = 2;

enum { TUNE_SPLIT };

/* A block's copy of one group of A, and of the rows of B that it multiplies. */
template <int TILE_N, class H> struct stage {
    uint4 values[STRIPS][FRAGMENTS][WARP_SIZE];
    uint32_t metadata[STRIPS][WARP_SIZE];
    H X[GROUP_SIDE][dense_pitch(TILE_N)];
};

/* Counts a block's stages: a group is multiplied while the others are copied. Memory answers after about a microsecond, in
 * which a multiprocessor of an H200 can take 33 KB. So a block has as many stages as 48 KB hold: four blocks, with three quarters
 * of that room on its way, are more than enough, and two of them still fit into 100 KB. */
constexpr int ROOM = 48 << 10, MOST_STAGES = 7;
template <int TILE_N, class H> constexpr int FIT = ROOM / (int)sizeof(stage<TILE_N, H>);
template <int TILE_N, class H>
constexpr int STAGES = FIT<TILE_N, H> < MOST_STAGES ? FIT<TILE_N, H> : MOST_STAGES;

template <class H> struct product {
    two_four A;
    dense_rows<H> B;
    dense_result<H> C;
    split_sums sums;
};

/* Starts copying a group of A: 4096 bytes of values and 512 of metadata. */
template <int TILE_N, class H>
static __device__ void copy_group(const two_four &A, size_t group, stage<TILE_N, H> &to)
{
    constexpr int PIECE = 16, PIECES = sizeof to.values / PIECE, WORDS = PIECE / 4;
    const unsigned t = threadIdx.x;
    const uint4 *const values = reinterpret_cast<const uint4 *>(A.values) + group * PIECES;
    const uint32_t *const metadata = A.metadata + group * GROUP_METADATA;
    for (unsigned i = t; i < PIECES; i += BLOCK)
        async_copy<PIECE>(&to.values[0][0][0] + i, &values[i]);
    if (t < GROUP_METADATA / WORDS)
        async_copy<PIECE>(&to.metadata[t * WORDS / WARP_SIZE][t * WORDS % WARP_SIZE],
                          &metadata[t * WORDS]);
}

/* Adds fragment F of the warp's strip, columns 32 F to 32 F + 31 of the group, times X to sum. */
template <int F, int TILE_N, class H>
static __device__ void multiply(const stage<TILE_N, H> &group, float (&sum)[TILE_N / 8][4])
{
    const int strip = warp_id(), lane = lane_id();
    /* BEGIN STUDENT: one load brings the fragment; whose metadata say where its elements are? */
    const uint4 stored = group.values[strip][F][lane];
    const uint32_t a[4] = {stored.x, stored.y, stored.z, stored.w};
    const uint32_t metadata = group.metadata[strip][lane];
#pragma unroll
    for (int n = 0; n < TILE_N / 8; n++) {
        uint32_t b[4];
        ldmatrix_x4_trans(b, &group.X[32 * F + lane][8 * n]);
        mma_sp_m16n8k32<H, F>(sum[n], a, b, metadata);
    }
    /* END STUDENT */
}

/* Multiplies one split of a row of groups by TILE_N columns: a block, a warp a strip. */
template <int TILE_N, class H>
static __global__ void __launch_bounds__(BLOCK)
    spmm_two_four_kernel(const __grid_constant__ product<H> p)
{
    extern __shared__ uint4 shared[];
    const int across = p.A.across, split = blockIdx.y, column = blockIdx.z * TILE_N;
    const int first = (int)((int64_t)across * split / p.sums.splits);
    const int end = (int)((int64_t)across * (split + 1) / p.sums.splits);
    constexpr int DEPTH = STAGES<TILE_N, H>;
    stage<TILE_N, H> *const ring = reinterpret_cast<stage<TILE_N, H> *>(shared);
    float sum[TILE_N / 8][4] = {};
    auto start_copying = [&](int k) {
        if (k < end) {
            stage<TILE_N, H> &to = ring[k % DEPTH];
            copy_group(p.A, (size_t)blockIdx.x * across + k, to);
            copy_dense_rows<BLOCK, TILE_N>(p.B, (size_t)k * GROUP_SIDE, p.B.used[k], column, to.X);
        }
        async_commit(); /* of nothing, too, so that a wait counts groups */
    };
    /* BEGIN STUDENT: keep DEPTH - 1 groups on their way while one is multiplied */
    for (int k = first; k < first + DEPTH - 1; k++)
        start_copying(k);
    for (int k = first; k < end; k++) {
        async_wait<DEPTH - 2>();
        __syncthreads(); /* group k is here, and nobody reads the one before it any more */
        start_copying(k + DEPTH - 1);
        multiply<0>(ring[k % DEPTH], sum);
        multiply<1>(ring[k % DEPTH], sum);
    }
    /* END STUDENT */
    const int lane = lane_id(), row = blockIdx.x * GROUP_SIDE + warp_id() * MMA_SIDE + lane / 4;
    store_tile<TILE_N>(p.sums, p.C, split, row, column + lane % 4 * 2, sum);
}

/* State that prepare leaves. */
struct two_four_state {
    two_four A;
    uint64_t *d_used;
    split_sums sums; /* d_sum is NULL until a matrix needs it */
};

template <int TILE_N, class H> static cudaError_t launch(const product<H> &p, cudaStream_t stream)
{
    const int slices = slices_of(p.B.N), bytes = STAGES<TILE_N, H> * sizeof(stage<TILE_N, H>);
    CUDA_TRY((allow_shared<spmm_two_four_kernel<TILE_N, H>>(bytes)));
    const dim3 grid(p.A.down, p.sums.splits, slices);
    spmm_two_four_kernel<TILE_N, H><<<grid, BLOCK, bytes, stream>>>(p);
    CUDA_TRY(cudaGetLastError());
    return p.sums.d_sum ? add_rest<TILE_N>(p.sums, p.A, p.B, p.C, stream) : cudaSuccess;
}

/* A matrix that has the pattern, and blocks that share no row: C is complete as it is. */
static bool needs_sums(const two_four_state *s)
{
    return s->sums.splits > 1 || s->A.num_rest > 0;
}

template <class H>
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    typedef cudaError_t launcher(const product<H> &, cudaStream_t);
    static launcher *const LAUNCH[] = {launch<8>, launch<16>, launch<32>, launch<64>};
    const two_four_state *s = (const two_four_state *)plan->state;
    const int N = plan->N, tile = tile_of(N);
    product<H> p = {
        .A = s->A,
        .B = {.B = (const H *)B, .N = N, .per_copy = dense_per_copy(N), .used = s->d_used},
        .C = {.C = (H *)C, .rows = plan->A.rows, .N = N},
        .sums = s->sums};
    if (!needs_sums(s)) p.sums.d_sum = NULL;
    return p.C.rows ? LAUNCH[(tile > 8) + (tile > 16) + (tile > 32)](p, stream) : cudaSuccess;
}

static void release(spmm_plan *plan)
{
    two_four_state *s = (two_four_state *)plan->state;
    two_four_free(&s->A);
    cudaFree(s->d_used);
    cudaFree(s->sums.d_sum);
    free(s);
}

/* Makes the format, and room for sums if it needs any; d_used is not NULL. */
static cudaError_t encode(spmm_plan *plan, two_four_state *s)
{
    tca_bme bitmaps;
    two_four_free(&s->A);
    CUDA_TRY(tca_bme_create(&plan->A, &bitmaps));
    cudaError_t error = tca_bme_used_columns(&bitmaps, s->d_used);
    if (error == cudaSuccess) error = two_four_build(ON_DEVICE, &bitmaps, &s->A);
    tca_bme_destroy(&bitmaps);
    if (error != cudaSuccess || !needs_sums(s) || s->sums.d_sum) return error;
    const size_t sums = s->sums.splits * s->sums.rows * s->sums.pitch;
    return cudaMalloc(&s->sums.d_sum, sums * sizeof(float));
}

/* Chooses SPLIT: no more than it takes to give each multiprocessor three blocks, whose copies fill its share of memory. Each split
 * more writes and reads all of C in fp32, and the first wants a second kernel. */
static int fewest_splits(const spmm_plan *plan)
{
    constexpr int BLOCKS = 3, LEAST_GROUPS = 8;
    const int64_t wanted = (int64_t)BLOCKS * device_facts_get()->sms;
    const int64_t blocks = (int64_t)groups_of(plan->A.rows) * slices_of(plan->N);
    int best = 1;
    for (int splits : SPLITS)
        if (blocks * best < wanted && groups_of(plan->A.cols) / splits >= LEAST_GROUPS)
            best = splits;
    return best;
}

static cudaError_t fill_state(spmm_plan *plan, two_four_state *s)
{
    int &splits = plan->tuning[TUNE_SPLIT];
    const int N = plan->N, across = groups_of(plan->A.cols);
    splits = splits_for(splits == 0 ? fewest_splits(plan) : splits, across, plan->A.stats->max);
    s->sums.splits = splits;
    s->sums.rows = (size_t)groups_of(plan->A.rows) * GROUP_SIDE;
    s->sums.pitch = (size_t)slices_of(N) * tile_of(N);
    CUDA_TRY(cudaMalloc(&s->d_used, across * sizeof *s->d_used + 1));
    return encode(plan, s);
}

static cudaError_t prepare(spmm_plan *plan)
{
    if (two_four_unsuited(plan->A.rows, plan->A.cols, plan->A.nnz)) return cudaErrorNotSupported;
    return plan_state_make<two_four_state>(plan, fill_state, release);
}

/* An element that becomes zero, or was, has another place, so the matrix is encoded anew. */
static cudaError_t update_values(spmm_plan *plan)
{
    return encode(plan, (two_four_state *)plan->state);
}

static size_t format_bytes(const spmm_plan *plan)
{
    return two_four_bytes(&((const two_four_state *)plan->state)->A);
}

static const char *unsuited(const problem *p)
{
    if (!two_four_unsuited(p->A->rows, p->A->cols, p->A->nnz)) return NULL;
    return "9/8 bytes for every element, zeros too, are over 4 times CSR's or 2 GiB: try lab 8";
}

constexpr tunable SPLIT = {
    "SPLIT", "blocks that share a row of groups; 0: by a rule", {0, 1, 3, 6}, 4};

#define TWO_FOUR(title, number, kind)                                                   \
    static spmm_contender title = {                                                     \
        .base = {.lab = 24,                                                             \
                 .after = 9,                                                            \
                 .name = #title,                                                        \
                 .summary = "two of each four on sparse tensor cores, the rest in CSR", \
                 .precision = kind,                                                     \
                 .min_compute_capability = 80,                                          \
                 .unit = UNIT_TENSOR_CORES,                                             \
                 .unsuited = unsuited,                                                  \
                 .tunables = {SPLIT}},                                                  \
        .prepare = prepare,                                                             \
        .run16 = run16<number>,                                                         \
        .update_values = update_values,                                                 \
        .format_bytes = format_bytes,                                                   \
        .release = release,                                                             \
    };                                                                                  \
    SPMM_REGISTER(title)

TWO_FOUR(two_four_fp16, __half, PRECISION_FP16)
TWO_FOUR(two_four_bf16, __nv_bfloat16, PRECISION_BF16)
