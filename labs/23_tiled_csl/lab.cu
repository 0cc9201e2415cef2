/*
 * Lab 23 - Tiled-CSL: load as sparse, compute as dense.
 *
 * Idea      Each nonzero is a word that carries its own address: 16 bits of value, 16 bits of place in a tile of 64 x 64. A
 *           block copies a tile's words, clears a dense tile in shared memory, and stores every value at its place. From
 *           there on the product is a dense one. No bit is counted, and nobody waits for anybody's count.
 * Changed   Lab 9 spreads a group out in registers; here shared memory does it, one store a nonzero. Two dense tiles take
 *           turns: one is multiplied while the other is cleared.
 * Run       make lab23 && ./lab23 weights:rows=512,cols=1024,sparsity=0.7 16 --vs lab9
 * Watch     4 bytes a nonzero are as many as the dense matrix has at 50 % zeros.
 * Paper     H. Xia et al., Flash-LLM, VLDB 2023
 */
#include "device/cuda_try.h"
#include "device/dynamic_shared.cuh"
#include "ops/plan_state.cuh"
#include "ops/spmm.h"
#include "tile.cuh"

#include <stdlib.h>

constexpr int STAGES =
    3; /* a tile is multiplied, the next one is spread, and the one after it copied */
constexpr int TILES = 2;

enum { TUNE_SPLIT };

template <class H> struct product {
    tiled_csl A;
    dense_rows<H> B;
    dense_result<H> C;
    split_sums sums;
    int stage_bytes;
};

/* Adds the warp's strip of the dense tile times X to sum. */
template <int TILE_N, class H>
static __device__ void multiply(const dense_tile &tile, const stage<TILE_N, H> &from,
                                float (&sum)[TILE_N / 8][4])
{
    const int strip = warp_id(), lane = lane_id();
    /* BEGIN STUDENT: fragments of the tile and of X by ldmatrix, as in any dense product */
#pragma unroll
    for (int k = 0; k < GROUP_SIDE; k += MMA_SIDE) {
        uint32_t a[4], b[2];
        ldmatrix_x4(a, &tile.element[strip * MMA_SIDE + lane % 16][k + lane / 16 * 8]);
#pragma unroll
        for (int n = 0; n < TILE_N / 8; n++) {
            ldmatrix_x2_trans(b, &from.X[k + lane % MMA_SIDE][8 * n]);
            mma_m16n8k16<H>(sum[n], a, b);
        }
    }
    /* END STUDENT */
}

/* Multiplies one split of a row of tiles by TILE_N columns: a block, a warp a strip of 16 rows. */
template <int TILE_N, class H>
static __global__ void __launch_bounds__(BLOCK)
    spmm_tiled_csl_kernel(const __grid_constant__ product<H> p)
{
    extern __shared__ uint4 shared[];
    const int across = p.A.across, split = blockIdx.y, column = blockIdx.z * TILE_N;
    const int first = (int)((int64_t)across * split / p.sums.splits);
    const int end = (int)((int64_t)across * (split + 1) / p.sums.splits);
    const size_t row = (size_t)blockIdx.x * across;
    dense_tile *const tiles = reinterpret_cast<dense_tile *>(shared);
    float sum[TILE_N / 8][4] = {};
    auto slot = [&](int k) -> stage<TILE_N, H> & {
        char *const base = reinterpret_cast<char *>(tiles + TILES);
        return *reinterpret_cast<stage<TILE_N, H> *>(base + k % STAGES * p.stage_bytes);
    };
    auto start_copying = [&](int k) {
        if (k < end) {
            copy_words(p.A, row + k, slot(k));
            copy_dense_rows<BLOCK, TILE_N>(p.B, (size_t)k * GROUP_SIDE, p.B.used[k], column,
                                           slot(k).X);
        }
        async_commit(); /* of nothing, too, so that a wait counts tiles */
    };
    auto spread_if_any = [&](int k) {
        if (k < end)
            spread(slot(k), p.A.offset[row + k + 1] - p.A.offset[row + k], tiles[k % TILES]);
    };
    /* BEGIN STUDENT: copy, clear, spread, multiply: which of them wait for which? */
    start_copying(first);
    start_copying(first + 1);
    clear(tiles[first % TILES]);
    async_wait<1>();
    __syncthreads(); /* the first words are here, and the tile is clear */
    spread_if_any(first);
    for (int k = first; k < end; k++) {
        async_wait<0>();
        __syncthreads(); /* tile k is spread, words k + 1 are here, nobody reads tile k - 1 or its X */
        start_copying(k + 2);
        clear(tiles[(k + 1) % TILES]);
        multiply(tiles[k % TILES], slot(k), sum);
        __syncthreads(); /* the other tile is clear */
        spread_if_any(k + 1);
    }
    /* END STUDENT */
    const int lane = lane_id(), at = blockIdx.x * GROUP_SIDE + warp_id() * MMA_SIDE + lane / 4;
    store_tile<TILE_N>(p.sums, p.C, split, at, column + lane % 4 * 2, sum);
}

/* State that prepare leaves. */
struct tiled_csl_state {
    tiled_csl A;
    tca_bme repeats; /* what the format cannot say */
    uint64_t *d_used;
    split_sums sums;
};

