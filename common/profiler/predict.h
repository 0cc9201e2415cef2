/*
 * predict.h - from counters to an estimate of time: a roofline, never a measurement.
 */
#ifndef PROFILER_PREDICT_H
#define PROFILER_PREDICT_H

#include "harness/instruments.h"
#include "profiler/gpu_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The estimate for all launches of one kernel. */
void predict_kernel(const gpu_model *gpu, const counters *kernel, prediction *p);

/* Adds a kernel's estimate to a run's, which starts all zero: times add up, and the limit becomes
 * the resource with the largest sum. */
void predict_add(prediction *run, const prediction *kernel);

#ifdef __cplusplus
}
#endif
#endif
