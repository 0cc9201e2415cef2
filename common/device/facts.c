#include "device/facts.h"

enum { MOST_DEVICES = 64, WARP = 32 };

static int ask(enum cudaDeviceAttr attribute, int device)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess ? value : 0;
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
        .compute_capability = 10 * major + minor,
        .sms = ask(cudaDevAttrMultiProcessorCount, device),
    };
    return f;
}
