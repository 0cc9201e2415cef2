/*
 * Lab 54 - block gradients on tensor cores: the gradient of block-sparse weights in 16 bits.
 *
 * Idea      A block of dW alone makes few products of each byte that it reads. A thread block takes a square of 128 x 128
 *           features that holds at least one block: tiles of X and dY, once fetched, serve all blocks of the square.
 * Changed   Lab 51 has a thread block for each block of dW, and tokens side by side. Here features lie side by side, and
 *           blocks of a square share what is fetched. Warps transpose both operands on the way to their registers.
 *           Warpgroups of Hopper multiply them where they lie (warpgroup.cuh).
 * Run       make lab54 && ./lab54 blocks:in=1024,block=32,density=0.3 512     ./lab54 --set PAIRS=8,GATES=apply,BETA=1
 * Watch     Features that no open block of the square reads are not copied: their place holds what was there.
 * Paper     S. Gray, A. Radford, D. P. Kingma: GPU Kernels for Block-Sparse Weights, 2017: tn_dds.
 */
#include "warpgroup.cuh"

#include "device/async_copy.cuh"
#include "device/cuda_try.h"
#include "device/dynamic_shared.cuh"
#include "device/facts.h"
#include "device/mma.cuh"
#include "device/pdl.cuh"
#include "ops/bsmm_update.h"
#include "ops/plan_state.cuh"

#include <math.h>
#include <stdlib.h>

enum { TUNE_PIECES, TUNE_UNIT };

/* Units that multiply: warps, or warpgroups, on a square or on two side by side. */
enum multiplier { BY_MMA, BY_WGMMA128, BY_WGMMA256 };

/* Tokens of a step. Of the warps, two are by 64 inputs, four by 32 outputs. */
constexpr int TOKENS = 32, WARP_INPUTS = 64, WARP_OUTPUTS = 32;

/* Steps that lie in shared memory. A step: a tile of X, one of dY, both TOKENS rows of SQUARE features. The sums take the
 * ring's place at the end. */
constexpr int STAGES = 4, TILE = TOKENS * SQUARE, ROW_PIECES = SQUARE / 8;
constexpr int RING_BYTES = STAGES * 2 * TILE * 2, SUMS_BYTES = SQUARE * sums_pitch(SQUARE) * 4;
constexpr int SHARED_BYTES = RING_BYTES > SUMS_BYTES ? RING_BYTES : SUMS_BYTES;

/* ---- a step: 32 tokens ------------------------------------------------------------------------ */

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
 * last become 0. from: token 0, the square's first feature. */
template <class H, int B>
__device__ __forceinline__ void fetch_tile(H *tile, const H *from, int features, int token0,
                                           int tokens, unsigned used)
{
    constexpr int ROWS_AT_ONCE = THREADS / ROW_PIECES;
    const int row = threadIdx.x / ROW_PIECES, c = threadIdx.x % ROW_PIECES;
    if (!(used >> c * 8 / B & 1)) return;
#pragma unroll
    for (int r = row; r < row + TOKENS; r += ROWS_AT_ONCE) {
        const bool is_there = token0 + r < tokens;
        async_copy_zfill<16>(tile + place(r, c),
                             from + (size_t)(is_there ? token0 + r : 0) * features + c * 8,
                             is_there ? 16 : 0);
    }
}

template <class H, int B>
__device__ __forceinline__ void fetch(const gradient_of &a, const square_of<B, SQUARE> &s,
                                      int2 corner, int step, H *stage)
{
    fetch_tile<H, B>(stage, (const H *)a.X + corner.x, a.C, step * TOKENS, a.tokens, s.used[0]);
    fetch_tile<H, B>(stage + TILE, (const H *)a.dY + corner.y, a.K, step * TOKENS, a.tokens,
                     s.used[1]);
}

/* Where a lane reads in a tile of X, for 16 features and 16 tokens. ^ 16 m leads to those 16 m features on, + SQUARE k to those k
 * tokens on. ldmatrix takes four times eight rows: x[0], x[1] become features 0 to 7 and 8 to 15 of tokens 0 to 7; the others of
 * tokens 8 to 15. */
__device__ __forceinline__ int lane_of_X(int input)
{
    const int lane = lane_id();
    int from = lane;
    /* BEGIN STUDENT: mma's A has a feature a row */
    from = place(lane / 16 * 8 + lane % 8, input / 8 + lane / 8 % 2);
    /* END STUDENT */
    return from;
}

/* The same of dY: y[0], y[1] become tokens 0 to 7 and 8 to 15 of features 0 to 7; the others of features 8 to 15. */
__device__ __forceinline__ int lane_of_dY(int output)
{
    const int lane = lane_id();
    return place(lane % 16, output / 8 + lane / 16);
}

/* sum += X^T times dY of one step, for the warp's 64 x 32 features. X, dY: where the lane reads. Bit 2 m + n of `open`: whether
 * the 16 x 16 of them at (16 m, 16 n) lie in an open block. */
