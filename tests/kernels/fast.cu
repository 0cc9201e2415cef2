/*
 * fast.cu - a contender for the kernel matrix: lab 9's fast kernel with one or two blocks, each of which has
 * several groups, and more steps than fit into shared memory at once; and with 45, so that groups begin within
 * a block and still have more parts than are added in one batch. Each with any number of slots for a strip: what
 * these hand over when a group ends must not wait for the next, nor be lost where a group is shared by blocks.
 */
#include "labs/09_bitmap_tensor_core/fast.h"

#include <string.h>

static const spmm_contender *lab9(void)
{
    const contender *c = contenders();
    while (c && strcmp(c->name, "lane_major_fp16") != 0)
        c = c->next;
    return (const spmm_contender *)c;
}

/* Behind those of the lab, which stand where the lab looks for them. */
enum { BLOCKS = TUNE_WAYS + 1 };

/* For one column, where no setting is swept: what the swept ones leave out. */
static void choose(const row_stats *stats, int N, int *tuning)
{
    (void)stats;
    (void)N;
    tuning[TUNE_STEP] = 2;
    tuning[TUNE_EVEN] = 1;
    tuning[TUNE_WAYS] = 2;
    tuning[BLOCKS] = 2;
}

static cudaError_t prepare(spmm_plan *plan)
{
    return fast_prepare(plan, plan->tuning[BLOCKS]);
}

static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    return lab9()->run16(plan, B, C, stream);
}

static void release(spmm_plan *plan)
{
    lab9()->release(plan);
}

static spmm_contender few_blocks = {
    .base = {.lab = 109,
             .name = "the fast kernel with other numbers of blocks",
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
