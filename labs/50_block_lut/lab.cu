/*
 * Lab 50 - block look-up tables: products with block-sparse weights, a thread block a segment of blocks.
 *
 * Idea      A block is a small dense matrix, so its product needs no index but its own place. A table lists the blocks
 *           behind each output. Long lists are cut into segments, so that no thread block has much more than another.
 * Changed   There is no lab of this operation before. Where lists are cut, several thread blocks share an output, and
 *           SUM says how they add up: parts in order (ours), locks, atomics; or lists are not cut.
 * Run       make lab50 && ./lab50 blocks:in=1024,kind=attach 64       ./lab50 --set PASS=bprop,SUM=locks
 * Watch     bprop stores W transposed: rows of shared memory that are padded wrong meet in one bank.
 * Paper     S. Gray, A. Radford, D. P. Kingma: GPU Kernels for Block-Sparse Weights, 2017.
 */
#include "finish.cuh"

#include "ops/bsmm.h"

#include <stdlib.h>

enum { TUNE_SUM, TUNE_COUNTS };

/* Pairs of a segment that are listed at a time. */
constexpr int LISTED = 64;

/* A block to multiply with. */
struct listed_block {
    int input, block;
    float gate;
};

/* ---- the list --------------------------------------------------------------------------------- */

/* Lists those of the segment's pairs whose gate is not 0, at most LISTED of them, in order: warp 0 writes them to `list`
 * and their number to *listed. A block that is left out is neither read nor multiplied, so no NaN of it gets anywhere. */
static __device__ __forceinline__ void
list_open_blocks(const int2 *pair, int pairs, const float *gate, listed_block *list, int *listed)
{
    if (threadIdx.x >= WARP_SIZE) return;
    const int lane = threadIdx.x, count = min(pairs, LISTED);
    int open = 0;
    for (int first = 0; first < count; first += WARP_SIZE) {
        const bool is_there = first + lane < count;
        const int2 p = is_there ? pair[first + lane] : make_int2(0, 0);
        const float g = !is_there ? 0 : gate ? gate[p.y] : 1;
        /* BEGIN STUDENT: the open blocks of the warp, packed behind those of earlier turns */
        const unsigned vote = __ballot_sync(FULL_MASK, g != 0);
        const int before = __popc(vote & ((1u << lane) - 1));
        if (g != 0) list[open + before] = {p.x, p.y, g};
        open += __popc(vote);
        /* END STUDENT */
    }
    if (lane == 0) *listed = open;
}

/* ---- a block and its features ------------------------------------------------------------------ */

/* Tiles in shared memory. Row d of W holds what feature d of the input block is multiplied by, so fprop has W as it lies
 * and bprop has it transposed. */
template <int B, bool TRANSPOSED> struct tiles {
    static constexpr int PITCH = TRANSPOSED ? B + 4 : B;
    alignas(16) float W[B][PITCH];
    alignas(16) float in[B][TOKENS];
};

