/*
 * Lab 20 - the bitmap in the order of a warp's lanes, streamed by bulk copies.
 *
 * Idea      Lab 9 counts bits for every pair of elements, and runs out of instructions before bytes. Here
 *           each lane has its values of a strip one after the other in a bank of shared memory of its own
 *           (lane_major.h): one count serves eight elements, and no address can conflict. One thread
 *           fetches for eight warps that multiply, one bulk copy a step.
 * Changed   The format and its decoding; B is brought into the lanes' order first; a block stays on its
 *           multiprocessor for an equal share of the matrix, and posts the sums of strips it shares.
 * Run       make lab20 && ./lab20 weights:rows=512,cols=1024,sparsity=0.5 16 --vs lab9 --precision fp16
 * Watch     --counters: no bank conflict where addresses depend on the data. Needs compute capability 9.0.
 * Paper     R. Fan et al., SpInfer, EuroSys 2025 (lab 9's format); M. Osama et al., Stream-K, PPoPP 2023
 */
#include "device/cuda_try.h"
#include "device/dynamic_shared.cuh"
#include "device/exec_space.cuh"
#include "device/facts.h"
#include "formats/lane_major_operand.cuh"
#include "models/lane_major.h"
#include "multiply.cuh"
#include "ops/spmm.h"

#include <stdlib.h>

enum { TUNE_STEP, TUNE_EVEN, TUNE_WAYS };

/* ---- the kernel -------------------------------------------------------------------------------- */

constexpr int BLOCK = (WORKERS + 1) * WARP_SIZE;

/* Multiplies with WORKERS warps, which have the registers of a multiprocessor among them. */
template <int TILES, bool EVEN, class H>
static __global__ void __launch_bounds__(BLOCK, 1)
    spmm_lane_major_kernel(const __grid_constant__ product p)
{
    extern __shared__ __align__(256) unsigned char shared[];
    const shared_layout at(p, TILES);
    pdl_launch_dependents(); /* all blocks have a multiprocessor: who comes next takes no room from them */
    /* By a shuffle, so that the compiler knows: all lanes have the same. */
    const int warp = __shfl_sync(FULL_MASK, warp_id(), 0);
    const bool fetches = warp == WORKERS; /* the last one, for all */
    const int block = started_block(p.ticket);
    if (fetches && lane_id() == 0) {
        make_barriers(p, at, shared);
        /* A's part of the first step, which comes from memory; X may still be in the making */
        stage_filler<TILES>{p, at, shared, step_cursor(p.A, block), p.A.start[block].row}.fetch_A(
            p.A.start[block].rows[0]);
    }
    if (warp == 0) ((table_entry *)shared)[lane_id()] = make_entry(lane_id());
    __syncthreads(); /* the barriers are there, and the table */
    if (!fetches)
        multiplier<TILES, EVEN, H>{p, at, shared, block, warp}.run();
    else if (lane_id() == 0)
        keep_fetching<TILES>(p, at, shared, block);
}

/* ---- prepare ----------------------------------------------------------------------------------- */

/* State that prepare leaves. */
struct lane_major_state {
    lane_major A;
    tca_bme repeated; /* what is left of it: values of elements that have one already */
    uint64_t *d_used;
    uint4 *d_X;
    float *d_posted;
    unsigned *d_ticket;
    int stages;
};

static void release(spmm_plan *plan)
{
    lane_major_state *s = (lane_major_state *)plan->state;
    plan->state = NULL;
    if (!s) return;
    lane_major_destroy(&s->A);
    tca_bme_destroy(&s->repeated);
    cudaFree(s->d_used);
    cudaFree(s->d_X);
    cudaFree(s->d_posted);
    cudaFree(s->d_ticket);
    free(s);
}

/* Takes as many stages as fit into a block's shared memory; false if not even two do. */
static bool settle_memory(const spmm_plan *plan, lane_major_state *s)
{
    for (s->stages = MOST_STAGES; s->stages >= 2; s->stages--) {
        const shared_layout layout({.A = s->A, .stages = s->stages}, tiles_of(plan->N));
        if ((int)layout.total <= device_facts_get()->block_shared_bytes) return true;
    }
    return false;
}

/* Makes the format with steps as long as asked for, or shorter if shared memory does not hold two. */
static cudaError_t make_format(spmm_plan *plan, const tca_bme *bitmaps, int blocks,
                               lane_major_state *s)
{
    int *const t = plan->tuning;
    for (; t[TUNE_STEP] > 0; t[TUNE_STEP]--) {
        const lane_major_shape shape = {t[TUNE_STEP], blocks, t[TUNE_WAYS], t[TUNE_EVEN] != 0};
        CUDA_TRY(lane_major_create(bitmaps, &shape, &s->A));
        if (settle_memory(plan, s)) return cudaSuccess;
        lane_major_destroy(&s->A);
    }
    return cudaErrorInvalidConfiguration;
}

/* The kernel for passes of 8 * tiles columns. */
typedef void lane_major_kernel(product);
static lane_major_kernel *kernel_for(int tiles, bool even)
{
#define KERNELS(tiles)                                                                            \
    {                                                                                             \
        spmm_lane_major_kernel<tiles, false, __half>, spmm_lane_major_kernel<tiles, true, __half> \
    }
    static lane_major_kernel *const ALL[][2] = {KERNELS(1), KERNELS(2), KERNELS(4), KERNELS(8)};
    return ALL[tiles == 8 ? 3 : tiles / 2][even];
}

