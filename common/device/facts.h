/*
 * facts.h - what the kernels' rules and models want to know of the device: asked of it here, and typed nowhere.
 */
#ifndef DEVICE_FACTS_H
#define DEVICE_FACTS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct device_facts {
    int sms;             /* streaming multiprocessors */
    int sm_warps;        /* warps that one of them holds */
    int sm_shared_bytes; /* shared memory of one of them, the system's share of each block included */
    int block_shared_bytes; /* the most that a block may have, if it asks (cudaFuncSetAttribute) */
    int64_t l2_bytes;
    int clock_khz;          /* the highest of the multiprocessors; 0: unknown */
    double memory_gbs;      /* what clock and width of the memory's bus allow; 0: unknown */
    int compute_capability; /* 90 for 9.0 */
} device_facts;

/* Facts of the current device, asked once for each device of the process. A device that does not
 * answer has no multiprocessor: sms is 0, and whatever needs the device fails by itself. The CPU
 * backend presents itself with the limits of an H200, but has no clocks. */
const device_facts *device_facts_get(void);

/* "h200" for "NVIDIA H200": the name of a GPU as files and folders spell it. */
void device_slug(const char *device, char *slug, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
