/*
 * runtime.cu - the runtime's functions as host code uses them: memory, errors, streams, events,
 * device properties. CUDA Runtime API reference.
 */
#include "tests/primitives/primitives.h"

static void refused(cudaError_t want, cudaError_t got, const char *what)
{
    const cudaError_t told = cudaGetLastError();
    tap_ok(got == want && told == want && cudaGetLastError() == cudaSuccess, "%s: %s", what,
           cudaGetErrorName(want));
}

static void memory(void)
{
    char *p[64];
    bool aligned = true, apart = true;
    for (int i = 0; i < 64; i++) {
        CUDA(cudaMalloc(&p[i], 1 + 97 * i));
        aligned &= (uintptr_t)p[i] % 256 == 0;
        CUDA(cudaMemset(p[i], i, 1 + 97 * i));
    }
    for (int i = 0; i < 64; i++) {
        static char h[8192];
        CUDA(cudaMemcpy(h, p[i], 1 + 97 * i, cudaMemcpyDeviceToHost));
        for (int k = 0; k < 1 + 97 * i; k++)
            apart &= h[k] == i;
    }
    tap_ok(aligned, "allocations are 256-byte aligned");
    tap_ok(apart, "and do not overlap");
    for (int i = 0; i < 64; i++)
        CUDA(cudaFree(p[i]));

    int *a, *b, *pinned, h[1000], g[1000];
    CUDA(cudaMalloc(&a, sizeof h));
    CUDA(cudaMalloc(&b, sizeof h));
    CUDA(cudaMallocHost(&pinned, sizeof h));
    for (int i = 0; i < 1000; i++)
        h[i] = i * i;
    CUDA(cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpyAsync(b, a, sizeof h, cudaMemcpyDeviceToDevice, 0));
    CUDA(cudaMemcpy(pinned, b, sizeof h, cudaMemcpyDefault));
    CUDA(cudaMemcpy(g, pinned, sizeof h, cudaMemcpyHostToHost));
    tap_ok(memcmp(g, h, sizeof h) == 0, "host -> device -> device -> pinned -> host");
    CUDA(cudaMemcpy(g, a + 900, 100 * sizeof *a, cudaMemcpyDeviceToHost));
    tap_ok(memcmp(g, h + 900, 100 * sizeof *h) == 0, "from the middle to the end");
    CUDA(cudaMemsetAsync(a + 10, 0xab, 8, 0));
    CUDA(cudaMemcpy(g, a, sizeof h, cudaMemcpyDeviceToHost));
    tap_ok(g[9] == 81 && (unsigned)g[10] == 0xabababab && (unsigned)g[11] == 0xabababab &&
               g[12] == 144,
           "cudaMemset sets bytes, and only those");
    CUDA(cudaMemcpy(g, a, 0, cudaMemcpyDeviceToHost));
    tap_ok(cudaFree(nullptr) == cudaSuccess, "a copy of nothing, and freeing NULL, are fine");

    size_t available, total;
    CUDA(cudaMemGetInfo(&available, &total));
    tap_ok(available > 0 && available <= total, "%zu of %zu MB available", available >> 20,
           total >> 20);
    void *huge = &huge;
    refused(cudaErrorMemoryAllocation, cudaMalloc(&huge, total + (total >> 3)),
            "more memory than there is");
    CUDA(cudaFree(a));
    CUDA(cudaFree(b));
    CUDA(cudaFreeHost(pinned));
}

