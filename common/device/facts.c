#include "device/facts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEVICES = 64, WARP = 32 };

static int ask(enum cudaDeviceAttr attribute, int device)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess ? value : 0;
}

/* Two transfers a clock, on each line of the bus. */
static double memory_gbs(int device)
{
    const double khz = ask(cudaDevAttrMemoryClockRate, device),
                 bits = ask(cudaDevAttrGlobalMemoryBusWidth, device);
    return 2 * khz * 1e3 * bits / 8 * 1e-9;
}

const device_facts *device_facts_get(void)
{
    static device_facts known[MOST_DEVICES];
    static const device_facts none;
    int device;
    if (cudaGetDevice(&device) != cudaSuccess || device >= MOST_DEVICES) return &none;
    device_facts *f = &known[device];
    if (f->sms) return f;
    const int major = ask(cudaDevAttrComputeCapabilityMajor, device);
    const int minor = ask(cudaDevAttrComputeCapabilityMinor, device);
    *f = (device_facts){
        .sm_warps = ask(cudaDevAttrMaxThreadsPerMultiProcessor, device) / WARP,
        .sm_shared_bytes = ask(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device),
        .block_shared_bytes = ask(cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        .l2_bytes = ask(cudaDevAttrL2CacheSize, device),
        .clock_khz = ask(cudaDevAttrClockRate, device),
        .memory_gbs = memory_gbs(device),
        .compute_capability = 10 * major + minor,
        .sms = ask(cudaDevAttrMultiProcessorCount, device),
    };
    return f;
}

void device_slug(const char *device, char *slug, size_t bytes)
{
    if (!strncmp(device, "NVIDIA ", 7)) device += 7;
    snprintf(slug, bytes, "%s", device);
    for (char *c = slug; *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '_';
}
