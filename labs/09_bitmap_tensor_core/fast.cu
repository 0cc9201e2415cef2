/*
 * fast.cu - lab 9's second kernel: the same bitmap in an order that decodes with a third of the
 * instructions, streamed by bulk copies, for GPUs whose dense product runs at the speed of memory.
 *
 * Run       make lab9 && ./lab9 weights:rows=28672,cols=8192,sparsity=0.5 16 --vs best
 * Handout   fast.md
 */
#include "device/cuda_try.h"
#include "fast.h"
#include "fast_X.cuh"
#include "fast_kernel.cuh"

#include <math.h>
#include <stdlib.h>

/* Of the groups that hold the matrix. With more ways than one they may hold four times as many zeros, which do
 * not count: what 32 bits number are quads of slots, and rows of 64 values. */
constexpr double MOST_ELEMENTS = 0x1p31;

/* ---- the kernel --------------------------------------------------------------------------------------- */

constexpr int FAST_THREADS = (WORKERS + 1) * WARP_SIZE;

/* A block's number, for all its threads: a block waits for those of lower numbers, so those must have begun before it.
 * A GPU begins blocks in ascending order, and prepare takes no more than it has room for at once. The CPU backend may
 * be told to begin with the last: there numbers are drawn, which took 0.3 to 0.4 us more on a GPU (fast.md). */
static __device__ int block_number(const fast_product &p)
{
#ifdef __CUDACC__
    return blockIdx.x;
#else
    __shared__ int drawn;
    if (threadIdx.x == 0) drawn = atomicInc(p.ticket, gridDim.x - 1);
    __syncthreads();
    return drawn;
#endif
}

/* WORKERS warps multiply, and have the registers of a multiprocessor among them. */
template <int TILES, bool EVEN, class H>
static __global__ void __launch_bounds__(FAST_THREADS, 1)
    spmm_lane_major_kernel(const __grid_constant__ fast_product p)
{
    extern __shared__ __align__(256) unsigned char shared[];
    const fast_layout at(p, TILES);
    /* By a shuffle, so that the compiler knows: all lanes have the same. */
    const int warp = __shfl_sync(FULL_MASK, warp_id(), 0);
    const bool fetches = warp == WORKERS; /* the last one, for all */
    const int block = block_number(p);
    if (fetches && lane_id() == 0) {
        make_barriers(p, at, shared);
        start_fetching<TILES>(p, at, shared, block);
    }
    if (warp == 0) ((table_entry *)shared)[lane_id()] = make_entry(lane_id());
    __syncthreads(); /* the barriers are there, and the table */
    if (!fetches)
        multiplier<TILES, EVEN, H>(p, at, shared, block, warp).run();
    else if (lane_id() == 0)
        keep_fetching<TILES>(p, at, shared, block);
}

/* What prepare leaves. */
struct fast_state {
    lane_major A;
    tca_bme repeated; /* what is left of it: values of elements that have one already */
    uint64_t *d_used;
    uint4 *d_X;
    float *d_parts;
    unsigned *d_ticket;
    int stages;
};

static int tiles_of(int N)
{
    return N <= 8 ? 1 : N <= 16 ? 2 : 4;
}

/* ---- running ---------------------------------------------------------------------------------------- */

template <int TILES, bool EVEN, class H>
static cudaError_t launch(const fast_product &p, cudaStream_t stream)
{
    auto *const kernel = spmm_lane_major_kernel<TILES, EVEN, H>;
    const fast_layout layout(p, TILES);
    CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)layout.total));
    return launch_overlapping(kernel, p.A.shape.blocks, FAST_THREADS, layout.total, stream, p);
}

typedef cudaError_t launcher(const fast_product &, cudaStream_t);

template <class H> static launcher *launcher_for(int tiles, bool even)
{
    if (tiles == 1) return even ? launch<1, true, H> : launch<1, false, H>;
    if (tiles == 2) return even ? launch<2, true, H> : launch<2, false, H>;
    return even ? launch<4, true, H> : launch<4, false, H>;
}