static void errors(void)
{
    tap_ok(cudaSetDevice(12345) == cudaErrorInvalidDevice, "no device 12345");
    tap_ok(cudaPeekAtLastError() == cudaErrorInvalidDevice &&
               cudaPeekAtLastError() == cudaErrorInvalidDevice,
           "cudaPeekAtLastError tells it again and again");
    tap_ok(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess,
           "cudaGetLastError tells it once");
    static const struct {
        cudaError_t error;
        int number;
        const char *name, *text;
    } known[] = {
        {cudaSuccess, 0, "cudaSuccess", "no error"},
        {cudaErrorInvalidValue, 1, "cudaErrorInvalidValue", "invalid argument"},
        {cudaErrorMemoryAllocation, 2, "cudaErrorMemoryAllocation", "out of memory"},
        {cudaErrorInvalidConfiguration, 9, "cudaErrorInvalidConfiguration",
         "invalid configuration argument"},
        {cudaErrorNoDevice, 100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
        {cudaErrorInvalidResourceHandle, 400, "cudaErrorInvalidResourceHandle",
         "invalid resource handle"},
        {cudaErrorIllegalAddress, 700, "cudaErrorIllegalAddress",
         "an illegal memory access was encountered"},
        {cudaErrorLaunchTimeout, 702, "cudaErrorLaunchTimeout",
         "the launch timed out and was terminated"},
        {cudaErrorAssert, 710, "cudaErrorAssert", "device-side assert triggered"},
        {cudaErrorMisalignedAddress, 716, "cudaErrorMisalignedAddress", "misaligned address"},
        {cudaErrorLaunchFailure, 719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    };
    bool right = true;
    for (const auto &k : known) {
        const bool same = k.error == k.number && strcmp(cudaGetErrorName(k.error), k.name) == 0 &&
                          strcmp(cudaGetErrorString(k.error), k.text) == 0;
        if (!same)
            tap_note("%d: %s: %s", k.number, cudaGetErrorName(k.error),
                     cudaGetErrorString(k.error));
        right &= same;
    }
    tap_ok(right, "numbers, names and texts of errors");
}

__global__ void work_kernel(float *x)
{
    for (int i = 0; i < 1000; i++)
        x[threadIdx.x] = x[threadIdx.x] * 0.5f + 1;
}

static void streams(void)
{
    cudaStream_t stream, other;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    cudaEvent_t start, end, quiet;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
    CUDA(cudaEventCreateWithFlags(&quiet, cudaEventDisableTiming));
    float *x = device_zeros<float>(64), h, ms = -1;
    refused(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, end),
            "time between events not recorded");
    CUDA(cudaEventRecord(start, stream));
    work_kernel<<<1, 64, 0, stream>>>(x);
    CUDA(cudaEventRecord(quiet, stream));
    CUDA(cudaStreamWaitEvent(other, quiet, 0));
    work_kernel<<<1, 64, 0, other>>>(x);
    CUDA(cudaStreamSynchronize(other));
    CUDA(cudaEventRecord(end, stream));
    CUDA(cudaEventSynchronize(end));
    tap_ok(cudaEventQuery(end) == cudaSuccess && cudaStreamQuery(stream) == cudaSuccess,
           "what was waited for is done");
    CUDA(cudaEventElapsedTime(&ms, start, end));
    tap_ok(ms > 0 && ms < 10000, "events are some time apart");
    refused(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, quiet),
            "time of an event that takes none");
    CUDA(cudaStreamSynchronize(0));
    to_host(&h, x, 1);
    tap_ok(h > 1.99f && h <= 2, "a stream waits for an event of another one");
    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(end));
    CUDA(cudaEventDestroy(quiet));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaStreamDestroy(other));
}

__global__ void shared_kernel(float *x)
{
    __shared__ float tile[1000];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

static void properties(void)
{
    int count = 0, device = -1, version = 0, value = 0;
    CUDA(cudaGetDeviceCount(&count));
    CUDA(cudaSetDevice(0));
    CUDA(cudaGetDevice(&device));
    tap_ok(count >= 1 && device == 0, "%d device(s), the first is chosen", count);
    struct cudaDeviceProp p;
    CUDA(cudaGetDeviceProperties(&p, 0));
    tap_ok(p.name[0] && p.warpSize == 32 && p.maxThreadsPerBlock == 1024 &&
               p.sharedMemPerBlock == 48 << 10 && p.sharedMemPerBlockOptin >= 64 << 10 &&
               p.multiProcessorCount > 0 && p.totalGlobalMem > 0,
           "properties of a CUDA device (%s)", p.name);
    CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    tap_ok(value == p.multiProcessorCount && compute_capability() == 10 * p.major + p.minor,
           "attributes agree with properties");
    CUDA(cudaRuntimeGetVersion(&version));
    tap_ok(version >= 12000, "runtime version %d", version);

    struct cudaFuncAttributes a;
    CUDA(cudaFuncGetAttributes(&a, shared_kernel));
    tap_ok(a.sharedSizeBytes == 4000 && a.maxThreadsPerBlock == 1024,
           "a kernel's static shared memory: %zu bytes", a.sharedSizeBytes);
    int one, many;
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&one, shared_kernel, 1024, 0));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&many, shared_kernel, 128, 0));
    tap_ok(one >= 1 && many >= 4 * one, "occupancy: %d blocks of 1024, %d of 128", one, many);
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&many, shared_kernel, 128, 40 << 10));
    tap_ok(many <= (int)(p.sharedMemPerMultiprocessor / (44000)), "limited by shared memory: %d",
           many);
    CUDA(cudaFuncSetAttribute(shared_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
}

int main()
{
    memory();
    errors();
    streams();
    properties();
    tap_ok(cudaDeviceSynchronize() == cudaSuccess && cudaGetLastError() == cudaSuccess,
           "no error left");
    return tap_done();
}
