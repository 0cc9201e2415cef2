/*
 * precision.h - the number formats that operands and results may have, and their conversion on the
 * host.
 */
#ifndef OPS_PRECISION_H
#define OPS_PRECISION_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum precision {
    PRECISION_FP32, /* zero: what a contender has that names none */
    PRECISION_FP16,
    PRECISION_BF16,
    NUM_PRECISIONS
};

typedef struct number_format {
    const char *name;     /* "fp16" */
    size_t bytes;         /* of one number */
    double unit_roundoff; /* rounding to nearest is off by at most this share of the number, ... */
    double least;         /* ... or by half of the least positive number */
    double largest;       /* the largest finite number */
} number_format;

/* The format of a precision: a constant. */
const number_format *precision_format(enum precision precision);

/* "fp32", "fp16" or "bf16". */
const char *precision_name(enum precision precision);

/* The nearest number of the precision, ties to even, as a float. What is too large becomes an
 * infinity; NaN stays NaN. */
float precision_round(enum precision precision, float x);

/* Converts `count` numbers from float, rounding each, to the precision, and back. An element with
 * all bits set, which marks what was never written (device.h), comes back as a float with all bits
 * set. */
void precision_narrow(enum precision precision, const float *from, void *to, size_t count);
void precision_widen(enum precision precision, const void *from, float *to, size_t count);

#ifdef __cplusplus
}
#endif
#endif
