/*
 * Lab 20 - open: the fastest SpMM we can build.
 *
 * Idea      Rows of B that come from L2 cannot come faster than 9 TB/s, however good the kernel. What
 *           is faster still must reuse them nearer by: in passes over blocks of columns that fit L1 and
 *           L2 (gather.cu), or, as lab 10 does with dense matrices, in tiles and fragments.
 * Changed   Lab 10's bins and packets, for one segment of a row a pass; plans that are made on the GPU
 *           or on the host alike, and take new values; a rule that measures locality.
 * Run       make lab20 && ./lab20 arxiv 32      ./lab20 ddi 256 --set FAMILY=0
 * Watch     No atomics on floats anywhere: the same bits in every run.
 */
#include "choice.h"
#include "device/cuda_try.h"
#include "gather.h"
#include "labs/10_row_swizzle/fragments.h"
#include "labs/10_row_swizzle/tile.h"
#include "ops/spmm.h"

#include <stdlib.h>

/* plan->state: one of the three, as FAMILY says. */
typedef struct open_plan {
    tile_plan tile;
    passes_plan passes;
    row_fragments<float> fragments;
} open_plan;

static site site_of(const spmm_plan *plan)
{
    return plan->tuning[TUNE_HOST] ? ON_HOST : ON_DEVICE;
}

/* Settings that mean nothing to the kernel that runs become the initial ones. */
static void forget(spmm_plan *plan, int first, int last)
{
    for (int i = first; i <= last; i++)
        plan->tuning[i] = plan->contender->base.tunables[i].initial;
}

static cudaError_t prepare_tiles(spmm_plan *plan, tile_plan *tile)
{
    const tile_shape shape = {.row_lanes = plan->tuning[TUNE_FAMILY] == TILE_8 ? 8 : 32,
                              .threads = plan->tuning[TUNE_THREADS],
                              .waves = plan->tuning[TUNE_WAVES]};
    forget(plan, TUNE_WIDTH, TUNE_OVERLAP);
    return tile_build(site_of(plan), plan, &shape, tile);
}

static cudaError_t prepare_passes(spmm_plan *plan, passes_plan *passes)
{
    int *const tuning = plan->tuning, &width = tuning[TUNE_WIDTH], &blocks = tuning[TUNE_BLOCKS];
    passes_shape shape = {.serial = tuning[TUNE_SERIAL], .pack = tuning[TUNE_PACK]};
    forget(plan, TUNE_THREADS, TUNE_WAVES);
    gather_fit(plan->N, &width, &shape.lanes, &shape.slices);
    if (blocks == BY_LOCALITY) {
        const gather_settings others = {plan->N, width, shape.serial, tuning[TUNE_SHORTEST]};
        locality l;
        CUDA_TRY(locality_measure(site_of(plan), &plan->A, &l));
        blocks = choose_blocks(plan->A.stats, &l, &others);
    }
    if (blocks == 0) forget(plan, TUNE_SHORTEST, TUNE_OVERLAP);
    if (tuning[TUNE_OVERLAP]) { /* not asked for nothing: the driver loads a kernel to answer */
        bool can_overlap;
        CUDA_TRY(gather_can_overlap(&can_overlap));
        if (!can_overlap) forget(plan, TUNE_OVERLAP, TUNE_OVERLAP);
    }
    if (tuning[TUNE_WINDOW] >= plan->A.rows) tuning[TUNE_WINDOW] = 0;
    shape.window = tuning[TUNE_WINDOW];
    shape.order = tuning[TUNE_ORDER];
    shape.blocks = blocks;
    shape.shortest = tuning[TUNE_SHORTEST];
    CUDA_TRY(passes_build(site_of(plan), plan, &shape, passes));
    blocks = passes->shape.blocks;
    return cudaSuccess;
}

/* Panels, slices and splits are what lab 10's model says; its plan is made on the GPU alone. */
static cudaError_t prepare_fragments(spmm_plan *plan, row_fragments<float> *fragments)
{
    fragment_shape shape;
    fragments_choose(plan->A.stats, plan->N, PRECISION_FP32, &shape);
    forget(plan, TUNE_SERIAL, TUNE_HOST);
    CUDA_TRY(fragments_prepare(plan, &shape, fragments));
    plan->tuning[TUNE_WIDTH] = fragments->shape.width;
    return cudaSuccess;
}

static cudaError_t prepare_family(spmm_plan *plan, open_plan *own)
{
    int &family = plan->tuning[TUNE_FAMILY];
    bool possible = true;
    if (family == FRAGMENTS)
        possible = fragments_suit(plan, PRECISION_FP32);
    else if (family != GATHER)
        CUDA_TRY(tile_possible(&plan->A, plan->tuning[TUNE_THREADS], &possible));
    if (!possible) family = GATHER;
    return family == GATHER      ? prepare_passes(plan, &own->passes)
           : family == FRAGMENTS ? prepare_fragments(plan, &own->fragments)
                                 : prepare_tiles(plan, &own->tile);
}

