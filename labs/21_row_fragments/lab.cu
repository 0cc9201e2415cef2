/*
 * Lab 21 - row fragments: pruned weights on tensor cores, to the precision of fp32.
 *
 * Idea      A tensor core uses a value of B for 8 rows of A at once. Panels of rows name the columns that any of
 *           their rows has; a bit says whether a lane's word is there, and its words follow each other
 *           (formats/row_fragments.h). In fp32 three products of tf32 numbers make one; in 16 bits one does.
 * Changed   Lab 12 reads B from shared memory once a nonzero; here once a strip of 16 rows, and zeros between
 *           nonzeros are multiplied, too. Blocks may share a panel: the last of them adds up.
 * Run       make lab21 && ./lab21 weights:rows=512,cols=256,sparsity=0.7 64
 * Watch     The time hardly depends on the sparsity: 50 % to 90 % zeros cost about the same.
 * Paper     H. Ootomo, R. Yokota: Recovering single precision accuracy from Tensor Cores, 2022
 */
#include "chunk.cuh"

#include "device/cuda_try.h"
#include "device/dynamic_shared.cuh"
#include "device/facts.h"
#include "device/last_block.cuh"
#include "device/partial_sums.h"
#include "formats/ascending.h"
#include "formats/row_order.h"
#include "models/row_fragments.h"
#include "models/whole_rows.h"
#include "ops/plan_state.cuh"
#include "ops/spmm.h"

#include <stdlib.h>

#include <algorithm>

/* Positions in spmm_plan.tuning. */
enum { TUNE_WIDTH, TUNE_PANEL, TUNE_SPLIT };

/* Strips that a warp multiplies by the same B: as many as there are registers for. */
template <class T> __host__ __device__ constexpr int strips_per_warp(int panel_rows, int width)
{
    return panel_rows == STRIP ? 1 : panel_rows == 128 && width == BAND && sizeof(T) == 2 ? 4 : 2;
}

/* Floats between one row of a block's sums and the next: four rows, two apart, and eight columns are stored
 * at once, to all banks. */
constexpr int SUMS_MARGIN = 4;

/* Counts the units of a stage: rows of B, lines of A in whole rounds, and the map of a later chunk. */
template <class T> static int stage_units(const fragment_arrays *a)
{
    const int rounds = (a->stage_lines + ROUND_LINES - 1) / ROUND_LINES;
    return tile_units<T>(a->shape.width) + rounds * WARP_SIZE + MAP_UNITS<T>;
}

/* Four at most, and as many as leave an SM room for two blocks; two are needed. */
template <class T> static int stages_for(const fragment_arrays *a, size_t shared_limit)
{
    constexpr size_t SYSTEM = 1024; /* bytes of each block that are not its own */
    const size_t half = (shared_limit + SYSTEM) / 2 - SYSTEM;
    return (int)std::clamp<size_t>(half / (sizeof(float4) * stage_units<T>(a)), 2, 4);
}

template <class T> static size_t shared_bytes(const fragment_arrays *a)
{
    const size_t stages = a->stages * sizeof(float4) * (size_t)stage_units<T>(a);
    const size_t parts = sizeof(float) * WARPS *
                         strips_per_warp<T>(a->shape.panel_rows, a->shape.width) * STRIP *
                         (a->shape.width + SUMS_MARGIN); /* in the end */
    return std::max(stages, parts);
}

/* Sums i * 4 to i * 4 + 3 of the rows of a panel and WIDTH columns, as far as C has them. */
template <int WIDTH, int V, class T>
static __device__ __forceinline__ void store_four(const fragment_product<T> &p, int panel,
                                                  int column, int i, const float (&x)[4])
{
    const int position = panel * p.a.shape.panel_rows + i / (WIDTH / 4);
    const int j = column + i % (WIDTH / 4) * 4;
    if (position >= p.a.long_rows || j >= p.N) return;
    T rounded[4];
    for (int k = 0; k < 4; k++)
        rounded[k] = narrow<T>(x[k]);
    T *const out = p.C + (size_t)p.a.d_order[position] * p.N + j;
    if constexpr (V >= 4) {
        store_vector_streaming(out, rounded);
    } else {
        for (int k = 0; k < 4; k++)
            if (j + k < p.N) out[k] = rounded[k];
    }
}

