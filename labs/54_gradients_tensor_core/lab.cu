/*
 * Lab 54 - block gradients on tensor cores: the gradient of block-sparse weights in 16 bits.
 *
 * Idea      A block of dW alone makes few products of each byte that it reads. A thread block takes a square of 128 x 128
 *           features that holds at least one block: tiles of X and dY, once fetched, serve all blocks of the square.
 * Changed   Lab 51 has a thread block for each block of dW, and tokens side by side. Here features lie side by side, both
 *           operands are transposed on the way to the registers, and blocks of a square share what is fetched.
 * Run       make lab54 && ./lab54 blocks:in=1024,block=32,density=0.3 512     ./lab54 --set PAIRS=8,GATES=apply,BETA=1
 * Watch     Features that no open block of the square reads are not copied: their place holds what was there.
 * Paper     S. Gray, A. Radford, D. P. Kingma: GPU Kernels for Block-Sparse Weights, 2017: tn_dds.
 */
#include "device/async_copy.cuh"
#include "device/cuda_try.h"
#include "device/dynamic_shared.cuh"
#include "device/facts.h"
#include "device/half.cuh"
#include "device/mma.cuh"
#include "device/partial_sums.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "ops/bsmm_update.h"
#include "ops/plan_state.cuh"

#include <stdlib.h>

enum { TUNE_PIECES };

/* Features of a square's side, tokens of a step, and threads: eight warps, two by 64 inputs, four by 32 outputs. */
constexpr int SQUARE = 128, TOKENS = 32, THREADS = 256;

/* Steps that lie in shared memory. A step: a tile of X, one of dY, both TOKENS rows of SQUARE features. The sums of the
 * square, in fp32 and in rows of PITCH, take the ring's place at the end: pairs of half a warp begin in different banks. */
constexpr int STAGES = 4, TILE = TOKENS * SQUARE, PITCH = SQUARE + 8;
constexpr int RING_BYTES = STAGES * 2 * TILE * 2, SUMS_BYTES = SQUARE * PITCH * 4;
constexpr int SHARED_BYTES = RING_BYTES > SUMS_BYTES ? RING_BYTES : SUMS_BYTES;

/* Arguments of the kernel. place: row and column of each block; first: the first block of each square, and their end. */
struct gradient_of {
    const int2 *place;
    const int *first;
    const void *X, *dY, *U;
    const float *gate;
    void *dW;
    int N, C, K, pairs;
    float alpha, beta;
    bool applies_gates;
    float *parts;
    unsigned *arrived; /* of each square */
};

/* ---- a square -------------------------------------------------------------------------------- */

/* Blocks of a square. An absent block has the number -1 and, as a stopped one, the factor 0. */
template <int B> struct square_of {
    static constexpr int SIDE = SQUARE / B, MOST = SIDE * SIDE;
    int block[MOST];
    float factor[MOST];
    unsigned
        used[2]; /* a bit for each of SIDE stripes of X and of dY: whether an open block reads it */

    /* Which of two neighbouring blocks in an array of SIDE x SIDE the features belong to. */
    static __device__ __forceinline__ int at(int input, int output)
    {
        return input / B * SIDE + output / B;
    }
};

/* Fills the square for all threads. Blocks of a square have neighbouring numbers, as numbers are in z-order. */
template <int B> __device__ __forceinline__ void look_up(const gradient_of &a, square_of<B> &s)
{
    typedef square_of<B> S;
    const int first = a.first[blockIdx.x], count = a.first[blockIdx.x + 1] - first;
    if (threadIdx.x < S::MOST) {
        s.block[threadIdx.x] = -1;
        s.factor[threadIdx.x] = 0;
    }
    if (threadIdx.x < 2) s.used[threadIdx.x] = 0;
    __syncthreads();
    if ((int)threadIdx.x < count) {
        const int block = first + threadIdx.x;
        const int row = a.place[block].x % S::SIDE, column = a.place[block].y % S::SIDE;
        const float gate = a.gate ? a.gate[block] : 1;
        const float factor = gate == 0 ? 0 : a.applies_gates ? a.alpha * gate : a.alpha;
        s.block[row * S::SIDE + column] = block;
        s.factor[row * S::SIDE + column] = factor;
        if (factor != 0) {
            atomicOr(&s.used[0], 1u << row);
            atomicOr(&s.used[1], 1u << column);
        }
    }
    __syncthreads();
}

/* ---- a step: 32 tokens of one pair ------------------------------------------------------------- */

/* Where piece `c` of row `r` lies, in numbers from the tile's beginning. A row is 16 pieces of 16 bytes. */
__device__ __forceinline__ int place(int r, int c)
{
    int s = 0;
    /* BEGIN STUDENT: eight rows of one piece, which ldmatrix reads at once, must lie in eight groups of four banks */
    s = r % 8;
    /* END STUDENT */
    return r * SQUARE + (c ^ s) * 8;
}

