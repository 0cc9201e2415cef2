/*
 * pdl.cuh - a kernel that starts while the one before it in the stream still runs: "programmatic
 * dependent launch", compute capability 9.0 and up. Below, and on the CPU backend, it starts when the
 * other has ended, and these functions do nothing.
 *
 *     first:   pdl_launch_dependents();             as early as possible: blocks of the next kernel may
 *                                              take the room that is left
 *     second:  what does not depend on first
 *              pdl_wait();       first has ended, and what it wrote is visible
 *              the rest
 *
 * The second is launched with launch_with_pdl(). A kernel may be second to one and first to another. Then
 * it must wait in any case, at the latest before it ends: else it could end before the one before it, and who
 * waits for it alone would not have waited for that.
 */
#ifndef DEVICE_PDL_CUH
#define DEVICE_PDL_CUH

#include <cuda_runtime.h>

__device__ __forceinline__ void pdl_launch_dependents()
{
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ __forceinline__ void pdl_wait()
{
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Whether a kernel's code was compiled for 9.0 or newer: other code does not wait, wherever it runs. */
template <class T> static cudaError_t compiled_for_90(void (*kernel)(T), bool *is)
{
    cudaFuncAttributes made;
    const cudaError_t error = cudaFuncGetAttributes(&made, kernel);
    *is = error == cudaSuccess && made.ptxVersion >= 90;
    return error;
}

/* kernel<<<blocks, threads, shared_bytes, stream>>>(argument), allowed to start early. early: false where the kernel was not
 * compiled for 9.0, for it would not wait. */
template <class T>
static cudaError_t launch_with_pdl(void (*kernel)(T), dim3 blocks, unsigned threads,
                                   size_t shared_bytes, cudaStream_t stream, const T &argument,
                                   bool early = true)
{
#ifdef __CUDACC__
    cudaLaunchAttribute start = {};
    start.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    start.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = &start;
    config.numAttrs = early;
    return cudaLaunchKernelEx(&config, kernel, argument);
#else
    (void)early;
    SIMT_KERNEL(kernel)(blocks, threads, shared_bytes, stream)(argument);
    return cudaGetLastError();
#endif
}

#endif