/* The last of the blocks that share a panel adds up the partial sums of all of them, in their order. */
template <int WIDTH, int V, class T>
static __device__ __forceinline__ void add_splits(const fragment_product<T> &p, int panel,
                                                  int column, const float4 *partial)
{
    const int fours = p.a.shape.panel_rows * (WIDTH / 4);
    for (int i = threadIdx.x; i < fours; i += BLOCK) {
        float total[4] = {};
        /* BEGIN STUDENT: add up the shares, in their order, from L2 */
#pragma unroll 4 /* loads on their way at once */
        for (int split = 0; split < p.a.shape.splits; split++) {
            const float4 x = __ldcg(&partial[split * fours + i]);
            total[0] += x.x;
            total[1] += x.y;
            total[2] += x.z;
            total[3] += x.w;
        }
        /* END STUDENT */
        store_four<WIDTH, V>(p, panel, column, i, total);
    }
}

/* One block: a panel of rows, or a share of its chunks, times WIDTH columns of B. S strips a warp. */
template <int S, int WIDTH, int V, class T>
static __device__ __forceinline__ void multiply_panel(const fragment_product<T> &p, float4 *stages)
{
    constexpr int BANDS = WIDTH / BAND;
    const int ahead = p.a.stages - 1; /* chunks on their way */
    const int panel = blockIdx.x / p.slices, column = blockIdx.x % p.slices * WIDTH;
    const int ways = WARPS * STRIP * S / p.a.shape.panel_rows; /* warps that share their strips */
    const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    const int way = warp % ways, first_strip = warp / ways * S;
    /* This warp's fragments of a chunk: so many, from this one on. They are in one mask word. */
    const int fragments = CHUNK_FRAGMENTS / ways, first = way * fragments;
    strip_sums<S, WIDTH> sum = {};

    /* This block's share, which may be empty. */
    const int splits = p.a.shape.splits, split = blockIdx.y;
    const int begin = p.a.d_panel_chunk[panel], chunks = p.a.d_panel_chunk[panel + 1] - begin;
    const int end = begin + chunks * (split + 1) / splits;
    int chunk = begin + chunks * split / splits;
    for (int i = 0; i < ahead; i++) {
        float4 *const stage = stages + i * p.stage;
        if (chunk + i < end) fetch<WIDTH, V>(p, column, map_of<T>(p.a.d_map, chunk + i), stage);
        fetch_map(p, min(chunk + i + ahead, end), stage);
        async_commit();
    }
    for (int current = 0; chunk < end; chunk++) {
        async_wait_below(ahead);
        __syncthreads(); /* this stage has arrived, and nobody works on the one before any more */
        float4 *const stage = stages + current * p.stage;
        float4 *const free = stages + (current ? current - 1 : ahead) * p.stage;
        if (chunk + ahead < end) fetch<WIDTH, V>(p, column, staged_map(p, stage), free);
        fetch_map(p, min(chunk + 2 * ahead, end), free);
        async_commit();
        current = current < ahead ? current + 1 : 0;

        multiply_chunk<T, S, WIDTH>(stage, first_strip, first, fragments, sum);
    }

    /* The warps of a strip meet in shared memory: [way][row of the panel][column]. Element e of lane
     * (g, t): row 2 t + e % 2 of the half; two elements apart are two columns of it. */
    constexpr int ROW = WIDTH + SUMS_MARGIN;
    float *const parts = reinterpret_cast<float *>(stages);
    float *const own =
        &parts[(way * p.a.shape.panel_rows + first_strip * STRIP + lane % 4 * 2) * ROW];
    async_wait<0>();
    __syncthreads(); /* nobody needs the stages any more */
#pragma unroll
    for (int band = 0; band < BANDS; band++)
#pragma unroll
        for (int s = 0; s < S; s++)
#pragma unroll
            for (int j = 0; j < TILES; j++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const float x[2] = {sum[band][s][j][e / 2][e % 2],
                                        sum[band][s][j][e / 2][2 + e % 2]};
                    mma_operands<T>::store_sums(
                        &own[(s * STRIP + e / 2 * 8 + e % 2) * ROW + band * BAND + 16 * j], lane,
                        x);
                }
    __syncthreads();
    const int fours = p.a.shape.panel_rows * (WIDTH / 4);
    float4 *const partial =
        reinterpret_cast<float4 *>(p.d_partial) + (size_t)blockIdx.x * splits * fours;
    for (int i = threadIdx.x; i < fours; i += BLOCK) {
        const int row = i / (WIDTH / 4), c = i % (WIDTH / 4) * 4;
        float total[4] = {};
#pragma unroll 1 /* eight at most, and once: unrolling would only make the code longer */
        for (int w = 0; w < ways; w++) {
            float x[4];
            load_vector_plain(x, &parts[(w * p.a.shape.panel_rows + row) * ROW + c]);
            for (int k = 0; k < 4; k++)
                total[k] += x[k];
        }
        if (splits == 1)
            store_four<WIDTH, V>(p, panel, column, i, total);
        else
            partial[split * fours + i] = make_float4(total[0], total[1], total[2], total[3]);
    }
    if (splits > 1 && comes_last(&p.d_arrived[blockIdx.x], splits))
        add_splits<WIDTH, V>(p, panel, column, partial);
}