static cudaError_t fill_state(spmm_plan *plan, int blocks, lane_major_state *s)
{
    const int quads = groups_of(plan->A.cols), tiles = tiles_of(plan->N);
    CUDA_TRY(
        lane_major_operand_prepare()); /* fails where there is no code for bulk copies, which would trap */
    CUDA_TRY(tca_bme_create(&plan->A, &s->repeated));
    CUDA_TRY(allocate(ON_DEVICE, &s->d_used, quads + MOST_WAYS - 1));
    CUDA_TRY(tca_bme_used_columns(&s->repeated, s->d_used));
    CUDA_TRY(make_format(plan, &s->repeated, blocks, s));
    tca_bme_keep_repeats(&s->repeated);
    const lane_major_shape &shape = s->A.shape;
    CUDA_TRY(allow_all_shared((const void *)kernel_for(tiles, shape.even)));
    CUDA_TRY(allocate(ON_DEVICE, &s->d_X,
                      (size_t)s->A.quads * shape.ways * x_bytes(tiles) / sizeof(uint4)));
    CUDA_TRY(allocate(ON_DEVICE, &s->d_posted, (size_t)shape.blocks * SLOTS * slot_sums(tiles),
                      NOT_POSTED & 0xff));
    return allocate(ON_DEVICE, &s->d_ticket, 1);
}

/* Prepares a plan for so many blocks, 1 to MOST_BLOCKS. Tests call it with few blocks, which go round all
 * stages on a small matrix (tests/kernels/few_blocks.cu). */
cudaError_t lane_major_prepare(spmm_plan *plan, int blocks)
{
    plan->state = calloc(1, sizeof(lane_major_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill_state(plan, blocks, (lane_major_state *)plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

static cudaError_t prepare(spmm_plan *plan)
{
    if (!lane_major_fits(plan->A.rows, plan->A.cols)) return cudaErrorNotSupported;
    return lane_major_prepare(plan, min(device_facts_get()->sms, (int)MOST_BLOCKS));
}

/* A value's place depends on the bits before it, so the format is made anew. */
static cudaError_t update_values(spmm_plan *plan)
{
    const int blocks = ((const lane_major_state *)plan->state)->A.shape.blocks;
    release(plan);
    return lane_major_prepare(plan, blocks);
}

static void choose(const row_stats *stats, int N, int *tuning)
{
    const lane_major_shape shape = lane_major_choose(stats, N);
    tuning[TUNE_STEP] = shape.step;
    tuning[TUNE_EVEN] = shape.even;
    tuning[TUNE_WAYS] = shape.ways;
}

/* ---- run --------------------------------------------------------------------------------------- */

/* Goes through C by slices of 8 * tiles columns. */
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    const lane_major_state *s = (const lane_major_state *)plan->state;
    const int N = plan->N, tiles = tiles_of(N), quads = s->A.quads * s->A.shape.ways;
    if (s->A.shape.blocks == 0) { /* nothing to multiply */
        CUDA_TRY(cudaMemsetAsync(C, 0, (size_t)plan->A.rows * N * sizeof(__half), stream));
        return epilogue_run(&plan->epilogue, CUDA_R_16F, plan->A.rows, N, C, stream);
    }
    for (int column = 0; column < N; column += 8 * tiles) {
        const x_order<__half> order = {
            (const __half *)B, s->d_used, plan->A.cols, N, column, s->d_X, quads, tiles};
        const product p = {s->A,   s->repeated, B,           s->d_X,         C,          N,
                           column, s->stages,   s->d_posted, plan->epilogue, s->d_ticket};
        CUDA_TRY(lane_major_operand_order(&order, stream));
        CUDA_TRY(launch_with_pdl(kernel_for(tiles, s->A.shape.even), s->A.shape.blocks, BLOCK,
                                 shared_layout(p, tiles).total, stream, p));
    }
    return cudaSuccess;
}

/* ---- registration ------------------------------------------------------------------------------ */

static size_t format_bytes(const spmm_plan *plan)
{
    return lane_major_bytes(&((const lane_major_state *)plan->state)->A);
}

static const char *unsuited(const problem *p)
{
    if (tca_bme_unsuited(p->A->rows, p->A->cols, p->A->nnz))
        return "a bit for every element, zeros too, is over 4 times CSR's bytes: try lab 8";
    if (lane_major_fits(p->A->rows, p->A->cols)) return NULL;
    return "places are numbers of 32 bits, good for 2^31 elements, zeros too: a matrix for lab 8";
}

static spmm_contender lane_major_fp16 = {
    .base = {.lab = 20,
             .after = 9,
             .name = "lane_major_fp16",
             .summary = "the bitmap in the order of a warp's lanes, streamed by bulk copies",
             .precision = PRECISION_FP16,
             .min_compute_capability = 90,
             .unit = UNIT_TENSOR_CORES,
             .unsuited = unsuited,
             .tunables = {{"STEP", "quads of 64 columns that one copy fetches", {2, 3, 4}, 3},
                          {"EVEN", "1: whole words, no shifting", {0, 1}, 2},
                          {"WAYS", "slots of 16 that share the columns of a strip", {1, 2, 4}, 3}}},
    .choose = choose,
    .prepare = prepare,
    .run16 = run16,
    .applies_epilogue = true,
    .update_values = update_values,
    .format_bytes = format_bytes,
    .release = release,
};
SPMM_REGISTER(lane_major_fp16)
