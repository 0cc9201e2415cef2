/*
 * rates.h - how fast this device is beside the H200 to which the models' times and rates were fitted.
 *
 * A model multiplies its rates by these ratios, and divides its times by them. All of them are 1 on an H200. So what is
 * typed in a model is of one machine, and what differs on another is asked, or measured there once by `make limits`.
 * A launch is taken for that of the H200: driver and host decide about it.
 */
#ifndef MODELS_RATES_H
#define MODELS_RATES_H

#include "device/facts.h"
#include "results/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This device over an H200. */
typedef struct device_rates {
    double sms;      /* multiprocessors */
    double l1_bytes; /* shared memory and L1 of one of them */
    double l2_bytes; /* size of L2 */
    double
        clock; /* of a multiprocessor: its instructions, shared memory, and steps that wait for each other */
    double l2;     /* bytes that L2 delivers to all of them in a microsecond */
    double memory; /* the same of device memory */
    double tensor; /* products that the tensor cores of a multiprocessor form in a microsecond */
} device_rates;

/* Ratios of a device of these facts, and of the limits measured on it; NULL: none were. Rates that were not measured
 * follow from the clocks, and an unknown clock is that of the H200. Speeds are rounded to steps of a tenth, so that a
 * rule chooses the same in every start of a machine. */
device_rates device_rates_of(const device_facts *facts, const machine_limits *limits);

/* Those of the current device, found out once for each device of the process. One that does not answer is an H200. */
const device_rates *device_rates_get(void);

#ifdef __cplusplus
}
#endif
#endif
