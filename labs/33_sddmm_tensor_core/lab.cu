/*
 * Lab 33 - dense tiles on tensor cores: patterns so full that computing everything is cheaper.
 *
 * Idea      A block multiplies 128 rows of X by 128 rows of Y on tensor cores, whatever is stored in that tile
 *           of W. Then lists say which sums are wanted, and where they go (formats/tile_lists.h). In fp32
 *           three products of tf32 numbers make one. On Hopper four warps multiply together (warpgroup.cuh).
 * Changed   Lab 31 gathers a row of Y for each nonzero. Here a row is fetched once for 128 others, and the time
 *           does not depend on how many elements are stored.
 * Run       make lab33 && ./lab33 weights:rows=512,cols=1024,sparsity=0.7 128
 * Watch     The time of 70 % and of 95 % zeros. Where does lab 31 become faster?
 * Paper     H. Ootomo, R. Yokota: Recovering single precision accuracy from Tensor Cores, 2022
 */
#include "warpgroup.cuh"

#include "device/cuda_try.h"
#include "device/facts.h"
#include "device/pdl.cuh"
#include "device/vec.cuh"
#include "formats/tile_nonzeros.cuh"
#include "models/sddmm_tensor_core.h"
#include "ops/plan_state.cuh"
#include "ops/sddmm.h"

#include <stdlib.h>

/* Positions in sddmm_plan.tuning. */
enum { TUNE_ROWS, TUNE_UNIT };

constexpr int STAGES = 2;                      /* steps in shared memory */
constexpr int CHUNK = CHUNK_ROWS * STRIP_COLS; /* sums that a warp lays out at a time */

/* Who multiplies together: a warp, for 32 rows and a strip, or a warpgroup, for 64 rows and both strips. */
enum multiplier { BY_WARP, BY_WARPGROUP };

/* Counts the threads of a block, either way: a warp for every two chunks of the tile. */
__host__ __device__ constexpr int threads_of(int tile_rows)
{
    return tile_rows / WARP_ROWS * (TILE_COLS / STRIP_COLS) * WARP_SIZE;
}

__host__ __device__ constexpr int stage_bytes(int tile_rows)
{
    return (tile_rows + TILE_COLS) * STEP_BYTES;
}

/* Blocks of an SM by registers: up to 128 a thread, of which 64 are sums. */
__host__ __device__ constexpr int resident_blocks(int tile_rows)
{
    return 512 / threads_of(tile_rows);
}

/* The arguments of the kernel. */
template <class T> struct tile_products {
    tile_lists pattern;
    int rows, cols, K, steps;
    const T *__restrict__ X, *__restrict__ Y, *__restrict__ W;
    T *__restrict__ D;
};

/* Starts copying a step of a tile to a stage. */
template <int COPY, int TILE_ROWS, int THREADS, class T>
static __device__ __forceinline__ void fetch(const tile_products<T> &p, const tile_cursor &at,
                                             char *stage)
{
    if (at.tile < p.pattern.num_tiles) {
        const dense_rows<T> x = {p.X, p.rows, at.row};
        const dense_rows<T> y = {p.Y, p.cols, at.strip * STRIP_COLS};
        copy_rows<COPY, TILE_ROWS, THREADS>(x, p.K, at.step * STEP<T>, stage);
        copy_rows<COPY, TILE_COLS, THREADS>(y, p.K, at.step * STEP<T>,
                                            stage + TILE_ROWS * STEP_BYTES);
    }
    async_commit();
}

/* Stores what a warp's sums hold of the stored elements: two chunks of 16 rows and a strip. The first rows of both are
 * `first` and first + apart in the order [strip][row]. A chunk at a time is laid out in `chunk`, and each lane picks
 * every 32nd of its nonzeros. */
