/*
 * generate_math.h - exp and log with the same bits on every machine.
 *
 * The C library picks fused or separate multiply-adds by the processor it runs on. So the last bit
 * of its exp and log differs between machines. A generated matrix must not differ. These use only
 * the operations that IEEE 754 rounds exactly, and are accurate to a few units in the last place.
 */
#ifndef MATRIX_GENERATE_MATH_H
#define MATRIX_GENERATE_MATH_H

#include <math.h>

/* ln 2 in two parts; a multiple k of the first, |k| < 2^11, is exact. */
#define LN2_HIGH 0x1.62e42fefa0000p-1
#define LN2_LOW 0x1.cf79abc9e3b39p-40

/* e^x for |x| <= 700: x = k ln 2 + r with |r| <= ln 2 / 2, where Taylor's terms beyond r^15 / 15!
 * are below 2^-63. */
static inline double portable_exp(double x)
{
    double k = floor(x / (LN2_HIGH + LN2_LOW) + 0.5);
    double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double sum = 1;
    for (int n = 15; n >= 1; n--)
        sum = 1 + sum * r / n;
    return ldexp(sum, (int)k);
}

/* Returns ln x for x > 0. With x = m 2^e and m near 1, ln m = 2 artanh((m - 1) / (m + 1)). The
 * argument is at most 0.172, so the terms beyond the 23rd power are below 2^-63. */
static inline double portable_log(double x)
{
    int e;
    double m = frexp(x, &e);
    if (m < 0x1.6a09e667f3bcdp-1) { /* sqrt(1/2) */
        m *= 2;
        e--;
    }
    double s = (m - 1) / (m + 1), sum = 0;
    for (int n = 23; n >= 1; n -= 2)
        sum = sum * s * s + 1.0 / n;
    return e * LN2_HIGH + (e * LN2_LOW + 2 * s * sum);
}

#endif
