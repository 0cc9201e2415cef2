/*
 * models/sddmm_tiles.c - the time that the parts of a sampled product with tiles of Y take.
 *
 * Shared memory bounds a nonzero: a row of a slice, of 128 bytes a clock on each SM. The constants are fitted by hand
 * to ddi on an H200, K = 32 to 256, and two pruned weights (labs/32_sddmm_tiles/LOG.md): of ten products eight are
 * within a tenth. They follow this device's rates.
 */
#include "models/sddmm_tiles.h"

#include "device/facts.h"
#include "formats/column_tiles.h"
#include "models/rates.h"

#include <math.h>
#include <stdbool.h>

static const double LAUNCH = 4.2;         /* microseconds, and what begins a block */
static const double SHARED_BYTES = 160e3; /* of an SM in a microsecond: 21 TB/s of 132 SMs */
static const double FILL_BYTES = 45e3;    /* from L2 to an SM in a microsecond: 6 TB/s of 132 SMs */
static const double FILL = 1;             /* until the first of them come */
/* A row of X for a group of eight lanes, and the places that a segment does not fill, in nonzeros. */
static const double SEGMENT = 15;
static const double NARROW_BYTES = 2; /* widening 16-bit numbers takes longer than reading them */

int sddmm_tiles_row_bytes(int K, enum precision precision)
{
    const size_t bytes = precision_format(precision)->bytes * K;
    return bytes <= SHORT_SLICE_BYTES ? SHORT_SLICE_BYTES : SLICE_BYTES;
}

int sddmm_tiles_cols(int K, enum precision precision)
{
    return device_facts_get()->block_shared_bytes / sddmm_tiles_row_bytes(K, precision);
}

/* Sparser patterns, or shorter rows, use a row of a tile too seldom. */
static bool is_held(const row_stats *stats, int tile_cols)
{
    const double LEAST_DENSITY = 0.02, LEAST_MEAN = 64;
    return stats->density >= LEAST_DENSITY && stats->mean >= LEAST_MEAN &&
           !column_tiles_unsuited(stats->rows, stats->cols, stats->nnz, tile_cols);
}

double sddmm_tiles_estimate(const row_stats *stats, int K, enum precision precision)
{
    const double sms = fmax(1, device_facts_get()->sms);
    const int most = sddmm_tiles_cols(K, precision);
    if (!is_held(stats, most)) return INFINITY;
    const double row_bytes = sddmm_tiles_row_bytes(K, precision);
    const double slices = ceil(precision_format(precision)->bytes * K / row_bytes);
    const double widened = precision == PRECISION_FP32 ? 1 : NARROW_BYTES;
    const double tiles = fmax(1, ceil((double)stats->cols / most));
    const double rows_read = stats->nnz + SEGMENT * tiles * stats->rows;
    const device_rates *here = device_rates_get();
    const double work = rows_read * row_bytes * widened / (SHARED_BYTES * here->clock) / sms;
    const double fill_bytes = FILL_BYTES * here->l2 / here->sms;
    const double fill = FILL / here->clock + stats->cols / tiles * row_bytes / fill_bytes;
    return LAUNCH + slices * (fill + work);
}
