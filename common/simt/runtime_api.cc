/*
 * runtime_api.cc - the CUDA runtime's functions for errors, memory and kernel attributes.
 *
 * Errors. A call that fails leaves its error for cudaGetLastError(), once. A kernel that fails
 * leaves a sticky error: on a GPU the context is lost and every later call that would touch it
 * returns the error. The same here, until cudaDeviceReset().
 */
#include "simt/simt.h"

#include "simt/host_calls.h"

#include <atomic>
#include <map>
#include <mutex>

/* ---- calls that are no launch --------------------------------------------------------------- */

static std::atomic<long> host_calls;

void simt_count_host_call(void)
{
    host_calls++;
}

extern "C" long simt_host_calls(void)
{
    return host_calls;
}

/* ---- errors -------------------------------------------------------------------------------- */

static __thread cudaError_t last_error;
static cudaError_t sticky_error;

cudaError_t simt_sticky_error(void)
{
    return __atomic_load_n(&sticky_error, __ATOMIC_ACQUIRE);
}
void simt_set_sticky_error(cudaError_t error)
{
    __atomic_store_n(&sticky_error, error, __ATOMIC_RELEASE);
}

cudaError_t simt_error(cudaError_t error)
{
    if (error) last_error = error;
    return error;
}

/* Leaves the calling function if the device is lost. */
#define NEED_DEVICE()                              \
    do {                                           \
        cudaError_t sticky_ = simt_sticky_error(); \
        if (sticky_) return simt_error(sticky_);   \
    } while (0)

extern "C" cudaError_t cudaPeekAtLastError(void)
{
    cudaError_t sticky = simt_sticky_error();
    return sticky ? sticky : last_error;
}

extern "C" cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return error;
}

struct error_text {
    cudaError_t error;
    const char *name, *text;
};
#define ERROR(NAME, TEXT) \
    {                     \
        NAME, #NAME, TEXT \
    }
static const error_text error_texts[] = {
    ERROR(cudaSuccess, "no error"),
    ERROR(cudaErrorInvalidValue, "invalid argument"),
    ERROR(cudaErrorMemoryAllocation, "out of memory"),
    ERROR(cudaErrorInitializationError, "initialization error"),
    ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    ERROR(cudaErrorInvalidHostPointer, "invalid host pointer"),
    ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ERROR(cudaErrorInsufficientDriver,
          "CUDA driver version is insufficient for CUDA runtime version"),
    ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    ERROR(cudaErrorNoKernelImageForDevice,
          "no kernel image is available for execution on the device"),
    ERROR(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    ERROR(cudaErrorNotReady, "device not ready"),
    ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    ERROR(cudaErrorAssert, "device-side assert triggered"),
    ERROR(cudaErrorHardwareStackError, "hardware stack error"),
    ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    ERROR(cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space"),
    ERROR(cudaErrorInvalidPc, "invalid program counter"),
    ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    ERROR(cudaErrorNotPermitted, "operation not permitted"),
    ERROR(cudaErrorNotSupported, "operation not supported"),
    ERROR(cudaErrorUnknown, "unknown error"),
};

static const error_text *find_error(cudaError_t error)
{
    for (const error_text &e : error_texts)
        if (e.error == error) return &e;
    return nullptr;
}

extern "C" const char *cudaGetErrorName(cudaError_t error)
{
    const error_text *e = find_error(error);
    return e ? e->name : "unrecognized error code";
}

extern "C" const char *cudaGetErrorString(cudaError_t error)
{
    const error_text *e = find_error(error);
    return e ? e->text : "unrecognized error code";
}

/* ---- memory -------------------------------------------------------------------------------- */

/* A variable of the program may be a __device__ one. So only what lies in an allocation is certain
 * to be device memory. Only what lies in neither is certain not to be. */
static bool may_be_device(const void *p)
{
    return simt_memory_holds(p) || simt_in_program_data((uintptr_t)p);
}
static bool may_be_host(const void *p)
{
    return !simt_memory_holds(p);
}

static bool range_exists(const void *p, size_t bytes)
{
    return !simt_memory_holds(p) || simt_memory_valid(p, bytes);
}

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    if (bytes == 0) return cudaSuccess;
    if (!to || !from) return cudaErrorInvalidValue;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if ((unsigned)kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (kind != cudaMemcpyDefault) {
        if (!(to_device ? may_be_device(to) : may_be_host(to))) return cudaErrorInvalidValue;
        if (!(from_device ? may_be_device(from) : may_be_host(from))) return cudaErrorInvalidValue;
    }
    if (!range_exists(to, bytes) || !range_exists(from, bytes)) return cudaErrorInvalidValue;
    if (simt_memory_is_sealed() && simt_memory_holds(to) != simt_memory_holds(from))
        return cudaErrorNotPermitted;
    simt_memory_open();
    memmove(to, from, bytes);
    if (simt_observer) simt_observer->copied(to, from, bytes);
    simt_memory_close();
    return cudaSuccess;
}

extern "C" {

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    simt_count_host_call();
    NEED_DEVICE();
    if (!pointer) return simt_error(cudaErrorInvalidValue);
    return simt_error(simt_memory_allocate(pointer, bytes));
}

cudaError_t cudaFree(void *pointer)
{
    simt_count_host_call();
    NEED_DEVICE();
    return pointer ? simt_error(simt_memory_free(pointer)) : cudaSuccess;
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    simt_count_host_call();
    NEED_DEVICE();
    if (!pointer) return simt_error(cudaErrorInvalidValue);
    *pointer = nullptr;
    size_t available, total;
    simt_host_memory(&available, &total);
    if (bytes > available || posix_memalign(pointer, 4096, bytes ? bytes : 1) != 0)
        return simt_error(cudaErrorMemoryAllocation);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *pointer)
{
    simt_count_host_call();
    NEED_DEVICE();
    free(pointer);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    simt_count_host_call();
    const bool within_device =
        kind == cudaMemcpyDeviceToDevice ||
        (kind == cudaMemcpyDefault && simt_memory_holds(to) && simt_memory_holds(from));
    const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, cudaStreamLegacy);
    /* The host waits for what is its own, not for a copy within the device. */
    return error || within_device ? error : cudaStreamSynchronize(cudaStreamLegacy);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    NEED_DEVICE();
    cudaError_t error = copy(to, from, bytes, kind);
    if (!error && bytes > 0) error = simt_enqueued(stream);
    if (!error && simt_observer) simt_observer->moved(to, from, bytes, stream);
    return simt_error(error);
}

cudaError_t cudaMemset(void *pointer, int value, size_t bytes)
{
    simt_count_host_call();
    return cudaMemsetAsync(pointer, value, bytes, cudaStreamLegacy);
}

cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream)
{
    NEED_DEVICE();
    if (bytes == 0) return cudaSuccess;
    if (!may_be_device(pointer) || !range_exists(pointer, bytes))
        return simt_error(cudaErrorInvalidValue);
    simt_memory_open();
    memset(pointer, value, bytes);
    if (simt_observer) simt_observer->written(pointer, bytes);
    simt_memory_close();
    const cudaError_t error = simt_enqueued(stream);
    if (!error && simt_observer) simt_observer->moved(pointer, nullptr, bytes, stream);
    return simt_error(error);
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    simt_count_host_call();
    NEED_DEVICE();
    simt_host_memory(available, total);
    return cudaSuccess;
}