static void release(spmm_plan *plan)
{
    open_plan *own = (open_plan *)plan->state;
    tile_free(&own->tile);
    passes_free(&own->passes);
    fragments_free(&own->fragments);
    free(own);
}

static cudaError_t prepare(spmm_plan *plan)
{
    open_plan *own = (open_plan *)calloc(1, sizeof *own);
    plan->state = own;
    if (!own) return cudaErrorMemoryAllocation;
    const cudaError_t error = prepare_family(plan, own);
    if (error != cudaSuccess) release(plan);
    return error;
}

static cudaError_t update_values(spmm_plan *plan)
{
    open_plan *own = (open_plan *)plan->state;
    switch (plan->tuning[TUNE_FAMILY]) {
    case GATHER:
        return passes_update_values(&plan->A, &own->passes);
    case FRAGMENTS: /* no list says which value lies where */
        fragments_free(&own->fragments);
        return prepare_fragments(plan, &own->fragments);
    default:
        return tile_update_values(&plan->A, &own->tile);
    }
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const open_plan *own = (const open_plan *)plan->state;
    switch (plan->tuning[TUNE_FAMILY]) {
    case GATHER:
        return gather_run(&own->passes, plan->N, plan->tuning[TUNE_WIDTH],
                          plan->tuning[TUNE_OVERLAP], B, C, stream);
    case FRAGMENTS:
        return fragments_run(&own->fragments, plan, B, C, stream);
    default:
        return tile_run(&own->tile, plan, B, C, stream);
    }
}

/* What --tune tries: each kernel with the settings that won on one kind of graph. Slices of 64 columns
 * become 32 where N needs it, and passes run in turn where they cannot overlap. */
static const int SHORTLIST[][MAX_TUNABLES] = {
    /* FAMILY WIDTH SERIAL PACK WINDOW ORDER BLOCKS SHORTEST OVERLAP THREADS WAVES */
    {GATHER, 64, 64, 16, 4096, 0, 0, 8, 0, 512, 2}, {GATHER, 64, 64, 16, 4096, 2, 0, 8, 0, 512, 2},
    {GATHER, 64, 128, 0, 4096, 0, 0, 8, 0, 512, 2}, {GATHER, 64, 128, 0, 0, 0, 2, 8, 1, 512, 2},
    {GATHER, 64, 128, 0, 4096, 0, 4, 8, 1, 512, 2}, {GATHER, 64, 128, 0, 0, 0, 8, 8, 1, 512, 2},
    {GATHER, 64, 256, 0, 0, 0, 8, 8, 1, 512, 2},    {GATHER, 64, 256, 0, 0, 0, 16, 8, 1, 512, 2},
    {GATHER, 64, 256, 0, 0, 0, 32, 8, 1, 512, 2},   {TILE_32, 32, 64, 0, 0, 0, 0, 8, 0, 768, 1},
    {TILE_8, 32, 64, 0, 0, 0, 0, 8, 0, 512, 2},     {TILE_8, 32, 64, 0, 0, 0, 0, 8, 0, 512, 1},
    {FRAGMENTS, 32, 64, 0, 0, 0, 0, 8, 0, 512, 2},
};

static spmm_contender lab20 = {
    .base =
        {
            .lab = 20,
            .name = "open",
            .summary = "rows of B reused nearer than L2: passes over blocks of columns, and tiles",
            .tunables =
                {
                    {"FAMILY",
                     "0 gather; lab 10's tiles, 1 a warp a row, 2 eight lanes, and 3 fragments",
                     {0, 1, 2, 3},
                     4},
                    {"WIDTH", "gather: columns of C a slice", {16, 32, 64}, 3, 32},
                    {"SERIAL", "gather: nonzeros one group walks", {64, 128, 256}, 3, 64},
                    {"PACK", "gather: rows up to so long go into packets", {0, 16}, 2, 0},
                    {"WINDOW", "gather: rows sorted by length together; 0 all", {0, 4096}, 2, 0},
                    {"ORDER",
                     "gather: rows alike in length as they come; 1 by first column, 2 by last",
                     {0, 1, 2},
                     3,
                     0},
                    {"BLOCKS",
                     "gather: blocks of columns, a pass each; 0 none",
                     {0, 2, 4, 8, 16, 32, 64},
                     7,
                     0},
                    {"SHORTEST",
                     "gather: segments shorter than this stay out of blocks",
                     {1, 4, 8, 16},
                     4,
                     8},
                    {"OVERLAP",
                     "gather: 1: a pass begins before the one before has ended",
                     {0, 1},
                     2,
                     0},
                    {"THREADS",
                     "tiles: threads of a block; 384: two an SM",
                     {384, 512, 768},
                     3,
                     512},
                    {"WAVES", "tiles: blocks, in what the GPU holds", {1, 2, 4}, 3, 2},
                    {"HOST", "1: plan on the host", {0, 1}, 2, 0, true},
                },
            .shortlist = SHORTLIST,
            .num_shortlisted = sizeof SHORTLIST / sizeof *SHORTLIST,
        },
    .choose = choose_settings,
    .prepare = prepare,
    .run = run,
    .update_values = update_values,
    .release = release,
};
SPMM_REGISTER(lab20)
