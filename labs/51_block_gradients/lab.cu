/*
 * Lab 51 - block gradients: the gradient of block-sparse weights, a dense product for each block that exists.
 *
 * Idea      dW of a block is X of its block row times dY of its block column, summed over the tokens of all pairs. Nothing
 *           else of the dense gradient is formed. Blocks whose gate is 0 leave before they read anything.
 * Changed   Lab 50 sums over blocks; here a sum runs over tokens, which lie side by side. So threads share the tokens of
 *           a step, and add up in shared memory. Few blocks and many tokens: SPLIT thread blocks share a block of dW.
 * Run       make lab51 && ./lab51 blocks:in=1024,kind=attach 64       ./lab51 --set PAIRS=8,GATES=apply,BETA=1
 * Watch     A NaN in X must not pass a gate of 0, and 0 * NaN is NaN. Beta belongs to the whole sum, not to a pair.
 * Paper     S. Gray, A. Radford, D. P. Kingma: GPU Kernels for Block-Sparse Weights, 2017.
 */
#include "device/block_lock.cuh"
#include "device/cuda_try.h"
#include "device/facts.h"
#include "device/last_block.cuh"
#include "device/partial_sums.h"
#include "device/vec.cuh"
#include "ops/bsmm_update.h"

#include <stdlib.h>

enum { TUNE_SPLIT, TUNE_SUM };
enum { SUM_PARTS, SUM_LOCKS };

/* Tokens of a step. Rows of tokens in shared memory are PITCH apart, so that eight of them begin in different banks. */
constexpr int STEP = 64, PITCH = STEP + 4;

/* A thread has 4 x 4 of B x B sums; GROUPS of threads share the tokens of a step. */
template <int B> struct shape {
    static constexpr int SIDE = B / 4, MEMBERS = SIDE * SIDE;
    static constexpr int GROUPS = B == 8 ? 8 : B == 64 ? 1 : 4, THREADS = MEMBERS * GROUPS;
    static constexpr int OWN = STEP / GROUPS; /* tokens of a group in a step */
    /* Sums of a group in shared memory: rows are padded, so that those of a warp begin in different banks. */
    static constexpr int ROW = B + B / 4, GROUP = B * ROW + (B == 8 ? 20 : B == 16 ? 16 : 0);
};

/* Arguments of the kernel. place: row and column of each block. */
struct update_of {
    const int2 *place;
    const float *X, *dY, *U, *gate;
    float *dW;
    int N, C, K, pairs;
    float alpha, beta;
    bool applies_gates;
    int how;
    float *parts;
    unsigned *arrived; /* of each block, as are ... */
    int *lock, *count; /* ... these */
};

/* ---- a step: 64 tokens of one pair ------------------------------------------------------------- */

template <int B> struct tiles {
    alignas(16) float X[B][PITCH];
    alignas(16) float dY[B][PITCH];
};

/* A thread's part of a tile, on the way from global to shared memory: quads of four tokens. */
template <int B, bool ALIGNED> struct fetched {
    static constexpr int THREADS = shape<B>::THREADS, TURNS = B * STEP / 4 / THREADS;
    float x[TURNS][4], y[TURNS][4];

    static __device__ __forceinline__ void load(float (&to)[4], const float *row, int token, int N)
    {
#pragma unroll
        for (int j = 0; j < 4; j++)
            to[j] = !ALIGNED && token + j < N ? row[token + j] : 0;
        if (ALIGNED && token < N) load_vector(to, row + token);
    }

    /* Steps of a pair follow each other, and so do pairs. Tokens behind the last are 0 on both sides. */
    __device__ __forceinline__ void fetch(const update_of &a, int2 place, int step)
    {
        const int of_pair = (a.N + STEP - 1) / STEP, pair = step / of_pair;
        const int token = step % of_pair * STEP + threadIdx.x % 16 * 4;
        const float *X = a.X + ((size_t)pair * a.C + (size_t)place.x * B) * a.N;
        const float *dY = a.dY + ((size_t)pair * a.K + (size_t)place.y * B) * a.N;
#pragma unroll
        for (int t = 0; t < TURNS; t++) {
            const int row = t * (THREADS / 16) + threadIdx.x / 16;
            load(x[t], X + (size_t)row * a.N, token, a.N);
            load(y[t], dY + (size_t)row * a.N, token, a.N);
        }
    }

    __device__ __forceinline__ void store(tiles<B> &s) const
    {
#pragma unroll
        for (int t = 0; t < TURNS; t++) {
            const int row = t * (THREADS / 16) + threadIdx.x / 16;
            store_vector(&s.X[row][threadIdx.x % 16 * 4], x[t]);
            store_vector(&s.dY[row][threadIdx.x % 16 * 4], y[t]);
        }
    }
};

