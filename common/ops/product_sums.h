/*
 * product_sums.h - how oracles make the sums of rounding.h: one at a time, or those of neighbouring columns side by side.
 */
#ifndef OPS_PRODUCT_SUMS_H
#define OPS_PRODUCT_SUMS_H

#include "ops/operation.h"
#include "ops/rounding.h"
#include "ops/wide_vectors.h"

#include <math.h>

/* Returns the sum of n products: numbers a, `a_step` floats apart, with numbers b. */
WIDE_INLINE product_sum product_sum_dot(const float *a, int64_t a_step, const float *b,
                                        int64_t b_step, int64_t n)
{
    double result = 0, size = 0, squares = 0, largest = 0;
#pragma omp simd reduction(+ : result, size, squares) reduction(max : largest)
    for (int64_t i = 0; i < n; i++) {
        const double product = (double)a[i * a_step] * b[i * b_step], magnitude = fabs(product);
        result += product;
        size += magnitude;
        squares += product * product;
        largest = magnitude > largest ? magnitude : largest;
    }
    return (product_sum){(double)n, size, squares, largest, result};
}

/* Returns the exact sum as a reference; of whole numbers the nearest number of the precision. */
static inline double product_sum_value(const product_sum *s, const problem *p)
{
    return p->whole ? precision_round(p->precision, (float)s->result) : s->result;
}

/* Returns its bound as it is stored: 0 for whole numbers and for no products. */
static inline double product_sum_bound(const product_sum *s, const problem *p)
{
    if (p->whole || s->n == 0) return 0;
    return rounding_stored(p->precision, s->result, rounding_bound(s));
}

enum {
    SUM_COLUMNS = 64
}; /* that are summed together: their sums, 2 KB, stay in the fastest memory */

/* Sums behind neighbouring columns of a row. All 0 to begin with. */
typedef struct sum_columns {
    double result[SUM_COLUMNS], size[SUM_COLUMNS], squares[SUM_COLUMNS], largest[SUM_COLUMNS];
} sum_columns;

/* Adds the products of a value and the row b to the sums and their sizes. */
WIDE_INLINE void sum_columns_add(sum_columns *c, double value, const float *b, int columns)
{
#pragma omp simd
    for (int j = 0; j < columns; j++) {
        const double product = value * b[j];
        c->result[j] += product;
        c->size[j] += fabs(product);
    }
}

/* Adds what the products of a value, or of several of that sum, and the row b contribute to squares and largest. */
WIDE_INLINE void sum_columns_add_squares(sum_columns *c, double value, const float *b, int columns)
{
#pragma omp simd
    for (int j = 0; j < columns; j++) {
        const double product = fabs(value * b[j]);
        c->squares[j] += product * product;
        c->largest[j] = product > c->largest[j] ? product : c->largest[j]; /* fmax is a call */
    }
}

/* Stores references and bounds of columns that are sums of n products each. */
static inline void sum_columns_store(const sum_columns *c, int64_t n, int columns, const problem *p,
                                     double *reference, double *bound)
{
    for (int j = 0; j < columns; j++) {
        const product_sum s = {(double)n, c->size[j], c->squares[j], c->largest[j], c->result[j]};
        reference[j] = product_sum_value(&s, p);
        bound[j] = product_sum_bound(&s, p);
    }
}

#endif
