/*
 * few_blocks.cu - a contender for the kernel matrix: lab 20's kernel with one or two blocks, each of which has
 * several groups, and more steps than fit into shared memory at once; and with 45, so that groups begin within
 * a block and still have more blocks than are added in one batch. Each with any number of slots for a strip:
 * sums that these exchange when a group ends must not wait for the next, nor be lost where a group is shared by
 * blocks.
 */
#include "ops/spmm.h"

/* Lab 20's prepare, for so many blocks (lab.cu). */
cudaError_t lane_major_prepare(spmm_plan *plan, int blocks);

/* Positions in spmm_plan.tuning; the last is behind those of the lab, which stand where the lab looks for them. */
enum { STEP, EVEN, WAYS, BLOCKS };

static const spmm_contender *lane_major(void)
{
    return spmm_find("lane_major", PRECISION_FP16);
}

/* For one column, where no setting is swept: what the swept ones leave out. */
static void choose(const row_stats *stats, int N, int *tuning)
{
    (void)stats;
    (void)N;
    tuning[STEP] = 2;
    tuning[EVEN] = 1;
    tuning[WAYS] = 2;
    tuning[BLOCKS] = 2;
}

static cudaError_t prepare(spmm_plan *plan)
{
    return lane_major_prepare(plan, plan->tuning[BLOCKS]);
}

static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    return lane_major()->run16(plan, B, C, stream);
}

static void release(spmm_plan *plan)
{
    lane_major()->release(plan);
}

static spmm_contender few_blocks = {
    .base = {.lab = 120,
             .name = "lane_major with few blocks",
             .precision = PRECISION_FP16,
             .min_compute_capability = 90,
             .tunables = {{"STEP", "as the lab's", {3}, 1},
                          {"EVEN", "as the lab's", {0}, 1},
                          {"WAYS", "as the lab's", {1, 2, 4}, 3},
                          {"BLOCKS", "of the whole grid", {1, 2, 45}, 3}}},
    .choose = choose,
    .prepare = prepare,
    .run16 = run16,
    .release = release,
};
SPMM_REGISTER(few_blocks)