/* Columns of C that a warp takes of a short row: with all columns of a wide B its loads would come one after the other. */
static __host__ __device__ __forceinline__ int short_slices(int N)
{
    return (N + WARP_SIZE - 1) / WARP_SIZE;
}

/* A warp for 32 columns of a row with fewer than SHORT_ROW nonzeros. item: which of those of all short rows. */
template <class T>
static __device__ __forceinline__ void multiply_short_row(const fragment_product<T> &p,
                                                          int64_t item)
{
    const int slices = short_slices(p.N);
    const int64_t position = p.a.long_rows + item / slices;
    const int j = (int)(item % slices) * WARP_SIZE + threadIdx.x % WARP_SIZE;
    if (position >= p.rows || j >= p.N) return;
    const int row = p.a.d_order[position];
    const int begin = p.row_ptr[row], end = p.row_ptr[row + 1];
    float sum = 0;
#pragma unroll 8
    for (int k = begin; k < end; k++)
        sum += widen(p.values[k]) * widen(p.B[(size_t)p.col_idx[k] * p.N + j]);
    p.C[(size_t)row * p.N + j] = narrow<T>(sum);
}

template <int S, int WIDTH, int V, class T>
static __global__ void __launch_bounds__(BLOCK, S == 1 ? 3 : 2)
    spmm_row_fragments_kernel(const __grid_constant__ fragment_product<T> p)
{
    extern __shared__ float4 stages[];
    const int short_block = (int)blockIdx.x - p.a.panels * p.slices;
    if (SHORT_ROW<T> == 0 || short_block < 0) {
        multiply_panel<S, WIDTH, V>(p, stages);
    } else {
        const int64_t before = ((int64_t)short_block * p.a.shape.splits + blockIdx.y) * WARPS;
        multiply_short_row(p, before + threadIdx.x / WARP_SIZE);
    }
}

template <class T> using fragments_kernel = void(fragment_product<T>);

/* V: neighbours of a row of B that are copied at once. */
template <int V, class T> static fragments_kernel<T> *pick(const fragment_arrays *a)
{
    constexpr int MOST = strips_per_warp<T>(128, BAND);
    const int strips = strips_per_warp<T>(a->shape.panel_rows, a->shape.width);
    if (a->shape.width == 2 * BAND) return spmm_row_fragments_kernel<2, 2 * BAND, V, T>;
    return strips == 1   ? spmm_row_fragments_kernel<1, BAND, V, T>
           : strips == 2 ? spmm_row_fragments_kernel<2, BAND, V, T>
                         : spmm_row_fragments_kernel<MOST, BAND, V, T>;
}

