/*
 * gather_rate.h - how fast rows of a dense matrix arrive that are fetched one by one.
 */
#ifndef MODELS_GATHER_RATE_H
#define MODELS_GATHER_RATE_H

#ifdef __cplusplus
extern "C" {
#endif

enum { LINE_BYTES = 128 }; /* of L1 and L2 */

/* Bytes a microsecond that L2 and memory deliver of rows of `row` bytes, gathered from `span` bytes, on a device whose L2
 * has `l2_bytes`. The rates were measured on an H200; the span at which they fall grows with L2. */
double gather_rate_in(double row, double span, double l2_bytes);

/* The same on this device. */
double gather_rate(double row, double span);

/* Bytes of L1 on this device, where a model was fitted to `on_h200` of them: in proportion to what a multiprocessor
 * has of shared memory and L1. */
double l1_like(double on_h200);

#ifdef __cplusplus
}
#endif
#endif
