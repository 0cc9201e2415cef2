/*
 * Lab 51 - block gradients: the gradient of block-sparse weights, a dense product for each block that exists.
 *
 * Idea      dW of a block is X of its block row times dY of its block column, summed over the tokens of all pairs. Nothing
 *           else of the dense gradient is formed. Blocks whose gate is 0 leave before they read anything.
 * Changed   Lab 50 sums over blocks; here a sum runs over tokens, which lie side by side. A warp has a block for itself: it
 *           copies tokens ahead by cp.async, and waits for nobody. Few blocks, many tokens: SPLIT thread blocks share them.
 * Run       make lab51 && ./lab51 blocks:in=1024,kind=attach 64       ./lab51 --set PAIRS=8,GATES=apply,BETA=1
 * Watch     A NaN in X must not pass a gate of 0, and 0 * NaN is NaN. Beta belongs to the whole sum, not to a pair.
 * Paper     S. Gray, A. Radford, D. P. Kingma: GPU Kernels for Block-Sparse Weights, 2017.
 */
#include "device/async_copy.cuh"
#include "device/block_lock.cuh"
#include "device/cuda_try.h"
#include "device/dynamic_shared.cuh"
#include "device/facts.h"
#include "device/last_block.cuh"
#include "device/partial_sums.h"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "ops/bsmm_update.h"
#include "ops/plan_state.cuh"

#include <stdlib.h>

enum { TUNE_SPLIT, TUNE_SUM };
enum { SUM_PARTS, SUM_LOCKS };

constexpr int WARPS = 4, THREADS = WARPS * WARP_SIZE;
/* Tokens of a step: a row's 128 bytes are all banks once. STAGES steps of a warp are in shared memory. */
constexpr int STEP = 32, QUADS = STEP / 4, STAGES = 2;

/* A warp makes a square of SIDE x SIDE sums: a block, or a quarter of one of 64. A lane has TALL x 4 of them, at row
 * ROWS and column COLUMNS of lanes; GROUPS of lanes share the tokens of a step. At the end a lane has OWN sums. */
template <int B> struct shape {
    static constexpr int SIDE = B < 32 ? B : 32, ACROSS = B / SIDE, SQUARES = ACROSS * ACROSS;
    static constexpr int TALL = B < 32 ? 4 : 8, ROWS = SIDE / TALL, COLUMNS = SIDE / 4;
    static constexpr int GROUPS = WARP_SIZE / (ROWS * COLUMNS), TURNS = QUADS / GROUPS;
    static constexpr int OWN = TALL * 4 / GROUPS, VECTOR = OWN < 4 ? OWN : 4;
    static constexpr int SHARED_BYTES = WARPS * STAGES * 2 * SIDE * STEP * (int)sizeof(float);
    static constexpr int BLOCKS_PER_SM = B < 32 ? 5 : 3; /* by shared memory, and without spills */
};

/* Arguments of the kernel. place: row and column of each block. */
struct update_of {
    const int2 *place;
    const float *X, *dY, *U, *gate;
    float *dW;
    int squares, N, C, K;
    int steps, share; /* of all pairs, and of a thread block */
    float alpha, beta;
    bool applies_gates;
    int how;
    float *parts;
    unsigned *arrived; /* of each blockIdx.x, as are ... */
    int *lock, *count; /* ... these */
};

/* Where a lane's sums are in the square, and which tokens of a step are its. Eight neighbouring lanes have two rows and four
 * columns: so a load of 16 bytes serves sixteen lanes, of which two and two want the same, in one wavefront. */
template <int B> struct lane_place {
    typedef shape<B> S;
    int row, column, group;
    __device__ __forceinline__ explicit lane_place(int lane)
        : row((lane % 2 + lane / (2 * S::COLUMNS) % (S::ROWS / 2) * 2) * S::TALL),
          column(lane / 2 % S::COLUMNS * 4), group(lane / (S::ROWS * S::COLUMNS))
    {
    }
};

/* ---- a step: 32 tokens of one pair ------------------------------------------------------------- */

/* A step of a warp: X of the square's rows, dY of its columns. Four tokens are a quad, and lie where `at` says: rows that
 * lanes read at once, four apart, have the same quad in different banks. */
template <int B> struct step_tiles {
    float tile[2][shape<B>::SIDE][STEP];

    static __device__ __forceinline__ int at(int row, int quad)
    {
        return (quad ^ (row >> 2) * (B == 8 ? 4 : 1)) * 4;
    }
};

