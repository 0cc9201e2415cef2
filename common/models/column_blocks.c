#include "models/column_blocks.h"

#include <math.h>

static const double LINE = 128; /* bytes, of L1 and L2 */

/* Bytes a microsecond that L2 and memory deliver of rows of B of `row` bytes, gathered from `span`
 * bytes. */
static double gather_rate(double row, double span)
{
    /* All rows alike: make limits on an H200, in two starts that differ by 0.3 % for lines. Of half
     * a line memory sends L2 more than was asked for. */
    static const double MB[] = {4, 16, 32, 48, 64, 96, 128, 256, 512, 1024, 2048};
    static const double LINES_GB_S[] = {10432, 9364, 9176, 9068, 7720, 6430,
                                        5947,  5086, 4630, 4419, 4312};
    static const double HALVES_GB_S[] = {9675, 9251, 8505, 6341, 4800, 3743,
                                         3335, 2853, 2654, 2568, 2510};
    enum { COUNT = sizeof MB / sizeof *MB };
    /* Graphs' columns are not alike: rows of B miss L2 as if B were this much smaller. */
    const double IN_USE = 0.62;
    const double *const gb_s = row < LINE ? HALVES_GB_S : LINES_GB_S;
    const double mb = IN_USE * span / (1 << 20);
    if (mb <= MB[0]) return gb_s[0] * 1e3;
    for (int i = 1; i < COUNT; i++)
        if (mb <= MB[i]) {
            const double part = log(mb / MB[i - 1]) / log(MB[i] / MB[i - 1]);
            return (gb_s[i - 1] + part * (gb_s[i] - gb_s[i - 1])) * 1e3;
        }
    return gb_s[COUNT - 1] * 1e3;
}

/* Microseconds for one of `rows` rows of B that L1 does not have. */
static double from_l2(double row, double rows)
{
    return row / gather_rate(row, rows * row);
}

/* The same of rows that L1 may have. It saves more than its 200 KB of them, since some are popular,
 * but never more than a share, since it takes time, too. It keeps lines, and looks up half a line
 * as slowly as a whole one. */
static double from_l1_or_l2(double row, double rows)
{
    const double L1 = 430e3, MOST = 0.39;
    const double line = fmax(row, LINE);
    return fmax(from_l2(row, rows) * (1 - L1 / (rows * line)), from_l2(line, rows) * (1 - MOST));
}

/* Blocks save time where rows of B come from L1 because a block is hardly larger, and from L2
 * instead of memory. They cost time since every segment reads and writes its row of C, and launches
 * overlap, but not wholly. */
double column_blocks_estimate(const row_stats *stats, const locality *l,
                              const column_blocks_settings *s, int blocks)
{
    const double end = 5 + 0.05 * s->serial; /* a launch, and half a group's walk */
    /* The part of that which each further launch does not hide. */
    const double next = 1.5 + 0.031 * s->serial;
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
