#include "harness/device.h"

#include "device/cuda_try.h"
#ifndef BACKEND_CUDA
#include "simt/host_calls.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BACKEND_CUDA
static const char BACKEND[] = "cuda";
#else
static const char BACKEND[] = "simt";
#endif

/* A kernel that forgets its tail guard usually runs over by less than a block's worth of rows:
 * 128 rows x 128 columns x 4 B = 64 KB. */
enum { GUARD = 64 << 10, FILL = 0xFF };

/* "580.65.06" where the kernel module tells, else the CUDA version the driver supports. */
static void driver_version(int cuda_version, char *text, size_t bytes)
{
    snprintf(text, bytes, "CUDA %d.%d", cuda_version / 1000, cuda_version % 1000 / 10);
    FILE *f = fopen("/sys/module/nvidia/version", "r");
    char line[24];
    if (f && fscanf(f, "%23s", line) == 1) snprintf(text, bytes, "%s", line);
    if (f) fclose(f);
}

const char *device_backend(void)
{
    return BACKEND;
}

bool device_keeps_time(void)
{
    return !strcmp(BACKEND, "cuda");
}

const char *device_work_left(cudaStream_t stream)
{
#ifdef BACKEND_CUDA
    (void)stream;
    return NULL;
#else
    const cudaStream_t left = simt_work_left(stream);
    if (left == cudaStreamLegacy)
        return "left work on the default stream, for which `stream` does not wait";
    return left ? "left work on another stream, for which `stream` does not wait" : NULL;
#endif
}

long device_host_calls(void)
{
#ifdef BACKEND_CUDA
    return 0;
#else
    return simt_host_calls();
#endif
}

enum status device_fail(cudaError_t cuda_error, const char *what, error_text *error)
{
    const enum status status = cuda_error == cudaErrorMemoryAllocation ? STATUS_MEMORY
                               : cuda_error == cudaErrorNotSupported   ? STATUS_SKIPPED
                                                                       : STATUS_RUNTIME;
    return fail(error, status, "%s: %s", what, cuda_failure_text(cuda_error));
}

enum status device_open(int index, device_info *info, error_text *error)
{
    int count = 0, driver = 0, runtime = 0;
    *info = (device_info){0};
    cudaError_t e = cudaGetDeviceCount(&count);
    if (e != cudaSuccess || count == 0)
        return fail(error, STATUS_SKIPPED,
                    "no GPU found (%s); build for the CPU instead: make BACKEND=simt",
                    e != cudaSuccess ? cudaGetErrorString(e) : "no device");
    if (index >= count)
        return fail(error, STATUS_USAGE,
                    "--device %d: this machine has %d device%s, numbered from 0", index, count,
                    count == 1 ? "" : "s");
    struct cudaDeviceProp properties;
    e = cudaSetDevice(index);
    if (e == cudaSuccess) e = cudaGetDeviceProperties(&properties, index);
    if (e == cudaSuccess) e = cudaDriverGetVersion(&driver);
    if (e == cudaSuccess) e = cudaRuntimeGetVersion(&runtime);
    if (e != cudaSuccess) return device_fail(e, "opening the device", error);

    snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->compute_capability = properties.major * 10 + properties.minor;
    info->l2_bytes = properties.l2CacheSize;
    strcpy(info->driver, "-");
    strcpy(info->toolkit, "-");
    if (device_keeps_time()) {
        driver_version(driver, info->driver, sizeof info->driver);
        snprintf(info->toolkit, sizeof info->toolkit, "%d.%d", runtime / 1000, runtime % 1000 / 10);
    }
    return STATUS_OK;
}

size_t guarded_footprint(size_t bytes)
{
    return bytes + 2 * GUARD;
}

cudaError_t guarded_alloc(guarded_array *a, size_t bytes)
{
    *a = (guarded_array){0};
    CUDA_TRY(cudaMalloc((void **)&a->base, guarded_footprint(bytes)));
    a->data = a->base + GUARD;
    a->bytes = bytes;
    CUDA_TRY(cudaMemset(a->base, FILL, guarded_footprint(bytes)));
    return cudaSuccess;
}

void guarded_free(guarded_array *a)
{
    cudaFree(a->base);
    *a = (guarded_array){0};
}

cudaError_t guarded_poison(const guarded_array *a)
{
    CUDA_TRY(cudaMemset(a->data, FILL, a->bytes));
    return cudaSuccess;
}

cudaError_t guarded_mend(const guarded_array *a)
{
    CUDA_TRY(cudaMemset(a->base, FILL, GUARD));
    CUDA_TRY(cudaMemset(a->base + GUARD + a->bytes, FILL, GUARD));
    return cudaSuccess;
}

/* The first byte of a zone that somebody wrote to, or GUARD. A zone that is equal to itself one byte on is whole:
 * memcmp compares many bytes at once, and nearly all zones are whole. */
static int first_written(const unsigned char *zone)
{
    int i = 0;
    if (zone[0] == FILL && !memcmp(zone, zone + 1, GUARD - 1)) return GUARD;
    while (zone[i] == FILL)
        i++;
    return i;
}

cudaError_t guarded_check(const guarded_array *a, bool *intact, int64_t *offset)
{
    static unsigned char zones[2][GUARD];
    const int64_t starts[2] = {-(int64_t)GUARD, (int64_t)a->bytes};
    *intact = true;
    CUDA_TRY(cudaMemcpy(zones[0], a->base, GUARD, cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(zones[1], a->base + GUARD + a->bytes, GUARD, cudaMemcpyDeviceToHost));
    for (int z = 0; z < 2 && *intact; z++) {
        const int at = first_written(zones[z]);
        *intact = at == GUARD;
        *offset = starts[z] + at;
    }
    return cudaSuccess;
}
