/*
 * Lab 50 - block look-up tables: products with block-sparse weights, a thread block a segment of blocks.
 *
 * Idea      A block is a small dense matrix, so its product needs no index but its own place. A table lists the blocks
 *           behind each output. Long lists are cut into segments, so that no thread block has much more than another.
 * Changed   There is no lab of this operation before. Where lists are cut, several thread blocks share an output, and
 *           SUM says how they add up: parts in order (ours), locks, atomics; or lists are not cut.
 * Run       make lab50 && ./lab50 blocks:in=1024,kind=attach 64       ./lab50 --set PASS=bprop,SUM=locks
 * Watch     Warps meet at lists and at the end of a segment alone: what a warp reads of shared memory, it has copied itself.
 * Paper     S. Gray, A. Radford, D. P. Kingma: GPU Kernels for Block-Sparse Weights, 2017.
 */
#include "product.cuh"

#include "device/cuda_try.h"
#include "device/facts.h"
#include "formats/block_lut.h"
#include "ops/bsmm.h"
#include "ops/plan_state.cuh"

#include <algorithm>
#include <bit>

#include <stdlib.h>

enum { TUNE_SUM, TUNE_CUTS };

/* Pairs of a segment that are listed at a time. */
constexpr int LISTED = 64;

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

/* ---- a segment -------------------------------------------------------------------------------- */

template <class S> struct block_memory {
    warp_memory<S> warp[WARPS];
    listed_block list[LISTED];
    int listed;
};

/* Makes a segment's part of a slice of its output. Warps take steps in turn and meet at the lists and the end alone. */
template <class S>
static __device__ __forceinline__ void make_segment(const product_of &a, int number,
                                                    block_memory<S> &m)
{
    const int4 segment = ((const int4 *)a.lut)[number]; /* first pair, pairs, output, share */
    const int2 *pair = (const int2 *)a.lut + segment.x;
    lane_sums<S> own = {};
    for (int first = 0; first < segment.y; first += LISTED) {
        if (first > 0) __syncthreads(); /* all have read the list */
        list_open_blocks(pair + first, segment.y - first, a.gate, m.list, &m.listed);
        __syncthreads();
        multiply_list(a, m.list, m.listed, m.warp[warp_id()].ring, own);
    }
    float sum[S::QUADS][4] = {};
    add_warps(m.warp, own, sum);
    finish<S>(a, number, segment.z, segment.w, sum);
}

/* Makes a piece's part of a slice, segment after segment: a thread block. */
template <class S>
static __global__ void __launch_bounds__(THREADS, 4) bsmm_block_lut_kernel(const product_of a)
{
    extern __shared__ float4 shared[];
    block_memory<S> &m = *reinterpret_cast<block_memory<S> *>(shared);
    const int first = a.first_of_piece ? a.first_of_piece[blockIdx.x] : blockIdx.x;
    const int end = a.first_of_piece ? a.first_of_piece[blockIdx.x + 1] : first + 1;
    for (int segment = first; segment < end; segment++) {
        if (segment > first) __syncthreads(); /* all have read the sums of the one before */
        make_segment(a, segment, m);
    }
}

/* ---- plans ------------------------------------------------------------------------------------ */

typedef struct lut_state {
    block_lut *lut;
    partial_sums parts; /* SUM=parts */
    int *d_locks;       /* SUM=locks: locks, then counts */
    size_t lock_bytes;
    int64_t slices;   /* of an output */
    int slice_floats; /* sums of all threads */
    void (*kernel)(const product_of);
    int shared_bytes;
} lut_state;

static void release(bsmm_plan *plan)
{
    lut_state *s = (lut_state *)plan->state;
    block_lut_free(s->lut);
    partial_sums_free(&s->parts);
    cudaFree(s->d_locks);
    free(s);
}

