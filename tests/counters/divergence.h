/*
 * divergence.h - what divergence.cu and branches.cu share: the data that lanes decide by.
 */
#ifndef TESTS_COUNTERS_DIVERGENCE_H
#define TESTS_COUNTERS_DIVERGENCE_H

#include "tests/counters/expect.h"

const int ROUNDS = 16, MOST = 24; /* trips are 0 .. MOST - 1 */
const int TRIPS = ROUNDS * 32, VALUES = 64 * 32;
extern int trip[TRIPS];     /* small numbers, different for each lane */
extern float value[VALUES]; /* one in 20 is negative */

/* Lane l wants element `base` + l. */
inline auto row(int base)
{
    return [=](int lane) { return base + lane; };
}

/* The lanes that go round an i-th time, if lane l goes round n[l] times. */
inline uint32_t still_going(int i, const int *n)
{
    return lanes_where([=](int lane) { return i < n[lane]; });
}

/* With copies of both arrays on the device, and room for VALUES results. */
void branches(const int *t, const float *x, float *y);

#endif
