/*
 * rows_model.cu - what kernels that gather rows of B take on an H200, fitted to pruned weights of like rows. At N
 * = 256 lab 6 is within 15 % of all that was measured, and lab 7 of all that has up to 512 rows; at other N three
 * quarters of lab 6's are.
 */
#include "rows_model.h"

#include <math.h>

/* Microseconds for a nonzero of a row that nobody else waits for: it grows with the columns of B that a
 * lane takes, a step for each doubling of them. */
constexpr double ROMA_STEP = 0.022, SUBWARP_STEP = 0.028, DOUBLING = 0.0125;

double gather_estimate(const row_stats *stats, int N, double longest, double rate)
{
    constexpr double LAUNCH = 4.2;
    constexpr double ROW = 4; /* to begin one and to store its sums, in nonzeros */
    const double all = 2.0 * N * (stats->nnz + ROW * stats->rows) / rate;
    return LAUNCH + cbrt(longest * longest * longest + all * all * all);
}

/* Flops a microsecond of lab 6. Warps at the same slice of B find in L1 what others have fetched; warps at
 * several slices push it out, down to what L2 delivers. */
static double roma_rate(const row_stats *stats, int N)
{
    constexpr double WARP_COLUMNS = 256, MOST = 10e6, LEAST = 4.5e6;
    constexpr double DOUBLED = 1e6; /* what twice as many rows of B in use cost */
    constexpr double IN_L1 = 512;   /* so many cost nothing */
    if (N < 64) return 6.3e6;
    const double slices =
        fmin(ceil(N / WARP_COLUMNS), (double)ROMA_RESIDENT_ROWS / fmax(1, stats->rows));
    const double in_use = slices * stats->cols;
    if (slices <= 1 || in_use <= IN_L1) return MOST;
    return fmax(LEAST, MOST - DOUBLED * log2(in_use / IN_L1));
}

double roma_estimate(const row_stats *stats, int N)
{
    const double columns = fmin(8, fmax(1, N / 32.0)); /* of a lane */
    const double step = ROMA_STEP + DOUBLING * log2(columns);
    return gather_estimate(stats, N, step * stats->max, roma_rate(stats, N));
}

double subwarp_estimate(const row_stats *stats, int N)
{
    /* Lab 7 gives a lane fewer columns where there are not warps enough. */
    constexpr double WARPS_WANTED = 132 * 6, RATE = 6.5e6;
    const double columns = fmin(8, fmax(1, (double)stats->rows * N / (32 * WARPS_WANTED)));
    const double step = SUBWARP_STEP + DOUBLING * floor(log2(columns));
    return gather_estimate(stats, N, step * stats->max, RATE);
}
