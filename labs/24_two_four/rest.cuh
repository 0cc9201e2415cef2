/*
 * rest.cuh - what sparse tensor cores leave over: elements in CSR, on CUDA cores, and the sums of the splits with them.
 */
#ifndef LAB24_REST_CUH
#define LAB24_REST_CUH

#include "device/dense_rows.cuh"
#include "device/split_sums.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "formats/two_four.h"

constexpr int BLOCK = STRIPS * WARP_SIZE; /* of both kernels */
constexpr int BATCH = 4;                  /* rows of B on their way to a lane */

/* Returns what the rest of a row adds to V columns of C from `column` on, in each lane of the warp. A warp takes a row: LANES
 * neighbouring lanes have an element each, V columns a lane, so the warp has 32 / LANES elements at a time. */
template <int LANES, int V, class H>
static __device__ void sum_of_rest(const two_four &A, const dense_rows<H> &B, int row, int column,
                                   float (&sum)[V])
{
    constexpr int GROUPS = WARP_SIZE / LANES;
    const H *const from = B.B + min(column, B.N - V); /* lanes beyond N load what others load */
    /* BEGIN STUDENT: each group of lanes takes every GROUPS-th element; then add up the groups */
    const int end = A.rest_ptr[row + 1];
    for (int k = A.rest_ptr[row] + lane_id() / LANES; k < end; k += BATCH * GROUPS) {
        float value[BATCH];
        H b[BATCH][V];
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            const int at = min(k + u * GROUPS, end - 1); /* beyond the end the last one, unused */
            value[u] = widen(half_of_bits<H>(A.rest_value[at]));
            load_vector(b[u], from + (size_t)A.rest_col[at] * B.N);
        }
#pragma unroll
        for (int u = 0; u < BATCH; u++)
#pragma unroll
            for (int v = 0; v < V; v++)
                if (k + u * GROUPS < end) sum[v] += value[u] * widen(b[u][v]);
    }
#pragma unroll
    for (int distance = LANES; distance < WARP_SIZE; distance *= 2)
#pragma unroll
        for (int v = 0; v < V; v++)
            sum[v] += __shfl_xor_sync(FULL_MASK, sum[v], distance);
    /* END STUDENT */
}

/* sum += V floats, by loads of 16 bytes. */
template <int V> static __device__ void add_split(const float *from, float (&sum)[V])
{
    constexpr int WIDE = V < 4 ? V : 4;
#pragma unroll
    for (int v = 0; v < V; v += WIDE) {
        float piece[WIDE];
        load_vector(piece, from + v);
#pragma unroll
        for (int w = 0; w < WIDE; w++)
            sum[v + w] += piece[w];
    }
}

/* A warp a row of C: the rest, then the splits in their order, rounded once. */
template <int LANES, int V, class H>
static __global__ void __launch_bounds__(BLOCK)
    add_rest_kernel(const __grid_constant__ split_sums from, const __grid_constant__ two_four A,
                    const __grid_constant__ dense_rows<H> B,
                    const __grid_constant__ dense_result<H> out)
{
    const int row = blockIdx.x * STRIPS + warp_id(), lane = lane_id();
    const int column = (blockIdx.y * LANES + lane % LANES) * V;
    if (row >= out.rows) return;
    float sum[V] = {};
    sum_of_rest<LANES, V>(A, B, row, column, sum);
    if (lane >= LANES || column >= out.N) return;
    H rounded[V];
    for (int s = 0; s < from.splits; s++)
        add_split(&from.d_sum[(s * from.rows + row) * from.pitch + column], sum);
#pragma unroll
    for (int v = 0; v < V; v++)
        rounded[v] = narrow<H>(sum[v]);
    store_vector(&out.C[(size_t)row * out.N + column], rounded);
}

#endif