template <class T>
static __device__ __forceinline__ void pick(const tile_products<T> &p, size_t first, int apart,
                                            const float (&sum)[CHUNKS][RIGHTS][4], float *chunk)
{
    const int lane = threadIdx.x % WARP_SIZE;
    /* Lanes 2 c and 2 c + 1 hold where chunk c starts and ends. Lane 16 c + l holds the shift of its row l. */
    const size_t number = (first + lane / 2 * (size_t)apart) / CHUNK_ROWS + lane % 2;
    const int start = lane < 2 * CHUNKS ? p.pattern.d_start[number] : 0;
    const int shift =
        p.pattern.d_shift[first + lane / CHUNK_ROWS * (size_t)apart + lane % CHUNK_ROWS];
    int place = __shfl_sync(FULL_MASK, start, 0), end = __shfl_sync(FULL_MASK, start, 1);
    nonzero_batch next;
    load_codes(p.pattern, place, end, next);
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        /* BEGIN STUDENT: load the next chunk's codes; find these nonzeros; lay out the sums; store */
        const int next_place = __shfl_sync(FULL_MASK, start, 2 * c + 2);
        const int next_end = __shfl_sync(FULL_MASK, start, 2 * c + 3);
        nonzero_batch now = next;
        if (c + 1 < CHUNKS) load_codes(p.pattern, next_place, next_end, next);
        if (place < end) {
            find_nonzeros(p.pattern, p.W, c * CHUNK_ROWS, shift, now);
            __syncwarp(); /* the chunk before has been read */
            lay_out(sum[c], chunk);
            __syncwarp();
            store_nonzeros(p.D, chunk, now);
        }
        for (place += BATCH * WARP_SIZE; place < end; place += BATCH * WARP_SIZE) {
            load_codes(p.pattern, place, end, now);
            find_nonzeros(p.pattern, p.W, c * CHUNK_ROWS, shift, now);
            store_nonzeros(p.D, chunk, now);
        }
        place = next_place, end = next_end;
        /* END STUDENT */
    }
}

/* Blocks stay, and take every gridDim.x-th tile: the next one's first steps are on their way while the sums of
 * this one are stored. */
