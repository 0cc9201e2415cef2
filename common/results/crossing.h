/*
 * crossing.h - up to which density a sparse product is faster than a dense one, which takes one time at all of them.
 */
#ifndef RESULTS_CROSSING_H
#define RESULTS_CROSSING_H

#include <math.h>

typedef struct timed_density {
    double density, ms;
} timed_density;

/* The density at which a time that grows with it reaches dense_ms: between two neighbours of `point`, which ascend by
 * density, a straight line through their logarithms. 0: dense is faster at all of them; INFINITY: at none; NAN: nothing
 * was measured. */
static inline double crossing_density(const timed_density *point, int count, double dense_ms)
{
    if (count == 0 || isnan(dense_ms) || isnan(point[0].ms)) return NAN;
    if (point[0].ms > dense_ms) return 0;
    for (int i = 1; i < count; i++) {
        const timed_density a = point[i - 1], b = point[i];
        if (isnan(b.ms)) return NAN;
        if (b.ms <= dense_ms) continue;
        const double share = log(dense_ms / a.ms) / log(b.ms / a.ms);
        return a.density * pow(b.density / a.density, share);
    }
    return INFINITY;
}

#endif