/* sum[i][j] += X of row m / SIDE + SIDE i times dY of row m % SIDE + SIDE j, over the group's tokens; m: the thread's
 * number in its group. Rows of neighbours are neighbours, so that their banks differ. */
template <int B> __device__ __forceinline__ void multiply_add(const tiles<B> &s, float (&sum)[4][4])
{
    typedef shape<B> S;
    const int member = threadIdx.x % S::MEMBERS, first = threadIdx.x / S::MEMBERS * S::OWN;
    const int row = member / S::SIDE, column = member % S::SIDE;
#pragma unroll 2
    for (int t = first; t < first + S::OWN; t += 4) {
        float x[4][4], y[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            load_vector_plain(x[i], &s.X[row + S::SIDE * i][t]);
            load_vector_plain(y[i], &s.dY[column + S::SIDE * i][t]);
        }
        /* BEGIN STUDENT: sixteen sums over four tokens */
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    sum[i][j] += x[i][k] * y[j][k];
        /* END STUDENT */
    }
}

/* ---- the end of a block ------------------------------------------------------------------------ */

/* Adds up what the groups have, in their order: thread i gets elements i, i + THREADS ... of the block. */
template <int B>
__device__ __forceinline__ void add_groups(float *shared, const float (&sum)[4][4],
                                           float (&own)[B * B / shape<B>::THREADS])
{
    typedef shape<B> S;
    const int member = threadIdx.x % S::MEMBERS, group = threadIdx.x / S::MEMBERS;
    const int row = member / S::SIDE, column = member % S::SIDE;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            shared[group * S::GROUP + (row + S::SIDE * i) * S::ROW + column + S::SIDE * j] =
                sum[i][j];
    __syncthreads();
#pragma unroll
    for (int e = 0; e < B * B / S::THREADS; e++) {
        const int at = e * S::THREADS + threadIdx.x;
        const float *from = shared + at / B * S::ROW + at % B;
        own[e] = from[0];
        for (int g = 1; g < S::GROUPS; g++)
            own[e] += from[g * S::GROUP];
    }
}

/* Stores factor * sum + beta * U. `adds`: instead of beta * U there is what dW holds, which others have written. */
template <int B>
__device__ __forceinline__ void store_block(const update_of &a, float factor, bool adds,
                                            const float (&sum)[B * B / shape<B>::THREADS])
{
    const size_t first = (size_t)blockIdx.x * B * B + threadIdx.x;
#pragma unroll
    for (int e = 0; e < B * B / shape<B>::THREADS; e++) {
        const size_t at = first + e * shape<B>::THREADS;
        /* BEGIN STUDENT: U is not to be read where beta is 0, and a stopped block is beta * U, without the sum */
        float x = factor == 0 ? 0 : factor * sum[e];
        if (adds)
            x += __ldcg(a.dW + at);
        else if (a.beta != 0)
            x += a.beta * a.U[at];
        a.dW[at] = x;
        /* END STUDENT */
    }
}

