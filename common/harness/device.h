/*
 * device.h - the device a program runs on, and guarded arrays in its memory.
 */
#ifndef HARNESS_DEVICE_H
#define HARNESS_DEVICE_H

#include "matrix/status.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct device_info {
    char name[256];
    int compute_capability; /* 90 for sm_90 */
    size_t l2_bytes;
    char driver[24], toolkit[24]; /* "580.65.06", "13.0"; "-" under simt */
} device_info;

/* "cuda" or "simt": what this program was built for. */
const char *device_backend(void);

/* Chooses device `index` and describes it. STATUS_SKIPPED where the build is for GPUs and there is
 * none, STATUS_USAGE where there are fewer than index + 1. */
enum status device_open(int index, device_info *info, error_text *error);

/* Whether times taken on this backend mean anything: false under simt. */
bool device_keeps_time(void);

/* Names the fault of work that was enqueued since the host last waited for the device: some of it is on
 * a stream for which `stream` does not wait. NULL: nothing, or a GPU, which does not tell. */
const char *device_work_left(cudaStream_t stream);

/* Calls of the runtime so far that are neither launches nor work for a stream (simt/host_calls.h). Always 0 on a GPU, which
 * does not tell. */
long device_host_calls(void);

/* An array in device memory between two guard zones. Guards and fresh contents are bytes 0xFF: as
 * floats NaN, so that a read outside the array spoils the result and a write shows in the guard. */
typedef struct guarded_array {
    unsigned char *base; /* what was allocated */
    void *data;          /* 256-byte aligned */
    size_t bytes;
} guarded_array;

cudaError_t guarded_alloc(guarded_array *a, size_t bytes);
void guarded_free(guarded_array *a);

/* Fills the array's contents, not its guards, with 0xFF bytes. */
cudaError_t guarded_poison(const guarded_array *a);

/* Fills the guards again, after a write into them. */
cudaError_t guarded_mend(const guarded_array *a);

/* Looks for writes in the guards: *offset is the first changed byte relative to data (negative:
 * before the array), and *intact tells whether there was none. */
cudaError_t guarded_check(const guarded_array *a, bool *intact, int64_t *offset);

/* Device memory that guarded_alloc takes for an array of `bytes`. */
size_t guarded_footprint(size_t bytes);

/* STATUS_MEMORY for an allocation failure, STATUS_SKIPPED for what the device or a library does not
 * support, STATUS_RUNTIME for every other error; the message names the failing call and `what` was
 * going on. */
enum status device_fail(cudaError_t cuda_error, const char *what, error_text *error);

#ifdef __cplusplus
}
#endif
#endif
