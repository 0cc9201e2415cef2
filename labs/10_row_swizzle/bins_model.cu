/*
 * bins_model.cu - what bins should take on an H200, and how much a group of theirs walks. Lab 20's rule
 * asks the same.
 */
#include "bins.h"
#include "rows_model.h"

#include <math.h>

/* Groups of 8 lanes that the GPU holds: 132 SMs, 40 warps. */
constexpr int RESIDENT_GROUPS = 132 * 40 * 4;

double bins_estimate(const row_stats *stats, int N)
{
    /* A group walks no more than SERIAL nonzeros; parts of longer rows come together in L2. Fitted to pruned
     * weights of 64 to 8192 rows at N = 128 to 2048, 54 of 59 within 15 %, and to ddi at N = 32. It is too
     * high for tens of thousands of short rows, by up to 1.75. */
    constexpr double SERIAL = 64, STEP = 0.065, JOIN = 2;
    /* Columns of a slice, however few C has: ddi takes 32.3 us at N = 16, 33.2 at 32. */
    N = max(N, 32);
    const double time =
        gather_estimate(stats, N, STEP * fmin(stats->max, SERIAL), N < 64 ? 5.4e6 : 6.2e6);
    return time + (stats->max > MEDIUM_GROUPS * SERIAL ? JOIN : 0);
}

int bins_serial(const row_stats *stats, int N)
{
    /* Many for few sums to combine, but fewer where there is not enough work for all groups, for balance. */
    constexpr double SERIAL_128_FROM_MEAN = 32, SERIAL_256_FROM_MEAN = 256;
    const double each = (double)stats->nnz / RESIDENT_GROUPS * (N / 64 > 1 ? N / 64 : 1);
    return stats->mean >= SERIAL_256_FROM_MEAN && each >= 256   ? 256
           : stats->mean >= SERIAL_128_FROM_MEAN && each >= 128 ? 128
                                                                : 64;
}
