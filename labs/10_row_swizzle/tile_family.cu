/*
 * tile_family.cu - tiles of B in shared memory as one of lab 10's kernels.
 */
#include "tile.h"

#include "device/cuda_try.h"

#include <stdlib.h>

bool tile_family_suits(const spmm_plan *plan)
{
    tile_shape shape;
    bool possible;
    tile_choose(plan->A.stats, plan->N, &shape);
    return tile_possible(&plan->A, shape.threads, &possible) == cudaSuccess && possible;
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    return tile_run((tile_plan *)plan->state, plan, B, C, stream);
}

static void release(spmm_plan *plan)
{
    tile_free((tile_plan *)plan->state);
    free(plan->state);
}

static cudaError_t prepare(spmm_plan *plan)
{
    tile_plan *tile = (tile_plan *)calloc(1, sizeof *tile);
    tile_shape shape;
    plan->state = tile;
    if (!tile) return cudaErrorMemoryAllocation;
    tile_choose(plan->A.stats, plan->N, &shape);
    const cudaError_t error = tile_build(ON_DEVICE, plan, &shape, tile);
    if (error != cudaSuccess) free(tile);
    return error;
}

const spmm_contender tile_family = {
    .base = {.name = "tiles"},
    .prepare = prepare,
    .run = run,
    .release = release,
};
