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

/* Microseconds of one run with `blocks` blocks of columns. The constants follow from measured limits of
 * an H200 and from counted instructions; they are not fitted to runs of this kernel yet. */
double sddmm_balanced_time(const row_stats *stats, int K, enum precision precision, int blocks);

/* The number of blocks, of those in values[count], for which that is least. */
int sddmm_balanced_blocks(const row_stats *stats, int K, enum precision precision,
                          const int *values, int count);

#ifdef __cplusplus
}
#endif
#endif
