#include "baselines/layer_dense.h"

#include "device/cuda_try.h"
#include "device/half.cuh"
#include "device/parallel_for.cuh"
#include "device/warp.cuh"

constexpr int WARPS = 8;

/* A thread a row, so that entries of one place are added in turn. */
template <class T> struct fill_row {
    device_csr W;
    T *dense;

    __device__ void operator()(int64_t row) const
    {
        for (int z = W.d_row_ptr[row]; z < W.d_row_ptr[row + 1]; z++) {
            T *const at = dense + (size_t)row * W.cols + W.d_col_idx[z];
            *at = narrow<T>(widen(*at) + W.d_values[z]);
        }
    }
};

template <class T> static cudaError_t fill(const device_csr &W, void *dense)
{
    CUDA_TRY(cudaMemsetAsync(dense, 0, (size_t)W.rows * W.cols * sizeof(T), 0));
    return device_parallel_for(W.rows, fill_row<T>{W, (T *)dense}, 0);
}

cudaError_t layer_dense_fill(const sparse_layer_plan *plan, void *dense)
{
    switch (plan->contender->base.precision) {
    case PRECISION_FP16:
        return fill<__half>(plan->W, dense);
    case PRECISION_BF16:
        return fill<__nv_bfloat16>(plan->W, dense);
    default:
        return fill<float>(plan->W, dense);
    }
}

/* A warp a row. */
static __global__ void layer_update_kernel(device_csr W, const float *__restrict__ gradient,
                                           bool dense, float eta, float *__restrict__ new_W)
{
    const int row = blockIdx.x * WARPS + warp_id();
    if (row >= W.rows) return;
    for (int z = W.d_row_ptr[row] + lane_id(); z < W.d_row_ptr[row + 1]; z += WARP_SIZE) {
        const size_t at = dense ? (size_t)row * W.cols + W.d_col_idx[z] : z;
        new_W[z] = W.d_values[z] - eta * gradient[at];
    }
}

cudaError_t layer_update(const sparse_layer_plan *plan, const float *gradient, bool dense,
                         float *new_W, cudaStream_t stream)
{
    const device_csr &W = plan->W;
    if (W.rows == 0) return cudaSuccess;
    layer_update_kernel<<<(W.rows - 1) / WARPS + 1, WARPS * WARP_SIZE, 0, stream>>>(
        W, gradient, dense, plan->eta, new_W);
    return cudaGetLastError();
}

struct add_one {
    const float *gradient;
    float *sum;

    __device__ void operator()(int64_t z) const { sum[z] += gradient[z]; }
};

cudaError_t layer_accumulate(const sparse_layer_plan *plan, const float *gradient, float *sum,
                             cudaStream_t stream)
{
    return device_parallel_for(plan->W.nnz, add_one{gradient, sum}, stream);
}
