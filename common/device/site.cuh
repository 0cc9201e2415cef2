/*
 * site.cuh - where a plan is made: on the GPU, or on the host for comparison. The steps of a plan are
 * written once, as functions of an index; each() runs them over all indices at either site, and sums
 * and sorts are exact in integers, so that both sites make the same plan to the bit.
 */
#ifndef DEVICE_SITE_CUH
#define DEVICE_SITE_CUH

#include "device/argsort.h"
#include "device/cuda_try.h"
#include "device/each.cuh"
#include "device/scan.h"

#include <stdint.h>

enum site { ON_DEVICE, ON_HOST };

/* f(0), f(1) ... f(count - 1), in any order: f may not read what another index writes. */
template <class F> static cudaError_t each(site where, int64_t count, const F &f)
{
    if (where == ON_DEVICE) return device_each(count, f, 0);
    for (int64_t i = 0; i < count; i++)
        f(i);
    return cudaSuccess;
}

/* An array of the site's, all bytes `fill`; one element more than asked for, so that none is empty. */
cudaError_t site_allocate(site where, void **array, size_t bytes, int fill);
void site_free(site where, void *array);

template <class T> static cudaError_t allocate(site where, T **array, int64_t count, int fill = 0)
{
    return site_allocate(where, (void **)array, (size_t)(count + 1) * sizeof(T), fill);
}

cudaError_t site_fill(site where, void *array, int fill, size_t bytes);

/* device_argsort, device_identity and device_exclusive_scan, or what they do, on the host. */
cudaError_t site_argsort(site where, const int *key, int largest_key, int *order, int count);
cudaError_t site_identity(site where, int *order, int count);
cudaError_t site_exclusive_scan(site where, int *data, int count);

/* Copies from an array of the site to ordinary memory. */
cudaError_t site_fetch(site where, void *to, const void *from, size_t bytes);

/* An array of a plan, and its size. */
struct array_ref {
    void **array;
    size_t bytes;
};

/* Moves what was made on the host to the GPU, all or nothing; *where says where the arrays are. */
cudaError_t site_publish(site *where, const array_ref *arrays, int count);

#endif
