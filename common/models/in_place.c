#include "models/in_place.h"

#include <math.h>

const char *const IN_PLACE[NUM_IN_PLACE] = {"split_rows", "roma", "subwarp", "row_swizzle"};

int in_place_fastest(const row_stats *stats, int N)
{
    int best = 0;
    double least = INFINITY;
    for (int i = 0; i < NUM_IN_PLACE; i++) {
        const spmm_contender *c = spmm_find(IN_PLACE[i], PRECISION_FP32);
        const double time = c && c->estimate ? c->estimate(stats, N) : INFINITY;
        if (time < least) {
            least = time;
            best = i;
        }
    }
    return best;
}