template <class H>
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    const fast_state *s = (const fast_state *)plan->state;
    const int N = plan->N, tiles = tiles_of(N);
    launcher *const launch = launcher_for<H>(tiles, plan->tuning[TUNE_EVEN]);
    if (s->A.shape.blocks == 0) /* nothing to multiply */
        return cudaMemsetAsync(C, 0, (size_t)plan->A.rows * N * sizeof(H), stream);
    const int quads = s->A.quads * s->A.shape.ways;
    const int64_t x_pieces = (int64_t)quads * x_bytes(tiles) / sizeof(uint4);
    for (int column = 0; column < N; column += 8 * tiles) {
        const x_order<H> order = {(const H *)B, s->d_used, plan->A.cols, N,
                                  column,       s->d_X,    quads,        tiles};
        const fast_product p = {s->A, s->repeated, B,         s->d_X,     C,
                                N,    column,      s->stages, s->d_parts, s->d_ticket};
        const unsigned blocks = (unsigned)((x_pieces - 1) / X_THREADS + 1);
        spmm_order_X_kernel<H><<<blocks, X_THREADS, 0, stream>>>(order);
        CUDA_TRY(cudaGetLastError());
        CUDA_TRY(launch(p, stream));
    }
    return cudaSuccess;
}

/* ---- preparing -------------------------------------------------------------------------------------- */

static void release(spmm_plan *plan)
{
    fast_state *s = (fast_state *)plan->state;
    lane_major_destroy(&s->A);
    tca_bme_destroy(&s->repeated);
    cudaFree(s->d_used);
    cudaFree(s->d_X);
    cudaFree(s->d_parts);
    cudaFree(s->d_ticket);
    free(s);
}

/* As many stages as fit; false if not even two do. */
static bool settle_memory(const spmm_plan *plan, int limit, fast_state *s)
{
    for (s->stages = MOST_STAGES; s->stages >= 2; s->stages--) {
        const fast_product p = {.A = s->A, .stages = s->stages};
        if ((int)fast_layout(p, tiles_of(plan->N)).total <= limit) return true;
    }
    return false;
}

/* All bytes alike. */
template <class T> static cudaError_t allocate(T **d, size_t count, int byte = 0)
{
    CUDA_TRY(cudaMalloc((void **)d, (count + 1) * sizeof(T)));
    CUDA_TRY(cudaMemset(*d, byte, (count + 1) * sizeof(T)));
    return cudaSuccess;
}

/* With steps as long as asked for, or shorter, if shared memory does not hold two of them. */
static cudaError_t make_format(spmm_plan *plan, const tca_bme *bitmaps, int blocks, fast_state *s)
{
    int device, limit;
    int *const t = plan->tuning;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    for (; t[TUNE_STEP] > 0; t[TUNE_STEP]--) {
        const lane_major_shape shape = {t[TUNE_STEP], blocks, t[TUNE_WAYS], t[TUNE_EVEN] != 0};
        CUDA_TRY(lane_major_create(bitmaps, &shape, &s->A));
        if (settle_memory(plan, limit, s)) return cudaSuccess;
        lane_major_destroy(&s->A);
    }
    return cudaErrorInvalidConfiguration;
}

