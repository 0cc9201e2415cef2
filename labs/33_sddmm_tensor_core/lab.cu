/*
 * Lab 33 - dense tiles on tensor cores: patterns so full that computing everything is cheaper.
 *
 * Idea      A block multiplies 128 rows of X by 128 rows of Y on tensor cores, whatever is stored in that tile
 *           of W, and stores the elements that are: a bit says which (formats/bit_tiles.h). In fp32 three
 *           products of tf32 numbers make one.
 * Changed   Lab 31 gathers a row of Y for each nonzero. Here a row is fetched once for 128 others, and the time
 *           does not depend on how many elements are stored.
 * Run       make lab33 && ./lab33 weights:rows=512,cols=1024,sparsity=0.7 128
 * Watch     The time of 70 % and of 95 % zeros. Where does lab 31 become faster?
 * Paper     H. Ootomo, R. Yokota: Recovering single precision accuracy from Tensor Cores, 2022
 */
#include "tile.cuh"

#include "device/cuda_try.h"
#include "device/facts.h"
#include "device/vec.cuh"
#include "models/sddmm_tensor_core.h"
#include "ops/sddmm.h"

#include <stdlib.h>

/* Positions in sddmm_plan.tuning. */
enum { TUNE_ROWS, TUNE_WARP_COLS, TUNE_STAGES };

constexpr int LEAST_STAGES = 2;
constexpr int PICKED = 8;        /* rows of sums that a warp lays out at a time ... */
constexpr int PICKED_MARGIN = 8; /* ... so many floats longer, that four rows lie in all banks */

/* Of a block: a warp for every WARP_ROWS rows and `warp_cols` columns of the tile. */
__host__ __device__ constexpr int threads_of(int tile_rows, int warp_cols)
{
    return tile_rows / WARP_ROWS * (STRIP_COLS / warp_cols) * WARP_SIZE;
}

__host__ __device__ constexpr int stage_bytes(int tile_rows)
{
    return (tile_rows + STRIP_COLS) * STEP_BYTES;
}

/* Bytes in which the warps lay out their sums. */
__host__ __device__ constexpr int picked_bytes(int tile_rows, int warp_cols)
{
    return threads_of(tile_rows, warp_cols) / WARP_SIZE * PICKED * (warp_cols + PICKED_MARGIN) *
           (int)sizeof(float);
}

/* Blocks of an SM by registers: 128 a thread, or with 64 columns a warp, whose sums are twice as many, 255. */
__host__ __device__ constexpr int resident_blocks(int tile_rows, int warp_cols)
{
    return (warp_cols == 32 ? 512 : 256) / threads_of(tile_rows, warp_cols);
}

/* The arguments of the kernel. */
template <class T> struct tile_products {
    bit_tiles pattern;
    int cols, K, steps, stages;
    const T *__restrict__ X, *__restrict__ Y, *__restrict__ W;
    T *__restrict__ D;
};

/* Where a block is in its tiles: a step of one of them. */
struct cursor {
    int tile, step;
    int row, strip; /* the tile's corner */

    /* The tiles of the block are this one, and every gridDim.x-th from there. */
    __device__ __forceinline__ cursor(const bit_tiles &pattern, int tile)
        : tile(tile), step(0), row(0), strip(0)
    {
        find_corner(pattern);
    }
    __device__ __forceinline__ void find_corner(const bit_tiles &pattern)
    {
        if (tile >= pattern.num_tiles) return;
        const int number = pattern.d_tile[tile];
        row = number / pattern.strips * pattern.tile_rows;
        strip = number % pattern.strips;
    }
    __device__ __forceinline__ void advance(const bit_tiles &pattern, int steps)
    {
        if (++step < steps) return;
        step = 0;
        tile += gridDim.x;
        find_corner(pattern);
    }
};

