/*
 * fragments_model.cu - which panels, how wide, and how many blocks share one, from the time that a chunk of each
 * takes on an H200.
 *
 * Every SM works on blocks that go from chunk to chunk; what it takes for a chunk hardly depends on
 * how many of its elements are zero. Blocks come in waves, of two for each SM; in a last wave of no
 * more than one for each SM they go faster. All is fitted to pruned weights: in fp32 within an eighth of
 * what was measured on RNN problems; in 16 bits too at 90 % zeros, but at 70 % that is up to 1.5 times as long
 * (fragments.md).
 */
#include "fragments.h"

#include <cuda_fp16.h>
#include <math.h>

/* Microseconds an SM takes for a chunk of one block, and for one of each of two blocks. */
typedef struct chunk_time {
    double alone, both;
} chunk_time;

static const struct {
    int panel_rows, width;
    chunk_time fp32, half;
} SHAPES[] = {
    {16, 32, {0.72, 1.2}, {0.81, 1.87}},  {32, 32, {1.05, 1.63}, {0.83, 1.92}},
    {64, 32, {1.58, 2.45}, {1.24, 2.06}}, {128, 32, {2.7, 4.7}, {1.94, 2.79}},
    {64, 64, {2.65, 4.45}, {1.69, 2.71}}, {128, 64, {4.6, 8.6}, {2.74, 5.05}},
};

constexpr int SMS = 132, MAX_SPLITS = 8;
constexpr double LAUNCH = 5.8; /* microseconds, and what begins and ends a block */
constexpr double JOIN = 1.6; /* of blocks that share a panel: two fences, the counter, the loads */
constexpr double BYTE = 1 / 2e6; /* of partial sums, to L2 and back */

double fragments_choose(const row_stats *stats, int N, enum precision precision,
                        fragment_shape *shape)
{
    const bool is_fp32 = precision == PRECISION_FP32;
    const int chunk = is_fp32 ? CHUNK<float> : CHUNK<__half>;
    double least = INFINITY;
    for (const auto &s : SHAPES) {
        const chunk_time &of_chunk = is_fp32 ? s.fp32 : s.half;
        const double used = stats->cols * (1 - pow(1 - stats->density, s.panel_rows));
        const double chunks = ceil(used / chunk);
        const double panels = ceil((double)stats->rows / s.panel_rows) * ceil((double)N / s.width);
        const double bytes = 2.0 * sizeof(float) * s.panel_rows * s.width * panels;
        for (int splits = 1; splits <= fmax(1, fmin(chunks, MAX_SPLITS)); splits *= 2) {
            const double blocks = panels * splits;
            const double waves = floor(blocks / (2 * SMS)), rest = blocks - waves * 2 * SMS;
            const double last = rest > SMS ? of_chunk.both : rest > 0 ? of_chunk.alone : 0;
            const double join = splits > 1 ? JOIN + splits * bytes * BYTE : 0;
            const double time =
                LAUNCH + join + ceil(chunks / splits) * (waves * of_chunk.both + last);
            if (time >= least) continue;
            least = time;
            *shape = fragment_shape{.panel_rows = s.panel_rows, .width = s.width, .splits = splits};
        }
    }
    return least;
}
