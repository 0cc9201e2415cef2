#include "training/linear_kernels.h"

#include "device/parallel_for.cuh"

struct weight_sum {
    const float *x;
    float *sum;

    __device__ void operator()(int64_t z) const { sum[z] += x[z]; }
};

cudaError_t weights_add(int64_t count, const float *x, float *sum, cudaStream_t stream)
{
    return device_parallel_for(count, weight_sum{x, sum}, stream);
}

struct weight_update {
    const int *place;
    float rate;
    const float *gradient;
    float *W;

    __device__ void operator()(int64_t z) const
    {
        const int64_t p = place ? place[z] : z;
        W[p] -= rate * gradient[p];
    }
};

cudaError_t weights_update(int64_t count, const int *place, float rate, const float *gradient,
                           float *W, cudaStream_t stream)
{
    return device_parallel_for(count, weight_update{place, rate, gradient, W}, stream);
}

struct weight_scatter {
    const int *place;
    const float *x;
    float *dense;

    __device__ void operator()(int64_t z) const { dense[place[z]] = x[z]; }
};

cudaError_t weights_scatter(int64_t count, const int *place, const float *x, float *dense,
                            cudaStream_t stream)
{
    return device_parallel_for(count, weight_scatter{place, x, dense}, stream);
}

struct weight_gather {
    const int *place;
    const float *dense;
    float *x;

    __device__ void operator()(int64_t z) const { x[z] = dense[place[z]]; }
};

cudaError_t weights_gather(int64_t count, const int *place, const float *dense, float *x,
                           cudaStream_t stream)
{
    return device_parallel_for(count, weight_gather{place, dense, x}, stream);
}