/* The copies of a warp to shared memory, a step after the other, a pair after the other. */
template <int B, bool ALIGNED> struct token_copies {
    static constexpr int SIDE = shape<B>::SIDE;
    const float *from[2]; /* X and dY of the pair, first row of the square */
    size_t pair[2];       /* floats from pair to pair */
    int N, token;

    /* Step 0 is the first step of the first pair. */
    __device__ __forceinline__ token_copies(const update_of &a, int row, int column, int step)
        : N(a.N)
    {
        const int of_pair = (a.N + STEP - 1) / STEP, p = step / of_pair;
        token = (step - p * of_pair) * STEP;
        pair[0] = (size_t)a.C * a.N;
        pair[1] = (size_t)a.K * a.N;
        from[0] = a.X + p * pair[0] + (size_t)row * a.N;
        from[1] = a.dY + p * pair[1] + (size_t)column * a.N;
    }

    /* Starts the copies of this step, and goes to the next. Tokens behind the last are 0 on both sides. */
    __device__ __forceinline__ void start(step_tiles<B> &to)
    {
        const int lane = lane_id(), quad = ALIGNED ? lane % QUADS : lane / 4;
        const int mine = token + (ALIGNED ? quad * 4 : lane);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            /* A warp copies four rows at a time, a quad a lane; or one row, a token a lane. */
            if constexpr (ALIGNED) {
                const int first = lane / QUADS, bytes = mine < N ? 16 : 0;
                const float *row = from[i] + (size_t)first * N + mine;
#pragma unroll
                for (int r = first; r < SIDE + first; r += 4, row += 4 * (size_t)N)
                    async_copy_zfill<16>(&to.tile[i][r][to.at(r - first, quad)], row, bytes);
            } else {
                const int bytes = mine < N ? 4 : 0;
                const float *row = from[i] + mine;
#pragma unroll 4
                for (int r = 0; r < SIDE; r++, row += N)
                    async_copy_zfill<4>(&to.tile[i][r][to.at(r, quad) + lane % 4], row, bytes);
            }
        }
        token += STEP;
        if (token < N) return;
        token = 0;
        from[0] += pair[0];
        from[1] += pair[1];
    }
};

/* sum[i][j] += X of the lane's row i times dY of its column j, over the tokens of its group. */
template <int B>
__device__ __forceinline__ void multiply_add(const step_tiles<B> &s, const lane_place<B> &lane,
                                             float (&sum)[shape<B>::TALL][4])
{
    typedef shape<B> S;
#pragma unroll 2
    for (int t = 0; t < S::TURNS; t++) {
        const int quad = lane.group * S::TURNS + t;
        float x[S::TALL][4], y[4][4];
#pragma unroll
        for (int i = 0; i < S::TALL; i++)
            load_vector_plain(x[i], &s.tile[0][lane.row + i][s.at(lane.row + i / 4 * 4, quad)]);
#pragma unroll
        for (int j = 0; j < 4; j++)
            load_vector_plain(y[j], &s.tile[1][lane.column + j][s.at(lane.column, quad)]);
            /* BEGIN STUDENT: the lane's sums over four tokens */
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int i = 0; i < S::TALL; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sum[i][j] += x[i][k] * y[j][k];
        /* END STUDENT */
    }
}

/* ---- the end of a square ----------------------------------------------------------------------- */

/* Adds up what the groups have, in one order: neighbours exchange halves, so that each keeps the sums of one. Returns which
 * of the TALL x 4 is the first of the lane's own. */
template <int B>
__device__ __forceinline__ int add_groups(const float (&sum)[shape<B>::TALL][4],
                                          float (&own)[shape<B>::OWN])
{
    constexpr int ALL = shape<B>::TALL * 4;
    float x[ALL];
#pragma unroll
    for (int e = 0; e < ALL; e++)
        x[e] = sum[e / 4][e % 4];
    int first = 0;
#pragma unroll
    for (int round = 0; 1 << round < shape<B>::GROUPS; round++) {
        const int half = ALL / 2 >> round, distance = WARP_SIZE / shape<B>::GROUPS << round;
        const bool upper = lane_id() & distance;
#pragma unroll
        for (int e = 0; e < ALL / 2; e++) {
            if (e >= half) break; /* the compiler unrolls loops of a known length */
            const float low = x[e], high = x[e + half];
            x[e] = (upper ? high : low) + __shfl_xor_sync(FULL_MASK, upper ? low : high, distance);
        }
        if (upper) first += half;
    }
#pragma unroll
    for (int e = 0; e < shape<B>::OWN; e++)
        own[e] = x[e];
    return first;
}

/* Stores factor * sum + beta * U; at: offset of the lane's own sums in dW. A stopped block has read nothing: its sums are 0.
 * `adds`: instead of beta * U there is what dW holds, which others have written. */