template <class T> static fragments_kernel<T> *pick(const fragment_arrays *a, int N)
{
    constexpr int MOST = 16 / sizeof(T), LEAST = PER_WORD<T>;
    return N % MOST ? pick<LEAST, T>(a) : pick<MOST, T>(a);
}

/* ---- plans ------------------------------------------------------------------------------------ */

/* plan->state. */
typedef struct fragments_state {
    row_fragments *fragments;
    partial_sums partial; /* see fragment_product */
} fragments_state;

static void release(spmm_plan *plan)
{
    fragments_state *own = (fragments_state *)plan->state;
    row_fragments_free(own->fragments);
    partial_sums_free(&own->partial);
    free(own);
}

/* Builds panels that fit into shared memory: at most as large as asked for. Two full stages of 32 rows and
 * columns take 77 KB: every device with such tensor cores has that. */
template <class T>
static cudaError_t build_to_fit(const spmm_matrix *A, const int *d_row_order,
                                row_fragments_shape shape, row_fragments **fragments)
{
    const size_t limit = device_facts_get()->block_shared_bytes;
    for (;;) {
        CUDA_TRY(row_fragments_build(A, PRECISION_OF<T>, d_row_order, &shape, fragments));
        fragment_arrays *const a = &(*fragments)->arrays;
        a->stages = stages_for<T>(a, limit);
        if (shared_bytes<T>(a) <= limit) return cudaSuccess;
        shape = {std::max(a->shape.panel_rows / 2, 32), 32, a->shape.splits};
        row_fragments_free(*fragments);
    }
}

/* A panel's longest row decides about its time: where rows differ and the plan has no order, the longest
 * come first, so that rows of a panel are alike. */
template <class T>
static cudaError_t build_in_order(const spmm_plan *plan, row_fragments **fragments)
{
    const int *const set = plan->tuning;
    const row_fragments_shape asked = {set[TUNE_PANEL], set[TUNE_WIDTH], set[TUNE_SPLIT]};
    int *d_order = NULL;
    if (!plan->d_row_order && !rows_are_alike(plan->A.stats))
        CUDA_TRY(row_order_make(&plan->A, 0, &d_order));
    const int *const order = d_order ? d_order : plan->d_row_order;
    const cudaError_t error = build_to_fit<T>(&plan->A, order, asked, fragments);
    cudaFree(d_order);
    return error;
}

template <class T> static cudaError_t prepare_state(spmm_plan *plan, fragments_state *own)
{
    CUDA_TRY(build_in_order<T>(plan, &own->fragments));
    const fragment_arrays *a = &own->fragments->arrays;
    const row_fragments_shape &shape = a->shape;
    const size_t results = (size_t)a->panels * ((plan->N - 1) / shape.width + 1);
    plan->tuning[TUNE_PANEL] = shape.panel_rows;
    plan->tuning[TUNE_WIDTH] = shape.width;
    plan->tuning[TUNE_SPLIT] = shape.splits;
    if (shape.splits > 1 && results > 0)
        CUDA_TRY(partial_sums_make(results * shape.splits * shape.panel_rows * shape.width, results,
                                   &own->partial));
    return allow_all_shared((const void *)pick<T>(a, plan->N));
}

template <class T> static cudaError_t prepare(spmm_plan *plan)
{
    if (row_fragments_unsuited(plan->A.rows, plan->A.cols, plan->N, PRECISION_OF<T>))
        return cudaErrorNotSupported;
    return plan_state_make<fragments_state>(plan, prepare_state<T>, release);
}

static cudaError_t update_values(spmm_plan *plan)
{
    return row_fragments_update_values(&plan->A, ((fragments_state *)plan->state)->fragments);
}

