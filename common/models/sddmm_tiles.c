/*
 * models/sddmm_tiles.c - the time that the parts of a sampled product with tiles of Y take.
 *
 * Shared memory bounds a nonzero: a row of a slice, of 128 bytes a clock on each SM. The constants are derived from
 * limits measured on an H200 with other kernels (gathers from L2; 29 TB/s from shared memory); no time of this
 * kernel is in them yet, they are not fitted.
 */
#include "models/sddmm_tiles.h"

#include "device/facts.h"
#include "formats/column_tiles.h"

#include <math.h>
#include <stdbool.h>

static const double LAUNCH = 4.2;         /* microseconds, and what begins a block */
static const double SHARED_BYTES = 220e3; /* of an SM in a microsecond: 29 TB/s of 132 SMs */
static const double FILL_BYTES = 68e3;    /* from L2 to an SM in a microsecond: 9 TB/s of 132 SMs */
static const double FILL = 1;             /* until the first of them come */
/* A row of X for a group of eight lanes, and the places that a segment does not fill, in nonzeros. */
static const double SEGMENT = 15;
static const double NARROW_BYTES = 1.6; /* widening 16-bit numbers takes longer than reading them */

int sddmm_tiles_row_bytes(int K, enum precision precision)
{
    const size_t bytes = precision_format(precision)->bytes * K;
    return bytes <= SHORT_SLICE_BYTES ? SHORT_SLICE_BYTES : SLICE_BYTES;
}

int sddmm_tiles_cols(int K, enum precision precision, int buffers)
{
    return device_facts_get()->block_shared_bytes / buffers / sddmm_tiles_row_bytes(K, precision);
}

/* Sparser patterns, or shorter rows, use a row of a tile too seldom. */
static bool is_held(const row_stats *stats)
{
    const double LEAST_DENSITY = 0.02, LEAST_MEAN = 64;
    return stats->density >= LEAST_DENSITY && stats->mean >= LEAST_MEAN;
}

double sddmm_tiles_estimate(const row_stats *stats, int K, enum precision precision,
                            sddmm_tiles_shape *shape)
{
    const double sms = fmax(1, device_facts_get()->sms);
    const double row_bytes = sddmm_tiles_row_bytes(K, precision);
    const double slices = ceil(precision_format(precision)->bytes * K / row_bytes);
    const double widened = precision == PRECISION_FP32 ? 1 : NARROW_BYTES;
    double least = INFINITY;
    *shape = (sddmm_tiles_shape){.threads = 768, .buffers = 1};
    for (int buffers = 1; buffers <= 2 && buffers <= slices; buffers++) {
        const int most = sddmm_tiles_cols(K, precision, buffers);
        if (column_tiles_unsuited(stats->rows, stats->cols, stats->nnz, most)) continue;
        const double tiles = fmax(1, ceil((double)stats->cols / most));
        const double groups = shape->threads / 8 * sms;
        const double rows_read = stats->nnz + SEGMENT * (tiles * stats->rows + groups);
        const double work = rows_read * row_bytes * widened / SHARED_BYTES / sms;
        const double fill = FILL + stats->cols / tiles * row_bytes / FILL_BYTES;
        const double time =
            LAUNCH + (buffers == 1 ? slices * (fill + work) : fill + slices * fmax(fill, work));
        if (time >= least) continue;
        least = time;
        shape->buffers = buffers;
    }
    return is_held(stats) ? least : INFINITY;
}