template <int B>
__device__ __forceinline__ void store_square(const update_of &a, size_t at, float factor, bool adds,
                                             const float (&own)[shape<B>::OWN])
{
    constexpr int VECTOR = shape<B>::VECTOR;
#pragma unroll
    for (int e = 0; e < shape<B>::OWN; e += VECTOR, at += B) {
        /* BEGIN STUDENT: U is not to be read where beta is 0 */
        const float beta = adds ? 1 : a.beta;
        float x[VECTOR], old[VECTOR];
#pragma unroll
        for (int j = 0; j < VECTOR; j++)
            x[j] = factor * own[e + j];
        if (beta != 0) {
            load_vector_l2(old, (adds ? a.dW : a.U) + at);
#pragma unroll
            for (int j = 0; j < VECTOR; j++)
                x[j] += beta * old[j];
        }
        store_vector_streaming(a.dW + at, x);
        /* END STUDENT */
    }
}

/* Leaves the sums of a part; true in the thread block that comes last, whose sums are then those of all, in order. */
template <int B>
__device__ __forceinline__ bool add_parts(const update_of &a, float (&own)[shape<B>::OWN])
{
    constexpr int OWN = shape<B>::OWN, VECTOR = shape<B>::VECTOR;
    const int split = gridDim.y, pitch = OWN * THREADS;
    float *const part = a.parts + (size_t)blockIdx.x * split * pitch + threadIdx.x * VECTOR;
#pragma unroll
    for (int e = 0; e < OWN; e += VECTOR) {
        float x[VECTOR];
#pragma unroll
        for (int j = 0; j < VECTOR; j++)
            x[j] = own[e + j];
        store_vector(part + (size_t)blockIdx.y * pitch + e * THREADS, x);
    }
    if (!comes_last(a.arrived + blockIdx.x, split)) return false;
#pragma unroll
    for (int e = 0; e < OWN; e++)
        own[e] = 0;
    for (int p = 0; p < split; p++)
#pragma unroll
        for (int e = 0; e < OWN; e += VECTOR) {
            float x[VECTOR];
            load_vector_l2(x, part + (size_t)p * pitch + e * THREADS);
#pragma unroll
            for (int j = 0; j < VECTOR; j++)
                own[e + j] += x[j];
        }
    return true;
}

/* A warp, a square of dW; thread blocks of the same squares, blockIdx.y, share their steps. */
template <int B, bool ALIGNED>
static __global__ void __launch_bounds__(THREADS, shape<B>::BLOCKS_PER_SM)
    bsmm_update_kernel(const update_of a)
{
    typedef shape<B> S;
    extern __shared__ float4 shared[];
    step_tiles<B> *const ring = reinterpret_cast<step_tiles<B> *>(shared) + warp_id() * STAGES;
    const int square = blockIdx.x * WARPS + warp_id();
    const int block = min(square, a.squares - 1) / S::SQUARES;
    const int down = square / S::ACROSS % S::ACROSS * S::SIDE, right = square % S::ACROSS * S::SIDE;
    const int2 place = a.place[block];
    const float gate = a.gate ? a.gate[block] : 1;
    const float factor = gate == 0 ? 0 : a.applies_gates ? a.alpha * gate : a.alpha;
    const bool exists = square < a.squares;
    const int first = min((int)blockIdx.y * a.share, a.steps);
    const int end = factor == 0 || !exists ? first : min(first + a.share, a.steps);

    token_copies<B, ALIGNED> copies(a, place.x * B + down, place.y * B + right, first);
    const lane_place<B> lane(lane_id());
    float sum[S::TALL][4] = {}, own[S::OWN];
#pragma unroll
    for (int s = 0; s < STAGES; s++) {
        if (first + s < end) copies.start(ring[s]);
        async_commit();
    }
    for (int step = first; step < end; step++) {
        step_tiles<B> &now = ring[(step - first) % STAGES];
        async_wait<STAGES - 1>();
        __syncwarp(); /* the copies of all lanes have arrived */
        multiply_add<B>(now, lane, sum);
        __syncwarp(); /* all have read */
        if (step + STAGES < end) copies.start(now);
        async_commit();
    }
    const int mine = add_groups<B>(sum, own);

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
    const int row = down + lane.row + mine / 4, column = right + lane.column + mine % 4;
    if (exists) store_square<B>(a, ((size_t)block * B + row) * B + column, factor, adds, own);
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
    cudaFree(s->d_place);
    partial_sums_free(&s->parts);
    cudaFree(s->d_locks);
    free(s);
}

/* Squares of a block: a warp's each. */
static int squares_of(int block)
{
    return block == 64 ? shape<64>::SQUARES : 1;
}

