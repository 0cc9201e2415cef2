/*
 * capability.cu - the CPU backend as a device of compute capability 7.5: its limits, and a failed launch for each kernel
 * with an instruction that such a GPU lacks.
 */
#include "tests/primitives/primitives.h"

#include "device/cluster.cuh"
#include "device/dynamic_shared.cuh"
#include "device/facts.h"
#include "device/mbarrier.cuh"
#include "device/mma.cuh"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__global__ void mma_k8_kernel()
{
    float d[4] = {};
    const uint32_t a[2] = {}, b[1] = {};
    mma_m16n8k8_f16(d, a, b, d);
}

__global__ void mma_k16_kernel()
{
    float d[4] = {};
    const uint32_t a[4] = {}, b[2] = {};
    mma_m16n8k16_f16(d, a, b, d);
}

__global__ void mma_tf32_kernel()
{
    float d[4] = {};
    const uint32_t a[4] = {}, b[2] = {};
    mma_m16n8k8_tf32(d, a, b, d);
}

__global__ void mbarrier_kernel()
{
    __shared__ mbarrier barrier;
    if (threadIdx.x == 0) mbarrier_init(&barrier, 1);
}

__global__ void cluster_kernel(int) {}

/* A launch that fails leaves an error that only cudaDeviceReset ends. */
static void must_be(cudaError_t want, const char *what)
{
    cudaError_t got = cudaGetLastError();
    if (got == cudaSuccess) got = cudaDeviceSynchronize();
    tap_ok(got == want, "%s: %s", what, cudaGetErrorName(got));
    cudaDeviceReset();
    (void)cudaGetLastError();
}

int main(int, char **argv)
{
    const char *asked = getenv("SIMT_CAPABILITY");
    if (!asked || strcmp(asked, "75") != 0) { /* it is read when the program starts */
        setenv("SIMT_CAPABILITY", "75", 1);
        execv("/proc/self/exe", argv);
    }
    const device_facts *f = device_facts_get();
    tap_ok(f->compute_capability == 75 && f->sm_warps == 32, "it says that it is of 7.5");
    tap_ok(f->block_shared_bytes == 64 << 10, "a block may have 64 KB");
    tap_ok(allow_shared<mma_k8_kernel>(64 << 10) == cudaSuccess, "and gets them");
    tap_ok(allow_shared<mma_k16_kernel>((64 << 10) + 1) == cudaErrorInvalidValue, "but no more");
    (void)cudaGetLastError();

    mma_k8_kernel<<<1, 32>>>();
    must_be(cudaSuccess, "tensor cores, 8 deep");
    mma_k16_kernel<<<1, 32>>>();
    must_be(cudaErrorLaunchFailure, "16 deep");
    mma_tf32_kernel<<<1, 32>>>();
    must_be(cudaErrorLaunchFailure, "in tf32");
    mbarrier_kernel<<<1, 32>>>();
    must_be(cudaErrorLaunchFailure, "barriers in shared memory");
    tap_ok(launch_in_clusters(cluster_kernel, 2, 32, 0, 0, 2, 0) == cudaErrorNotSupported,
           "clusters are refused");
    return tap_done();
}