template <class T, int COPY, int TILE_ROWS, multiplier BY>
static __global__ void __launch_bounds__(threads_of(TILE_ROWS), resident_blocks(TILE_ROWS))
    sddmm_tensor_core_kernel(const __grid_constant__ tile_products<T> p)
{
    constexpr int THREADS = threads_of(TILE_ROWS), STAGE = stage_bytes(TILE_ROWS);
    constexpr bool ALONE = BY == BY_WARP;
    extern __shared__ __align__(1024) char shared[];
    char *const stages = shared, *const y_low = stages + STAGES * STAGE;
    const int warp = threadIdx.x / WARP_SIZE;
    const int row = ALONE ? warp / 2 * WARP_ROWS : warp * WARPGROUP_ROWS;
    const int strip = ALONE ? warp % 2 : 0;
    float *const chunks = reinterpret_cast<float *>(ALONE ? y_low : y_low + LOW_BYTES);
    float sum[CHUNKS][RIGHTS][4] = {};
    tile_cursor at(p.pattern, blockIdx.x), ahead = at;
    fetch<COPY, TILE_ROWS, THREADS>(p, ahead, stages);
    for (int current = 0; at.tile < p.pattern.num_tiles; at.advance(p.pattern, p.steps)) {
        const char *const x_rows = stages + current * STAGE;
        const char *const y_rows = x_rows + TILE_ROWS * STEP_BYTES;
        async_wait<0>();
        __syncthreads(); /* this stage has arrived, and nobody works on the one before any more */
        if constexpr (
            !ALONE) { /* before the next copies: publishing may wait for all that is on its way */
            write_low<THREADS>(y_rows, y_low);
            __syncthreads();
        }
        current = 1 - current;
        ahead.advance(p.pattern, p.steps);
        fetch<COPY, TILE_ROWS, THREADS>(p, ahead, stages + current * STAGE);
        if constexpr (ALONE)
            multiply_step<T>(x_rows + row * STEP_BYTES, y_rows + strip * STRIP_COLS * STEP_BYTES,
                             sum);
        else
            multiply_together(x_rows + row * STEP_BYTES, y_rows, y_low, sum);
        if (at.step + 1 < p.steps) continue;
        const size_t first = (size_t)(at.strip + strip) * p.pattern.rows + at.row + row;
        pick(p, first, ALONE ? CHUNK_ROWS : p.pattern.rows, sum, chunks + warp * CHUNK);
#pragma unroll
        for (int i = 0; i < CHUNKS; i++)
#pragma unroll
            for (int j = 0; j < RIGHTS; j++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    sum[i][j][e] = 0;
    }
}

/* ---- plans ------------------------------------------------------------------------------------ */

template <class T> using tile_kernel = void(tile_products<T>);
constexpr int LARGE_ROWS =
    128; /* of the only tiles that warpgroups take, or that are copied number by number */
template <class T> constexpr int VECTOR = 16 / sizeof(T);

template <class T> static tile_kernel<T> *pick_kernel(const int *tuning, int K)
{
    if (K % VECTOR<T>) return sddmm_tensor_core_kernel<T, 1, LARGE_ROWS, BY_WARP>;
    if constexpr (sizeof(T) == sizeof(float))
        if (tuning[TUNE_UNIT] == BY_WARPGROUP)
            return sddmm_tensor_core_kernel<T, VECTOR<T>, LARGE_ROWS, BY_WARPGROUP>;
    return tuning[TUNE_ROWS] == LARGE_ROWS
               ? sddmm_tensor_core_kernel<T, VECTOR<T>, LARGE_ROWS, BY_WARP>
               : sddmm_tensor_core_kernel<T, VECTOR<T>, 64, BY_WARP>;
}

/* Counts the bytes of a block: its stages, a chunk of each warp, and `low` of Y. */
static int shared_bytes(const int *tuning)
{
    const int warps = threads_of(tuning[TUNE_ROWS]) / WARP_SIZE;
    return STAGES * stage_bytes(tuning[TUNE_ROWS]) + warps * CHUNK * (int)sizeof(float) +
           (tuning[TUNE_UNIT] == BY_WARPGROUP ? LOW_BYTES : 0);
}

/* plan->state. */
struct tile_state {
    tile_lists pattern;
    int blocks; /* that the device holds, no more than there are tiles */
};

static void release(sddmm_plan *plan)
{
    if (plan->nested) {
        sddmm_nested_release(plan);
        return;
    }
    tile_lists_free(&((tile_state *)plan->state)->pattern);
    free(plan->state);
}

/* Whether warpgroups can do it: on this device, and if the program has been compiled for it. */
static bool may_go_together(int K)
{
    bool compiled;
    return K % VECTOR<float> == 0 &&
           device_facts_get()->compute_capability == WARPGROUP_CAPABILITY &&
           compiled_for_90(sddmm_tensor_core_kernel<float, VECTOR<float>, LARGE_ROWS, BY_WARPGROUP>,
                           &compiled) == cudaSuccess &&
           compiled;
}

/* Replaces settings that do not fit K, or this device. */
static void fit(int *tuning, int K, int vector)
{
    if (tuning[TUNE_UNIT] == BY_WARPGROUP && !may_go_together(K)) tuning[TUNE_UNIT] = BY_WARP;
    if (K % vector || tuning[TUNE_UNIT] == BY_WARPGROUP) tuning[TUNE_ROWS] = LARGE_ROWS;
}

template <class T> static cudaError_t fill_state(sddmm_plan *plan, tile_state *state)
{
    const int *tuning = plan->tuning, threads = threads_of(tuning[TUNE_ROWS]);
    tile_kernel<T> *const kernel = pick_kernel<T>(tuning, plan->K);
    int resident;
    CUDA_TRY(tile_lists_build(&plan->W, tuning[TUNE_ROWS], &state->pattern));
    CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  shared_bytes(tuning)));
    CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads,
                                                           shared_bytes(tuning)));
    state->blocks = min(state->pattern.num_tiles, resident * device_facts_get()->sms);
    return cudaSuccess;
}

