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
constexpr int AHEAD = 4; /* groups whose words of A a lane holds */
constexpr int SPAN = 2;  /* groups whose rows of B come to shared memory at a time */
constexpr int STAGES = AHEAD / SPAN;
static_assert(STAGES == 2, "one stage is multiplied while the other is copied");

enum { TUNE_SPLIT };

/* A lane's words of a strip of a group: of two fragments, and their metadata. No other lane wants them. */
struct strip {
    uint4 values[FRAGMENTS];
    uint32_t metadata;
};

/* The rows of B that SPAN groups multiply. */
template <int TILE_N, class H> struct stage {
    alignas(16) H X[SPAN][GROUP_SIDE][dense_pitch(TILE_N)];
};

template <class H> struct product {
    two_four A;
    dense_rows<H> B;
    dense_result<H> C;
    split_sums sums;
};

/* Where this lane's words of the warp's strip lie, from some group on. Groups of a row follow each other. */
struct strip_source {
    const uint4 *values;
    const uint32_t *metadata;

    __device__ strip_source(const two_four &A, size_t group)
    {
        const size_t number = group * STRIPS + warp_id();
        values = reinterpret_cast<const uint4 *>(A.values) + number * (FRAGMENTS * WARP_SIZE) +
                 lane_id();
        metadata = A.metadata + number * STRIP_METADATA + lane_id();
    }
    /* Loads the words of a group, `groups` behind the first. Each is read once. */
    __device__ __forceinline__ void load(int groups, strip &to) const
    {
#pragma unroll
        for (int f = 0; f < FRAGMENTS; f++)
            to.values[f] = __ldcs(&values[(groups * STRIPS * FRAGMENTS + f) * WARP_SIZE]);
        to.metadata = __ldcs(&metadata[groups * GROUP_METADATA]);
    }
    __device__ __forceinline__ void advance(int groups)
    {
        values += groups * STRIPS * FRAGMENTS * WARP_SIZE;
        metadata += groups * GROUP_METADATA;
    }
};

/* Adds fragment F of a strip, columns 32 F to 32 F + 31 of its group, times X to sum. */
template <int F, int TILE_N, class H>
static __device__ __forceinline__ void multiply(const strip &stored,
                                                const H (&X)[GROUP_SIDE][dense_pitch(TILE_N)],
                                                float (&sum)[TILE_N / 8][4])
{
    /* BEGIN STUDENT: the fragment is here; whose metadata say where its elements are? */
    const uint32_t a[4] = {stored.values[F].x, stored.values[F].y, stored.values[F].z,
                           stored.values[F].w};
#pragma unroll
    for (int n = 0; n < TILE_N / 8; n++) {
        uint32_t b[4];
        ldmatrix_x4_trans(b, &X[32 * F + lane_id()][8 * n]);
        mma_sp_m16n8k32<H, F>(sum[n], a, b, stored.metadata);
    }
    /* END STUDENT */
}

/* Multiplies one split of a row of groups by TILE_N columns: a block, a warp a strip. */
template <int TILE_N, class H>
static __global__ void __launch_bounds__(BLOCK)
    spmm_two_four_kernel(const __grid_constant__ product<H> p)
{
    __shared__ stage<TILE_N, H> ring[STAGES];
    const int across = p.A.across, split = blockIdx.y, column = blockIdx.z * TILE_N;
    const int first = (int)((int64_t)across * split / p.sums.splits);
    const int groups = (int)((int64_t)across * (split + 1) / p.sums.splits) - first;
    strip_source next(p.A, (size_t)blockIdx.x * across + first);
    float sum[TILE_N / 8][4] = {};
    /* Starts copying B's rows of groups k to k + SPAN - 1. */
    auto start_copying = [&](int k, int stage) {
        uint64_t used[SPAN];
        for (int i = 0; i < SPAN; i++)
            used[i] = k + i < groups ? p.B.used[first + k + i] : 0;
        for (int i = 0; i < SPAN; i++)
            if (k + i < groups)
                copy_dense_rows<BLOCK, TILE_N>(p.B, (size_t)(first + k + i) * GROUP_SIDE, used[i],
                                               column, ring[stage].X[i]);
        async_commit();
    };
    strip stored[AHEAD] = {};
#pragma unroll
    for (int u = 0; u < AHEAD; u++)
        if (u < groups) next.load(u, stored[u]);
    start_copying(0, 0);
    /* BEGIN STUDENT: keep AHEAD groups of A in registers, and SPAN groups of B on their way */
    for (int k = 0; k < groups; k += AHEAD) {
        next.advance(AHEAD);
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            const int stage = u / SPAN;
            if (u % SPAN == 0) {
                async_wait<0>();
                __syncthreads(); /* this stage is here, and nobody reads the other any more */
                start_copying(k + u + SPAN, (stage + 1) % STAGES);
            }
            if (k + u >= groups) break;
            multiply<0, TILE_N>(stored[u], ring[stage].X[u % SPAN], sum);
            multiply<1, TILE_N>(stored[u], ring[stage].X[u % SPAN], sum);
            /* Asks for the group whose turn comes with these registers again. */
            if (k + u + AHEAD < groups) next.load(u, stored[u]);
        }
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

template <int LANES, int V, class H>
static cudaError_t launch_rest(const split_sums &from, const two_four &A, const dense_rows<H> &B,
                               const dense_result<H> &out, cudaStream_t stream)
{
    const dim3 grid((out.rows - 1) / STRIPS + 1, (out.N - 1) / (LANES * V) + 1);
    add_rest_kernel<LANES, V, H><<<grid, BLOCK, 0, stream>>>(from, A, B, out);
    return cudaGetLastError();
}

/* Makes C of the splits and the rest, for tiles of TILE_N columns. */
template <int TILE_N, class H>
static cudaError_t add_rest(const split_sums &from, const two_four &A, const dense_rows<H> &B,
                            const dense_result<H> &out, cudaStream_t stream)
{
    constexpr int WIDE = 8; /* columns in 16 bytes */
    if (out.N % WIDE == 0) return launch_rest<TILE_N / WIDE, WIDE>(from, A, B, out, stream);
    constexpr int LANES = TILE_N < WARP_SIZE ? TILE_N : WARP_SIZE;
    return launch_rest<LANES, 1>(from, A, B, out, stream);
}

template <int TILE_N, class H> static cudaError_t launch(const product<H> &p, cudaStream_t stream)
{
    const dim3 grid(p.A.down, p.sums.splits, slices_of(p.B.N));
    spmm_two_four_kernel<TILE_N, H><<<grid, BLOCK, 0, stream>>>(p);
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

/* Chooses SPLIT: no more than it takes to give each multiprocessor three blocks, whose loads keep its share of memory
 * busy. Each split more writes and reads all of C in fp32, and the first wants a second kernel. */
static int fewest_splits(const spmm_plan *plan)
{
    constexpr int BLOCKS = 3;
    const int64_t wanted = (int64_t)BLOCKS * device_facts_get()->sms;
    const int64_t blocks = max((int64_t)groups_of(plan->A.rows) * slices_of(plan->N), (int64_t)1);
    return choose_splits(groups_of(plan->A.cols), (wanted + blocks - 1) / blocks);
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
