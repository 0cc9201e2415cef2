/*
 * parts.cuh - segments too long for a warp: blocks take a part each, and whichever comes last adds up
 * all parts in their order, so that the sum has the same bits in every run.
 */
#ifndef LAB20_PARTS_CUH
#define LAB20_PARTS_CUH

#include "gather.cuh"
#include "labs/10_row_swizzle/last_block.cuh"

/* The warp's share of the part, summed, in shared memory. */
template <int LANES, int V, int K>
static __device__ __forceinline__ void sum_share(const pass_product &p, int number, float *warp_sum)
{
    const slice_lanes<LANES, V, K> at(p);
    const int2 part = p.part[number], span = p.span[part.x - p.before_long];
    const int start = part.y * p.part_length, count = min(p.part_length, span.y - start);
    const int share = share_of<LANES>(count, BLOCK / LANES);
    const int before = at.group * share, own = before < count ? before : 0;
    float sum[K][V] = {};
    gather(at, p.pairs + (size_t)span.x * LANES + start + own, min(share, count - before), sum);
    add_groups<LANES, V, K>(sum);
    if (threadIdx.x % WARP_SIZE < LANES)
#pragma unroll
        for (int k = 0; k < K; k++)
            store_vector(&warp_sum[(k * LANES + at.lane) * V], sum[k]);
}

template <int LANES, int V, int K, launch_kind KIND>
static __device__ void long_part(const pass_product &p)
{
    constexpr int WIDTH = slice_lanes<LANES, V, K>::WIDTH;
    __shared__ __align__(16) float warp_sum[WARPS][WIDTH]; /* for stores of vectors */
    __shared__ int segment, tagged_row, first, end;        /* whose part this is, all its parts */
    const int warp = threadIdx.x / WARP_SIZE, thread = threadIdx.x;
    const int number = p.before_part + blockIdx.x; /* of the part */
    /* Together with what the walk begins with, so that nobody waits for it after the walk, which has no
     * register to keep it in. */
    if (thread == BLOCK - 1) {
        segment = p.part[number].x;
        tagged_row = p.row[segment - p.before_long];
        first = p.first_part_of[segment];
        end = p.first_part_of[segment + 1];
    }
    sum_share<LANES, V, K>(p, number, warp_sum[warp]);
    __syncthreads();

    /* From here on a thread has one column, of all four warps. */
    const int slice = p.first_slice + blockIdx.y, column = slice * WIDTH + thread;
    const bool has_column = thread < WIDTH && column < p.N;
    float *const out = &p.C[(size_t)(tagged_row & ~ADDS) * p.N + column];
    float total = 0;
    for (int w = 0; w < WARPS && has_column; w++)
        total += warp_sum[w][thread];
    if (end - first > 1) {
        if (has_column) p.partial[(size_t)number * p.N + column] = total;
        unsigned *const arrived = &p.arrived[(size_t)segment * p.num_slices + slice];
        if (!comes_last(arrived, end - first)) return;
        for (int c = thread % WARP_SIZE; c < WIDTH; c += WARP_SIZE) {
            const int j = min(slice * WIDTH + c, p.N - 1);
            float some = 0; /* every fourth part */
#pragma unroll 8
            for (int i = first + warp; i < end; i += WARPS)
                some += __ldcg(&p.partial[(size_t)i * p.N + j]);
            warp_sum[warp][c] = some;
        }
        __syncthreads();
        total = 0;
        for (int w = 0; w < WARPS && has_column; w++)
            total += warp_sum[w][thread];
    }
    if (!has_column) return;
    if (tagged_row & ADDS) {
        if constexpr (KIND == OVERLAPPING) wait_for_kernel_before();
        total += KIND == OVERLAPPING ? __ldcg(out) : *out;
    }
    *out = total;
}

#endif