template <class S> static void choose_kernel(int N, lut_state *s)
{
    s->slices = ((int64_t)N + S::TOKENS - 1) / S::TOKENS * S::HALVES;
    s->slice_floats = S::QUADS * THREADS * 4;
    s->kernel = bsmm_block_lut_kernel<S>;
    s->shared_bytes = sizeof(block_memory<S>);
}

/* Few tokens have slices of 32, so that less of the work is for tokens that do not exist. B = 8 has sums for 128 threads
 * with slices of 64 alone. */
template <int B, bool TRANSPOSED> static void choose_tokens(int N, lut_state *s)
{
    constexpr int FEW = B == 8 ? 64 : 32;
    if (N % 4 != 0)
        choose_kernel<shape<B, TRANSPOSED, FEW, 1>>(N, s);
    else if (N <= FEW)
        choose_kernel<shape<B, TRANSPOSED, FEW, 4>>(N, s);
    else
        choose_kernel<shape<B, TRANSPOSED, 64, 4>>(N, s);
}

static void (*const CHOOSE[][2])(int N, lut_state *s) = {
    {choose_tokens<8, false>, choose_tokens<8, true>},
    {choose_tokens<16, false>, choose_tokens<16, true>},
    {choose_tokens<32, false>, choose_tokens<32, true>},
    {choose_tokens<64, false>, choose_tokens<64, true>},
};

/* Returns the most pairs of an even segment. Four thread blocks fit on a multiprocessor. So a quarter of
 * its share of the pairs is best, if all segments then have a place at once. Else they may grow to a little
 * over a third. If places do not suffice even so, a segment is a third, and the fourth place is for whoever
 * has shorter ones. A warp gets four steps at least. */
static int longest_segment(const bsmm_plan *plan, const lut_state *s)
{
    const int64_t sms = std::max(device_facts_get()->sms, 1);
    const int64_t blocks = std::max(plan->layout->blocks, 1), work = blocks * s->slices;
    const auto have_places = [&](int longest) {
        return block_lut_even_segments(plan->layout, plan->transposed, longest) * s->slices <=
               4 * sms;
    };
    const int three = (int)std::min((work + 3 * sms - 1) / (3 * sms), blocks);
    int longest = (int)std::min((work + 4 * sms - 1) / (4 * sms), blocks);
    const int most = (int64_t)bsmm_outs(plan) * s->slices > 4 * sms
                         ? longest /* an output has one at least */
                         : three + three / 8;
    while (longest < most && !have_places(longest))
        longest++;
    if (!have_places(longest)) longest = three;
    return std::max(longest, 4 * WARPS * STEP / plan->block);
}

/* Counts the pieces of a slice: as many as have a place at once, of four on a multiprocessor. Many slices have
 * eight rounds at least, so that the last one's gaps count little. A warp gets four steps at least. */
static int count_pieces(const bsmm_plan *plan, const lut_state *s)
{
    const int ROUNDS = 8;
    const int64_t places = 4 * (int64_t)std::max(device_facts_get()->sms, 1);
    const int64_t most =
        (plan->layout->blocks + bsmm_outs(plan)) * (int64_t)plan->block / (4 * WARPS * STEP);
    const int64_t wanted = s->slices * ROUNDS <= places
                               ? places / s->slices
                               : (places * ROUNDS + s->slices - 1) / s->slices;
    return (int)std::max<int64_t>(std::min(wanted, most), 1);
}

