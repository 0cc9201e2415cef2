/*
 * timing.h - how long one run takes on a GPU, by the timing contract of the design.
 */
#ifndef HARNESS_TIMING_H
#define HARNESS_TIMING_H

#include "harness/options.h"

#include <math.h>

typedef struct timing {
    int runs;         /* timed runs behind the median */
    double median_ms; /* of single runs, each between two events on the device */
    double iqr_ms;    /* distance between the quartiles of those runs */
    double batch_ms;  /* per run, in batches of back-to-back runs: without the launch gap that a
                         single short run carries. NAN where a run is long or L2 is cold */
} timing;

#define NOT_TIMED ((timing){.median_ms = NAN, .iqr_ms = NAN, .batch_ms = NAN})

/* The host's clock, for what no event on the device can time. */
double wall_ms(void);

/* The median of n > 0 times, which it sorts. */
double timing_median(double *sample, int n);

/* The distance between the quartiles of n > 0 times that ascend. */
double timing_iqr(const double *sorted, int n);

/* Times operation->run(instance, d_outputs, stream). Warms up until the time is stable, then takes
 * options->runs runs, or 20 to 200 until the median is known to 1 %. It takes no more than three
 * seconds of them: a slow kernel gets fewer, at least 3 (`runs` says how many). With cold L2 the
 * cache is flushed before every run, outside the timed region. */
cudaError_t time_runs(const operation *op, void *instance, void *const *d_outputs, const options *o,
                      size_t l2_bytes, timing *result);

/* Median of the times of runs, and the distance between their quartiles. */
typedef struct spread {
    double median_ms, iqr_ms;
} spread;

/* Times work(arg), which enqueues on `stream`, between two events: `warm_ups` runs that do not count, then `runs` of them,
 * at least one. For work of many kernels, in programs: nothing hides the time from the event to the first launch. */
enum status time_work(enum status (*work)(void *arg, error_text *error), void *arg,
                      cudaStream_t stream, int warm_ups, int runs, spread *result,
                      error_text *error);

#endif
