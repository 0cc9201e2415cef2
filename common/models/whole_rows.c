#include "models/whole_rows.h"

#include "device/facts.h"
#include "models/rates.h"

#include <math.h>

/* Microseconds for a nonzero of a row that nobody else waits for: it grows with the columns of B
 * that a lane takes, a step for each doubling of them. */
static const double ROMA_STEP = 0.022, SUBWARP_STEP = 0.028, DOUBLING = 0.0125;

double gather_estimate(const row_stats *stats, int N, double longest, double rate)
{
    const double LAUNCH = 4.2;
    const double ROW = 4; /* to begin a row and to store its sums, in nonzeros */
    const double all = 2.0 * N * (stats->nnz + ROW * stats->rows) / rate;
    longest /= device_rates_get()->clock;
    return LAUNCH + cbrt(longest * longest * longest + all * all * all);
}

int roma_resident_rows(void)
{
    /* The kernel's registers leave room for half the warps that an SM may have. */
    const device_facts *device = device_facts_get();
    return device->sms * device->sm_warps / 2;
}

/* Flops a microsecond of lab 6. Warps at the same slice of B find in L1 what others have fetched;
 * warps at several slices push it out, down to what L2 delivers. */
static double roma_rate(const row_stats *stats, int N)
{
    const double WARP_COLUMNS = 256, MOST = 10e6, LEAST = 4.5e6;
    const double DOUBLED = 1e6; /* lost when twice as many rows of B are in use */
    const double IN_L1 = 512;   /* rows of B that cost nothing */
    const device_rates *here = device_rates_get();
    if (N < 64) return 6.3e6 * here->l2;
    const double l1 = here->sms * here->clock, held = IN_L1 * here->l1_bytes;
    const double slices =
        fmin(ceil(N / WARP_COLUMNS), (double)roma_resident_rows() / fmax(1, stats->rows));
    const double in_use = slices * stats->cols;
    if (slices <= 1 || in_use <= held) return MOST * l1;
    return fmax(LEAST * here->l2, (MOST - DOUBLED * log2(in_use / held)) * l1);
}

bool rows_are_alike(const row_stats *stats)
{
    return stats->cov < 0.5;
}

bool rows_are_dense(const row_stats *stats)
{
    return stats->density >= (rows_are_alike(stats) ? 0.02 : 0.05);
}

double roma_estimate(const row_stats *stats, int N)
{
    if (!rows_are_dense(stats)) return INFINITY;
    const double columns = fmin(8, fmax(1, N / 32.0)); /* of a lane */
    const double step = ROMA_STEP + DOUBLING * log2(columns);
    return gather_estimate(stats, N, step * stats->max, roma_rate(stats, N));
}

double subwarp_estimate(const row_stats *stats, int N)
{
    /* A narrow product is not modelled: with this many rows subwarps were ahead in 17 of 21
     * measured ones, on the multiprocessors of an H200. */
    const device_rates *here = device_rates_get();
    const double MANY_ROWS = 6144 * here->sms;
    if (!rows_are_dense(stats)) return INFINITY;
    if (N < 64) return stats->rows >= MANY_ROWS ? roma_estimate(stats, N) : INFINITY;
    /* Lab 7 gives a lane fewer columns where there are fewer warps than six an SM. */
    const double RATE = 6.5e6, WARPS_OF_SM = 6;
    const double wanted = 32 * WARPS_OF_SM * fmax(1, device_facts_get()->sms);
    const double columns = fmin(8, fmax(1, (double)stats->rows * N / wanted));
    const double step = SUBWARP_STEP + DOUBLING * floor(log2(columns));
    return gather_estimate(stats, N, step * stats->max, RATE * here->l2);
}

double swizzled_estimate(const row_stats *stats, int N)
{
    const double DIFFER_FROM_COV = 0.1;
    const bool all_at_once = stats->rows <= roma_resident_rows();
    const double warps = roma_estimate(stats, N);
    /* A narrow product is not modelled: all that was measured takes its rows as they come. */
    if (N < 64 || stats->cov < DIFFER_FROM_COV || all_at_once) return INFINITY;
    return subwarp_estimate(stats, N) <= warps ? INFINITY : warps;
}

double mixed_estimate(const row_stats *stats, int N)
{
    /* Fitted to 133 products on an H200, pruned weights and matrices of the half that rules are fitted to: the root of
     * the mean square of what is missed is a fifth. A row that is not cut is a chain, and the longest decides. */
    const double LAUNCH = 5.5, RATE = 9.7e6, NONZERO = 0.04;
    const device_rates *here = device_rates_get();
    const double split = mixed_split(stats), shortest = stats->mean * (1 - 2 * stats->cov);
    const double chain = shortest < split ? fmin(stats->max, split) : 0;
    return LAUNCH + NONZERO * chain / here->clock + 2.0 * stats->nnz * N / (RATE * here->l2);
}

int mixed_split(const row_stats *stats)
{
    return stats->mean > 32 ? 128 : 64;
}