static cudaError_t fill(const bsmm_plan *plan, lut_state *s)
{
    const int MOST_SLICES = 65535; /* of a grid's second dimension */
    const int sum = plan->tuning[TUNE_SUM], cuts = plan->tuning[TUNE_CUTS];
    const auto rule = (block_lut_rule)(sum == SUM_UNCUT ? BLOCK_LUT_UNCUT : cuts);
    CHOOSE[std::countr_zero((unsigned)plan->block / 8)][plan->transposed](plan->N, s);
    if (s->slices > MOST_SLICES) return cudaErrorNotSupported;
    const int limit = rule == BLOCK_LUT_PIECES ? count_pieces(plan, s) : longest_segment(plan, s);
    CUDA_TRY(block_lut_build(plan->layout, plan->transposed, rule, limit, &s->lut));
    /* Shared memory of the kernel, and of as many thread blocks as a multiprocessor has room for. */
    const void *kernel = (const void *)s->kernel;
    CUDA_TRY(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, s->shared_bytes));
    CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared));
    const size_t places = (size_t)s->lut->shares * s->slices;
    if (sum == SUM_PARTS)
        return partial_sums_make((size_t)s->lut->parts * s->slices * s->slice_floats, places,
                                 &s->parts);
    if (sum != SUM_LOCKS) return cudaSuccess;
    s->lock_bytes = 2 * places * sizeof(int);
    return cudaMalloc((void **)&s->d_locks, s->lock_bytes + 1);
}

static cudaError_t prepare(bsmm_plan *plan)
{
    if (plan->tuning[TUNE_SUM] == SUM_UNCUT) plan->tuning[TUNE_CUTS] = BLOCK_LUT_EVEN;
    return plan_state_make<lut_state>(plan, fill, release);
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
        .first_of_piece = s->lut->d_first_of_piece,
        .parts = s->parts.d_sums,
        .arrived = s->parts.d_arrived,
        .lock = s->d_locks,
        .count = s->d_locks + (size_t)s->lut->shares * s->slices,
    };
    if (s->lut->segments == 0) return cudaSuccess;
    if (s->lock_bytes > 0) CUDA_TRY(cudaMemsetAsync(s->d_locks, 0, s->lock_bytes, stream));
    if (s->lut->shares > 0 && a.how == SUM_ATOMICS) /* whoever comes first finds zeros */
        CUDA_TRY(cudaMemsetAsync(
            out, 0, (size_t)bsmm_outs(plan) * plan->block * plan->N * sizeof(float), stream));
    const auto kernel = s->kernel;
    kernel<<<dim3(s->lut->pieces, s->slices), THREADS, s->shared_bytes, stream>>>(a);
    return cudaGetLastError();
}

static size_t format_bytes(const bsmm_plan *plan)
{
    return block_lut_bytes(((const lut_state *)plan->state)->lut);
}

static size_t workspace_bytes(const bsmm_plan *plan)
{
    const lut_state *s = (const lut_state *)plan->state;
    return block_lut_bytes(s->lut) + s->parts.bytes + s->lock_bytes;
}

static bool flushes_subnormals(const int *tuning)
{
    return tuning[TUNE_SUM] == SUM_ATOMICS;
}

static const char *const SUMS[] = {"parts", "locks", "atomics", "uncut", NULL};
static const char *const CUTS[] = {"even", "own", "columns", "pieces", NULL};

static bsmm_contender block_lut_lab = {
    .base = {.lab = 50,
             .name = "block_lut",
             .summary = "a thread block a segment of blocks; shared outputs are added up in order",
             .flushes_subnormals = flushes_subnormals,
             .tunables = {{.name = "SUM",
                           .meaning = "how the segments of one output are added up",
                           .values = {SUM_PARTS, SUM_LOCKS, SUM_ATOMICS, SUM_UNCUT},
                           .num_values = 4,
                           .initial = SUM_PARTS,
                           .names = SUMS},
                          {.name = "CUTS",
                           .meaning = "where lists are cut: evenly; by the published rule, on the "
                                      "pass's own outputs or on columns; all lists as one",
                           .values = {BLOCK_LUT_EVEN, BLOCK_LUT_OWN, BLOCK_LUT_COLUMNS,
                                      BLOCK_LUT_PIECES},
                           .num_values = 4,
                           .initial = BLOCK_LUT_EVEN,
                           .names = CUTS}}},
    .prepare = prepare,
    .run = run,
    .format_bytes = format_bytes,
    .workspace_bytes = workspace_bytes,
    .release = release,
};
BSMM_REGISTER(block_lut_lab)
