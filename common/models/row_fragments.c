/*
 * models/row_fragments.c - the time that a chunk of each panel takes, and what begins, ends and joins blocks.
 *
 * Every SM works on blocks that go from chunk to chunk; the time of a chunk hardly depends on how many
 * of its elements are zero. It follows this device's clock (rates.h). Blocks come in waves, of two for each SM; in a last
 * wave of no more than one for each SM they go faster. All is fitted to pruned weights on an H200:
 * in fp32 to sweeps of seven matrices. In 16 bits it is within a fifth of the times of three
 * quarters of the RNN problems. It is too low where A is larger than L2
 * (labs/21_row_fragments/LOG.md).
 */
#include "models/row_fragments.h"

#include "device/facts.h"
#include "models/rates.h"
#include "models/whole_rows.h"

#include <math.h>
#include <stdbool.h>

/* Microseconds an SM takes for a chunk of one block, and for one of each of two blocks. */
typedef struct chunk_time {
    double alone, both;
} chunk_time;

static const struct {
    int panel_rows, width;
    chunk_time fp32, half;
} SHAPES[] = {
    {16, 32, {0.85, 1.46}, {0.81, 1.87}}, {32, 32, {1.11, 1.86}, {0.83, 1.92}},
    {64, 32, {1.71, 2.69}, {1.24, 2.06}}, {128, 32, {2.97, 4.98}, {1.94, 2.79}},
    {64, 64, {3.18, 5.7}, {1.69, 2.71}},  {128, 64, {5.89, 11.01}, {2.74, 5.05}},
};

enum { MAX_SPLITS = 8, NUM_SHAPES = sizeof SHAPES / sizeof *SHAPES };
static const double LAUNCH = 5.8; /* microseconds, and what begins and ends a block */
static const double JOIN =
    1.6; /* of blocks that share a panel: two fences, the counter, the loads */
static const double BYTE = 1 / 2e6; /* of partial sums, to L2 and back */

/* Tensor cores multiply the zeros between nonzeros as well: rows must be full. A panel's longest row decides
 * about its time, and of few rows that differ there are not enough to even that out. */
static bool is_held(const row_stats *stats, int N, enum precision precision)
{
    const double LEAST_DENSITY = 0.02, LEAST_MEAN = 64, LEAST_DENSITY_16 = 0.01, MOST_COV_16 = 2;
    const int64_t FEW_ROWS = 2048;
    const bool even_out = rows_are_alike(stats) || stats->rows >= FEW_ROWS;
    const bool in_fp32 = stats->density >= LEAST_DENSITY && stats->mean >= LEAST_MEAN &&
                         rows_are_dense(stats) && even_out;
    const bool in_16 = stats->density >= LEAST_DENSITY_16 && stats->cov <= MOST_COV_16;
    return (precision == PRECISION_FP32 ? in_fp32 : in_16) &&
           !row_fragments_unsuited(stats->rows, stats->cols, N, precision);
}

double row_fragments_estimate(const row_stats *stats, int N, enum precision precision,
                              row_fragments_shape *shape)
{
    const bool is_fp32 = precision == PRECISION_FP32;
    const int chunk = is_fp32 ? CHUNK_WORDS : 2 * CHUNK_WORDS; /* columns */
    const double sms = device_facts_get()->sms;
    const device_rates *here = device_rates_get();
    double least = INFINITY;
    *shape = (row_fragments_shape){.panel_rows = 16, .width = 32, .splits = 1};
    for (int i = 0; i < NUM_SHAPES; i++) {
        const int panel_rows = SHAPES[i].panel_rows, width = SHAPES[i].width;
        const chunk_time of_chunk = is_fp32 ? SHAPES[i].fp32 : SHAPES[i].half;
        const double used = stats->cols * (1 - pow(1 - stats->density, panel_rows));
        const double chunks = ceil(used / chunk);
        const double panels = ceil((double)stats->rows / panel_rows) * ceil((double)N / width);
        const double bytes = 2.0 * sizeof(float) * panel_rows * width * panels;
        for (int splits = 1; splits <= fmax(1, fmin(chunks, MAX_SPLITS)); splits *= 2) {
            const double blocks = panels * splits;
            const double waves = floor(blocks / (2 * sms)), rest = blocks - waves * 2 * sms;
            const double last = rest > sms ? of_chunk.both : rest > 0 ? of_chunk.alone : 0;
            const double join =
                splits > 1 ? JOIN / here->clock + splits * bytes * (BYTE / here->l2) : 0;
            const double chunk_us = (waves * of_chunk.both + last) / here->clock;
            const double time = LAUNCH + join + ceil(chunks / splits) * chunk_us;
            if (time >= least) continue;
            least = time;
            *shape = (row_fragments_shape){panel_rows, width, splits};
        }
    }
    return is_held(stats, N, precision) ? least : INFINITY;
}
