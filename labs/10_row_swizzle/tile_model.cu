/*
 * tile_model.cu - which tiles, from the time that the kernel's parts take on an H200.
 *
 * What a nonzero takes is bound by shared memory: 128 bytes a slice, of 128 bytes a clock on each SM.
 * The constants are fitted to 91 products, pruned weights and ddi, and within 11 % of each (tiles.md).
 */
#include "tile.h"

#include "device/warp.cuh"

#include <math.h>

constexpr int SMS = 132, MAX_WAVES = 4;
constexpr double TILE_ROWS = 227 * 1024 / TILE_ROW_BYTES; /* of B, in the one block of an SM */

/* Microseconds. */
constexpr double LAUNCH = 2;
constexpr double WAVE = 3.6;       /* a wave fills its tiles, and ends when its last warp does */
constexpr double NONZERO = 4.8e-6; /* 27 TB/s */
constexpr double JOIN = 2.5;       /* sums of a row's tiles come together, in L2 */
/* To begin and end a segment, in nonzeros: a warp of eight lanes a row ends four in the same shuffles. */
constexpr double SEGMENT_8 = 20, SEGMENT_WARP = 50;

double tile_choose(const row_stats *stats, int N, tile_shape *shape)
{
    const double slices = ceil((double)N / TILE_WIDTH), tiles = ceil(stats->cols / TILE_ROWS);
    const double segments = tiles * slices * stats->rows, blocks = tiles * slices;
    const double join = tiles > 1 ? JOIN : 0;
    double least = INFINITY;

    /* Eight lanes a row need fewer shuffles, but a block of 512 threads three segments for each. */
    shape->row_lanes = segments >= 3 * SMS * 512 / 8 ? 8 : WARP_SIZE;
    shape->threads = shape->row_lanes == 8 ? 512 : 768;
    const double segment = shape->row_lanes == 8 ? SEGMENT_8 : SEGMENT_WARP;
    const double work = NONZERO * (slices * stats->nnz + segment * segments);
    /* Whole chunks of rows may leave SMs of the last wave idle. */
    for (int waves = 1; waves <= MAX_WAVES; waves *= 2) {
        const double chunks = fmax(1, floor(waves * SMS / blocks));
        const double real_waves = fmax(waves, ceil(blocks / SMS));
        const double time = LAUNCH + real_waves * WAVE + join +
                            work * real_waves * SMS / fmin(chunks * blocks, segments);
        if (time >= least) continue;
        least = time;
        shape->waves = waves;
    }
    return least;
}
