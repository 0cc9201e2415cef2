/*
 * choice.h - which kernel and settings for which matrix. What the settings are called; the rule is in
 * choice.cu.
 */
#ifndef LAB20_CHOICE_H
#define LAB20_CHOICE_H

#include "locality.h"

/* Positions in spmm_plan.tuning. */
enum {
    TUNE_FAMILY,
    TUNE_WIDTH,
    TUNE_SERIAL,
    TUNE_PACK,
    TUNE_WINDOW,
    TUNE_ORDER,
    TUNE_BLOCKS,
    TUNE_SHORTEST,
    TUNE_OVERLAP,
    TUNE_THREADS,
    TUNE_WAVES,
    TUNE_HOST,
    NUM_TUNABLES
};

/* Values of FAMILY. */
enum { GATHER, TILE_32, TILE_8, FRAGMENTS };

/* BLOCKS: what choose_blocks says, once prepare has measured the locality. */
enum { BY_LOCALITY = -1 };

/* Fills tuning[] from row lengths, rows, cols and N. */
void choose_settings(const row_stats *stats, int N, int *tuning);

/* What the gather kernel does, but for blocks. */
typedef struct gather_settings {
    int N, width, serial, shortest;
} gather_settings;

/* 0, 2, 4 ... 64 blocks of columns, whichever a model of L1, L2 and passes takes for the fastest. */
int choose_blocks(const row_stats *stats, const locality *l, const gather_settings *settings);

#endif
