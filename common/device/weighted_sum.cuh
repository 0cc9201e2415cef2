/*
 * weighted_sum.cuh - C = A * B for an A whose values are others in each run: rows of B, weighed and added up. Nothing of A
 * is stored but its pattern, so values may be read where they are, or be found by a rule.
 *
 *     weighted_sum(rows, N, row_ptr, col_idx, values_in_place<__half>{d_values}, B, C, stream);
 */
#ifndef DEVICE_WEIGHTED_SUM_CUH
#define DEVICE_WEIGHTED_SUM_CUH

#include "device/half.cuh"
#include "device/vec.cuh"

constexpr int SUM_BLOCK = 256;
constexpr int SUM_LOADS = 4;  /* rows of B on their way to a group */
constexpr int SUM_LONG = 256; /* nonzeros: a longer row gets all groups of its block */

/* Values of nonzeros in the order of the pattern. Others may stand in their place: all that a kernel asks is of(z), the
 * value of nonzero z as a float. */
template <class T> struct values_in_place {
    const T *__restrict__ values;

    __device__ __forceinline__ float of(int z) const { return widen(values[z]); }
};

/* Work of a group of lanes: its columns of B, and where they end. */
template <class T, class VALUES> struct summands {
    int N, column; /* the first of a lane's columns */
    const int *__restrict__ col_idx;
    VALUES values;
    const T *__restrict__ B;

    /* Adds every `step`-th batch of a row's nonzeros, from `begin` on. */
    template <int V>
    __device__ __forceinline__ void add(int begin, int end, int step, float (&sum)[V]) const
    {
        for (int z = begin; z < end; z += step) {
            T loaded[SUM_LOADS][V];
            float value[SUM_LOADS];
#pragma unroll
            for (int u = 0; u < SUM_LOADS; u++) {
                const int at = min(z + u, end - 1); /* beyond the end the last one again, unused */
                value[u] = values.of(at);
                load_vector(loaded[u], B + (size_t)col_idx[at] * N + column);
            }
#pragma unroll
            for (int u = 0; u < SUM_LOADS; u++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    if (z + u < end) sum[v] += value[u] * widen(loaded[u][v]);
        }
    }
};

template <class T, int V>
static __device__ __forceinline__ void store_sum(T *to, const float (&sum)[V])
{
    T stored[V];
#pragma unroll
    for (int v = 0; v < V; v++)
        stored[v] = narrow<T>(sum[v]);
    store_vector(to, stored);
}

/* LANES lanes take a row of the pattern, and LANES * V columns of C at a time. Of a long row all groups of the block take
 * batches in turn, and their sums are added up in the order of the groups. */
template <class T, int LANES, int V, class VALUES>
static __global__ void __launch_bounds__(SUM_BLOCK)
    weighted_sum_kernel(int rows, int N, const int *__restrict__ row_ptr,
                        const int *__restrict__ col_idx, VALUES values, const T *__restrict__ B,
                        T *__restrict__ C)
{
    constexpr int GROUPS = SUM_BLOCK / LANES;
    __shared__ float part[GROUPS][LANES * V];
    const int group = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const int first = blockIdx.x * GROUPS, column = (blockIdx.y * LANES + lane) * V;
    const summands<T, VALUES> of = {N, column, col_idx, values, B};
    const bool inside = column < N;
    if (first + group < rows && inside) {
        const int row = first + group, begin = row_ptr[row], end = row_ptr[row + 1];
        float sum[V] = {};
        if (end - begin <= SUM_LONG) {
            of.add(begin, end, SUM_LOADS, sum);
            store_sum(C + (size_t)row * N + column, sum);
        }
    }
    for (int row = first; row < min(first + GROUPS, rows); row++) {
        const int begin = row_ptr[row], end = row_ptr[row + 1];
        if (end - begin <= SUM_LONG) continue; /* alike for the whole block */
        float sum[V] = {};
        if (inside) of.add(begin + group * SUM_LOADS, end, GROUPS * SUM_LOADS, sum);
#pragma unroll
        for (int v = 0; v < V; v++)
            part[group][lane * V + v] = sum[v];
        __syncthreads();
        if (group == 0 && inside) {
            for (int g = 1; g < GROUPS; g++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    sum[v] += part[g][lane * V + v];
            store_sum(C + (size_t)row * N + column, sum);
        }
        __syncthreads(); /* before the next long row's sums */
    }
}

template <class T, int LANES, int V, class VALUES>
static cudaError_t weighted_sum_launch(int rows, int N, const int *row_ptr, const int *col_idx,
                                       const VALUES &values, const T *B, T *C, cudaStream_t stream)
{
    const dim3 grid((rows - 1) / (SUM_BLOCK / LANES) + 1, (N / V - 1) / LANES + 1);
#ifdef __CUDACC__
    weighted_sum_kernel<T, LANES, V, VALUES>
        <<<grid, SUM_BLOCK, 0, stream>>>(rows, N, row_ptr, col_idx, values, B, C);
#else /* headers are not translated for the CPU backend */
    SIMT_KERNEL(weighted_sum_kernel<T, LANES, V, VALUES>)
    (grid, SUM_BLOCK, 0, stream)(rows, N, row_ptr, col_idx, values, B, C);
#endif
    return cudaGetLastError();
}

template <class T, int V, class VALUES>
static cudaError_t weighted_sum_by(int rows, int N, const int *row_ptr, const int *col_idx,
                                   const VALUES &values, const T *B, T *C, cudaStream_t stream)
{
    constexpr int MOST_SLICES = 65535; /* blocks a grid may have in y */
    if constexpr (V == 1)
        if ((N - 1) / 16 >= MOST_SLICES)
            return weighted_sum_launch<T, 32, V>(rows, N, row_ptr, col_idx, values, B, C, stream);
    if (N / V <= 4)
        return weighted_sum_launch<T, 4, V>(rows, N, row_ptr, col_idx, values, B, C, stream);
    if (N / V <= 8)
        return weighted_sum_launch<T, 8, V>(rows, N, row_ptr, col_idx, values, B, C, stream);
    return weighted_sum_launch<T, 16, V>(rows, N, row_ptr, col_idx, values, B, C, stream);
}

/* C[rows x N] = A * B, both row-major and 16-byte aligned, by the widest vectors that rows of N elements are made of;
 * enqueued on `stream`. Sums are formed in fp32, and rounded once. */
template <class T, class VALUES>
static cudaError_t weighted_sum(int rows, int N, const int *row_ptr, const int *col_idx,
                                const VALUES &values, const T *B, T *C, cudaStream_t stream)
{
    constexpr int WIDEST = 16 / sizeof(T);
    if (rows == 0) return cudaSuccess;
    if (N % WIDEST == 0)
        return weighted_sum_by<T, WIDEST>(rows, N, row_ptr, col_idx, values, B, C, stream);
    if (N % 4 == 0) return weighted_sum_by<T, 4>(rows, N, row_ptr, col_idx, values, B, C, stream);
    return weighted_sum_by<T, 1>(rows, N, row_ptr, col_idx, values, B, C, stream);
}

#endif
