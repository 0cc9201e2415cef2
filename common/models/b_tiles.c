/*
 * models/b_tiles.c - the time that the parts of a product with tiles of B take.
 *
 * Shared memory bounds what a nonzero takes: 128 bytes a slice, of 128 bytes a clock on each SM. The
 * constants are fitted to 91 products on an H200, pruned weights and ddi, and within 11 % of each
 * (labs/12_b_tiles/LOG.md). They follow this device's rates.
 */
#include "models/b_tiles.h"

#include "device/facts.h"
#include "models/rates.h"
#include "models/whole_rows.h"

#include <math.h>

enum { WARP_LANES = 32, MAX_WAVES = 4 };

/* Microseconds, fitted on an H200. */
static const double LAUNCH = 2;
static const double WAVE = 3.6;       /* a wave fills its tiles, and ends when its last warp does */
static const double NONZERO = 4.8e-6; /* 27 TB/s */
static const double JOIN = 2.5;       /* sums of a row's tiles come together, in L2 */
/* Cost of the begin and end of a segment, in nonzeros: a warp of eight lanes a row ends four in the same shuffles. */
static const double SEGMENT_8 = 20, SEGMENT_WARP = 50;

/* Sparser rows, or shorter ones, use a row of a tile too seldom; the fit has none. */
static bool is_held(const row_stats *stats)
{
    const double LEAST_DENSITY = 0.02, LEAST_MEAN = 64;
    return rows_are_dense(stats) || (stats->density >= LEAST_DENSITY && stats->mean >= LEAST_MEAN);
}

double b_tiles_estimate(const row_stats *stats, int N, b_tiles_shape *shape)
{
    const device_facts *device = device_facts_get();
    const double sms = device->sms;
    const double tile_rows =
        device->block_shared_bytes / TILE_ROW_BYTES; /* a block alone on its SM */
    const double slices = ceil((double)N / TILE_WIDTH),
                 tiles = fmax(1, ceil(stats->cols / tile_rows));
    const double segments = tiles * slices * fmax(1, stats->rows), blocks = tiles * slices;
    const device_rates *here = device_rates_get();
    const double join = tiles > 1 ? JOIN / here->clock : 0;
    /* All multiprocessors fill what they have at once, from L2. */
    const double wave = WAVE * here->sms * here->l1_bytes / here->l2;
    double least = INFINITY;

    /* Eight lanes a row need fewer shuffles, but a block of 512 threads three segments for each. */
    shape->row_lanes = segments >= 3 * sms * 512 / 8 ? 8 : WARP_LANES;
    shape->threads = shape->row_lanes == 8 ? 512 : 768;
    shape->waves = 1;
    const double segment = shape->row_lanes == 8 ? SEGMENT_8 : SEGMENT_WARP;
    const double nonzero = NONZERO / (here->sms * here->clock);
    const double work = nonzero * (slices * stats->nnz + segment * segments);
    /* Whole chunks of rows may leave SMs of the last wave idle. */
    for (int waves = 1; waves <= MAX_WAVES; waves *= 2) {
        const double chunks = fmax(1, floor(waves * sms / blocks));
        const double real_waves = fmax(waves, ceil(blocks / sms));
        const double time = LAUNCH + real_waves * wave + join +
                            work * real_waves * sms / fmin(chunks * blocks, segments);
        if (time >= least) continue;
        least = time;
        shape->waves = waves;
    }
    const bool can = !b_tiles_unsuited(stats->rows, stats->cols, stats->nnz, shape->threads);
    return can && is_held(stats) ? least : INFINITY;
}
