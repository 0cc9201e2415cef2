#include "formats/column_blocks.h"

#include "models/binned_rows.h"
#include "models/column_blocks.h"

#include <string.h>

void column_blocks_choose_settings(const row_stats *stats, int N, int *tuning)
{
    binned_rows_choose(stats, N, tuning);
    /* Segments of short rows are hardly longer than what it takes to read and write C. */
    tuning[TUNE_BLOCKS] = rows_are_long(stats) ? BY_LOCALITY : 0;
}

cudaError_t column_blocks_settle(spmm_plan *plan, binned_rows_shape *shape)
{
    int &blocks = plan->tuning[TUNE_BLOCKS];
    *shape = binned_rows_settle(plan);
    shape->shortest = plan->tuning[TUNE_SHORTEST];
    if (blocks == BY_LOCALITY) {
        const column_blocks_settings s = {plan->N, shape->width, shape->serial, shape->shortest};
        locality l;
        CUDA_TRY(locality_measure(&plan->A, plan->tuning[TUNE_HOST], &l));
        blocks = column_blocks_choose(plan->A.stats, &l, &s);
    }
    shape->blocks = blocks;
    return cudaSuccess;
}

cudaError_t column_blocks_build(spmm_plan *plan, const binned_rows_shape *shape, binned_rows **rows)
{
    CUDA_TRY(binned_rows_build(plan->tuning[TUNE_HOST] ? ON_HOST : ON_DEVICE, plan, shape, rows));
    plan->tuning[TUNE_BLOCKS] = binned_rows_built(*rows)->blocks;
    return cudaSuccess;
}

cudaError_t column_blocks_nest_whole_rows(spmm_plan *plan)
{
    const spmm_contender *whole = spmm_find("length_bins", plan->contender->base.precision);
    int *const tuning = plan->tuning, settings[NUM_BINNED_TUNABLES + 1];
    if (!whole) return cudaErrorNotSupported;
    memcpy(settings, tuning, NUM_BINNED_TUNABLES * sizeof *settings);
    settings[NUM_BINNED_TUNABLES] = tuning[TUNE_HOST];
    CUDA_TRY(spmm_nest(plan, whole, settings, NULL));
    memcpy(tuning, plan->nested->tuning, NUM_BINNED_TUNABLES * sizeof *settings);
    tuning[TUNE_BLOCKS] = 0;
    tuning[TUNE_SHORTEST] = plan->contender->base.tunables[TUNE_SHORTEST].initial;
    return cudaSuccess;
}

cudaError_t column_blocks_update_values(spmm_plan *plan)
{
    return plan->nested ? spmm_nested_update_values(plan)
                        : binned_rows_update_values(&plan->A, (binned_rows *)plan->state);
}

cudaError_t column_blocks_value_slots(const spmm_plan *plan, int *d_slot, float **d_copies)
{
    return plan->nested ? spmm_value_slots(plan->nested, d_slot, d_copies)
                        : binned_rows_value_slots(&plan->A, (const binned_rows *)plan->state,
                                                  d_slot, d_copies);
}

void column_blocks_release(spmm_plan *plan)
{
    spmm_nested_release(plan);
    binned_rows_free((binned_rows *)plan->state);
}
