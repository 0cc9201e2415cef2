#include "weights.h"

#include "device/half.cuh"
#include "device/warp.cuh"

#include <math.h>

constexpr int BLOCK = 256, WARPS = BLOCK / WARP_SIZE;

int weights_kept(int cols, double sparsity)
{
    const int kept = (int)floor((1 - sparsity) * cols + 0.5);
    return kept < 1 ? 1 : kept;
}

/* A warp a row: 32 columns at a time, whose kept ones go side by side behind those before. */
static __global__ void __launch_bounds__(BLOCK)
    weights_csr_kernel(weight_spec w, int *row_ptr, int *col_idx, __half *values)
{
    const int row = blockIdx.x * WARPS + warp_id(), lane = lane_id();
    if (row >= w.rows) return;
    int next = row * w.kept;
    if (lane == 0) row_ptr[row] = next;
    if (row == w.rows - 1 && lane == 0) row_ptr[w.rows] = w.rows * w.kept;
    for (int first = 0; first < w.cols; first += WARP_SIZE) {
        const int c = first + lane;
        const float x = c < w.cols ? weights_element(&w, row, c) : 0;
        const unsigned kept = __ballot_sync(FULL_MASK, x != 0);
        const int at = next + __popc(kept & ((1u << lane) - 1));
        if (x != 0) {
            col_idx[at] = c;
            values[at] = narrow<__half>(x);
        }
        next += __popc(kept);
    }
}

cudaError_t weights_make_csr(const weight_spec *w, int *d_row_ptr, int *d_col_idx, void *d_values)
{
    weights_csr_kernel<<<(w->rows - 1) / WARPS + 1, BLOCK>>>(*w, d_row_ptr, d_col_idx,
                                                             (__half *)d_values);
    return cudaGetLastError();
}

/* A block a row. */
static __global__ void __launch_bounds__(BLOCK) weights_dense_kernel(weight_spec w, __half *dense)
{
    __half *const row = dense + (size_t)blockIdx.x * w.cols;
    for (int c = threadIdx.x; c < w.cols; c += BLOCK)
        row[c] = narrow<__half>(weights_element(&w, blockIdx.x, c));
}

cudaError_t weights_make_dense(const weight_spec *w, void *d_dense)
{
    weights_dense_kernel<<<w->rows, BLOCK>>>(*w, (__half *)d_dense);
    return cudaGetLastError();
}

template <class T>
static __global__ void __launch_bounds__(BLOCK)
    parameters_kernel(uint64_t seed, int64_t count, float centre, float spread, T *to)
{
    for (int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * BLOCK)
        to[i] = narrow<T>(weights_parameter(seed, (uint64_t)i, centre, spread));
}

template <class T>
static cudaError_t make_parameters(uint64_t seed, int64_t count, float centre, float spread, T *to)
{
    constexpr int64_t MOST_BLOCKS = 4096;
    const unsigned blocks = (unsigned)min((count + BLOCK - 1) / BLOCK, MOST_BLOCKS);
    parameters_kernel<T><<<blocks, BLOCK>>>(seed, count, centre, spread, to);
    return cudaGetLastError();
}

cudaError_t weights_make_parameters(uint64_t seed, int64_t count, float centre, float spread,
                                    void *d)
{
    return make_parameters(seed, count, centre, spread, (__half *)d);
}

cudaError_t weights_make_bias(uint64_t seed, int64_t count, float centre, float spread, float *d)
{
    return make_parameters(seed, count, centre, spread, d);
}