/* Three products of tf32 numbers may be off by more than a shorter sum (operands.cuh). Such sums are lab 31's. */
constexpr int LEAST_FP32_K = 24;

template <class T> static cudaError_t prepare(sddmm_plan *plan)
{
    if (sizeof(T) == sizeof(float) && plan->K < LEAST_FP32_K) {
        const sddmm_contender *balanced = sddmm_find("sddmm_balanced", PRECISION_FP32);
        return balanced ? sddmm_nest(plan, balanced, NULL) : cudaErrorNotSupported;
    }
    fit(plan->tuning, plan->K, VECTOR<T>);
    return plan_state_make<tile_state>(plan, fill_state<T>, release);
}

template <class T>
static cudaError_t multiply(const sddmm_plan *plan, const void *X, const void *Y, void *D,
                            cudaStream_t stream)
{
    const tile_state *state = (const tile_state *)plan->state;
    const int *tuning = plan->tuning, threads = threads_of(tuning[TUNE_ROWS]);
    const void *W = sizeof(T) == sizeof(float) ? plan->W.d_values : plan->W.d_values16;
    const tile_products<T> p = {.pattern = state->pattern,
                                .rows = plan->W.rows,
                                .cols = plan->W.cols,
                                .K = plan->K,
                                .steps = (plan->K - 1) / STEP<T> + 1,
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
    return tile_lists_bytes(&((const tile_state *)plan->state)->pattern, plan->W.nnz) +
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
    tuning[TUNE_UNIT] = shape.by_warpgroup ? BY_WARPGROUP : BY_WARP;
}

template <enum precision PRECISION> static double estimate(const row_stats *stats, int K)
{
    sddmm_tensor_core_shape shape;
    return sddmm_tensor_core_estimate(stats, K, PRECISION, &shape);
}

static const char *unsuited(const problem *p)
{
    return tile_lists_unsuited(p->stats.rows, p->stats.cols);
}

static const char *const UNITS[] = {"warp", "warpgroup"};

/* 16 bits have one unit only. */
#define ROWS_AND_UNIT(units)                                                            \
    {                                                                                   \
        {.name = "ROWS",                                                                \
         .meaning = "rows of a tile",                                                   \
         .values = {64, LARGE_ROWS},                                                    \
         .num_values = 2,                                                               \
         .initial = LARGE_ROWS},                                                        \
        {                                                                               \
            .name = "UNIT", .meaning = "who multiplies together",                       \
            .values = {BY_WARP, BY_WARPGROUP}, .num_values = units, .initial = BY_WARP, \
            .names = UNITS                                                              \
        }                                                                               \
    }

#define TENSOR_CORE(title, kind, number, units, call, text) \
    static sddmm_contender lab_##title = {                  \
        .base = {.lab = 33,                                 \
                 .after = 31,                               \
                 .name = #title,                            \
                 .summary = text,                           \
                 .precision = kind,                         \
                 .min_compute_capability = 80,              \
                 .unit = UNIT_TENSOR_CORES,                 \
                 .unsuited = unsuited,                      \
                 .tunables = ROWS_AND_UNIT(units)},         \
        .choose = choose<kind>,                             \
        .estimate = estimate<kind>,                         \
        .prepare = prepare<number>,                         \
        call,                                               \
        .update_values = update_values,                     \
        .format_bytes = format_bytes,                       \
        .release = release,                                 \
    };                                                      \
    SDDMM_REGISTER(lab_##title)

TENSOR_CORE(sddmm_tensor_core, PRECISION_FP32, float, 2, .run = run,
            "dense tiles on tensor cores, three products of tf32 for one of fp32")
TENSOR_CORE(sddmm_tensor_core_fp16, PRECISION_FP16, __half, 1, .run16 = multiply<__half>,
            "dense tiles on tensor cores, in fp16")
TENSOR_CORE(sddmm_tensor_core_bf16, PRECISION_BF16, __nv_bfloat16, 1,
            .run16 = multiply<__nv_bfloat16>, "dense tiles on tensor cores, in bf16")
