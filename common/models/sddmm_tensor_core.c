/*
 * models/sddmm_tensor_core.c - the time that dense tiles of X Y^T take, and the storing of what is wanted.
 *
 * Every tile costs the same, whatever is stored in it: its products, or the bytes of its rows of X and Y if they
 * take longer to come. Blocks stay on their SM, so that tiles come in waves. Constants are fitted by hand to sweeps of
 * ddi and of weights of 8192 x 2048 with 50 and 98 % zeros on an H200 (labs/33_sddmm_tensor_core/LOG.md). They follow
 * this device's rates.
 */
#include "models/sddmm_tensor_core.h"

#include "device/facts.h"
#include "formats/tile_lists.h"
#include "models/rates.h"

#include <math.h>
#include <stdbool.h>

static const double LAUNCH = 4.2;        /* microseconds */
static const double FP32_FLOPS = 0.45e6; /* of an SM in a microsecond, three products each */
static const double FP32_TOGETHER_FLOPS = 0.72e6; /* the same by warpgroups */
static const double HALF_FLOPS = 2.7e6;
static const double L2_BYTES = 68e3; /* to an SM in a microsecond: 9 TB/s of 132 SMs */
static const double PICK = 70e-6;    /* microseconds of an SM to lay out a sum: 1.1 for 128 x 128 */
static const double RESULT_BYTES = 3.1e6; /* codes and results, in a microsecond */
static const double ALONE = 1.5; /* times longer: a tile whose SM has no other to go on with */

/* Shapes, the one for most problems first, and blocks of an SM that their registers and shared memory leave room
 * for. */
static const struct {
    sddmm_tensor_core_shape shape;
    int resident;
} SHAPES[] = {
    {{128, false}, 2},
    {{64, false}, 3},
    {{128, true}, 2},
};
enum { NUM_SHAPES = sizeof SHAPES / sizeof *SHAPES };

/* In sparser patterns a gather takes less time, whatever K is, and tiles may be empty, which row statistics do
 * not tell. */
static bool is_held(const row_stats *stats)
{
    const double LEAST_DENSITY = 0.01;
    return stats->density >= LEAST_DENSITY && !tile_lists_unsuited(stats->rows, stats->cols) &&
           device_facts_get()->compute_capability >= 80;
}

static bool may_go_together(int K, enum precision precision)
{
    return precision == PRECISION_FP32 && K % 4 == 0 &&
           device_facts_get()->compute_capability == WARPGROUP_CAPABILITY;
}

double sddmm_tensor_core_estimate(const row_stats *stats, int K, enum precision precision,
                                  sddmm_tensor_core_shape *shape)
{
    const double e = precision_format(precision)->bytes;
    const double features = ceil(K * e / 128) * 128 / e; /* whole steps */
    const double sms = device_facts_get()->sms, across = ceil(stats->cols / (double)TILE_COLS);
    const device_rates *here = device_rates_get();
    const double l2_bytes = L2_BYTES * here->l2 / here->sms, pick = PICK / here->clock;
    double least = INFINITY;
    *shape = SHAPES[0].shape;
    for (int i = 0; i < NUM_SHAPES; i++) {
        const bool together = SHAPES[i].shape.by_warpgroup;
        if (together && !may_go_together(K, precision)) continue;
        const double flops = precision != PRECISION_FP32 ? HALF_FLOPS
                             : together                  ? FP32_TOGETHER_FLOPS
                                                         : FP32_FLOPS;
        const double rows = SHAPES[i].shape.tile_rows, resident = SHAPES[i].resident;
        const double tiles = ceil(stats->rows / rows) * across;
        const double of_tile = fmax(2 * rows * TILE_COLS * features / (flops * here->tensor),
                                    (rows + TILE_COLS) * features * e / l2_bytes);
        /* The last wave may leave an SM fewer blocks, which then go faster. */
        const double waves = floor(tiles / (sms * resident)), rest = tiles - waves * sms * resident;
        const double last = rest > 0 ? fmax(ALONE, ceil(rest / fmax(1, sms))) : 0;
        const double of_sm = waves * resident + last;
        const double time = LAUNCH + of_sm * (of_tile + rows * TILE_COLS * pick) +
                            (2 + e) * stats->nnz / (RESULT_BYTES * here->memory);
        if (!(time < least)) continue;
        least = time;
        *shape = SHAPES[i].shape;
    }
    return is_held(stats) ? least : INFINITY;
}
