#include "models/sddmm_balanced.h"

#include "device/facts.h"
#include "models/gather_rate.h"

#include <math.h>

/* Segments: a row's nonzeros in a block. They are taken to be anywhere, so that one of them is in another
 * block with probability 1 - 1 / blocks. Rows are as long as the quantiles that stand for them. */
static double segments_of(const row_stats *stats, int blocks)
{
    static const double SHARE[ROW_QUANTILES] = {.055, .12, .2, .25, .2, .12, .055};
    double of_row = 0;
    if (blocks == 1) return (double)(stats->rows - stats->empty_rows);
    for (int q = 0; q < ROW_QUANTILES; q++) {
        const double without = pow(1 - 1.0 / blocks, (double)stats->quantile[q]);
        of_row += SHARE[q] * blocks * (1 - without);
    }
    return of_row * stats->rows;
}

/* Microseconds that the multiprocessors take to issue the instructions: of a group for a nonzero 16, and 17 for each
 * load of a lane; 40 more for each where the rows of X are loaded, too. A warp does that for all nonzeros it has on
 * their way if one of them begins a segment. */
static double issue_time(const row_stats *stats, const sddmm_balanced_shape *shape, double segments)
{
    /* Four schedulers of an SM; an H200 was at 1.755 GHz. */
    const double PER_US = 4 * 1755 * device_rates_get()->clock;
    const double LOADS = 8; /* of a lane, on their way */
    const double warps = (double)stats->nnz * shape->lanes / 32;
    const double together = 32. / shape->lanes * LOADS / shape->pieces; /* nonzeros */
    const double begins = fmin(1, segments / fmax(1, (double)stats->nnz));
    const double fresh = 1 - pow(1 - begins, together);
    const double instructions = 16 + (17 + 40 * fresh) * shape->pieces;
    return warps * instructions / (PER_US * fmax(1, device_facts_get()->sms));
}

/* Microseconds for one of `rows` rows of Y, of `row` bytes. The share that L1 does not save grows with the
 * span, from two thirds where all of it is there. */
static double fetch_time(double row, double rows)
{
    const double LEAST = 0.66, DOUBLING = 0.06, IN_L1 = l1_like(136e3);
    const double span = fmax(rows * row, IN_L1);
    const double missed = fmin(1, LEAST + DOUBLING * log2(span / IN_L1));
    return missed * row / gather_rate(row, span);
}

double sddmm_balanced_time(const row_stats *stats, const sddmm_balanced_shape *shape, int blocks)
{
    const double LAUNCH = 4.2;
    const double SEGMENT = 28e-6; /* beside its row of X: its number, row, and part of a sector */
    const double row = shape->row_bytes, nnz = (double)stats->nnz;
    const double segments = segments_of(stats, blocks);
    /* A row of Y for each nonzero, from a block of them; a row of X for each segment. */
    const double of_Y = nnz * fetch_time(row, (double)stats->cols / blocks);
    const double of_X =
        segments * (row / gather_rate(row, row * stats->rows) + SEGMENT / device_rates_get()->l2);
    /* Columns and marks, and the result. */
    const double streamed = nnz * (4.25 + shape->element);
    const double gathered = of_Y + of_X + streamed / gather_rate(LINE_BYTES, streamed);
    return LAUNCH + fmax(gathered, issue_time(stats, shape, segments));
}

int sddmm_balanced_blocks(const row_stats *stats, const sddmm_balanced_shape *shape,
                          const int *values, int count)
{
    /* In a graph with short rows the popular columns, which no statistics tell of, may be in the caches
     * whatever the blocks are: they must promise more. */
    const double LONG = 32, AT_MOST = stats->mean >= LONG ? 1 : 5. / 6;
    int best = values[0];
    double least = AT_MOST * sddmm_balanced_time(stats, shape, best);
    for (int i = 1; i < count; i++) {
        const double time = sddmm_balanced_time(stats, shape, values[i]);
        if (time < least) best = values[i], least = time;
    }
    return best;
}