/* Thread blocks side by side, each with the squares of its warps: a counter and a lock are theirs together. */
static int thread_blocks(const bsmm_update_plan *plan)
{
    return (plan->layout->blocks * squares_of(plan->block) + WARPS - 1) / WARPS;
}

static size_t locks_bytes(const bsmm_update_plan *plan)
{
    return (size_t)2 * thread_blocks(plan) * sizeof(int);
}

static size_t part_floats(const bsmm_update_plan *plan)
{
    const int side = plan->block < 32 ? plan->block : 32;
    return (size_t)thread_blocks(plan) * plan->tuning[TUNE_SPLIT] * WARPS * side * side;
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
    return partial_sums_make(part_floats(plan), thread_blocks(plan), &s->parts);
}

static cudaError_t prepare(bsmm_update_plan *plan)
{
    if (plan->tuning[TUNE_SPLIT] == 1) plan->tuning[TUNE_SUM] = SUM_PARTS; /* nothing to add up */
    return plan_state_make<update_state>(plan, fill, release);
}

/* Enough warps to give each multiprocessor eight, as long as each has four steps. */
static void choose(const row_stats *stats, int block, int64_t tokens, int *tuning)
{
    const int64_t wanted = 8 * device_facts_get()->sms, squares = stats->nnz * squares_of(block);
    int split = 1;
    while (split < BSMM_UPDATE_MOST_PARTS && squares * split < wanted &&
           tokens >= 16 * STEP * split)
        split *= 4;
    tuning[TUNE_SPLIT] = split;
}

template <int B, bool ALIGNED>
static cudaError_t launch(const bsmm_update_plan *plan, const update_of &a, cudaStream_t stream)
{
    const dim3 grid(thread_blocks(plan), plan->tuning[TUNE_SPLIT]);
    constexpr auto kernel = bsmm_update_kernel<B, ALIGNED>;
    CUDA_TRY(allow_shared<kernel>(shape<B>::SHARED_BYTES));
    kernel<<<grid, THREADS, shape<B>::SHARED_BYTES, stream>>>(a);
    return cudaGetLastError();
}

template <int B>
static cudaError_t launch(const bsmm_update_plan *plan, const update_of &a, cudaStream_t stream)
{
    return a.N % 4 == 0 ? launch<B, true>(plan, a, stream) : launch<B, false>(plan, a, stream);
}

static cudaError_t run(const bsmm_update_plan *plan, const bsmm_update_inputs *in, void *dW,
                       cudaStream_t stream)
{
    const update_state *s = (const update_state *)plan->state;
    const int steps = plan->pairs * ((plan->N + STEP - 1) / STEP), split = plan->tuning[TUNE_SPLIT];
    const update_of a = {
        .place = s->d_place,
        .X = (const float *)in->X,
        .dY = (const float *)in->dY,
        .U = (const float *)in->U,
        .gate = in->gate,
        .dW = (float *)dW,
        .squares = plan->layout->blocks * squares_of(plan->block),
        .N = plan->N,
        .C = plan->layout->rows * plan->block,
        .K = plan->layout->cols * plan->block,
        .steps = steps,
        .share = (steps + split - 1) / split,
        .alpha = plan->alpha,
        .beta = plan->beta,
        .applies_gates = plan->gates == BSMM_UPDATE_APPLY,
        .how = plan->tuning[TUNE_SUM],
        .parts = s->parts.d_sums,
        .arrived = s->parts.d_arrived,
        .lock = s->d_locks,
        .count = s->d_locks + thread_blocks(plan),
    };
    if (plan->layout->blocks == 0) return cudaSuccess;
    if (s->d_locks) CUDA_TRY(cudaMemsetAsync(s->d_locks, 0, locks_bytes(plan), stream));
    switch (plan->block) {
    case 8:
        return launch<8>(plan, a, stream);
    case 16:
        return launch<16>(plan, a, stream);
    case 32:
        return launch<32>(plan, a, stream);
    default:
        return launch<64>(plan, a, stream);
    }
}

static size_t workspace_bytes(const bsmm_update_plan *plan)
{
    const update_state *s = (const update_state *)plan->state;
    return (size_t)plan->layout->blocks * sizeof(int2) + s->parts.bytes +
           (s->d_locks ? locks_bytes(plan) : 0);
}

static const char *const SUMS[] = {"parts", "locks", NULL};

static bsmm_update_contender block_gradients = {
    .base = {.lab = 51,
             .name = "block_gradients",
             .summary = "a warp a block of dW; pairs in order, closed gates read nothing",
             .tunables =
                 {{"SPLIT", "thread blocks of a block of dW", {1, 4, BSMM_UPDATE_MOST_PARTS}, 3, 1},
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