static cudaError_t fill_state(spmm_plan *plan, int blocks, fast_state *s)
{
    const int quads = groups_of(plan->A.cols), tiles = tiles_of(plan->N);
    tca_bme *const bitmaps = &s->repeated;
    CUDA_TRY(tca_bme_create(&plan->A, bitmaps));
    CUDA_TRY(allocate(&s->d_used, quads + MOST_WAYS - 1));
    CUDA_TRY(tca_bme_used_columns(bitmaps, s->d_used));
    CUDA_TRY(make_format(plan, bitmaps, blocks, s));
    CUDA_TRY(cudaFree(bitmaps->offset));
    CUDA_TRY(cudaFree(bitmaps->bitmap));
    CUDA_TRY(cudaFree(bitmaps->values));
    bitmaps->offset = NULL;
    bitmaps->bitmap = NULL;
    bitmaps->values = NULL;
    const lane_major_shape &shape = s->A.shape;
    CUDA_TRY(allocate(&s->d_X, (size_t)s->A.quads * shape.ways * x_bytes(tiles) / sizeof(uint4)));
    CUDA_TRY(
        allocate(&s->d_parts, (size_t)shape.blocks * SLOTS * slot_sums(tiles), NOT_YET & 0xff));
    CUDA_TRY(allocate(&s->d_ticket, 1));
    /* A multiprocessor runs both kernels at once only if it need not divide its memory anew. */
    CUDA_TRY(cudaFuncSetAttribute(spmm_order_X_kernel<__half>,
                                  cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared));
    return cudaSuccess;
}

cudaError_t fast_prepare(spmm_plan *plan, int blocks)
{
    plan->state = calloc(1, sizeof(fast_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill_state(plan, blocks, (fast_state *)plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

static cudaError_t prepare(spmm_plan *plan)
{
    int device, multiprocessors;
    bool is_built;
    /* Kernels for an older GPU have no bulk copies, and would trap on this one. Asked is the one that is used anyway. */
    CUDA_TRY(compiled_for_90(spmm_order_X_kernel<__half>, &is_built));
    if (!is_built) return cudaErrorNoKernelImageForDevice;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    return fast_prepare(plan, min(multiprocessors, MOST_BLOCKS));
}

/* From sweeps on an H200, 40 to 70 % zeros (fast.md). Long steps have less to begin and end, but where a
 * block has few they come too late. Two slots for a strip halve the blocks that share it, and the sums that
 * a block leaves, but X is fetched twice as often. Whole words pad the values by an eighth at 50 %: they pay
 * where decoding takes longer than memory. */
static void choose(const row_stats *stats, int N, int *tuning)
{
    constexpr int MULTIPROCESSORS = 132,
                  SHARE = SLOTS * STRIP_ROWS * QUAD_COLUMNS * MULTIPROCESSORS;
    const double quads = (double)stats->rows * stats->cols / SHARE; /* of a block */
    const bool few = quads < 50;
    const bool short_steps = N > 16 || quads < 20,
               long_steps = quads >= 90 && stats->density <= 0.55;
    tuning[TUNE_STEP] = few && short_steps ? 2 : long_steps ? 4 : 3;
    tuning[TUNE_WAYS] = few && stats->cols >= 16 * QUAD_COLUMNS ? 2 : 1;
    tuning[TUNE_EVEN] = stats->density < (N > 16 ? 0.45 : 0.38);
}

static const char *unsuited(const problem *p)
{
    const int group_rows = SLOTS * STRIP_ROWS, quad_columns = QUAD_COLUMNS;
    const double groups = ceil((double)p->A->rows / group_rows);
    const double quads = ceil((double)p->A->cols / quad_columns);
    if (groups * group_rows * quads * quad_columns <= MOST_ELEMENTS) return NULL;
    return "places are numbers of 32 bits, good for 2^31 elements, zeros too: a matrix for lab 8";
}

static spmm_contender lane_major_fp16 = {
    .base = {.lab = 9,
             .part = 1,
             .name = "lane_major_fp16",
             .summary = "the bitmap in the order of a warp's lanes, streamed by bulk copies",
             .precision = PRECISION_FP16,
             .min_compute_capability = 90,
             .unsuited = unsuited,
             .tunables = {{"STEP", "quads of 64 columns that one copy fetches", {2, 3, 4}, 3},
                          {"EVEN", "1: whole words, no shifting", {0, 1}, 2},
                          {"WAYS", "slots of 16 that share the columns of a strip", {1, 2, 4}, 3}}},
    .choose = choose,
    .prepare = prepare,
    .run16 = run16<__half>,
    .release = release,
};
SPMM_REGISTER(lane_major_fp16)
