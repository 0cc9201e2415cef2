#include "models/column_blocks.h"

#include "models/gather_rate.h"
#include "models/rates.h"

#include <math.h>

/* Microseconds for one of `rows` rows of B that L1 does not have. */
static double from_l2(double row, double rows)
{
    return row / gather_rate(row, rows * row);
}

/* The same of rows that L1 may have. It saves more than its size of them, since some are popular,
 * but never more than a share, since it takes time, too. It keeps lines, and looks up half a line
 * as slowly as a whole one. */
static double from_l1_or_l2(double row, double rows)
{
    const double L1 = l1_like(430e3), MOST = 0.39;
    const double line = fmax(row, LINE_BYTES);
    return fmax(from_l2(row, rows) * (1 - L1 / (rows * line)), from_l2(line, rows) * (1 - MOST));
}

/* Blocks save time where rows of B come from L1 because a block is hardly larger, and from L2
 * instead of memory. They cost time since every segment reads and writes its row of C, and launches
 * overlap, but not wholly. */
double column_blocks_estimate(const row_stats *stats, const locality *l,
                              const column_blocks_settings *s, int blocks)
{
    const double serial = s->serial / device_rates_get()->clock;
    const double end = 5 + 0.05 * serial; /* a launch, and half a group's walk */
    /* The part of that which each further launch does not hide. */
    const double next = 1.5 + 0.031 * serial;
    const double slices = ceil((double)s->N / s->width), row = s->width * 4.0;
    const double nnz = (double)stats->nnz, all_cols = (double)stats->cols;
    if (blocks == 0)
        return slices * nnz *
                   (from_l1_or_l2(row, all_cols) + 8 / gather_rate(row, all_cols * row)) +
               end;
    const double cols = all_cols / blocks;
    /* Nonzeros of a row in a block that it enters. An exponential law of their number leaves the
     * share `left` in shares too short for a segment. */
    const double length = nnz / locality_entered(l, cols);
    const double left = exp(-0.6 * length / s->shortest);
    const double segments = nnz * (1 - left) / fmax(length, 1.5 * s->shortest);
    const double gathered =
        nnz * ((1 - left) * from_l1_or_l2(row, cols) + left * from_l2(row, all_cols));
    const double moved = (2 * segments * row + 8 * nnz) / gather_rate(row, cols * row);
    return slices * (gathered + moved) + end + next * blocks;
}

int column_blocks_choose(const row_stats *stats, const locality *l, const column_blocks_settings *s)
{
    int best = 0;
    for (int blocks = 2; blocks <= 64; blocks *= 2)
        if (column_blocks_estimate(stats, l, s, blocks) < column_blocks_estimate(stats, l, s, best))
            best = blocks;
    return best;
}
