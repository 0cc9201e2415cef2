/*
 * choice.cu - the rule: every threshold is here, or in lab 10's models of its kernels. It sees the
 * statistics of the row lengths, rows, cols, N and how far apart the columns of a row lie, never a name.
 */
#include "choice.h"

#include "gather.h"
#include "labs/10_row_swizzle/bins.h"
#include "labs/10_row_swizzle/fragments.h"
#include "labs/10_row_swizzle/tile.h"

#include <math.h>

/* Tiles of B or tensor cores, if lab 10's models of its kernels say less than that of gathering all that a nonzero
 * needs from L2. */
static void choose_dense(const row_stats *stats, int N, int *tuning)
{
    tile_shape tile;
    fragment_shape shape;
    const double gather_time = bins_estimate(stats, N);
    const double tile_time = tile_choose(stats, N, &tile);
    const double fragments_time =
        stats->cov < 0.5 ? fragments_choose(stats, N, PRECISION_FP32, &shape) : INFINITY;
    if (gather_time < fmin(tile_time, fragments_time)) return;
    tuning[TUNE_FAMILY] = fragments_time < tile_time ? FRAGMENTS
                          : tile.row_lanes == 8      ? TILE_8
                                                     : TILE_32;
    tuning[TUNE_THREADS] = tile.threads;
    tuning[TUNE_WAVES] = tile.waves;
}

static int serial_for(const row_stats *stats, int N, int width)
{
    /* Groups of 4 lanes that an H200 holds: 132 SMs, 32 warps. */
    constexpr double NARROW_GROUPS = 132 * 32 * 8;
    const int serial = bins_serial(stats, N);
    /* A longer row is shared by the groups of a warp, which are eight in narrow slices and not four: it must be
     * twice as long for each to have as much. But then, too, there must be work for all groups. */
    return width == 16 && stats->nnz >= 128 * NARROW_GROUPS ? min(2 * serial, 256) : serial;
}

static void choose_gather(const row_stats *stats, int N, int *tuning)
{
    const bool long_rows = stats->mean >= 32;
    int width = N <= 16 ? 16 : 64, lanes, slices;
    gather_fit(N, &width, &lanes, &slices);
    tuning[TUNE_WIDTH] = width;
    tuning[TUNE_SERIAL] = serial_for(stats, N, width);
    /* Packets save short rows a load to wait for, but pad them with holes. */
    tuning[TUNE_PACK] = long_rows ? 0 : 16;
    /* Rows sorted among so many as run at about the same time still use columns in common. In passes over
     * long rows it is better to sort all, by up to 17 % (reddit), and in narrow slices, by 8 (arxiv; yelp loses 3). */
    tuning[TUNE_WINDOW] = stats->mean >= 64 || width == 16 ? 0 : 4096;
    /* Neighbours that share a row of B find it in L1, which pays where that is wide: order.md. */
    tuning[TUNE_ORDER] = !long_rows && width == 64 ? BY_LAST_COLUMN : AS_THEY_COME;
    /* Segments of short rows are hardly longer than what it takes to read and write C. */
    tuning[TUNE_BLOCKS] = long_rows ? BY_LOCALITY : 0;
    tuning[TUNE_OVERLAP] = 1; /* prepare forgets it where nothing can overlap */
}

void choose_settings(const row_stats *stats, int N, int *tuning)
{
    choose_gather(stats, N, tuning); /* what other families have no use for, prepare forgets */
    if (stats->density >= 0.02 && stats->mean >= 64) choose_dense(stats, N, tuning);
}

/* ---- blocks of columns ----------------------------------------------------------------------- */

constexpr double LINE = 128; /* bytes, of L1 and L2 */

/* Bytes a microsecond that L2 and memory deliver of rows of B of `row` bytes, gathered from `span` bytes. */
static double gather_rate(double row, double span)
{
    /* All rows alike: make limits on an H200, in two starts that differ by 0.3 % for lines. Of half a line memory
     * sends L2 more than was asked for. */
    static const double MB[] = {4, 16, 32, 48, 64, 96, 128, 256, 512, 1024, 2048};
    static const double LINES_GB_S[] = {10432, 9364, 9176, 9068, 7720, 6430,
                                        5947,  5086, 4630, 4419, 4312};
    static const double HALVES_GB_S[] = {9675, 9251, 8505, 6341, 4800, 3743,
                                         3335, 2853, 2654, 2568, 2510};
    constexpr int COUNT = sizeof MB / sizeof *MB;
    /* Graphs' columns are not alike: their rows of B miss L2 as if there were so much less of them. */
    constexpr double IN_USE = 0.62;
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

/* The same of rows that L1 may have. It saves more than its 200 KB of them, since some are popular, but never more
 * than a share, since it takes time, too. It keeps lines, and looks up half a one as slowly as a whole one. */
static double from_l1_or_l2(double row, double rows)
{
    constexpr double L1 = 430e3, MOST = 0.39;
    const double line = fmax(row, LINE);
    return fmax(from_l2(row, rows) * (1 - L1 / (rows * line)), from_l2(line, rows) * (1 - MOST));
}

/* Microseconds for `blocks` blocks, 0 being none; constants are fitted to five graphs (overlap.md). What
 * blocks save: rows of B come from L1 if a block is not much larger, and from L2 instead of memory. What
 * they cost: every segment reads and writes its row of C, and passes overlap, but not wholly. */
static double estimate(const row_stats *stats, const locality *l, const gather_settings *s,
                       int blocks)
{
    const double end = 5 + 0.05 * s->serial;     /* a launch, and half a group's walk */
    const double pass = 1.5 + 0.031 * s->serial; /* each that follows: what is not hidden of that */
    const double slices = ceil((double)s->N / s->width), row = s->width * 4.0, nnz = stats->nnz;
    if (blocks == 0)
        return slices * nnz *
                   (from_l1_or_l2(row, stats->cols) + 8 / gather_rate(row, stats->cols * row)) +
               end;
    const double cols = (double)stats->cols / blocks;
    /* Nonzeros of a row in a block that it enters; the shares too short for a segment are what an
     * exponential law of their lengths leaves over. */
    const double length = nnz / locality_entered(l, cols);
    const double left = exp(-0.6 * length / s->shortest);
    const double segments = nnz * (1 - left) / fmax(length, 1.5 * s->shortest);
    const double gathered =
        nnz * ((1 - left) * from_l1_or_l2(row, cols) + left * from_l2(row, stats->cols));
    const double moved = (2 * segments * row + 8 * nnz) / gather_rate(row, cols * row);
    return slices * (gathered + moved) + end + pass * blocks;
}

int choose_blocks(const row_stats *stats, const locality *l, const gather_settings *s)
{
    int best = 0;
    for (int blocks = 2; blocks <= 64; blocks *= 2)
        if (estimate(stats, l, s, blocks) < estimate(stats, l, s, best)) best = blocks;
    return best;
}
