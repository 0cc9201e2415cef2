/*
 * device.cc - the devices there are, one unless SIMT_DEVICES says otherwise, and how they present themselves: with the
 * limits of compute capability 9.0, or of SIMT_CAPABILITY, so that host code takes the same decisions as for such a GPU.
 */
#include "simt/simt.h"

/* CUDA C++ Programming Guide, technical specifications per compute capability. */
const capability_limits &simt_limits(void)
{
    static const capability_limits turing = {64 << 10, 64 << 10, 1024},
                                   a100 = {163 << 10, 164 << 10, 2048},
                                   small = {99 << 10, 100 << 10, 1536}, /* 8.6, 8.9, 12.0 */
        large = {SHARED_OPTIN_BYTES, 228 << 10, 2048};                  /* 9.0, 10.0 */
    const int c = simt_settings.capability;
    return c < 80 ? turing : c == 80 ? a100 : c < 90 || c >= 120 ? small : large;
}

void simt_need_capability(int least, const void *site, const char *what)
{
    const int here = simt_settings.capability;
    if (here < least)
        simt_fail(cudaErrorLaunchFailure, site,
                  "%s needs compute capability %d.%d, and this device has %d.%d", what, least / 10,
                  least % 10, here / 10, here % 10);
}

static thread_local int current; /* the device of this host thread */

static bool is_device(int device)
{
    return device >= 0 && device < simt_settings.devices;
}

static const struct cudaDeviceProp &properties(void)
{
    static const struct cudaDeviceProp p = [] {
        struct cudaDeviceProp q = {};
        snprintf(q.name, sizeof q.name, "CPU backend (simt)");
        size_t available;
        simt_host_memory(&available, &q.totalGlobalMem);
        q.sharedMemPerBlock = SHARED_DEFAULT_BYTES;
        q.sharedMemPerBlockOptin = simt_limits().shared_optin_bytes;
        q.sharedMemPerMultiprocessor = simt_limits().sm_shared_bytes;
        q.reservedSharedMemPerBlock = 1 << 10;
        q.regsPerBlock = q.regsPerMultiprocessor = 65536;
        q.warpSize = WARP_LANES;
        q.memPitch = 0x7fffffff;
        q.maxThreadsPerBlock = MAX_BLOCK_THREADS;
        q.maxThreadsDim[0] = q.maxThreadsDim[1] = 1024;
        q.maxThreadsDim[2] = 64;
        q.maxGridSize[0] = 0x7fffffff;
        q.maxGridSize[1] = q.maxGridSize[2] = 65535;
        q.totalConstMem = 64 << 10;
        q.major = simt_settings.capability / 10;
        q.minor = simt_settings.capability % 10;
        q.multiProcessorCount = MULTIPROCESSORS;
        q.canMapHostMemory = q.unifiedAddressing = q.integrated = 1;
        q.asyncEngineCount = 1;
        q.l2CacheSize = 60 << 20;
        q.maxThreadsPerMultiProcessor = simt_limits().sm_threads;
        q.maxBlocksPerMultiProcessor = 32;
        return q;
    }();
    return p;
}

extern "C" {

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = simt_settings.devices;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (!is_device(device)) return simt_error(cudaErrorInvalidDevice);
    current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *result, int device)
{
    simt_count_host_call();
    if (!is_device(device)) return simt_error(cudaErrorInvalidDevice);
    *result = properties();
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    simt_count_host_call();
    if (!is_device(device)) return simt_error(cudaErrorInvalidDevice);
    const struct cudaDeviceProp &p = properties();
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        *value = p.maxThreadsPerBlock;
        return cudaSuccess;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
    case cudaDevAttrMaxBlockDimZ:
        *value = p.maxThreadsDim[attribute - cudaDevAttrMaxBlockDimX];
        return cudaSuccess;
    case cudaDevAttrMaxGridDimX:
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
        *value = p.maxGridSize[attribute - cudaDevAttrMaxGridDimX];
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = (int)p.sharedMemPerBlock;
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = (int)p.sharedMemPerBlockOptin;
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *value = (int)p.sharedMemPerMultiprocessor;
        return cudaSuccess;
    case cudaDevAttrReservedSharedMemoryPerBlock:
        *value = (int)p.reservedSharedMemPerBlock;
        return cudaSuccess;
    case cudaDevAttrTotalConstantMemory:
        *value = (int)p.totalConstMem;
        return cudaSuccess;
    case cudaDevAttrWarpSize:
        *value = p.warpSize;
        return cudaSuccess;
    case cudaDevAttrMaxRegistersPerBlock:
        *value = p.regsPerBlock;
        return cudaSuccess;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
        *value = p.regsPerMultiprocessor;
        return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
        *value = p.multiProcessorCount;
        return cudaSuccess;
    case cudaDevAttrL2CacheSize:
        *value = p.l2CacheSize;
        return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = p.maxThreadsPerMultiProcessor;
        return cudaSuccess;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
        *value = p.maxBlocksPerMultiProcessor;
        return cudaSuccess;
    case cudaDevAttrUnifiedAddressing:
        *value = p.unifiedAddressing;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
        *value = p.major;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
        *value = p.minor;
        return cudaSuccess;
    /* No such thing here: no clocks, no bus, one kernel at a time, no grid-wide barrier. */
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
    case cudaDevAttrGlobalMemoryBusWidth:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrCooperativeLaunch:
        *value = 0;
        return cudaSuccess;
    }
    return simt_error(cudaErrorInvalidValue);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}
}
