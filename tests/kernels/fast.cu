/*
 * fast.cu - a contender for the kernel matrix: lab 9's fast kernel with one or two blocks, each of which has
 * several groups of strips, and more steps than fit into shared memory at once; and with 45, so that groups
 * begin within a block and still have more parts than are added in one batch.
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

/* Each width has another step, and number of blocks. */
static cudaError_t prepare(spmm_plan *plan)
{
    static const int BLOCKS[] = {45, 1, 2};
    plan->tuning[TUNE_STEP] = 2 + plan->N / 33 % 3;
    plan->tuning[TUNE_EVEN] = plan->N % 2;
    plan->tuning[TUNE_WAYS] = 1 << plan->N / 2 % 3;
    return fast_prepare(plan, BLOCKS[plan->N % 3]);
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
             .min_compute_capability = 90},
    .prepare = prepare,
    .run16 = run16,
    .release = release,
};
SPMM_REGISTER(few_blocks)
