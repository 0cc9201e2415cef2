/*
 * sddmm_balanced.h - the time of lab 31's kernel, and into how many blocks of columns it had better cut
 * a pattern.
 */
#ifndef MODELS_SDDMM_BALANCED_H
#define MODELS_SDDMM_BALANCED_H

#include "matrix/stats.h"
#include "ops/precision.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Shape that a product's time depends on, beside the rows' statistics. */
typedef struct sddmm_balanced_shape {
    double row_bytes; /* of X and Y */
    double element;   /* bytes of a result */
    int lanes;        /* of a group */
    int pieces;       /* 16-byte loads of a lane for a row */
} sddmm_balanced_shape;

/* Microseconds of one run with `blocks` blocks of columns. Rates are measured limits of an H200, and follow this device's
 * (rates.h). What instructions, segments and L1 cost is fitted to sweeps of five graphs and three pruned weights there, and judged by others
 * (labs/31_sddmm_balanced/LOG.md). */
double sddmm_balanced_time(const row_stats *stats, const sddmm_balanced_shape *shape, int blocks);

/* The number of blocks, of those in values[count], that should take the least time. values[0] is 1, and
 * where rows are short another one must save a sixth. */
int sddmm_balanced_blocks(const row_stats *stats, const sddmm_balanced_shape *shape,
                          const int *values, int count);

#ifdef __cplusplus
}
#endif
#endif
