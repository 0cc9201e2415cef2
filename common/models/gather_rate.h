/*
 * gather_rate.h - how fast rows of a dense matrix arrive that are fetched one by one.
 */
#ifndef MODELS_GATHER_RATE_H
#define MODELS_GATHER_RATE_H

#include "models/rates.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LINE_BYTES = 128 }; /* of L1 and L2 */

/* Bytes a microsecond that L2 and memory deliver of rows of `row` bytes, gathered from `span` bytes, on a device of these
 * rates. Those of an H200 were measured. The span at which they fall grows with L2, and they follow the rates of L2 and
 * memory. */
double gather_rate_in(double row, double span, const device_rates *here);

/* The same on this device. */
double gather_rate(double row, double span);

/* Bytes of L1 on this device, where a model was fitted to `on_h200` of them: in proportion to what a multiprocessor
 * has of shared memory and L1. */
double l1_like(double on_h200);

#ifdef __cplusplus
}
#endif
#endif