/* Starts copying a step of a tile to a stage. */
template <int COPY, int TILE_ROWS, int THREADS, class T>
static __device__ __forceinline__ void fetch(const tile_products<T> &p, const cursor &at,
                                             char *stage)
{
    if (at.tile < p.pattern.num_tiles) {
        const dense_rows<T> x = {p.X, p.pattern.rows, at.row};
        const dense_rows<T> y = {p.Y, p.cols, at.strip * STRIP_COLS};
        copy_rows<COPY, TILE_ROWS, THREADS>(x, p.K, at.step * STEP<T>, stage);
        copy_rows<COPY, STRIP_COLS, THREADS>(y, p.K, at.step * STEP<T>,
                                             stage + TILE_ROWS * STEP_BYTES);
    }
    async_commit();
}

/* The stored elements among a warp's columns of a row: a bit each, and the place of the first. */
template <int COLS> struct row_bits {
    uint32_t word[COLS / 32];
    int first;
};

/* Of columns `column` and up of a strip. */
template <int COLS>
static __device__ __forceinline__ row_bits<COLS> load_bits(const bit_tiles &pattern, int row,
                                                           int strip, int column)
{
    row_bits<COLS> bits = {};
    if (row >= pattern.rows) return bits;
    const size_t at = (size_t)strip * pattern.rows + row;
    uint32_t all[STRIP_WORDS];
    load_vector(all, pattern.d_bits + at * STRIP_WORDS);
    bits.first = pattern.d_first[at];
#pragma unroll
    for (int w = 0; w < STRIP_WORDS; w++) {
        if (w < column / 32) bits.first += __popc(all[w]);
#pragma unroll
        for (int own = 0; own < COLS / 32; own++)
            if (w == column / 32 + own) bits.word[own] = all[w];
    }
    return bits;
}

/* Stores a sum to the element of that number. `weight` is that of the nonzero of the same place, for patterns in
 * which these are the same. */
template <class T>
static __device__ __forceinline__ void store(const tile_products<T> &p, int number, float sum,
                                             float weight)
{
    if (!p.pattern.d_order) {
        p.D[number] = narrow<T>(sum * weight);
        return;
    }
    for (int i = p.pattern.d_begin[number]; i < p.pattern.d_begin[number + 1]; i++) {
        const int z = p.pattern.d_order[i];
        p.D[z] = narrow<T>(p.W ? sum * widen(p.W[z]) : sum);
    }
}

/* Stores what a warp's sums hold of the stored elements: WARP_ROWS rows from `row` on, and COLS columns. Eight
 * rows at a time are laid out in shared memory, `own`, so that a lane has a column of each. */
template <int COLS, class T>
static __device__ __forceinline__ void
pick(const tile_products<T> &p, int row, int strip, int column,
     const float (&sum)[WARP_ROWS / 16][COLS / 8][4], float *own)
{
    constexpr int PITCH = COLS + PICKED_MARGIN, WORDS = COLS / 32;
    const int lane = threadIdx.x % WARP_SIZE;
    row_bits<COLS> bits[WARP_ROWS / WARP_SIZE]; /* of rows lane, lane + 32 */
#pragma unroll
    for (int i = 0; i < WARP_ROWS / WARP_SIZE; i++)
        bits[i] = load_bits<COLS>(p.pattern, row + i * WARP_SIZE + lane, strip, column);
#pragma unroll
    for (int r = 0; r < WARP_ROWS; r += PICKED) {
        __syncwarp(); /* the rows before have been read */
#pragma unroll
        for (int j = 0; j < COLS / 8; j++) {
            const float two[2] = {sum[r / 16][j][r % 16 / 8 * 2],
                                  sum[r / 16][j][r % 16 / 8 * 2 + 1]};
            store_vector(&own[lane / 4 * PITCH + 8 * j + lane % 4 * 2], two);
        }
        __syncwarp();
        /* BEGIN STUDENT: find the place of each stored element; load its weight; store it */
        int z[PICKED][WORDS];
        float weight[PICKED][WORDS];
#pragma unroll
        for (int i = 0; i < PICKED; i++) {
            const row_bits<COLS> &of_row = bits[r / WARP_SIZE];
            int first = __shfl_sync(FULL_MASK, of_row.first, r % WARP_SIZE + i);
#pragma unroll
            for (int w = 0; w < WORDS; w++) {
                const uint32_t word = __shfl_sync(FULL_MASK, of_row.word[w], r % WARP_SIZE + i);
                const bool stored = word >> lane & 1;
                z[i][w] = stored ? first + __popc(word & ((1u << lane) - 1)) : -1;
                weight[i][w] = stored && p.W && !p.pattern.d_order ? widen(p.W[z[i][w]]) : 1;
                first += __popc(word);
            }
        }
#pragma unroll
        for (int i = 0; i < PICKED; i++)
#pragma unroll
            for (int w = 0; w < WORDS; w++)
                if (z[i][w] >= 0) store(p, z[i][w], own[i * PITCH + w * 32 + lane], weight[i][w]);
        /* END STUDENT */
    }
}

