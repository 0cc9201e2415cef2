/*
 * host_calls.h - what a program asks of the runtime beside launches: a run of a plan should ask nothing.
 */
#ifndef SIMT_HOST_CALLS_H
#define SIMT_HOST_CALLS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Calls so far, of all host threads, that allocate, free, wait for the device, or ask it or the driver something. Launches,
 * work for a stream, events within it and the current device are none of them. */
long simt_host_calls(void);

#ifdef __cplusplus
}
#endif
#endif