cudaError_t cudaDeviceReset(void)
{
    simt_memory_free_all();
    simt_set_sticky_error(cudaSuccess);
    last_error = cudaSuccess;
    return cudaSuccess;
}
}

/* ---- kernel attributes --------------------------------------------------------------------- */

/* Kernels that asked for more dynamic shared memory than the default. Leaked, as all that outlives
 * main. */
struct opt_ins {
    std::mutex lock;
    std::map<const void *, int> bytes;
    int most; /* of any kernel */
};
static opt_ins &opted = *new opt_ins();

size_t simt_dynamic_limit(const void *kernel)
{
    std::lock_guard<std::mutex> guard(opted.lock);
    if (!kernel) return (size_t)max((int)SHARED_DEFAULT_BYTES, opted.most);
    auto it = opted.bytes.find(kernel);
    if (it != opted.bytes.end()) return (size_t)it->second;
    const size_t used = simt_static_shared_bytes(kernel);
    return used < SHARED_DEFAULT_BYTES ? SHARED_DEFAULT_BYTES - used : 0;
}

extern "C" {

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value)
{
    simt_count_host_call();
    NEED_DEVICE();
    if (!kernel) return simt_error(cudaErrorInvalidDeviceFunction);
    switch (attribute) {
    case cudaFuncAttributePreferredSharedMemoryCarveout:
        return value < -1 || value > 100 ? simt_error(cudaErrorInvalidValue) : cudaSuccess;
    case cudaFuncAttributeMaxDynamicSharedMemorySize: {
        int room = simt_limits().shared_optin_bytes - (int)simt_static_shared_bytes(kernel);
        if (value < 0 || value > room) return simt_error(cudaErrorInvalidValue);
        std::lock_guard<std::mutex> guard(opted.lock);
        opted.bytes[kernel] = value;
        opted.most = max(opted.most, value);
        return cudaSuccess;
    }
    }
    return simt_error(cudaErrorInvalidValue);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
{
    simt_count_host_call();
    NEED_DEVICE();
    if (!kernel) return simt_error(cudaErrorInvalidDeviceFunction);
    *attributes = {};
    attributes->sharedSizeBytes = simt_static_shared_bytes(kernel);
    attributes->maxThreadsPerBlock = MAX_BLOCK_THREADS;
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->maxDynamicSharedSizeBytes = (int)simt_dynamic_limit(kernel);
    attributes->preferredShmemCarveout = cudaSharedmemCarveoutDefault;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel,
                                                          int block_threads,
                                                          size_t dynamic_shared_bytes)
{
    simt_count_host_call();
    NEED_DEVICE();
    if (!kernel) return simt_error(cudaErrorInvalidDeviceFunction);
    if (!blocks || block_threads < 1) return simt_error(cudaErrorInvalidValue);
    /* Assumes a multiprocessor of 64 warps, 32 blocks and 228 KB of shared memory, or of what SIMT_CAPABILITY says.
     * Each block's share of the memory grows by 1 KB that the system keeps. */
    const int most_warps = simt_limits().sm_threads / WARP_LANES, most_blocks = 32;
    const size_t most_shared = simt_limits().sm_shared_bytes, reserved = 1 << 10;
    int warps = (block_threads + WARP_LANES - 1) / WARP_LANES;
    size_t shared = simt_static_shared_bytes(kernel) + dynamic_shared_bytes + reserved;
    *blocks = 0;
    if (block_threads <= MAX_BLOCK_THREADS)
        *blocks = min(min(most_warps / warps, most_blocks), (int)(most_shared / shared));
    return cudaSuccess;
}
}
