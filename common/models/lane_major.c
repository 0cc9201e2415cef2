#include "models/lane_major.h"

#include "device/facts.h"

/* Long steps have less to begin and end, but where a block has few they come too late. Two slots for a strip
 * halve the blocks that share it, and the sums that a block leaves, but B is fetched twice as often. Whole
 * words pad the values by an eighth at 50 %: they pay where decoding takes longer than memory. */
lane_major_shape lane_major_choose(const row_stats *stats, int N)
{
    const int sms = device_facts_get()->sms, share = SLOTS * STRIP_ROWS * QUAD_COLUMNS * sms;
    const double quads = (double)stats->rows * (double)stats->cols / share; /* of a block */
    const bool few = quads<50, short_steps = N> 16 || quads < 20;
    const bool long_steps = quads >= 90 && stats->density <= 0.55;
    return (lane_major_shape){.step = few && short_steps ? 2
                                      : long_steps       ? 4
                                                         : 3,
                              .blocks = sms < MOST_BLOCKS ? sms : MOST_BLOCKS,
                              .ways = few && stats->cols >= 16 * QUAD_COLUMNS ? 2 : 1,
                              .even = stats->density < (N > 16 ? 0.45 : 0.38)};
}
