#include "baselines/reduced_features.h"

#include "device/half.cuh"
#include "device/warp.cuh"

constexpr int THREADS = 256;

static unsigned grid_of(int64_t count)
{
    return (unsigned)((count + THREADS - 1) / THREADS);
}

/* The norm of `count` numbers, `stride` apart, before the root; NaN where one is. */
template <class H> static __device__ float norm_of(const H *x, int64_t stride, int count, bool l2)
{
    float norm = 0;
    for (int i = 0; i < count; i++) {
        const float v = widen(x[i * stride]);
        norm = l2 ? norm + v * v : fabsf(v) <= norm ? norm : fabsf(v);
        if (norm != norm) return norm;
    }
    return norm;
}

static __device__ float root_if(bool l2, float norm)
{
    return l2 ? sqrtf(norm) : norm;
}

/* Token-major: numbers of a group lie side by side, groups of a token follow each other. Feature-major: N apart, tokens of a
 * pair follow each other. */
template <class H>
static __global__ void reduce_kernel(const H *x, int lines, int block, int N, int64_t tokens,
                                     bool l2, H *R)
{
    const int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (e >= tokens * lines) return;
    if constexpr (sizeof(H) == 2) {
        R[e] = narrow<H>(root_if(l2, norm_of(x + e * block, 1, block, l2)));
    } else {
        const int64_t pair = e / ((int64_t)N * lines), line = e / N % lines, t = e % N;
        R[(pair * N + t) * lines + line] =
            root_if(l2, norm_of(x + (pair * lines + line) * block * N + t, N, block, l2));
    }
}

/* A warp a block: a thread a block would be few threads, and each a chain of thousands of loads. */
template <class H>
static __global__ void weights_kernel(const H *W, int blocks, int elements, bool l2, float *norm)
{
    const int b = blockIdx.x * (THREADS / WARP_SIZE) + warp_id();
    if (b >= blocks) return;
    float x = norm_of(W + (int64_t)b * elements + lane_id(), WARP_SIZE, elements / WARP_SIZE, l2);
    for (int d = WARP_SIZE / 2; d > 0; d /= 2) {
        const float other = __shfl_xor_sync(FULL_MASK, x, d);
        x = l2 ? x + other : other <= x ? x : x <= other ? other : NAN;
    }
    x = root_if(l2, x);
    if (lane_id() == 0) norm[b] = fabsf(x) < INFINITY ? x : 0;
}

static __global__ void finite_plus_old_kernel(float *x, const float *old, int64_t count)
{
    const int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (e < count) x[e] = (fabsf(x[e]) < INFINITY ? x[e] : 0) + (old ? old[e] : 0);
}

template <class H>
static cudaError_t reduce(const block_importance_plan *plan, const void *x, int lines, void *R,
                          cudaStream_t stream)
{
    const int64_t tokens = (int64_t)plan->pairs * plan->N;
    if (tokens * lines == 0) return cudaSuccess;
    reduce_kernel<H><<<grid_of(tokens * lines), THREADS, 0, stream>>>(
        (const H *)x, lines, plan->block, plan->N, tokens, plan->norm == IMPORTANCE_L2, (H *)R);
    return cudaGetLastError();
}

cudaError_t reduced_features(const block_importance_plan *plan, const void *x, int lines, void *R,
                             cudaStream_t stream)
{
    switch (plan->contender->base.precision) {
    case PRECISION_FP16:
        return reduce<__half>(plan, x, lines, R, stream);
    case PRECISION_BF16:
        return reduce<__nv_bfloat16>(plan, x, lines, R, stream);
    default:
        return reduce<float>(plan, x, lines, R, stream);
    }
}

template <class H>
static cudaError_t reduce_weights(const block_importance_plan *plan, const void *W, float *norm,
                                  cudaStream_t stream)
{
    const int blocks = plan->layout->blocks;
    if (blocks == 0) return cudaSuccess;
    weights_kernel<H><<<grid_of((int64_t)blocks * WARP_SIZE), THREADS, 0, stream>>>(
        (const H *)W, blocks, plan->block * plan->block, plan->norm == IMPORTANCE_L2, norm);
    return cudaGetLastError();
}

cudaError_t reduced_weights(const block_importance_plan *plan, const void *W, float *norm,
                            cudaStream_t stream)
{
    switch (plan->contender->base.precision) {
    case PRECISION_FP16:
        return reduce_weights<__half>(plan, W, norm, stream);
    case PRECISION_BF16:
        return reduce_weights<__nv_bfloat16>(plan, W, norm, stream);
    default:
        return reduce_weights<float>(plan, W, norm, stream);
    }
}

cudaError_t finite_plus_old(float *x, const float *old, int64_t count, cudaStream_t stream)
{
    if (count == 0) return cudaSuccess;
    finite_plus_old_kernel<<<grid_of(count), THREADS, 0, stream>>>(x, old, count);
    return cudaGetLastError();
}