/* Blocks stay, and take every gridDim.x-th tile: the next one's first steps are on their way while the sums of
 * this one are stored. */
template <class T, int COPY, int TILE_ROWS, int WARP_COLS>
static __global__ void __launch_bounds__(threads_of(TILE_ROWS, WARP_COLS),
                                         resident_blocks(TILE_ROWS, WARP_COLS))
    sddmm_tensor_core_kernel(const __grid_constant__ tile_products<T> p)
{
    constexpr int THREADS = threads_of(TILE_ROWS, WARP_COLS), STAGE = stage_bytes(TILE_ROWS);
    extern __shared__ float4 shared[];
    char *const stages = reinterpret_cast<char *>(shared);
    const int warp = threadIdx.x / WARP_SIZE, across = STRIP_COLS / WARP_COLS;
    const int row = warp / across * WARP_ROWS, column = warp % across * WARP_COLS;
    float *const own = reinterpret_cast<float *>(stages + p.stages * STAGE) +
                       warp * PICKED * (WARP_COLS + PICKED_MARGIN);
    float sum[WARP_ROWS / 16][WARP_COLS / 8][4] = {};
    cursor at(p.pattern, blockIdx.x), ahead = at;
    for (int i = 0; i < p.stages - 1; i++) {
        fetch<COPY, TILE_ROWS, THREADS>(p, ahead, stages + i * STAGE);
        ahead.advance(p.pattern, p.steps);
    }
    for (int current = 0; at.tile < p.pattern.num_tiles; at.advance(p.pattern, p.steps)) {
        async_wait_below(p.stages - 1);
        __syncthreads(); /* this stage has arrived, and nobody works on the one before any more */
        const int free = current ? current - 1 : p.stages - 1;
        fetch<COPY, TILE_ROWS, THREADS>(p, ahead, stages + free * STAGE);
        ahead.advance(p.pattern, p.steps);
        const char *const x_rows = stages + current * STAGE;
        const char *const y_rows = x_rows + TILE_ROWS * STEP_BYTES;
        multiply_step<T, WARP_COLS>(x_rows + row * STEP_BYTES, y_rows + column * STEP_BYTES, sum);
        current = current + 1 < p.stages ? current + 1 : 0;
        if (at.step + 1 < p.steps) continue;
        pick<WARP_COLS>(p, at.row + row, at.strip, column, sum, own);
#pragma unroll
        for (int i = 0; i < WARP_ROWS / 16; i++)
#pragma unroll
            for (int j = 0; j < WARP_COLS / 8; j++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    sum[i][j][e] = 0;
    }
}

/* ---- plans ------------------------------------------------------------------------------------ */

template <class T> using tile_kernel = void(tile_products<T>);
constexpr int SINGLE_ROWS = 128, SINGLE_COLS = 32; /* of tiles that are copied number by number */
template <class T> constexpr int VECTOR = 16 / sizeof(T);

template <class T, int TILE_ROWS> static tile_kernel<T> *pick_columns(const int *tuning)
{
    return tuning[TUNE_WARP_COLS] == 32 ? sddmm_tensor_core_kernel<T, VECTOR<T>, TILE_ROWS, 32>
                                        : sddmm_tensor_core_kernel<T, VECTOR<T>, TILE_ROWS, 64>;
}

template <class T> static tile_kernel<T> *pick_kernel(const int *tuning, int K)
{
    if (K % VECTOR<T>) return sddmm_tensor_core_kernel<T, 1, SINGLE_ROWS, SINGLE_COLS>;
    return tuning[TUNE_ROWS] == 64    ? pick_columns<T, 64>(tuning)
           : tuning[TUNE_ROWS] == 128 ? pick_columns<T, 128>(tuning)
                                      : pick_columns<T, 256>(tuning);
}

static int shared_bytes(const int *tuning)
{
    return tuning[TUNE_STAGES] * stage_bytes(tuning[TUNE_ROWS]) +
           picked_bytes(tuning[TUNE_ROWS], tuning[TUNE_WARP_COLS]);
}

/* plan->state. */
struct tile_state {
    bit_tiles pattern;
    int blocks; /* that the device holds, no more than there are tiles */
};

static void release(sddmm_plan *plan)
{
    if (plan->nested) {
        sddmm_nested_release(plan);
        return;
    }
    bit_tiles_free(&((tile_state *)plan->state)->pattern);
    free(plan->state);
}

/* Replaces settings that do not fit K, or this device's shared memory. */
static void fit(int *tuning, int K, int vector)
{
    const int most = device_facts_get()->block_shared_bytes;
    if (K % vector) {
        tuning[TUNE_ROWS] = SINGLE_ROWS;
        tuning[TUNE_WARP_COLS] = SINGLE_COLS;
    }
    while (shared_bytes(tuning) > most && tuning[TUNE_STAGES] > LEAST_STAGES)
        tuning[TUNE_STAGES]--;
    if (shared_bytes(tuning) > most) tuning[TUNE_ROWS] = SINGLE_ROWS;
}

template <class T> static cudaError_t fill_state(sddmm_plan *plan, tile_state *state)
{
    const int *tuning = plan->tuning,
              threads = threads_of(tuning[TUNE_ROWS], tuning[TUNE_WARP_COLS]);
    tile_kernel<T> *const kernel = pick_kernel<T>(tuning, plan->K);
    int resident;
    CUDA_TRY(bit_tiles_build(&plan->W, tuning[TUNE_ROWS], &state->pattern));
    CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  shared_bytes(tuning)));
    CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads,
                                                           shared_bytes(tuning)));
    state->blocks = min(state->pattern.num_tiles, resident * device_facts_get()->sms);
    return cudaSuccess;
}