template <class T>
static cudaError_t run(const spmm_plan *plan, const T *B, T *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const fragments_state *own = (const fragments_state *)plan->state;
    const fragment_arrays *a = &own->fragments->arrays;
    if (A.rows == 0) return cudaSuccess;
    const fragment_product<T> p = {.N = plan->N,
                                   .slices = (plan->N + a->shape.width - 1) / a->shape.width,
                                   .rows = A.rows,
                                   .row_bytes = plan->N * (unsigned)sizeof(T),
                                   .stage = stage_units<T>(a),
                                   .a = *a,
                                   .d_partial = own->partial.d_sums,
                                   .d_arrived = own->partial.d_arrived,
                                   .row_ptr = A.d_row_ptr,
                                   .col_idx = A.d_col_idx,
                                   .values = values_of<T>(A),
                                   .B = B,
                                   .C = C};
    const int splits = a->shape.splits;
    const int64_t items = (int64_t)(A.rows - a->long_rows) * short_slices(p.N);
    const int64_t short_blocks = (items + WARPS * splits - 1) / (WARPS * splits);
    const dim3 grid((unsigned)(a->panels * p.slices + short_blocks), splits);
    fragments_kernel<T> *const kernel = pick<T>(a, p.N);
    kernel<<<grid, BLOCK, shared_bytes<T>(a), stream>>>(p);
    return cudaGetLastError();
}

template <class T>
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    return run(plan, (const T *)B, (T *)C, stream);
}

/* ---- the contenders --------------------------------------------------------------------------- */

template <enum precision PRECISION> static void choose(const row_stats *stats, int N, int *tuning)
{
    row_fragments_shape shape;
    row_fragments_estimate(stats, N, PRECISION, &shape);
    tuning[TUNE_WIDTH] = shape.width;
    tuning[TUNE_PANEL] = shape.panel_rows;
    tuning[TUNE_SPLIT] = shape.splits;
}

template <enum precision PRECISION> static double estimate(const row_stats *stats, int N)
{
    row_fragments_shape shape;
    return row_fragments_estimate(stats, N, PRECISION, &shape);
}

static const char *unsuited(const problem *p)
{
    const char *reason = row_fragments_unsuited(p->A->rows, p->A->cols, p->width, p->precision);
    if (reason || p->precision == PRECISION_FP32 || columns_ascend_on_host(p->A)) return reason;
    return "16-bit fragments need rows whose columns ascend, each named once";
}

static double of_three_parts(const int *)
{
    return THREE_PARTS_ROUNDING;
}

#define ROW_FRAGMENTS(title, kind, number, call, text)                                      \
    static spmm_contender lab_##title = {                                                   \
        .base = {.lab = 21,                                                                 \
                 .after = 12,                                                               \
                 .name = #title,                                                            \
                 .summary = text,                                                           \
                 .precision = kind,                                                         \
                 .min_compute_capability = 80,                                              \
                 .unit = UNIT_TENSOR_CORES,                                                 \
                 .product_rounding = kind == PRECISION_FP32 ? of_three_parts : NULL,        \
                 .unsuited = unsuited,                                                      \
                 .tunables = {{"WIDTH", "columns of C a block takes", {32, 64}, 2, 32},     \
                              {"PANEL", "rows a block takes", {16, 32, 64, 128}, 4, 16},    \
                              {"SPLIT", "blocks that share a panel", {1, 2, 4, 8}, 4, 1}}}, \
        .choose = choose<kind>,                                                             \
        .estimate = estimate<kind>,                                                         \
        .prepare = prepare<number>,                                                         \
        call,                                                                               \
        .update_values = update_values,                                                     \
        .release = release,                                                                 \
    };                                                                                      \
    SPMM_REGISTER(lab_##title)

ROW_FRAGMENTS(row_fragments, PRECISION_FP32, float, .run = run<float>,
              "pruned weights on tensor cores, three products of tf32 for one of fp32")
ROW_FRAGMENTS(row_fragments_fp16, PRECISION_FP16, __half, .run16 = run16<__half>,
              "pruned weights on tensor cores, in fp16")
ROW_FRAGMENTS(row_fragments_bf16, PRECISION_BF16, __nv_bfloat16, .run16 = run16<__nv_bfloat16>,
              "pruned weights on tensor cores, in bf16")
