/*
 * on_device.h - copies of arrays between host and device, for tests; a failure ends the test.
 */
#ifndef TESTS_UNIT_ON_DEVICE_H
#define TESTS_UNIT_ON_DEVICE_H

#include <cuda_runtime_api.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* On the device, to be freed with cudaFree. */
static inline void *to_device(const void *from, size_t bytes)
{
    void *d;
    assert_int_equal(cudaMalloc(&d, bytes + 1), cudaSuccess);
    assert_int_equal(cudaMemcpy(d, from, bytes, cudaMemcpyHostToDevice), cudaSuccess);
    return d;
}

/* On the host, to be freed. */
static inline void *to_host(const void *d, size_t bytes)
{
    void *host = malloc(bytes + 1);
    assert_non_null(host);
    assert_int_equal(cudaMemcpy(host, d, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    return host;
}

#endif
