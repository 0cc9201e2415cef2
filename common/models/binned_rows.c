#include "models/binned_rows.h"

#include "device/facts.h"
#include "formats/binned_settings.h"
#include "models/rates.h"
#include "models/whole_rows.h"

#include <math.h>

double length_bins_estimate(const row_stats *stats, int N)
{
    /* A group walks no more than SERIAL nonzeros; chunks of longer rows come together in L2. Fitted
     * to pruned weights of 64 to 8192 rows at N = 128 to 2048, 54 of 59 within 15 %, and to ddi at
     * N = 32. It is too high for tens of thousands of short rows, by up to 1.75. */
    const double SERIAL = 64, STEP = 0.065, JOIN = 2, LONG_FROM = 4 * SERIAL;
    /* A slice has 32 columns, however few C has: ddi takes 32.3 us at N = 16, 33.2 at 32. */
    if (N < 32) N = 32;
    const device_rates *here = device_rates_get();
    const double rate = (N < 64 ? 5.4e6 : 6.2e6) * here->l2;
    const double time = gather_estimate(stats, N, STEP * fmin(stats->max, SERIAL), rate);
    return time + (stats->max > LONG_FROM ? JOIN / here->clock : 0);
}

bool rows_are_long(const row_stats *stats)
{
    return stats->mean >= 32;
}

/* Nonzeros that a group walks alone: many for few sums to combine, but fewer where there is not
 * enough work for all groups, for balance. */
static int serial_of_wide_slices(const row_stats *stats, int N)
{
    const double SERIAL_128_FROM_MEAN = 32, SERIAL_256_FROM_MEAN = 256;
    /* Groups of 8 lanes that the device holds: five eighths of its warps, four groups each. */
    const device_facts *device = device_facts_get();
    const double groups = (double)device->sms * (device->sm_warps * 5 / 8) * 4;
    const double each = (double)stats->nnz / groups * (N / 64 > 1 ? N / 64 : 1);
    return stats->mean >= SERIAL_256_FROM_MEAN && each >= 256   ? 256
           : stats->mean >= SERIAL_128_FROM_MEAN && each >= 128 ? 128
                                                                : 64;
}

static int serial_for(const row_stats *stats, int N, int width)
{
    /* Groups of 4 lanes that the device holds: half its warps, eight groups each. */
    const device_facts *device = device_facts_get();
    const double narrow_groups = (double)device->sms * (device->sm_warps / 2) * 8;
    const int serial = serial_of_wide_slices(stats, N);
    /* A longer row is shared by the groups of a warp, eight in narrow slices and four in others. It
     * must be twice as long for each group to have as much, if there is work for all groups. */
    const bool doubled = width == 16 && stats->nnz >= 128 * narrow_groups;
    return doubled && serial < 256 ? 2 * serial : serial;
}

void binned_rows_choose(const row_stats *stats, int N, int *tuning)
{
    const bool long_rows = rows_are_long(stats);
    const int width = slice_width(N, N <= 16 ? 16 : 64);
    tuning[TUNE_WIDTH] = width;
    tuning[TUNE_SERIAL] = serial_for(stats, N, width);
    /* Packs save short rows a load to wait for, but pad them with holes. */
    tuning[TUNE_PACK] = long_rows ? 0 : 16;
    /* Rows in windows of 4096 run at about the same time, and share columns. In column blocks of
     * long rows it is better to sort all, by up to 17 % (reddit), and in narrow slices, by 8
     * (arxiv; yelp loses 3). */
    tuning[TUNE_WINDOW] = stats->mean >= 64 || width == 16 ? 0 : 4096;
    /* Neighbours that share a row of B find it in L1, which pays where that is wide. */
    tuning[TUNE_ORDER] = !long_rows && width == 64 ? BY_LAST_COLUMN : AS_THEY_COME;
}