/* Leaves the sums of a part; true in the thread block that comes last, whose sums are then those of all, in order. */
template <int B>
__device__ __forceinline__ bool add_parts(const update_of &a,
                                          float (&sum)[B * B / shape<B>::THREADS])
{
    const int split = gridDim.y;
    float *const part = a.parts + (size_t)blockIdx.x * split * B * B + threadIdx.x;
#pragma unroll
    for (int e = 0; e < B * B / shape<B>::THREADS; e++)
        part[blockIdx.y * B * B + e * shape<B>::THREADS] = sum[e];
    if (!comes_last(a.arrived + blockIdx.x, split)) return false;
#pragma unroll
    for (int e = 0; e < B * B / shape<B>::THREADS; e++) {
        sum[e] = __ldcg(part + e * shape<B>::THREADS);
        for (int p = 1; p < split; p++)
            sum[e] += __ldcg(part + p * B * B + e * shape<B>::THREADS);
    }
    return true;
}

/* A thread block, a block of dW, or its part blockIdx.y of gridDim.y of the steps. */
template <int B, bool ALIGNED>
static __global__ void __launch_bounds__(shape<B>::THREADS) bsmm_update_kernel(const update_of a)
{
    __shared__ union {
        tiles<B> step;
        float groups[shape<B>::GROUPS * shape<B>::GROUP];
    } s;
    const int2 place = a.place[blockIdx.x];
    const float gate = a.gate ? a.gate[blockIdx.x] : 1;
    const float factor = gate == 0 ? 0 : a.applies_gates ? a.alpha * gate : a.alpha;
    const int64_t steps = (int64_t)a.pairs * ((a.N + STEP - 1) / STEP);
    const int first = (int)(steps * blockIdx.y / gridDim.y);
    const int end = factor == 0 ? first : (int)(steps * (blockIdx.y + 1) / gridDim.y);
    fetched<B, ALIGNED> next;
    float sum[4][4] = {}, own[B * B / shape<B>::THREADS];
    if (first < end) next.fetch(a, place, first);
    for (int step = first; step < end; step++) {
        next.store(s.step);
        __syncthreads();
        if (step + 1 < end) next.fetch(a, place, step + 1);
        multiply_add(s.step, sum);
        __syncthreads();
    }
    add_groups<B>(s.groups, sum, own);
    if (gridDim.y > 1 && a.how == SUM_PARTS && !add_parts<B>(a, own)) return;
    const bool locked = gridDim.y > 1 && a.how == SUM_LOCKS;
    bool adds = false;
    if (locked) {
        block_lock(a.lock + blockIdx.x);
        const int before = __ldcg(a.count + blockIdx.x);
        adds = before > 0;
        __syncthreads(); /* all have read the count */
        if (threadIdx.x == 0) a.count[blockIdx.x] = before + 1;
    }
    store_block<B>(a, factor, adds, own);
    if (locked) block_unlock(a.lock + blockIdx.x);
}

/* ---- plans ------------------------------------------------------------------------------------ */

typedef struct update_state {
    int2 *d_place;
    partial_sums parts; /* SUM=parts */
    int *d_locks;       /* SUM=locks: locks, then counts */
} update_state;

static void release(bsmm_update_plan *plan)
{
    update_state *s = (update_state *)plan->state;
    if (!s) return;
    cudaFree(s->d_place);
    partial_sums_free(&s->parts);
    cudaFree(s->d_locks);
    free(s);
    plan->state = NULL;
}

static size_t locks_bytes(const bsmm_update_plan *plan)
{
    return (size_t)2 * plan->layout->blocks * sizeof(int);
}

static size_t part_floats(const bsmm_update_plan *plan)
{
    return (size_t)plan->layout->blocks * plan->tuning[TUNE_SPLIT] * plan->block * plan->block;
}

static cudaError_t fill(const bsmm_update_plan *plan, update_state *s)
{
    const block_layout *l = plan->layout;
    const size_t bytes = (size_t)l->blocks * sizeof(int2);
    int2 *place = (int2 *)malloc(bytes + 1);
    if (!place) return cudaErrorMemoryAllocation;
    for (int b = 0; b < l->blocks; b++)
        place[b] = make_int2(l->row[b], l->col[b]);
    cudaError_t error = cudaMalloc((void **)&s->d_place, bytes + 1);
    if (error == cudaSuccess) error = cudaMemcpy(s->d_place, place, bytes, cudaMemcpyHostToDevice);
    free(place);
    if (error != cudaSuccess || plan->tuning[TUNE_SPLIT] == 1) return error;
    if (plan->tuning[TUNE_SUM] == SUM_LOCKS)
        return cudaMalloc((void **)&s->d_locks, locks_bytes(plan) + 1);
    return partial_sums_make(part_floats(plan), l->blocks, &s->parts);
}

