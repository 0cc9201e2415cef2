/*
 * fragments_model.cu - which panels, how wide, and how many blocks share one, from the time that a chunk of each
 * takes on an H200.
 *
 * Every SM works on blocks that go from chunk to chunk; what it takes for a chunk hardly depends on
 * how many of its elements are zero. Blocks come in waves, of two for each SM; in a last wave of no
 * more than one for each SM they go faster. The times in fp32 are fitted to the 72 RNN problems and are
 * within a tenth of what was measured there (fragments.md); those in 16 bits are predicted
 * (fragments.md, "In 16 bits").
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
    {16, 32, {0.72, 1.2}, {0.57, 0.93}},  {32, 32, {1.05, 1.63}, {0.68, 1.14}},
    {64, 32, {1.58, 2.45}, {0.91, 1.57}}, {128, 32, {2.7, 4.7}, {1.36, 2.43}},
    {64, 64, {2.65, 4.45}, {1.36, 2.43}}, {128, 64, {4.6, 8.6}, {2.26, 4.15}},
};

constexpr int SMS = 132, MAX_SPLITS = 8;
constexpr double LAUNCH = 4.5; /* microseconds, and what begins and ends a block */
/* What blocks that share a panel take to come together is reckoned, not measured (fragments.md). */
constexpr double JOIN = 1.5;       /* two fences, the counter, the loads: one after the other */
constexpr double BYTE = 1 / 4.3e6; /* of partial sums, to L2 and back */

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
