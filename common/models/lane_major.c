#include "models/lane_major.h"

#include "device/facts.h"

#include <math.h>

/* Returns `least` or more ways, until no chain of a tensor core is too long. It cuts each sum
 * towards zero. So L products of a row of n are off by L sqrt(L) in the mean, and n / L chains by L
 * sqrt(n). Of the bound, which grows with n, that is L / sqrt(n). An H200 was within the bound at
 * 61, and beyond it at 70 (lab 20's LOG.md). A chain is cut by ways, or where one block ends and
 * the next begins. */
static int ways_for(const row_stats *stats, int blocks, int least)
{
    const double MOST = 61, longest = fmax((double)stats->max, 1);
    const double groups = ceil((double)stats->rows / (SLOTS * STRIP_ROWS));
    int ways = least;
    while (ways < MOST_WAYS && longest * fmin(1.0 / ways, groups / blocks) > MOST * sqrt(longest))
        ways *= 2;
    return ways;
}

/* Long steps have less to begin and end, but where a block has few they come too late. Two slots for a strip
 * halve the blocks that share it, and the sums that a block leaves, but B is fetched twice as often. Whole
 * words pad the values by an eighth at 50 %: they pay where decoding takes longer than memory. */
lane_major_shape lane_major_choose(const row_stats *stats, int N)
{
    const int sms = device_facts_get()->sms, share = SLOTS * STRIP_ROWS * QUAD_COLUMNS * sms;
    const double quads = (double)stats->rows * (double)stats->cols / share; /* of a block */
    const bool few = quads<50, short_steps = N> 16 || quads < 20;
    const bool long_steps = quads >= 90 && stats->density <= 0.55;
    const int blocks = sms < MOST_BLOCKS ? sms : MOST_BLOCKS;
    const int least = few && stats->cols >= 16 * QUAD_COLUMNS ? 2 : 1;
    return (lane_major_shape){.step = few && short_steps ? 2
                                      : long_steps       ? 4
                                                         : 3,
                              .blocks = blocks,
                              .ways = ways_for(stats, blocks, least),
                              .even = stats->density < (N > 16 ? 0.45 : 0.38)};
}
