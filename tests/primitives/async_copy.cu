/*
 * async_copy.cu - device/async_copy.cuh against PTX's cp.async: sizes, zero fill, groups.
 */
#include "tests/primitives/primitives.h"

#include "device/async_copy.cuh"

enum { THREADS = 64 };

/* Each thread copies BYTES, of which the first thread % (BYTES + 1) count, the rest being zero. */
template <int BYTES> __global__ void fill_kernel(const unsigned char *from, unsigned char *to)
{
    __shared__ __align__(16) unsigned char whole[THREADS * BYTES], part[THREADS * BYTES];
    const int at = BYTES * threadIdx.x;
    for (int i = 0; i < BYTES; i++)
        whole[at + i] = part[at + i] = 0xee;
    __syncthreads(); /* nothing else orders these stores before the copies */
    async_copy<BYTES>(&whole[at], &from[at]);
    async_copy_zfill<BYTES>(&part[at], &from[at], threadIdx.x % (BYTES + 1));
    async_commit();
    async_wait<0>();
    __syncthreads();
    const int other = THREADS * BYTES - 1 - at; /* what other threads copied */
    for (int i = 0; i < BYTES; i++) {
        to[other - i] = whole[other - i];
        to[THREADS * BYTES + other - i] = part[other - i];
    }
}

template <int BYTES> static void fill(void)
{
    const int n = THREADS * BYTES;
    unsigned char from[n], to[2 * n];
    for (int i = 0; i < n; i++)
        from[i] = (unsigned char)(1 + i % 251);
    unsigned char *d_from = to_device(from, n), *d = device_zeros<unsigned char>(2 * n);
    fill_kernel<BYTES><<<1, THREADS>>>(d_from, d);
    FINISH();
    to_host(to, d, 2 * n);
    CUDA(cudaFree(d_from));
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        const int thread = i / BYTES;
        wrong += to[i] != from[i];
        wrong += to[n + i] != (i % BYTES < thread % (BYTES + 1) ? from[i] : 0);
    }
    tap_ok(wrong == 0, "%d bytes, whole and zero-filled", BYTES);
}

/* A ring of three stages: while one is used, the next two are on their way. */
__global__ void pipeline_kernel(const float4 *from, float *to, int steps)
{
    __shared__ float4 stage[3][THREADS];
    const int t = threadIdx.x;
    for (int s = 0; s < 2; s++) {
        if (s < steps) async_copy<16>(&stage[s][t], &from[s * THREADS + t]);
        async_commit();
    }
    float sum = 0;
    for (int s = 0; s < steps; s++) {
        async_wait<1>(); /* of the two groups under way the older has arrived */
        __syncthreads();
        if (s + 2 < steps) async_copy<16>(&stage[(s + 2) % 3][t], &from[(s + 2) * THREADS + t]);
        async_commit();
        const float4 x = stage[s % 3][THREADS - 1 - t];
        sum = 2 * sum + x.x + x.y + x.z + x.w;
    }
    to[t] = sum;
}

static void pipeline(int steps)
{
    const int n = steps * THREADS;
    float4 *from = (float4 *)calloc((size_t)n + 1, sizeof *from), *d_from;
    for (int i = 0; i < n; i++)
        from[i] = make_float4((float)(i % 7), (float)(i % 11), (float)(i % 5), 1);
    d_from = to_device(from, (size_t)n + 1);
    float *d = device_zeros<float>(THREADS), to[THREADS];
    pipeline_kernel<<<1, THREADS>>>(d_from, d, steps);
    FINISH();
    to_host(to, d, THREADS);
    CUDA(cudaFree(d_from));
    int wrong = 0;
    for (int t = 0; t < THREADS; t++) {
        float sum = 0;
        for (int s = 0; s < steps; s++) {
            const float4 x = from[s * THREADS + THREADS - 1 - t];
            sum = 2 * sum + x.x + x.y + x.z + x.w;
        }
        wrong += to[t] != sum;
    }
    free(from);
    tap_ok(wrong == 0, "three stages, %d steps", steps);
}

/* Waiting for all includes what was never committed; nothing is read when nothing is valid. */
__global__ void all_kernel(const int *from, int *to)
{
    __shared__ int x[THREADS], y[THREADS];
    const int t = threadIdx.x;
    y[t] = -1;
    __syncthreads();
    async_copy<4>(&x[t], &from[t]);
    async_copy_zfill<4>(&y[t], from, 0);
    async_wait_all();
    to[t] = x[t] + y[t];
}

int main()
{
    fill<4>();
    fill<8>();
    fill<16>();
    for (int steps : {0, 1, 2, 3, 10})
        pipeline(steps);

    int from[THREADS], to[THREADS], wrong = 0;
    for (int i = 0; i < THREADS; i++)
        from[i] = 3 * i + 1;
    int *d_from = to_device(from, THREADS), *d = device_zeros<int>(THREADS);
    all_kernel<<<1, THREADS>>>(d_from, d);
    FINISH();
    to_host(to, d, THREADS);
    for (int i = 0; i < THREADS; i++)
        wrong += to[i] != from[i];
    tap_ok(wrong == 0, "waiting for all, committed or not; copying nothing");
    return tap_done();
}
