/*
 * column_blocks.h - the time of products with binned rows that are cut at column blocks, and how
 * many blocks are best (labs 13 and 14).
 */
#ifndef MODELS_COLUMN_BLOCKS_H
#define MODELS_COLUMN_BLOCKS_H

#include "models/locality.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The settings that count, but for the number of blocks. */
typedef struct column_blocks_settings {
    int N, width, serial, shortest;
} column_blocks_settings;

/* Microseconds for `blocks` column blocks whose launches overlap; 0: whole rows in one launch. A
 * model of L1, L2 and memory, fitted to five graphs on an H200 (LOG.md of lab 14): sizes and rates follow
 * this device's (rates.h). */
double column_blocks_estimate(const row_stats *stats, const locality *l,
                              const column_blocks_settings *s, int blocks);

/* The number of column blocks with the least estimate: 0, 2, 4 ... 64. */
int column_blocks_choose(const row_stats *stats, const locality *l,
                         const column_blocks_settings *s);

#ifdef __cplusplus
}
#endif
#endif
