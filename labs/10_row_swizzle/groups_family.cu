/*
 * groups_family.cu - row groups as one of lab 10's kernels: their shape is what a tunable is to a
 * lab, and the model of groups_model.cu chooses it.
 */
#include "groups.h"

#include <stdlib.h>

enum { TUNE_R, TUNE_WIDTH, TUNE_C, TUNE_TILE, TUNE_WARPS, TUNE_WAYS };

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    return groups_run((row_groups *)plan->state, plan, B, C, stream);
}

static void release(spmm_plan *plan)
{
    groups_free((row_groups *)plan->state);
    free(plan->state);
}

static cudaError_t prepare(spmm_plan *plan)
{
    row_groups *groups = (row_groups *)calloc(1, sizeof *groups);
    plan->state = groups;
    if (!groups) return cudaErrorMemoryAllocation;
    int *const t = plan->tuning;
    const groups_shape shape = {t[TUNE_R],    t[TUNE_WIDTH], t[TUNE_C],
                                t[TUNE_TILE], t[TUNE_WARPS], t[TUNE_WAYS]};
    const cudaError_t error = groups_prepare(plan, &shape, groups);
    t[TUNE_C] = groups->shape.C;
    t[TUNE_WARPS] = groups->shape.warps;
    t[TUNE_WAYS] = groups->shape.ways;
    t[TUNE_TILE] = groups->shape.tile_rows;
    if (error != cudaSuccess) release(plan);
    return error;
}

static void choose(const row_stats *stats, int N, int *tuning)
{
    const groups_shape shape = groups_choose(stats, N);
    tuning[TUNE_R] = shape.R;
    tuning[TUNE_WIDTH] = shape.width;
    tuning[TUNE_C] = shape.C;
    tuning[TUNE_TILE] = shape.tile_rows;
    tuning[TUNE_WARPS] = shape.warps;
    tuning[TUNE_WAYS] = shape.ways;
}

const spmm_contender groups_family = {
    .base =
        {
            .name = "groups",
            .tunables =
                {
                    {"R", "rows a group", {2, 4, 8}, 3},
                    {"WIDTH", "columns a block computes", {32, 64, 128}, 3},
                    {"C", "of them a lane has", {8, 16}, 2},
                    {"TILE", "rows of B a tile", {32, 128}, 2},
                    {"WARPS", "warps a block", {4, 16}, 2},
                    {"WAYS", "of them share their rows", {1, 4}, 2},
                },
        },
    .choose = choose,
    .prepare = prepare,
    .run = run,
    .release = release,
};
