#include "device/half.cuh"
#include "device/power.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "kernels.h"

#include <math.h>

constexpr int THREADS = 256, WARPS = THREADS / WARP_SIZE; /* a warp a row */

/* A row of scores: pieces of B numbers, one a block. */
template <class T> struct score_row {
    T *first;          /* its part of block 0, or of the matrix's row */
    const int *number; /* of the row's blocks; NULL: pieces follow each other */
    int block,
        diagonal; /* B; which piece holds the diagonal: behind it a query attends to nothing */
    int own;      /* its place inside that piece */

    __device__ __forceinline__ score_row(const scores &s, int row)
        : block(s.block), own(row % s.block)
    {
        const int block_row = row / s.block;
        if (s.row_ptr) {
            number = s.of_row + s.row_ptr[block_row];
            diagonal = s.row_ptr[block_row + 1] - s.row_ptr[block_row] - 1;
            first = (T *)s.S + own * block;
        } else {
            number = nullptr;
            diagonal = block_row % (s.length / block);
            first = (T *)s.S + (size_t)row * s.length;
        }
    }

    __device__ __forceinline__ T *at(int piece, int c) const
    {
        if (!number) return first + (size_t)piece * block + c;
        return first + (size_t)number[piece] * block * block + c;
    }

    __device__ __forceinline__ bool attends(int piece, int c) const
    {
        return piece < diagonal || (piece == diagonal && c <= own);
    }
};

/* Largest score that a lane has met, and the sum of powers of 2 under it; `factor` turns scores into exponents. */
struct row_total {
    float most = -INFINITY, total = 0;

    __device__ __forceinline__ void raise(float score, float factor)
    {
        if (score <= most) return;
        total *= power_of_2((most - score) * factor);
        most = score;
    }
};

/* Two walks along the row: for the largest score and the sum, then to write shares. The second one reads from L1 or L2. */
template <class T>
static __global__ void __launch_bounds__(THREADS) softmax_rows_kernel(const scores s, float factor)
{
    constexpr int V = 16 / sizeof(T);
    const int row = blockIdx.x * WARPS + warp_id();
    if (row >= s.rows) return;
    const score_row<T> mine(s, row);
    const int of_piece = s.block / V, vectors = (mine.diagonal + 1) * of_piece;
    row_total sum;
    T x[V];
    for (int v = lane_id(); v < vectors; v += WARP_SIZE) {
        const int piece = v / of_piece, c = v % of_piece * V;
        float most = -INFINITY;
        load_vector_plain(x, mine.at(piece, c));
#pragma unroll
        for (int e = 0; e < V; e++)
            if (mine.attends(piece, c + e)) most = fmaxf(most, widen(x[e]));
        if (most == -INFINITY) continue; /* all behind the diagonal */
        sum.raise(most, factor);
#pragma unroll
        for (int e = 0; e < V; e++)
            if (mine.attends(piece, c + e))
                sum.total += power_of_2((widen(x[e]) - sum.most) * factor);
    }
    const float most = warp_max(sum.most);
    sum.raise(most, factor);
    const float one = 1 / warp_sum(sum.total);
    const int written = s.row_ptr ? vectors : s.length / V;
    for (int v = lane_id(); v < written; v += WARP_SIZE) {
        const int piece = v / of_piece, c = v % of_piece * V;
        T *const at = mine.at(piece, c);
        if (piece <= mine.diagonal) load_vector_plain(x, at);
#pragma unroll
        for (int e = 0; e < V; e++)
            x[e] = narrow<T>(
                mine.attends(piece, c + e) ? power_of_2((widen(x[e]) - most) * factor) * one : 0);
        store_vector(at, x);
    }
}

cudaError_t softmax_rows(const scores *s)
{
    const float factor = (float)(s->scale * 1.4426950408889634); /* log2(e) */
    const int blocks = (s->rows + WARPS - 1) / WARPS;
    if (s->precision == PRECISION_FP16)
        softmax_rows_kernel<__half><<<blocks, THREADS>>>(*s, factor);
    else if (s->precision == PRECISION_BF16)
        softmax_rows_kernel<__nv_bfloat16><<<blocks, THREADS>>>(*s, factor);
    else
        softmax_rows_kernel<float><<<blocks, THREADS>>>(*s, factor);
    return cudaGetLastError();
}
