/*
 * gather_rate.h - how fast rows of a dense matrix arrive that are fetched one by one.
 */
#ifndef MODELS_GATHER_RATE_H
#define MODELS_GATHER_RATE_H

#ifdef __cplusplus
extern "C" {
#endif

enum { LINE_BYTES = 128 }; /* of L1 and L2 */

/* Bytes a microsecond that L2 and memory deliver of rows of `row` bytes, gathered from `span` bytes.
 * Measured on an H200: says nothing of another device. */
double gather_rate(double row, double span);

#ifdef __cplusplus
}
#endif
#endif
