#include "kernels.h"

#include "device/half.cuh"
#include "device/warp.cuh"

constexpr int BLOCK = 256, WARPS = BLOCK / WARP_SIZE;
constexpr int NORM_WARPS = 4; /* of a block, a row each */

/* ---- LayerNorm --------------------------------------------------------------------------------- */

/* A warp a row. It reads its row three times, the second and third time from L1: 4 KB at a width of 1,024. */
static __global__ void __launch_bounds__(NORM_WARPS *WARP_SIZE)
    layer_norm_kernel(int rows, int width, const float *x, const float *gain, const float *shift,
                      float *y)
{
    const int row = blockIdx.x * NORM_WARPS + warp_id(), lane = lane_id();
    if (row >= rows) return;
    const float *const mine = x + (size_t)row * width;
    float sum = 0, squares = 0;
    for (int c = lane; c < width; c += WARP_SIZE)
        sum += mine[c];
    const float mean = warp_sum(sum) / width;
    for (int c = lane; c < width; c += WARP_SIZE) {
        const float off = mine[c] - mean;
        squares += off * off;
    }
    const float scale = 1 / sqrtf(warp_sum(squares) / width + NORM_EPSILON);
    for (int c = lane; c < width; c += WARP_SIZE)
        y[(size_t)row * width + c] = (mine[c] - mean) * scale * gain[c] + shift[c];
}

cudaError_t layer_norm(int rows, int width, const float *x, const float *gain, const float *shift,
                       float *y)
{
    layer_norm_kernel<<<(rows - 1) / NORM_WARPS + 1, NORM_WARPS * WARP_SIZE>>>(rows, width, x, gain,
                                                                               shift, y);
    return cudaGetLastError();
}

/* ---- element by element ------------------------------------------------------------------------ */

/* Blocks for `count` elements, a thread each, as far as a grid goes well; threads stride over the rest. */
static int blocks_for(size_t count)
{
    const size_t blocks = (count + BLOCK - 1) / BLOCK;
    return (int)(blocks < 1 << 20 ? blocks : 1 << 20);
}

/* A block a row: a column needs no division. */
static __global__ void __launch_bounds__(BLOCK)
    add_bias_kernel(int width, const float *bias, bool relu, float *x)
{
    float *const mine = x + (size_t)blockIdx.x * width;
    for (int c = threadIdx.x; c < width; c += BLOCK) {
        const float sum = mine[c] + bias[c];
        mine[c] = relu ? fmaxf(sum, 0) : sum;
    }
}

cudaError_t add_bias(int rows, int width, const float *bias, bool relu, float *x)
{
    add_bias_kernel<<<rows, BLOCK>>>(width, bias, relu, x);
    return cudaGetLastError();
}

static __global__ void __launch_bounds__(BLOCK)
    narrow_kernel(size_t count, const float *from, __half *to)
{
    for (size_t at = blockIdx.x * (size_t)BLOCK + threadIdx.x; at < count;
         at += gridDim.x * (size_t)BLOCK)
        to[at] = narrow<__half>(from[at]);
}

static __global__ void __launch_bounds__(BLOCK)
    widen_kernel(size_t count, const __half *from, float *to)
{
    for (size_t at = blockIdx.x * (size_t)BLOCK + threadIdx.x; at < count;
         at += gridDim.x * (size_t)BLOCK)
        to[at] = widen(from[at]);
}

cudaError_t narrow_to_fp16(size_t count, const float *from, void *to)
{
    narrow_kernel<<<blocks_for(count), BLOCK>>>(count, from, (__half *)to);
    return cudaGetLastError();
}

cudaError_t widen_from_fp16(size_t count, const void *from, float *to)
{
    widen_kernel<<<blocks_for(count), BLOCK>>>(count, (const __half *)from, to);
    return cudaGetLastError();
}

/* ---- softmax ----------------------------------------------------------------------------------- */

/* Which columns a row attends to. */
struct row_mask {
    const uint32_t *bits; /* NULL: causal */
    int end;              /* beyond the last column that may be allowed */

    __device__ __forceinline__ row_mask(const uint32_t *allowed, int n, int row)
        : bits(allowed ? allowed + row * (((size_t)n + 31) / 32) : nullptr),
          end(allowed ? n : row + 1)
    {
    }

    __device__ __forceinline__ bool has(int j) const
    {
        return j < end && (!bits || bits[j / 32] >> j % 32 & 1);
    }
};

/* Largest logit that a thread, a warp or a block has met, and the sum of exponentials under it. */
struct row_total {
    float most, total;

    __device__ __forceinline__ void take(float logit, float weight)
    {
        if (logit > most) {
            total = total * expf(most - logit) + weight;
            most = logit;
        } else if (logit > -INFINITY) {
            total += weight * expf(logit - most);
        }
    }
};

/* Block (row, head): a walk for the largest logit and the sum, then one that writes shares. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    masked_softmax_kernel(int n, const uint32_t *allowed, const T *logits, T *shares)
{
    __shared__ row_total of_warp[WARPS];
    const int row = blockIdx.x;
    const row_mask mask(allowed, n, row);
    const size_t begin = ((size_t)blockIdx.y * n + row) * n;
    row_total mine = {-INFINITY, 0};
    for (int j = threadIdx.x; j < mask.end; j += BLOCK)
        if (mask.has(j)) mine.take(widen(logits[begin + j]), 1);
    const float most = warp_max(mine.most);
    const float part = mine.most == -INFINITY ? 0 : mine.total * expf(mine.most - most);
    const float total = warp_sum(part);
    if (lane_id() == 0) of_warp[warp_id()] = row_total{most, total};
    __syncthreads();
    row_total all = of_warp[0];
    for (int w = 1; w < WARPS; w++)
        all.take(of_warp[w].most, of_warp[w].total);
    for (int j = threadIdx.x; j < n; j += BLOCK)
        shares[begin + j] =
            narrow<T>(mask.has(j) ? expf(widen(logits[begin + j]) - all.most) / all.total : 0);
}

cudaError_t masked_softmax(enum precision precision, int n, int heads, const uint32_t *allowed,
                           const void *logits, void *shares)
{
    const dim3 grid(n, heads);
    if (precision == PRECISION_FP16)
        masked_softmax_kernel<<<grid, BLOCK>>>(n, allowed, (const __half *)logits,
                                               (__half *)shares);
    else
        masked_softmax_kernel<<<grid, BLOCK>>>(n, allowed, (const float *)logits, (float *)shares);
    return cudaGetLastError();
}