template <int TILE_N, class H> static cudaError_t launch(product<H> &p, cudaStream_t stream)
{
    p.stage_bytes = sizeof(stage<TILE_N, H>) + p.A.longest * sizeof(uint32_t);
    const int bytes = TILES * sizeof(dense_tile) + STAGES * p.stage_bytes;
    CUDA_TRY((allow_shared<spmm_tiled_csl_kernel<TILE_N, H>>(bytes)));
    const dim3 grid(p.A.down, p.sums.splits, slices_of(p.B.N));
    spmm_tiled_csl_kernel<TILE_N, H><<<grid, BLOCK, bytes, stream>>>(p);
    return cudaGetLastError();
}

template <class H>
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    typedef cudaError_t launcher(product<H> &, cudaStream_t);
    static launcher *const LAUNCH[] = {launch<8>, launch<16>, launch<32>, launch<64>};
    const tiled_csl_state *s = (const tiled_csl_state *)plan->state;
    const int N = plan->N, tile = tile_of(N);
    product<H> p = {
        .A = s->A,
        .B = {.B = (const H *)B, .N = N, .per_copy = dense_per_copy(N), .used = s->d_used},
        .C = {.C = (H *)C, .rows = plan->A.rows, .N = N},
        .sums = s->sums};
    if (p.C.rows == 0) return cudaSuccess;
    CUDA_TRY(LAUNCH[(tile > 8) + (tile > 16) + (tile > 32)](p, stream));
    const size_t blocks = ((size_t)p.C.rows * N - 1) / BLOCK + 1;
    if (p.sums.d_sum)
        add_splits_kernel<<<(unsigned)blocks, BLOCK, 0, stream>>>(p.sums, s->repeats, p.B, p.C);
    return cudaGetLastError();
}

static void release(spmm_plan *plan)
{
    tiled_csl_state *s = (tiled_csl_state *)plan->state;
    tiled_csl_free(&s->A);
    tca_bme_destroy(&s->repeats);
    cudaFree(s->d_used);
    cudaFree(s->sums.d_sum);
    free(s);
}

static cudaError_t encode(spmm_plan *plan, tiled_csl_state *s)
{
    tiled_csl_free(&s->A);
    tca_bme_destroy(&s->repeats);
    CUDA_TRY(tca_bme_create(&plan->A, &s->repeats));
    CUDA_TRY(tca_bme_used_columns(&s->repeats, s->d_used));
    CUDA_TRY(tiled_csl_build(ON_DEVICE, &s->repeats, &s->A));
    tca_bme_keep_repeats(&s->repeats);
    return cudaSuccess;
}

static cudaError_t fill_state(spmm_plan *plan, tiled_csl_state *s)
{
    int &splits = plan->tuning[TUNE_SPLIT];
    const int N = plan->N, across = groups_of(plan->A.cols);
    CUDA_TRY(cudaMalloc(&s->d_used, across * sizeof *s->d_used + 1));
    CUDA_TRY(encode(plan, s));
    splits = splits_for(splits, across, plan->A.stats->max);
    const size_t rows = (size_t)s->A.down * GROUP_SIDE, pitch = (size_t)slices_of(N) * tile_of(N);
    s->sums = split_sums{.splits = splits, .rows = rows, .pitch = pitch, .d_sum = NULL};
    if (splits > 1 || s->repeats.num_repeats)
        CUDA_TRY(cudaMalloc(&s->sums.d_sum, splits * rows * pitch * sizeof(float)));
    return cudaSuccess;
}

static cudaError_t prepare(spmm_plan *plan)
{
    if (tca_bme_unsuited(plan->A.rows, plan->A.cols, plan->A.nnz)) return cudaErrorNotSupported;
    return plan_state_make<tiled_csl_state>(plan, fill_state, release);
}

/* A value's word is found again by the bits before it, which are not kept: the matrix is encoded anew. */
static cudaError_t update_values(spmm_plan *plan)
{
    return encode(plan, (tiled_csl_state *)plan->state);
}

static size_t format_bytes(const spmm_plan *plan)
{
    return tiled_csl_bytes(&((const tiled_csl_state *)plan->state)->A);
}

static const char *unsuited(const problem *p)
{
    if (!tca_bme_unsuited(p->A->rows, p->A->cols, p->A->nnz)) return NULL;
    return "most tiles of 64 x 64 would be multiplied for a few nonzeros each: try lab 8";
}

constexpr tunable SPLIT = {
    "SPLIT", "blocks that share a row of tiles; 0: by a rule", {0, 1, 3, 6}, 4};

#define TILED_CSL(title, number, kind)                                            \
    static spmm_contender title = {                                               \
        .base = {.lab = 23,                                                       \
                 .after = 9,                                                      \
                 .name = #title,                                                  \
                 .summary = "value and place in a word, spread in shared memory", \
                 .precision = kind,                                               \
                 .min_compute_capability = 80,                                    \
                 .unit = UNIT_TENSOR_CORES,                                       \
                 .unsuited = unsuited,                                            \
                 .tunables = {SPLIT}},                                            \
        .prepare = prepare,                                                       \
        .run16 = run16<number>,                                                   \
        .update_values = update_values,                                           \
        .format_bytes = format_bytes,                                             \
        .release = release,                                                       \
    };                                                                            \
    SPMM_REGISTER(title)

TILED_CSL(tiled_csl_fp16, __half, PRECISION_FP16)
TILED_CSL(tiled_csl_bf16, __nv_bfloat16, PRECISION_BF16)
