#include "baselines/sampled.h"

#include "device/half.cuh"
#include "device/parallel_for.cuh"

constexpr int PICK_THREADS = 128;

static const void *weights_of(const sddmm_plan *plan)
{
    return plan->W.d_values ? plan->W.d_values : plan->W.d_values16;
}

template <class T> struct weigh {
    const T *weights;
    T *D;

    __device__ void operator()(int64_t z) const
    {
        D[z] = narrow<T>(widen(weights[z]) * widen(D[z]));
    }
};

template <class T>
static cudaError_t weigh_all(const sddmm_plan *plan, const void *weights, void *D,
                             cudaStream_t stream)
{
    const weigh<T> f = {(const T *)weights, (T *)D};
    return device_parallel_for(plan->W.nnz, f, stream);
}

cudaError_t sampled_weigh(const sddmm_plan *plan, void *D, cudaStream_t stream)
{
    const void *weights = weights_of(plan);
    if (!weights) return cudaSuccess;
    switch (plan->contender->base.precision) {
    case PRECISION_FP16:
        return weigh_all<__half>(plan, weights, D, stream);
    case PRECISION_BF16:
        return weigh_all<__nv_bfloat16>(plan, weights, D, stream);
    default:
        return weigh_all<float>(plan, weights, D, stream);
    }
}

/* A block a row. Its threads take the row's nonzeros in turn, so that columns and D are read and
 * written in long lines; the product is read wherever the pattern says. */
template <class T>
static __global__ void sampled_pick_kernel(const int *row_ptr, const int *col_idx, const T *weights,
                                           const T *product, int cols, T *D)
{
    const T *const row = product + (size_t)blockIdx.x * cols;
    const int end = row_ptr[blockIdx.x + 1];
    for (int z = row_ptr[blockIdx.x] + threadIdx.x; z < end; z += PICK_THREADS) {
        const T picked = row[col_idx[z]];
        D[z] = weights ? narrow<T>(widen(weights[z]) * widen(picked)) : picked;
    }
}

template <class T>
static cudaError_t pick(const sddmm_plan *plan, const void *product, void *D, cudaStream_t stream)
{
    const device_csr *W = &plan->W;
    sampled_pick_kernel<<<W->rows, PICK_THREADS, 0, stream>>>(W->d_row_ptr, W->d_col_idx,
                                                              (const T *)weights_of(plan),
                                                              (const T *)product, W->cols, (T *)D);
    return cudaGetLastError();
}

cudaError_t sampled_pick(const sddmm_plan *plan, const void *product, void *D, cudaStream_t stream)
{
    switch (plan->contender->base.precision) {
    case PRECISION_FP16:
        return pick<__half>(plan, product, D, stream);
    case PRECISION_BF16:
        return pick<__nv_bfloat16>(plan, product, D, stream);
    default:
        return pick<float>(plan, product, D, stream);
    }
}