/* A thread's part of the next block and its features, on the way from global to shared memory. */
template <int B, bool TRANSPOSED, bool ALIGNED> struct fetched {
    static constexpr int QUADS = B / 4, W_TURNS = B > 16 ? B / 16 : 1;
    float w[W_TURNS][4], x[4][4];

    /* Row and quad (four neighbours) of W that this thread moves in a turn. For bprop a warp takes 16 rows of two quads:
     * whole sectors of 32 bytes, and shared memory in the order below. */
    static __device__ __forceinline__ int2 place(int turn)
    {
        const int v = turn * THREADS<B> + threadIdx.x;
        return TRANSPOSED ? make_int2(v / 2 % B, v % 2 + v / (2 * B) * 2)
                          : make_int2(v / QUADS, v % QUADS);
    }
    static __device__ __forceinline__ bool moves(int turn)
    {
        return turn * THREADS<B> + threadIdx.x < B * QUADS;
    }

    __device__ __forceinline__ void fetch(const product_of &a, const listed_block &l, int token0)
    {
        const float *W = a.W + (size_t)l.block * B * B;
#pragma unroll
        for (int t = 0; t < W_TURNS; t++)
            if (moves(t)) load_vector(w[t], W + place(t).x * B + place(t).y * 4);
        const int token = threadIdx.x % 16 * 4;
#pragma unroll
        for (int t = 0; t < 4; t++) {
            const int row = t * (B / 4) + threadIdx.x / 16;
            load_tokens<ALIGNED>(x[t], a.in + (size_t)(l.input * B + row) * a.N, token0 + token,
                                 a.N);
        }
    }

    __device__ __forceinline__ void store(tiles<B, TRANSPOSED> &s, float gate) const
    {
#pragma unroll
        for (int t = 0; t < W_TURNS; t++) {
            float scaled[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                scaled[i] = gate * w[t][i];
            if (!moves(t)) continue;
            const int2 at = place(t);
            if (!TRANSPOSED) store_vector(&s.W[at.x][at.y * 4], scaled);
                /* In a warp at.x takes 16 values and at.y two: four rows of PITCH floats must be 16 banks apart. */
                /* BEGIN STUDENT: the same, transposed */
#pragma unroll
            for (int i = 0; TRANSPOSED && i < 4; i++)
                s.W[at.y * 4 + i][at.x] = scaled[i];
            /* END STUDENT */
        }
#pragma unroll
        for (int t = 0; t < 4; t++)
            store_vector(&s.in[t * (B / 4) + threadIdx.x / 16][threadIdx.x % 16 * 4], x[t]);
    }
};

/* sum[i][j] += W^T times features: output feature 4 * (thread / 16) + i, token 4 * (thread % 16) + j. */
template <int B, bool TRANSPOSED>
__device__ __forceinline__ void multiply_add(const tiles<B, TRANSPOSED> &s, float (&sum)[4][4])
{
    const int feature = threadIdx.x / 16 * 4, token = threadIdx.x % 16 * 4;
#pragma unroll 8
    for (int d = 0; d < B; d++) {
        float w[4], x[4];
        load_vector_plain(w, &s.W[d][feature]);
        load_vector_plain(x, &s.in[d][token]);
        /* BEGIN STUDENT: the outer product of w and x */
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum[i][j] += w[i] * x[j];
        /* END STUDENT */
    }
}

/* A thread block, a segment and TOKENS tokens. */
template <int B, bool TRANSPOSED, bool ALIGNED>
static __global__ void __launch_bounds__(THREADS<B>) bsmm_block_lut_kernel(const product_of a)
{
    __shared__ tiles<B, TRANSPOSED> s;
    __shared__ listed_block list[LISTED];
    __shared__ int listed;
    const int4 segment = ((const int4 *)a.lut)[blockIdx.x]; /* first pair, pairs, output, share */
    const int2 *pair = (const int2 *)a.lut + segment.x;
    const int token0 = blockIdx.y * TOKENS;
    fetched<B, TRANSPOSED, ALIGNED> next;
    float sum[4][4] = {};
    for (int first = 0; first < segment.y; first += LISTED) {
        if (first > 0) __syncthreads(); /* all have read the list */
        list_open_blocks(pair + first, segment.y - first, a.gate, list, &listed);
        __syncthreads();
        const int count = listed;
        if (count > 0) next.fetch(a, list[0], token0);
        for (int i = 0; i < count; i++) {
            next.store(s, list[i].gate);
            __syncthreads();
            if (i + 1 < count) next.fetch(a, list[i + 1], token0);
            multiply_add(s, sum);
            __syncthreads();
        }
    }
    finish<B, ALIGNED>(a, segment.z, segment.w, sum);
}

/* ---- plans ------------------------------------------------------------------------------------ */

typedef struct lut_state {
    block_lut *lut;
    partial_sums parts; /* SUM=parts */
    int *d_locks;       /* SUM=locks: locks, then counts */
    int tiles;
} lut_state;

static void release(bsmm_plan *plan)
{
    lut_state *s = (lut_state *)plan->state;
    if (!s) return;
    block_lut_free(s->lut);
    partial_sums_free(&s->parts);
    cudaFree(s->d_locks);
    free(s);
    plan->state = NULL;
}

static size_t locks_bytes(const lut_state *s)
{
    return (size_t)2 * s->lut->shares * s->tiles * sizeof(int);
}

static size_t part_floats(const bsmm_plan *plan, const lut_state *s)
{
    return (size_t)s->lut->parts * s->tiles * plan->block * TOKENS;
}

static cudaError_t fill(const bsmm_plan *plan, enum block_lut_rule rule, lut_state *s)
{
    const int sum = plan->tuning[TUNE_SUM];
    CUDA_TRY(block_lut_build(plan->layout, plan->transposed, rule, &s->lut));
    s->tiles = (plan->N + TOKENS - 1) / TOKENS;
    if (sum == SUM_PARTS)
        CUDA_TRY(
            partial_sums_make(part_floats(plan, s), (size_t)s->lut->shares * s->tiles, &s->parts));
    return sum == SUM_LOCKS ? cudaMalloc((void **)&s->d_locks, locks_bytes(s) + 1) : cudaSuccess;
}

static cudaError_t prepare(bsmm_plan *plan)
{
    const int MOST_TILES = 65535; /* of a grid's second dimension */
    if (plan->N > MOST_TILES * TOKENS) return cudaErrorNotSupported;
    if (plan->tuning[TUNE_SUM] == SUM_UNCUT) plan->tuning[TUNE_COUNTS] = BLOCK_LUT_OWN;
    const enum block_lut_rule rule = plan->tuning[TUNE_SUM] == SUM_UNCUT
                                         ? BLOCK_LUT_UNCUT
                                         : (enum block_lut_rule)plan->tuning[TUNE_COUNTS];
    plan->state = calloc(1, sizeof(lut_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill(plan, rule, (lut_state *)plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

template <int B> static void launch(const bsmm_plan *plan, const product_of &a, cudaStream_t stream)
{
    const lut_state *s = (const lut_state *)plan->state;
    const dim3 grid(s->lut->segments, s->tiles);
    const bool aligned = a.N % 4 == 0;
    if (plan->transposed && aligned)
        bsmm_block_lut_kernel<B, true, true><<<grid, THREADS<B>, 0, stream>>>(a);
    else if (plan->transposed)
        bsmm_block_lut_kernel<B, true, false><<<grid, THREADS<B>, 0, stream>>>(a);
    else if (aligned)
        bsmm_block_lut_kernel<B, false, true><<<grid, THREADS<B>, 0, stream>>>(a);
    else
        bsmm_block_lut_kernel<B, false, false><<<grid, THREADS<B>, 0, stream>>>(a);
}

static cudaError_t run(const bsmm_plan *plan, const bsmm_inputs *in, void *out, cudaStream_t stream)
{
    const lut_state *s = (const lut_state *)plan->state;
    const product_of a = {
        .lut = s->lut->device,
        .W = (const float *)in->W,
        .in = (const float *)in->in,
        .gate = in->gate,
        .out = (float *)out,
        .N = plan->N,
        .how = plan->tuning[TUNE_SUM],
        .part_start = s->lut->d_part_start,
        .first_segment = s->lut->d_first_segment,
        .parts = s->parts.d_sums,
        .arrived = s->parts.d_arrived,
        .lock = s->d_locks,
        .count = s->d_locks + (size_t)s->lut->shares * s->tiles,
    };
    if (s->lut->segments == 0) return cudaSuccess;
    if (s->lut->shares > 0 && a.how == SUM_LOCKS)
        CUDA_TRY(cudaMemsetAsync(s->d_locks, 0, locks_bytes(s), stream));
    if (s->lut->shares > 0 && a.how == SUM_ATOMICS) /* whoever comes first finds zeros */
        CUDA_TRY(cudaMemsetAsync(
            out, 0, (size_t)bsmm_outs(plan) * plan->block * plan->N * sizeof(float), stream));
    if (plan->block == 8)
        launch<8>(plan, a, stream);
    else if (plan->block == 16)
        launch<16>(plan, a, stream);
    else if (plan->block == 32)
        launch<32>(plan, a, stream);
    else
        launch<64>(plan, a, stream);
    return cudaGetLastError();
}

static size_t format_bytes(const bsmm_plan *plan)
{
    return block_lut_bytes(((const lut_state *)plan->state)->lut);
}

static size_t workspace_bytes(const bsmm_plan *plan)
{
    const lut_state *s = (const lut_state *)plan->state;
    const int how = plan->tuning[TUNE_SUM];
    const size_t counters = (size_t)s->lut->shares * s->tiles * sizeof(unsigned);
    return block_lut_bytes(s->lut) + (how == SUM_PARTS
                                          ? part_floats(plan, s) * sizeof(float) + counters
                                      : how == SUM_LOCKS ? locks_bytes(s)
                                                         : 0);
}

static const char *const SUMS[] = {"parts", "locks", "atomics", "uncut", NULL};
static const char *const COUNTS[] = {"own", "columns", NULL};

static bsmm_contender block_lut_lab = {
    .base = {.lab = 50,
             .name = "block_lut",
             .summary = "a thread block a segment of blocks; shared outputs are added up in order",
             .tunables = {{.name = "SUM",
                           .meaning = "how the segments of one output are added up",
                           .values = {SUM_PARTS, SUM_LOCKS, SUM_ATOMICS, SUM_UNCUT},
                           .num_values = 4,
                           .initial = SUM_PARTS,
                           .names = SUMS},
                          {.name = "COUNTS",
                           .meaning = "whose lengths decide about cuts: the pass's own outputs', "
                                      "or always columns'",
                           .values = {BLOCK_LUT_OWN, BLOCK_LUT_COLUMNS},
                           .num_values = 2,
                           .initial = BLOCK_LUT_OWN,
                           .names = COUNTS}}},
    .prepare = prepare,
    .run = run,
    .format_bytes = format_bytes,
    .workspace_bytes = workspace_bytes,
    .release = release,
};
BSMM_REGISTER(block_lut_lab)
