/*
 * finish.cuh - where the sums of a segment go: to the output, if the segment is alone, or to where the segments of one
 * output are added up. SUM says how:
 *
 *   parts     each leaves its sums in memory; the thread block that comes last adds all of them, in the order of the
 *             table. The bits are the same in every run
 *   locks     one after the other, in the order of arrival: the first stores, the others load, add and store
 *   atomics   everybody adds to zeros at once, each number by itself
 *   uncut     no segment shares an output
 */
#ifndef BLOCK_LUT_FINISH_CUH
#define BLOCK_LUT_FINISH_CUH

#include "device/block_lock.cuh"
#include "device/partial_sums.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"

enum { SUM_PARTS, SUM_LOCKS, SUM_ATOMICS, SUM_UNCUT };

constexpr int WARPS = 4, THREADS = WARPS * WARP_SIZE;

/* A slice, which a thread block makes: TOKENS_ tokens of an output block; of half of one if B is 64, so that a lane has 64
 * sums at most. V_: tokens of a load; 4 needs an N that is a multiple of 4. In the end a thread has the sums of QUADS
 * times four tokens. */
template <int B_, bool TRANSPOSED_, int TOKENS_, int V_> struct shape {
    static constexpr int B = B_, TOKENS = TOKENS_, V = V_;
    static constexpr bool TRANSPOSED = TRANSPOSED_;
    static constexpr int FEATURES = B < 32 ? B : 32, HALVES = B / FEATURES;
    static constexpr int QUADS = FEATURES * TOKENS / 4 / THREADS;

    static __device__ __forceinline__ int first_token() { return blockIdx.y / HALVES * TOKENS; }
    static __device__ __forceinline__ int first_feature() { return blockIdx.y % HALVES * FEATURES; }
    /* The feature of this thread's quad q, and the first of its tokens, in the slice. */
    static __device__ __forceinline__ int feature(int q)
    {
        return (q * THREADS + threadIdx.x) / (TOKENS / 4);
    }
    static __device__ __forceinline__ int column() { return threadIdx.x % (TOKENS / 4) * 4; }
};

/* Arguments of the kernel. */
struct product_of {
    const int *lut;
    const float *W, *in, *gate;
    float *out;
    int N, how;
    const int *part_start, *first_segment; /* of each share: block_lut.h */
    const int *first_of_piece;             /* NULL: each segment is a piece */
    float *parts;
    unsigned *arrived; /* of each share and slice, as are ... */
    int *lock, *count; /* ... these */
};

/* Stores a slice's sums of a segment to its place in the output; share: see block_lut.h. */
template <class S>
__device__ __forceinline__ void finish(const product_of &a, int segment, int output, int share,
                                       float (&sum)[S::QUADS][4])
{
    float *const out = a.out + ((size_t)output * S::B + S::first_feature()) * a.N;
    const int place = (share - 1) * gridDim.y + blockIdx.y;
    const bool locked = share > 0 && a.how == SUM_LOCKS;
    if (share > 0 && a.how == SUM_PARTS) {
        const int first = a.part_start[share - 1], end = a.part_start[share];
        const int own = first + segment - a.first_segment[share - 1];
        unsigned *const arrived = a.arrived + (share - 1) * gridDim.y + blockIdx.y;
        const auto number = [](int part) { return (size_t)part * gridDim.y + blockIdx.y; };
        if (!add_parts<THREADS>(a.parts, arrived, own, first, end, number, sum)) return;
    }
    int before = 0;
    if (locked) {
        block_lock(a.lock + place);
        before = __ldcg(a.count + place); /* from L2, too: L1 may hold an older count */
    }
#pragma unroll
    for (int q = 0; q < S::QUADS; q++) {
        float *const row = out + (size_t)S::feature(q) * a.N;
        const int token = S::first_token() + S::column();
        if (share > 0 && a.how == SUM_ATOMICS) {
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (token + j < a.N) atomicAdd(row + token + j, sum[q][j]);
            continue;
        }
        if (before > 0) add_from_row_l2<S::V>(sum[q], row, token, a.N);
        store_in_row<S::V>(row, sum[q], token, a.N);
    }
    if (!locked) return;
    __syncthreads(); /* all have read the count */
    if (threadIdx.x == 0) a.count[place] = before + 1;
    block_unlock(a.lock + place);
}

#endif
