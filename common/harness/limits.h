/*
 * limits.h - what this machine can do at best, as measured by the program `limits`, and the least
 * time a problem can take by it: the roofline.
 */
#ifndef HARNESS_LIMITS_H
#define HARNESS_LIMITS_H

#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MAX_GATHER_POINTS = 48 };

/* The bandwidth of fetching random rows of `row_bytes` out of an array of `span_bytes`. */
typedef struct gather_point {
    double row_bytes, span_bytes, gbs;
} gather_point;

typedef struct machine_limits {
    char device[256];
    double copy_gbs; /* device memory, bytes read plus bytes written */
    double fp32_gflops;
    double launch_us; /* an empty kernel between two events */
    gather_point gather[MAX_GATHER_POINTS];
    int num_gather;
} machine_limits;

/* Reads the limits of `device` from the user's cache, where `make limits` leaves them, or else
 * those committed in report/results/<gpu>/limits.tsv. Returns whether there are any. */
bool limits_load(const char *device, machine_limits *limits);
/* Keeps them in the user's cache; `path` tells where. */
enum status limits_save(const machine_limits *limits, char *path, size_t bytes, error_text *error);

/* Gather bandwidth in GB/s: interpolated over the logarithm of the span, at the nearest measured
 * row size. */
double limits_gather_gbs(const machine_limits *limits, double row_bytes, double span_bytes);

/* max(compulsory bytes / copy bandwidth, gather bytes / gather bandwidth, flops / peak), in ms. A
 * kernel that reuses what it gathered can be faster than the second term. */
double limits_least_ms(const machine_limits *limits, const cost_model *model);

#ifdef __cplusplus
}
#endif
#endif
