/*
 * groups_model.cu - the least time that an H200 can take for a product with row groups, and the
 * shape for which that is least. groups.md derives the formulas.
 */
#include "device/warp.cuh"
#include "groups_layout.h"

#include <math.h>

constexpr double SHARED = 227 * 1024; /* bytes of an SM, and the most a block may have */

static double at_least(double a, double b)
{
    return a > b ? a : b;
}

/* Columns a group lists in a tile on average: those that one of R rows has. */
static double listed_columns(const row_stats *stats, const groups_shape *s)
{
    const double tiles = ceil((double)stats->cols / s->tile_rows);
    return stats->cols / tiles * (1 - pow(1 - stats->density, s->R));
}

/* What a stage should take, if the fullest visit of a panel exceeds the mean by a tenth. */
static double expected_stage(const row_stats *stats, const groups_shape *s)
{
    return tile_units(*s) +
           list_units(*s, (int)(1.1 * panel_groups(*s) * listed_columns(stats, s)));
}

/* The least time for these statistics and that shape, in microseconds. */
static double groups_estimate(const row_stats *stats, int N, const groups_shape *s)
{
    constexpr double SMS = 132, CLOCK = 1980; /* of an H200; clocks a microsecond */
    constexpr double L2_BYTES = 9e6, MEMORY_BYTES = 4.2e6,
                     GAP = 4;                                     /* a microsecond; microseconds */
    constexpr double WARPS_TO_SATURATE = 16, TILE_LATENCY = 1000; /* an SM's; clocks */
    constexpr double VISIT = 15;                                  /* clocks of a warp */
    if (stats->nnz == 0) return GAP;
    const int shares = WARP_SIZE * s->C / s->width * s->ways, G = groups_per_warp(s->R);
    const double panels = ceil((double)stats->rows / (panel_groups(*s) * s->R));
    const double slices = ceil((double)N / s->width);
    const double tiles = ceil((double)stats->cols / s->tile_rows);
    const double listed = listed_columns(stats, s);
    const double rounds = (listed + 0.5 * (shares - 1)) / shares;
    /* Clocks of an SM for one round of one warp, a column for each share: wavefronts, and issue
     * slots of 4 schedulers. A load of 16 bytes a lane is served in four quarters, also where
     * lanes share an address: C / 4 of B, R / 4 of values. */
    const double wavefronts = s->C + s->R + 1;
    const double issue = (s->R * s->C + s->C / 4 + at_least(1, s->R / 4) + 7) / 4;
    const double copied = (s->tile_rows * s->width + panel_groups(*s) * listed * (s->R + 1)) / 32;
    const double visit = s->warps * G * (rounds * at_least(wavefronts, issue) + VISIT) + copied;
    /* Blocks spread over the SMs; the last ones leave some idle. */
    const double each = ceil(panels * slices / SMS);
    const double by_memory =
        floor(SHARED / (groups_shared_bytes(*s, expected_stage(stats, s)) + 1024));
    const double by_registers = resident_blocks(s->R, s->C) * MAX_WARPS / s->warps;
    const double resident = at_least(1, by_memory < by_registers ? by_memory : by_registers);
    const double warps = (each < resident ? each : resident) * s->warps;
    const double slowed = warps < WARPS_TO_SATURATE ? WARPS_TO_SATURATE / warps : 1;
    const double clocks = each * tiles * at_least(visit * slowed, TILE_LATENCY / resident);
    const double lists = panels * tiles * panel_groups(*s) * listed * (s->R + 1) * 4;
    const double l2 = slices * (panels * stats->cols * s->width * 4 + lists);
    const double memory = lists + 4.0 * N * (stats->rows + stats->cols);
    return GAP + TILE_LATENCY / CLOCK +
           at_least(clocks / CLOCK, at_least(l2 / L2_BYTES, memory / MEMORY_BYTES));
}

groups_shape groups_choose(const row_stats *stats, int N)
{
    groups_shape best = {4, 32, 8, 32, 4, 1};
    double least = INFINITY;
    groups_shape s;
    for (s.R = 2; s.R <= 8; s.R *= 2)
        for (s.width = 32; s.width <= 128; s.width *= 2)
            for (s.C = 8; s.C <= 16; s.C *= 2)
                for (s.tile_rows = 32; s.tile_rows <= 256; s.tile_rows *= 2)
                    for (s.warps = 4; s.warps <= MAX_WARPS; s.warps *= 2)
                        for (s.ways = 1; s.ways <= 4; s.ways *= 2) {
                            if (!groups_kernel_exists(s) || (N % 4 && s.C > 8)) continue;
                            if (groups_shared_bytes(s, expected_stage(stats, &s)) > SHARED)
                                continue;
                            const double time = groups_estimate(stats, N, &s);
                            if (time >= least) continue;
                            least = time;
                            best = s;
                        }
    return best;
}
