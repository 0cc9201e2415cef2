/*
 * limits.h - the rates that this machine reaches at best, as measured by the program `limits`.
 */
#ifndef RESULTS_LIMITS_H
#define RESULTS_LIMITS_H

#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MAX_GATHER_POINTS = 48 };

/* The bandwidth of fetching random rows of `row_bytes` out of an array of `span_bytes`. */
typedef struct gather_point {
    double row_bytes, span_bytes, gbs;
} gather_point;

/* copy_gbs, fp32_gflops and one gather point are always there; any other figure is 0 where nobody has
 * measured it. */
typedef struct machine_limits {
    char device[256];
    double copy_gbs;                              /* device memory, bytes read plus bytes written */
    double read_gbs;                              /* device memory, bytes read alone */
    double l2_read_gbs;                           /* out of L2 */
    double l2_bytes;                              /* what L2 holds: the device's attribute */
    double fp32_gflops;                           /* multiply-adds on CUDA cores */
    double tf32_gflops, fp16_gflops, bf16_gflops; /* on tensor cores, sums in fp32 */
    double launch_us;                             /* an empty kernel between two events */
    gather_point gather[MAX_GATHER_POINTS];
    int num_gather;
} machine_limits;

/* Reads the limits of `device` from the user's cache, where `make limits` leaves them, or else
 * those committed in report/results/<gpu>/limits.tsv. Returns whether there are any. */
bool limits_load(const char *device, machine_limits *limits);
/* Reads the file at `path`, whatever device it is of. */
bool limits_read(const char *path, machine_limits *limits);
/* Keeps them in the user's cache; `path` tells where. */
enum status limits_save(const machine_limits *limits, char *path, size_t bytes, error_text *error);

/* Gather bandwidth in GB/s: interpolated over the logarithm of the span, at the nearest measured
 * row size. */
double limits_gather_gbs(const machine_limits *limits, double row_bytes, double span_bytes);

/* The highest rate, in GB/s, at which bytes were measured to come from or go to device memory. */
double limits_memory_gbs(const machine_limits *limits);

/* The peak, in GFLOP/s, of a unit on operands of a precision; 0 where nobody has measured it. */
double limits_gflops(const machine_limits *limits, enum unit unit, enum precision precision);

#ifdef __cplusplus
}
#endif
#endif
