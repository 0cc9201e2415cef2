#include "models/sddmm_balanced.h"

#include "device/facts.h"
#include "models/gather_rate.h"

#include <math.h>

static const double LAUNCH = 4.2; /* microseconds: an empty one, of make limits */

/* Segments: parts of a row in a block. A row's nonzeros are taken to be anywhere, so that a block lacks
 * one of them with probability 1 - 1 / blocks. */
static double segments_of(const row_stats *stats, int blocks)
{
    const double rows = fmax(1, (double)(stats->rows - stats->empty_rows));
    const double missed = pow(1 - 1.0 / blocks, stats->nnz / rows);
    return blocks > 1 ? blocks * rows * (1 - missed) : rows;
}

/* Microseconds that the multiprocessors take to issue the instructions: for 8 nonzeros of a lane group
 * 100, and 12 for each of the 8 that load and multiply 16 bytes. Counted in the machine code. */
static double issue_time(const row_stats *stats, double row_bytes)
{
    const double PER_US = 4 * 1755; /* four schedulers of an SM, 1.755 GHz */
    const double vectors = ceil(row_bytes / 16), lanes = fmin(32, fmax(4, vectors));
    const double instructions = 100 / 8. + 12 * fmax(1, vectors / lanes);
    const double warps = stats->nnz * lanes / 32;
    return warps * instructions / (PER_US * fmax(1, device_facts_get()->sms));
}

double sddmm_balanced_time(const row_stats *stats, int K, enum precision precision, int blocks)
{
    const double element = (double)precision_format(precision)->bytes, row = K * element;
    const double nnz = (double)stats->nnz, segments = segments_of(stats, blocks);
    /* A row of Y for each nonzero, from a block of them; a row of X for each segment, in order. */
    const double gathered = nnz * row / gather_rate(row, (double)stats->cols * row / blocks) +
                            segments * row / gather_rate(row, (double)stats->rows * row);
    /* Columns and marks, the result, and of each segment row and offset. */
    const double read = nnz * (4.25 + element) + segments * (blocks > 1 ? 8 : 4);
    return LAUNCH + fmax(gathered + read / gather_rate(LINE_BYTES, read), issue_time(stats, row));
}

int sddmm_balanced_blocks(const row_stats *stats, int K, enum precision precision,
                          const int *values, int count)
{
    int best = values[0];
    for (int i = 1; i < count; i++)
        if (sddmm_balanced_time(stats, K, precision, values[i]) <
            sddmm_balanced_time(stats, K, precision, best))
            best = values[i];
    return best;
}