static cudaError_t prepare(bsmm_update_plan *plan)
{
    if (plan->tuning[TUNE_SPLIT] == 1) plan->tuning[TUNE_SUM] = SUM_PARTS; /* nothing to add up */
    plan->state = calloc(1, sizeof(update_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill(plan, (update_state *)plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

/* Enough thread blocks to give each multiprocessor four, as long as each has two steps. */
static void choose(const row_stats *stats, int block, int64_t tokens, int *tuning)
{
    const int64_t wanted = 4 * device_facts_get()->sms, blocks = stats->nnz;
    (void)block;
    int split = 1;
    while (split < 8 && blocks * split < wanted && tokens >= 4 * STEP * split)
        split *= 2;
    tuning[TUNE_SPLIT] = split;
}

template <int B>
static void launch(const bsmm_update_plan *plan, const update_of &a, cudaStream_t stream)
{
    const dim3 grid(plan->layout->blocks, plan->tuning[TUNE_SPLIT]);
    if (a.N % 4 == 0)
        bsmm_update_kernel<B, true><<<grid, shape<B>::THREADS, 0, stream>>>(a);
    else
        bsmm_update_kernel<B, false><<<grid, shape<B>::THREADS, 0, stream>>>(a);
}

static cudaError_t run(const bsmm_update_plan *plan, const bsmm_update_inputs *in, void *dW,
                       cudaStream_t stream)
{
    const update_state *s = (const update_state *)plan->state;
    const update_of a = {
        .place = s->d_place,
        .X = (const float *)in->X,
        .dY = (const float *)in->dY,
        .U = (const float *)in->U,
        .gate = in->gate,
        .dW = (float *)dW,
        .N = plan->N,
        .C = plan->layout->rows * plan->block,
        .K = plan->layout->cols * plan->block,
        .pairs = plan->pairs,
        .alpha = plan->alpha,
        .beta = plan->beta,
        .applies_gates = plan->gates == BSMM_UPDATE_APPLY,
        .how = plan->tuning[TUNE_SUM],
        .parts = s->parts.d_sums,
        .arrived = s->parts.d_arrived,
        .lock = s->d_locks,
        .count = s->d_locks + plan->layout->blocks,
    };
    if (plan->layout->blocks == 0) return cudaSuccess;
    if (s->d_locks) CUDA_TRY(cudaMemsetAsync(s->d_locks, 0, locks_bytes(plan), stream));
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

static size_t workspace_bytes(const bsmm_update_plan *plan)
{
    const size_t blocks = plan->layout->blocks, places = blocks * sizeof(int2);
    if (plan->tuning[TUNE_SPLIT] == 1) return places;
    if (plan->tuning[TUNE_SUM] == SUM_LOCKS) return places + locks_bytes(plan);
    return places + part_floats(plan) * sizeof(float) + blocks * sizeof(unsigned);
}

static const char *const SUMS[] = {"parts", "locks", NULL};

static bsmm_update_contender block_gradients = {
    .base = {.lab = 51,
             .name = "block_gradients",
             .summary = "a thread block a block of dW; pairs in order, closed gates read nothing",
             .tunables = {{"SPLIT", "thread blocks of a block of dW", {1, 2, 4, 8}, 4, 1},
                          {.name = "SUM",
                           .meaning = "how they add up",
                           .values = {SUM_PARTS, SUM_LOCKS},
                           .num_values = 2,
                           .initial = SUM_PARTS,
                           .names = SUMS}}},
    .choose = choose,
    .prepare = prepare,
    .run = run,
    .workspace_bytes = workspace_bytes,
    .release = release,
};
BSMM_UPDATE_REGISTER(block_gradients)