template <class H>
__device__ __forceinline__ void multiply_add(const H *stage, int X, int dY, unsigned open,
                                             float (&sum)[4][4][4])
{
#pragma unroll
    for (int k = 0; k < TOKENS; k += 16) {
        uint32_t y[2][4] = {};
#pragma unroll
        for (int n = 0; n < 2; n++) /* a stripe that no open block reads was not copied */
            if (open & 0x55u << n)
                ldmatrix_x4_trans(y[n], stage + TILE + k * SQUARE + (dY ^ 16 * n));
#pragma unroll
        for (int m = 0; m < 4; m++) {
            if (!(open >> 2 * m & 3)) continue;
            uint32_t x[4];
            ldmatrix_x4_trans(x, stage + k * SQUARE + (X ^ 16 * m));
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

/* A thread block: a square, and piece blockIdx.y of gridDim.y of the steps. Warps multiply ... */
template <class H, int B>
static __global__ void __launch_bounds__(THREADS, 2)
    bsmm_update_tensor_core_kernel(const gradient_of a)
{
    typedef square_of<B, SQUARE> S;
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ S s;
    H *const stages = (H *)shared;
    const int input = warp_id() % 2 * WARP_INPUTS, output = warp_id() / 2 * WARP_OUTPUTS;
    look_up(a, s);
    const int2 corner = s.corner(a.place[a.first[blockIdx.x]]);
    const int64_t steps = (a.tokens + TOKENS - 1) / TOKENS;
    const int first = (int)(steps * blockIdx.y / gridDim.y);
    const int end = s.used[0] ? (int)(steps * (blockIdx.y + 1) / gridDim.y) : first;
    const int X = lane_of_X(input), dY = lane_of_dY(output);
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
        if (open) /* else there is nothing for this warp */
            multiply_add(stages + (step - first) % STAGES * 2 * TILE, X, dY, open, sum);
    }
    async_wait<0>();
    __syncthreads(); /* the ring is free for sums */
    if (gridDim.y > 1 && !add_pieces(a, reinterpret_cast<float(&)[16][4]>(sum))) return;
    float *const sums = (float *)shared;
#pragma unroll
    for (int m = 0; m < 4; m++)
        lay_out<SQUARE>(sums, input + 16 * m, output, sum[m]);
    __syncthreads();
    store_square<H>(a, s, sums);
}

/* ... or warpgroups. */
template <class H, int B, int COLUMNS>
static __global__ void __launch_bounds__(THREADS, COLUMNS == SQUARE ? 2 : 1)
    bsmm_update_wgmma_kernel(const __grid_constant__ gradient_together g)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    multiply_square(g, *reinterpret_cast<workplace<H, B, COLUMNS> *>(shared));
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

/* Output features of a square. */
static int columns_of(const int *tuning)
{
    return tuning[TUNE_UNIT] == BY_WGMMA256 ? 2 * SQUARE : SQUARE;
}

/* Fills place[blocks] and first[squares + 1]; returns the number of squares, down x across blocks each. In z-order the blocks of
 * a square follow each other, and so do those of two side by side: sides are powers of two. */
static int find_squares(const block_layout *l, int down, int across, int2 *place, int *first)
{
    int squares = 0;
    for (int b = 0; b < l->blocks; b++) {
        place[b] = make_int2(l->row[b], l->col[b]);
        if (b == 0 || place[b].x / down != place[b - 1].x / down ||
            place[b].y / across != place[b - 1].y / across)
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
        const int columns = columns_of(plan->tuning);
        s->squares = find_squares(l, SQUARE / plan->block, columns / plan->block, place, first);
        error = upload(place, (size_t)l->blocks * sizeof *place, (void **)&s->d_place);
        if (error == cudaSuccess)
            error = upload(first, ((size_t)s->squares + 1) * sizeof *first, (void **)&s->d_first);
    }
    free(place);
    free(first);
    if (error != cudaSuccess || plan->tuning[TUNE_PIECES] == 1) return error;
    const size_t parts = (size_t)s->squares * plan->tuning[TUNE_PIECES];
    return partial_sums_make(parts * SQUARE * columns_of(plan->tuning), s->squares, &s->parts);
}

/* Whether warpgroups can do it: on this device, and if the program has been compiled for it. */
static bool may_go_together(void)
{
    bool compiled;
    return device_facts_get()->compute_capability == 90 &&
           compiled_for_90(bsmm_update_wgmma_kernel<__half, 64, SQUARE>, &compiled) ==
               cudaSuccess &&
           compiled;
}

static cudaError_t prepare(bsmm_update_plan *plan)
{
    if (plan->block < 16) return cudaErrorNotSupported;
    if ((int64_t)plan->N * plan->pairs > INT32_MAX - STEP) return cudaErrorNotSupported;
    if (!may_go_together()) plan->tuning[TUNE_UNIT] = BY_MMA;
    return plan_state_make<gradient_state>(plan, fill, release);
}

/* Chooses warpgroups where there are any. They work on two squares at once where two cells of five
 * have a block and each multiprocessor gets a thread block. Tokens must also be many enough to pay
 * for the end of a wide square. Then it chooses pieces, until each multiprocessor has all the
 * thread blocks that it holds. A piece has at least as many tokens as the ring of warps. There are
 * at most as many squares as blocks, and as cover all features. */
static void choose(const row_stats *stats, int block, int64_t tokens, int *tuning)
{
    const int64_t down = SQUARE / block, sms = device_facts_get()->sms;
    const double density = (double)stats->nnz / ((double)stats->rows * stats->cols);
    const double cells = 1 - pow(1 - density, (double)CELL / block * CELL / block);
    const auto squares = [&](int64_t across) {
        const int64_t all = (stats->rows + down - 1) / down * ((stats->cols + across - 1) / across);
        return stats->nnz < all ? stats->nnz : all;
    };
    const bool wide = cells >= 0.4 && tokens >= 2048 && squares(2 * down) >= sms;
    tuning[TUNE_UNIT] = !may_go_together() ? BY_MMA : wide ? BY_WGMMA256 : BY_WGMMA128;
    const int64_t own = squares(columns_of(tuning) / block);
    const int resident = tuning[TUNE_UNIT] == BY_WGMMA256 ? 1 : 2;
    int pieces = 1;
    while (pieces < 8 && own * pieces < resident * sms && tokens >= 2 * pieces * STAGES * TOKENS)
        pieces *= 2;
    tuning[TUNE_PIECES] = pieces;
}

template <class H, int B, int COLUMNS>
static cudaError_t launch_together(const gradient_of &a, const dim3 &grid, cudaStream_t stream)
{
    constexpr auto kernel = bsmm_update_wgmma_kernel<H, B, COLUMNS>;
    constexpr int BYTES = sizeof(workplace<H, B, COLUMNS>);
    gradient_together g = {{}, {}, a};
    CUDA_TRY(tensor_map_make(&g.X, a.X, (size_t)a.tokens, (size_t)a.C, STEP, CELL));
    CUDA_TRY(tensor_map_make(&g.dY, a.dY, (size_t)a.tokens, (size_t)a.K, STEP, CELL));
    CUDA_TRY(allow_shared<kernel>(BYTES));
    kernel<<<grid, THREADS, BYTES, stream>>>(g);
    return cudaGetLastError();
}

template <class H, int B>
static cudaError_t launch(const bsmm_update_plan *plan, const gradient_of &a, cudaStream_t stream)
{
    const dim3 grid(((const gradient_state *)plan->state)->squares, plan->tuning[TUNE_PIECES]);
    const int unit = plan->tuning[TUNE_UNIT];
    if (unit == BY_WGMMA128) return launch_together<H, B, SQUARE>(a, grid, stream);
    if (unit == BY_WGMMA256) return launch_together<H, B, 2 * SQUARE>(a, grid, stream);
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
        .tokens = plan->N * plan->pairs,
        .C = plan->layout->rows * plan->block,
        .K = plan->layout->cols * plan->block,
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

static const char *const UNITS[] = {"mma", "wgmma128", "wgmma256"};

#define GRADIENTS_TENSOR_CORE(title, kind, number)                                           \
    static bsmm_update_contender title = {                                                   \
        .base = {.lab = 54,                                                                  \
                 .after = 51,                                                                \
                 .name = #title,                                                             \
                 .summary = "tensor cores; tiles of X and dY for all blocks of 128 x 128",   \
                 .precision = kind,                                                          \
                 .min_compute_capability = 80,                                               \
                 .unit = UNIT_TENSOR_CORES,                                                  \
                 .unsuited = unsuited,                                                       \
                 .tunables = {{"PIECES", "thread blocks of one square", {1, 2, 4, 8}, 4, 1}, \
                              {"UNIT",                                                       \
                               "what multiplies, by how many outputs",                       \
                               {BY_MMA, BY_WGMMA128, BY_WGMMA256},                           \
                               3,                                                            \
                               BY_MMA,                                                       \
                               false,                                                        \
                               UNITS}}},                                                     \
        .choose = choose,                                                                    \
        .prepare = prepare,                                                                  \
        .run = run<number>,                                                                  \
        .workspace_bytes = workspace_bytes,                                                  \
        .release = release,                                                                  \
    };                                                                                       \
    BSMM_UPDATE_REGISTER(title)

GRADIENTS_TENSOR_CORE(gradients_tensor_core_fp16, PRECISION_FP16, __half)
GRADIENTS_TENSOR_CORE(gradients_tensor_core_bf16, PRECISION_BF16, __nv_bfloat16)