/* Starts the copies of one operand's tile: of tokens from `token0` on, stripes that an open block reads. Tokens behind the
 * last of the pair become 0. from: token 0 of the pair, the square's first feature. */
template <class H, int B>
__device__ __forceinline__ void fetch_tile(H *tile, const H *from, int features, int token0, int N,
                                           unsigned used)
{
    for (int i = threadIdx.x; i < TILE / 8; i += THREADS) {
        const int r = i / (SQUARE / 8), c = i % (SQUARE / 8);
        if (!(used >> c * 8 / B & 1)) continue;
        const bool is_there = token0 + r < N;
        async_copy_zfill<16>(tile + place(r, c),
                             from + (size_t)(is_there ? token0 + r : 0) * features + c * 8,
                             is_there ? 16 : 0);
    }
}

/* Steps of a pair follow each other, and so do pairs. */
template <class H, int B>
__device__ __forceinline__ void fetch(const gradient_of &a, const square_of<B> &s, int2 corner,
                                      int step, H *stage)
{
    const int of_pair = (a.N + TOKENS - 1) / TOKENS, pair = step / of_pair;
    const int token0 = step % of_pair * TOKENS;
    fetch_tile<H, B>(stage, (const H *)a.X + (size_t)pair * a.N * a.C + corner.x, a.C, token0, a.N,
                     s.used[0]);
    fetch_tile<H, B>(stage + TILE, (const H *)a.dY + (size_t)pair * a.N * a.K + corner.y, a.K,
                     token0, a.N, s.used[1]);
}

/* sum += X^T times dY of one step, for the warp's 64 x 32 features. Bit 2 m + n of `open`: whether the 16 x 16 of them at
 * (16 m, 16 n) lie in an open block. */
template <class H>
__device__ __forceinline__ void multiply_add(const H *X, const H *dY, unsigned open, int input,
                                             int output, float (&sum)[4][4][4])
{
    const int lane = lane_id();
#pragma unroll
    for (int k = 0; k < TOKENS; k += 16) {
        uint32_t y[2][4] = {};
#pragma unroll
        for (int n = 0; n < 2; n++)
            /* y[n][0], y[n][1]: tokens 0 to 7 and 8 to 15 of features 0 to 7; the others: of features 8 to 15. A stripe
             * that no open block reads was not copied. */
            if (open & 0x55u << n)
                ldmatrix_x4_trans(y[n], dY + place(k + lane % 16, output / 8 + 2 * n + lane / 16));
#pragma unroll
        for (int m = 0; m < 4; m++) {
            if (!(open >> 2 * m & 3)) continue;
            /* x[0], x[1]: features 0 to 7 and 8 to 15 of tokens 0 to 7; the others: of tokens 8 to 15. */
            uint32_t x[4] = {};
            /* BEGIN STUDENT: x, transposed on the way: mma's A has a feature a row */
            ldmatrix_x4_trans(
                x, X + place(k + lane / 16 * 8 + lane % 8, input / 8 + 2 * m + lane / 8 % 2));
            /* END STUDENT */
#pragma unroll
            for (int n = 0; n < 2; n++) {
                if (!(open >> (2 * m + n) & 1)) continue;
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const uint32_t b[2] = {y[n][2 * h], y[n][2 * h + 1]};
                    mma_m16n8k16<H>(sum[m][2 * n + h], x, b);
                }
            }
        }
    }
}

/* ---- the end ----------------------------------------------------------------------------------- */

/* Leaves the sums of a piece; true in the thread block that comes last, whose sums are then those of all, in order. */
__device__ __forceinline__ bool add_pieces(const gradient_of &a, float (&sum)[16][4])
{
    const auto number = [](int piece) { return (size_t)blockIdx.x * gridDim.y + piece; };
    return add_parts<THREADS>(a.parts, a.arrived + blockIdx.x, blockIdx.y, 0, gridDim.y, number,
                              sum);
}

/* Stores factor * sum + beta * U for each block of the square, rounded once. The sums go through shared memory, so that a
 * warp writes a row of the square, and lanes of a block write neighbouring numbers. */
