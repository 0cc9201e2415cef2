/*
 * column_blocks.h - what contenders have in common that launch binned rows a column block at a
 * time: their settings, how many blocks a matrix gets, and whole rows where that is none.
 */
#ifndef FORMATS_COLUMN_BLOCKS_H
#define FORMATS_COLUMN_BLOCKS_H

#include "formats/binned_rows.h"

/* Positions in spmm_plan.tuning, behind the common ones. */
enum { TUNE_BLOCKS = NUM_BINNED_TUNABLES, TUNE_SHORTEST, TUNE_HOST, NUM_COLUMN_BLOCKS_TUNABLES };

/* BLOCKS: as many as a model says, once prepare has measured the locality of the columns. */
enum { BY_LOCALITY = -1 };

constexpr tunable COLUMN_BLOCKS = {"BLOCKS",
                                   "column blocks, a launch each; 0: none, -1: by locality",
                                   {BY_LOCALITY, 0, 2, 4, 8, 16, 32, 64},
                                   8,
                                   BY_LOCALITY};
constexpr tunable COLUMN_BLOCKS_SHORTEST = {
    "SHORTEST", "segments shorter than this stay out of column blocks", {1, 4, 8, 16}, 4, 8};

/* The settings that --tune tries: those that won on one kind of graph. Slices of 64 columns become
 * 32 where N needs it. */
constexpr int COLUMN_BLOCKS_SHORTLIST[][MAX_TUNABLES] = {
    /* WIDTH SERIAL PACK WINDOW ORDER BLOCKS SHORTEST */
    {64, 128, 0, 0, AS_THEY_COME, 2, 8},  {64, 128, 0, 4096, AS_THEY_COME, 4, 8},
    {64, 128, 0, 0, AS_THEY_COME, 8, 8},  {64, 256, 0, 0, AS_THEY_COME, 8, 8},
    {64, 256, 0, 0, AS_THEY_COME, 16, 8}, {64, 256, 0, 0, AS_THEY_COME, 32, 8},
};

/* Fills tuning[] from row lengths, rows and N. */
void column_blocks_choose_settings(const row_stats *stats, int N, int *tuning);

/* Whether A had better be left whole: replaces BLOCKS = -1 by the number that a model says, and
 * reports whether it is 0. Fills *shape, else, with what binned_rows_build is to be given. */
cudaError_t column_blocks_settle(spmm_plan *plan, binned_rows_shape *shape);

/* Lays out A in column blocks, and names in plan->tuning how many it really has. */
cudaError_t column_blocks_build(spmm_plan *plan, const binned_rows_shape *shape,
                                binned_rows **rows);

/* Nests a plan of "length_bins" with the same settings: whole rows are that contender's. Settings
 * that mean nothing then become their initial ones. */
cudaError_t column_blocks_nest_whole_rows(spmm_plan *plan);

/* The update_values, value_slots and release of a plan whose state is a binned_rows, or that has a nested
 * plan. */
cudaError_t column_blocks_update_values(spmm_plan *plan);
cudaError_t column_blocks_value_slots(const spmm_plan *plan, int *d_slot, float **d_copies);
void column_blocks_release(spmm_plan *plan);

#endif
