#include "training/activations.h"

#include "device/parallel_for.cuh"
#include "device/warp.cuh"

#include <math.h>

struct biases {
    int N;
    const float *b;
    bool bend;
    float *Y;

    __device__ void operator()(int64_t i) const
    {
        const float y = Y[i] + b[i / N];
        Y[i] = bend ? tanhf(y) : y;
    }
};

cudaError_t add_biases(int rows, int N, const float *b, bool bend, float *Y, cudaStream_t stream)
{
    return device_parallel_for((int64_t)rows * N, biases{N, b, bend, Y}, stream);
}

struct through_tanh {
    const float *Y;
    float *dY;

    __device__ void operator()(int64_t i) const { dY[i] *= 1 - Y[i] * Y[i]; }
};

cudaError_t tanh_backward(int rows, int N, const float *Y, float *dY, cudaStream_t stream)
{
    return device_parallel_for((int64_t)rows * N, through_tanh{Y, dY}, stream);
}

constexpr int WARPS = 4;

static __global__ void __launch_bounds__(WARPS *WARP_SIZE)
    row_sums_kernel(int rows, int N, const float *dY, float *sums)
{
    const int row = blockIdx.x * WARPS + threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    if (row >= rows) return;
    float sum = 0;
    for (int n = lane; n < N; n += WARP_SIZE)
        sum += dY[(size_t)row * N + n];
    sum = warp_sum(sum);
    if (lane == 0) sums[row] = sum;
}

cudaError_t bias_gradient(int rows, int N, const float *dY, float *sums, cudaStream_t stream)
{
    const int blocks = (rows + WARPS - 1) / WARPS;
    row_sums_kernel<<<blocks, WARPS * WARP_SIZE, 0, stream>>>(rows, N, dY, sums);
    return cudaGetLastError();
}

struct column_loss {
    int classes, N;
    const float *logits;
    const int *label;
    float *loss, *gradient;

    __device__ void operator()(int64_t n) const
    {
        const float *const x = logits + n;
        const float weight = 1.0f / N;
        float most = x[0], sum = 0;
        for (int c = 1; c < classes; c++)
            most = fmaxf(most, x[(size_t)c * N]);
        for (int c = 0; c < classes; c++)
            sum += expf(x[(size_t)c * N] - most);
        loss[n] = weight * (most + logf(sum) - x[(size_t)label[n] * N]);
        for (int c = 0; c < classes; c++)
            gradient[(size_t)c * N + n] =
                weight * (expf(x[(size_t)c * N] - most) / sum - (c == label[n] ? 1 : 0));
    }
};

cudaError_t columns_loss(int classes, int N, const float *logits, const int *label, float *loss,
                         float *gradient, cudaStream_t stream)
{
    return device_parallel_for(N, column_loss{classes, N, logits, label, loss, gradient}, stream);
}