template <class H, int B>
__device__ __forceinline__ void store_square(const gradient_of &a, const square_of<B> &s,
                                             float *sums, const float (&sum)[4][4][4], int input,
                                             int output)
{
    const int lane = lane_id(), row = input + lane / 4, column = output + lane % 4 * 2;
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float x[2] = {sum[m][n][2 * h], sum[m][n][2 * h + 1]};
                store_vector(sums + (row + 16 * m + 8 * h) * PITCH + column + 8 * n, x);
            }
    __syncthreads();
    for (int r = warp_id(); r < SQUARE; r += THREADS / 32) {
        const int c = lane * 4, i = square_of<B>::at(r, c), block = s.block[i];
        if (block < 0) continue;
        const size_t at = ((size_t)block * B + r % B) * B + c % B;
        const float factor = s.factor[i];
        float x[4];
        H result[4], u[4];
        load_vector_plain(x, sums + r * PITCH + c);
        if (a.beta != 0) load_vector_plain(u, (const H *)a.U + at);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            /* BEGIN STUDENT: a stopped block is beta * U, without the sum */
            float w = factor == 0 ? 0 : factor * x[j];
            if (a.beta != 0) w += a.beta * widen(u[j]);
            result[j] = narrow<H>(w);
            /* END STUDENT */
        }
        store_vector((H *)a.dW + at, result);
    }
}

/* A thread block: a square, and piece blockIdx.y of gridDim.y of the steps. */
template <class H, int B>
static __global__ void __launch_bounds__(THREADS, 2)
    bsmm_update_tensor_core_kernel(const gradient_of a)
{
    typedef square_of<B> S;
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ S s;
    H *const stages = (H *)shared;
    const int input = warp_id() % 2 * 64, output = warp_id() / 2 * 32;
    look_up<B>(a, s);
    const int2 block = a.place[a.first[blockIdx.x]];
    const int2 corner = make_int2(block.x / S::SIDE * SQUARE, block.y / S::SIDE * SQUARE);
    const int64_t steps = (int64_t)a.pairs * ((a.N + TOKENS - 1) / TOKENS);
    const int first = (int)(steps * blockIdx.y / gridDim.y);
    const int end = s.used[0] ? (int)(steps * (blockIdx.y + 1) / gridDim.y) : first;
    unsigned open = 0;
    for (int i = 0; i < 8; i++)
        if (s.factor[S::at(input + i / 2 * 16, output + i % 2 * 16)] != 0) open |= 1u << i;
    float sum[4][4][4] = {};
    for (int step = first; step < first + STAGES - 1; step++) {
        if (step < end) fetch<H, B>(a, s, corner, step, stages + (step - first) * 2 * TILE);
        async_commit(); /* an empty group keeps the count right */
    }
    for (int step = first; step < end; step++) {
        async_wait<STAGES - 2>();
        __syncthreads();
        const int ahead = step + STAGES - 1;
        if (ahead < end)
            fetch<H, B>(a, s, corner, ahead, stages + (ahead - first) % STAGES * 2 * TILE);
        async_commit();
        if (!open) continue; /* nothing for this warp */
        const H *X = stages + (step - first) % STAGES * 2 * TILE;
        multiply_add(X, X + TILE, open, input, output, sum);
    }
    async_wait<0>();
    __syncthreads(); /* the ring is free for sums */
    if (gridDim.y > 1 && !add_pieces(a, reinterpret_cast<float(&)[16][4]>(sum))) return;
    store_square<H, B>(a, s, (float *)shared, sum, input, output);
}

/* ---- plans ------------------------------------------------------------------------------------ */

typedef struct gradient_state {
    int squares;
    int2 *d_place;
    int *d_first;
    partial_sums parts;
} gradient_state;

static void release(bsmm_update_plan *plan)
{
    gradient_state *s = (gradient_state *)plan->state;
    cudaFree(s->d_place);
    cudaFree(s->d_first);
    partial_sums_free(&s->parts);
    free(s);
}

/* Fills place[blocks] and first[squares + 1]; returns the number of squares. In z-order the blocks of a square follow each
 * other: its side is a power of two. */
static int find_squares(const block_layout *l, int side, int2 *place, int *first)
{
    int squares = 0;
    for (int b = 0; b < l->blocks; b++) {
        place[b] = make_int2(l->row[b], l->col[b]);
        if (b == 0 || place[b].x / side != place[b - 1].x / side ||
            place[b].y / side != place[b - 1].y / side)
            first[squares++] = b;
    }
    first[squares] = l->blocks;
    return squares;
}

static cudaError_t upload(const void *from, size_t bytes, void **d_to)
{
    CUDA_TRY(cudaMalloc(d_to, bytes + 1));
    return cudaMemcpy(*d_to, from, bytes, cudaMemcpyHostToDevice);
}

static cudaError_t fill(const bsmm_update_plan *plan, gradient_state *s)
{
    const block_layout *l = plan->layout;
    int2 *place = (int2 *)malloc((size_t)l->blocks * sizeof *place + 1);
    int *first = (int *)malloc(((size_t)l->blocks + 1) * sizeof *first);
    cudaError_t error = cudaErrorMemoryAllocation;
    if (place && first) {
        s->squares = find_squares(l, SQUARE / plan->block, place, first);
        error = upload(place, (size_t)l->blocks * sizeof *place, (void **)&s->d_place);
        if (error == cudaSuccess)
            error = upload(first, ((size_t)s->squares + 1) * sizeof *first, (void **)&s->d_first);
    }
    free(place);
    free(first);
    if (error != cudaSuccess || plan->tuning[TUNE_PIECES] == 1) return error;
    const size_t parts = (size_t)s->squares * plan->tuning[TUNE_PIECES];
    return partial_sums_make(parts * SQUARE * SQUARE, s->squares, &s->parts);
}