/* Three products of tf32 numbers are off by 8 u where a sum of K products may be by u (K + 4), and 4 u are the
 * sum's own. Shorter sums are lab 31's. */
constexpr int LEAST_FP32_K = 8;

template <class T> static cudaError_t prepare(sddmm_plan *plan)
{
    if (sizeof(T) == sizeof(float) && plan->K < LEAST_FP32_K) {
        const sddmm_contender *balanced = sddmm_find("sddmm_balanced", PRECISION_FP32);
        return balanced ? sddmm_nest(plan, balanced, NULL) : cudaErrorNotSupported;
    }
    fit(plan->tuning, plan->K, VECTOR<T>);
    plan->state = calloc(1, sizeof(tile_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill_state<T>(plan, (tile_state *)plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

template <class T>
static cudaError_t multiply(const sddmm_plan *plan, const void *X, const void *Y, void *D,
                            cudaStream_t stream)
{
    const tile_state *state = (const tile_state *)plan->state;
    const int *tuning = plan->tuning,
              threads = threads_of(tuning[TUNE_ROWS], tuning[TUNE_WARP_COLS]);
    const void *W = sizeof(T) == sizeof(float) ? plan->W.d_values : plan->W.d_values16;
    const tile_products<T> p = {.pattern = state->pattern,
                                .cols = plan->W.cols,
                                .K = plan->K,
                                .steps = (plan->K - 1) / STEP<T> + 1,
                                .stages = tuning[TUNE_STAGES],
                                .X = (const T *)X,
                                .Y = (const T *)Y,
                                .W = (const T *)W,
                                .D = (T *)D};
    tile_kernel<T> *const kernel = pick_kernel<T>(tuning, plan->K);
    if (state->blocks == 0) return cudaSuccess; /* nothing is stored */
    kernel<<<state->blocks, threads, shared_bytes(tuning), stream>>>(p);
    return cudaGetLastError();
}

static cudaError_t run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream)
{
    return plan->nested ? sddmm_nested_run(plan, X, Y, D, stream)
                        : multiply<float>(plan, X, Y, D, stream);
}

static size_t format_bytes(const sddmm_plan *plan)
{
    const size_t values = plan->contender->base.precision == PRECISION_FP32 ? 4 : 2;
    const bool weighted = plan->W.d_values || plan->W.d_values16;
    if (plan->nested) return sddmm_csr_bytes(plan);
    return bit_tiles_bytes(&((const tile_state *)plan->state)->pattern, plan->W.nnz) +
           (weighted ? plan->W.nnz * values : 0);
}

static cudaError_t update_values(sddmm_plan *plan)
{
    return plan->nested ? sddmm_nested_update_values(plan) : cudaSuccess;
}

/* ---- the contenders --------------------------------------------------------------------------- */

template <enum precision PRECISION> static void choose(const row_stats *stats, int K, int *tuning)
{
    sddmm_tensor_core_shape shape;
    sddmm_tensor_core_estimate(stats, K, PRECISION, &shape);
    tuning[TUNE_ROWS] = shape.tile_rows;
    tuning[TUNE_WARP_COLS] = shape.warp_cols;
    tuning[TUNE_STAGES] = shape.stages;
}

template <enum precision PRECISION> static double estimate(const row_stats *stats, int K)
{
    sddmm_tensor_core_shape shape;
    return sddmm_tensor_core_estimate(stats, K, PRECISION, &shape);
}

static const char *unsuited(const problem *p)
{
    return bit_tiles_unsuited(p->stats.rows, p->stats.cols);
}

#define TENSOR_CORE(title, kind, number, call, text)                                      \
    static sddmm_contender lab_##title = {                                                \
        .base = {.lab = 33,                                                               \
                 .after = 31,                                                             \
                 .name = #title,                                                          \
                 .summary = text,                                                         \
                 .precision = kind,                                                       \
                 .min_compute_capability = 80,                                            \
                 .unit = UNIT_TENSOR_CORES,                                               \
                 .unsuited = unsuited,                                                    \
                 .tunables = {{"ROWS", "rows of a tile", {64, 128, 256}, 3, 128},         \
                              {"WARP_COLS", "columns of a warp's part", {32, 64}, 2, 64}, \
                              {"STAGES", "steps in shared memory", {2, 3, 4}, 3, 3}}},    \
        .choose = choose<kind>,                                                           \
        .estimate = estimate<kind>,                                                       \
        .prepare = prepare<number>,                                                       \
        call,                                                                             \
        .update_values = update_values,                                                   \
        .format_bytes = format_bytes,                                                     \
        .release = release,                                                               \
    };                                                                                    \
    SDDMM_REGISTER(lab_##title)

TENSOR_CORE(sddmm_tensor_core, PRECISION_FP32, float, .run = run,
            "dense tiles on tensor cores, three products of tf32 for one of fp32")
TENSOR_CORE(sddmm_tensor_core_fp16, PRECISION_FP16, __half, .run16 = multiply<__half>,
            "dense tiles on tensor cores, in fp16")
TENSOR_CORE(sddmm_tensor_core_bf16, PRECISION_BF16, __nv_bfloat16, .run16 = multiply<__nv_bfloat16>,
            "dense tiles on tensor cores, in bf16")
