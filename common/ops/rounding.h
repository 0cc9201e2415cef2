/*
 * rounding.h - how far rounding may carry a sum of products away from the exact one.
 */
#ifndef OPS_ROUNDING_H
#define OPS_ROUNDING_H

#include "ops/precision.h"

/* u of all bounds: rounding to fp32 is off by at most this share of a number. */
static const double ROUNDOFF = 0x1p-24;

#ifdef __cplusplus
extern "C" {
#endif

/* Sum that the bounds are made of: `n` products ab are added up. */
typedef struct product_sum {
    double n;
    double size;    /* sum of |ab| */
    double squares; /* sum of (ab)^2, products with the same random factor added up first */
    double largest; /* of |ab|, added up likewise */
    double result;  /* sum of ab */
} product_sum;

/* The largest error of a sum in fp32 that a correct kernel makes, in whatever order, with or without
 * fused multiply-add: the lesser of a bound that always holds and of one that holds since one factor
 * of each product is random. See rounding.c for both. */
double rounding_bound(const product_sum *s);

/* Returns the largest m, 8 at most, such that sums of products of whole numbers from -m to m are exact. Every product
 * of `factors` of them, and every partial sum of `terms` products, is exact in fp32 and finite in `precision`. 0:
 * there is none. Such a sum has one right result, whatever the order: the number nearest to it in that precision. */
int rounding_whole_limit(enum precision precision, double terms, int factors);

/* The bound of a number that is rounded once more when it is stored in that precision: `result` is exact,
 * and what is stored was off by `error` at most. */
double rounding_stored(enum precision precision, double result, double error);

#ifdef __cplusplus
}
#endif
#endif