static cudaError_t prepare(bsmm_update_plan *plan)
{
    if (plan->block < 16) return cudaErrorNotSupported;
    return plan_state_make<gradient_state>(plan, fill, release);
}

/* Pieces until each multiprocessor has two thread blocks, as long as a piece fills the ring. There are at most as many
 * squares as blocks, and as cover all features. */
static void choose(const row_stats *stats, int block, int64_t tokens, int *tuning)
{
    const int64_t side = SQUARE / block;
    const int64_t all = (stats->rows + side - 1) / side * ((stats->cols + side - 1) / side);
    const int64_t squares = stats->nnz < all ? stats->nnz : all;
    int pieces = 1;
    while (pieces < 8 && squares * pieces < 2 * device_facts_get()->sms &&
           tokens >= 2 * pieces * STAGES * TOKENS)
        pieces *= 2;
    tuning[TUNE_PIECES] = pieces;
}

template <class H, int B>
static cudaError_t launch(const bsmm_update_plan *plan, const gradient_of &a, cudaStream_t stream)
{
    const dim3 grid(((const gradient_state *)plan->state)->squares, plan->tuning[TUNE_PIECES]);
    constexpr auto kernel = bsmm_update_tensor_core_kernel<H, B>;
    CUDA_TRY(allow_shared<kernel>(SHARED_BYTES));
    kernel<<<grid, THREADS, SHARED_BYTES, stream>>>(a);
    return cudaGetLastError();
}

template <class H>
static cudaError_t run(const bsmm_update_plan *plan, const bsmm_update_inputs *in, void *dW,
                       cudaStream_t stream)
{
    const gradient_state *s = (const gradient_state *)plan->state;
    const gradient_of a = {
        .place = s->d_place,
        .first = s->d_first,
        .X = in->X,
        .dY = in->dY,
        .U = in->U,
        .gate = in->gate,
        .dW = dW,
        .N = plan->N,
        .C = plan->layout->rows * plan->block,
        .K = plan->layout->cols * plan->block,
        .pairs = plan->pairs,
        .alpha = plan->alpha,
        .beta = plan->beta,
        .applies_gates = plan->gates == BSMM_UPDATE_APPLY,
        .parts = s->parts.d_sums,
        .arrived = s->parts.d_arrived,
    };
    if (s->squares == 0) return cudaSuccess;
    if (plan->block == 16) return launch<H, 16>(plan, a, stream);
    if (plan->block == 32) return launch<H, 32>(plan, a, stream);
    return launch<H, 64>(plan, a, stream);
}

static size_t workspace_bytes(const bsmm_update_plan *plan)
{
    const gradient_state *s = (const gradient_state *)plan->state;
    return (size_t)plan->layout->blocks * sizeof(int2) + ((size_t)s->squares + 1) * sizeof(int) +
           s->parts.bytes;
}

static const char *unsuited(const problem *p)
{
    return problem_knob(p, UPDATE_KNOB_BLOCK) < 16 ? "an mma is 16 wide: blocks of 16 at least"
                                                   : NULL;
}

#define GRADIENTS_TENSOR_CORE(title, kind, number)                                             \
    static bsmm_update_contender title = {                                                     \
        .base = {.lab = 54,                                                                    \
                 .after = 51,                                                                  \
                 .name = #title,                                                               \
                 .summary = "tensor cores; tiles of X and dY for all blocks of 128 x 128",     \
                 .precision = kind,                                                            \
                 .min_compute_capability = 80,                                                 \
                 .unit = UNIT_TENSOR_CORES,                                                    \
                 .unsuited = unsuited,                                                         \
                 .tunables = {{"PIECES", "thread blocks of one square", {1, 2, 4, 8}, 4, 1}}}, \
        .choose = choose,                                                                      \
        .prepare = prepare,                                                                    \
        .run = run<number>,                                                                    \
        .workspace_bytes = workspace_bytes,                                                    \
        .release = release,                                                                    \
    };                                                                                         \
    BSMM_UPDATE_REGISTER(title)

GRADIENTS_TENSOR_CORE(gradients_tensor_core_fp16, PRECISION_FP16, __half)
GRADIENTS_TENSOR_CORE(gradients_tensor_core_bf16, PRECISION_BF16, __nv_bfloat16)
