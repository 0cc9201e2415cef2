/*
 * copies.c - results are made by kernels: while a submission runs, nothing is copied to the host or back.
 *
 * The CPU backend sees to that itself. On a GPU the linker (--wrap) leads every call of a copy in a runner
 * to the functions here; others that copy are none of a lab's symbols.
 */
#include "grader/copies.h"

#include <cuda_runtime_api.h>

#ifdef BACKEND_CUDA

static bool all_allowed = true;

void copies_allow(bool allowed)
{
    all_allowed = allowed;
}

static bool is_on_device(const void *pointer)
{
    struct cudaPointerAttributes a;
    return cudaPointerGetAttributes(&a, pointer) == cudaSuccess && a.type == cudaMemoryTypeDevice;
}

/* A copy within the device is as good as a kernel. */
static bool is_allowed(const void *to, const void *from)
{
    return all_allowed || (is_on_device(to) && is_on_device(from));
}

cudaError_t __real_cudaMemcpy(void *, const void *, size_t, enum cudaMemcpyKind);
cudaError_t __real_cudaMemcpyAsync(void *, const void *, size_t, enum cudaMemcpyKind, cudaStream_t);
cudaError_t __real_cudaMemcpyToSymbol(const void *, const void *, size_t, size_t,
                                      enum cudaMemcpyKind);
cudaError_t __real_cudaMemcpyFromSymbol(void *, const void *, size_t, size_t, enum cudaMemcpyKind);

cudaError_t __wrap_cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return is_allowed(to, from) ? __real_cudaMemcpy(to, from, bytes, kind) : cudaErrorNotPermitted;
}

cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                   enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return is_allowed(to, from) ? __real_cudaMemcpyAsync(to, from, bytes, kind, stream)
                                : cudaErrorNotPermitted;
}

cudaError_t __wrap_cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes,
                                      size_t offset, enum cudaMemcpyKind kind)
{
    return all_allowed || is_on_device(from)
               ? __real_cudaMemcpyToSymbol(symbol, from, bytes, offset, kind)
               : cudaErrorNotPermitted;
}

cudaError_t __wrap_cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                        enum cudaMemcpyKind kind)
{
    return all_allowed || is_on_device(to)
               ? __real_cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind)
               : cudaErrorNotPermitted;
}

#else

/* Nor may the host look at what lies there. */
void copies_allow(bool allowed)
{
    simt_host_access(allowed ? SIMT_HOST_COPIES : SIMT_HOST_NOTHING);
}

#endif
