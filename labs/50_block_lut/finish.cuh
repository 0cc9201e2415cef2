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
#include "device/cuda_try.h"
#include "device/last_block.cuh"
#include "device/partial_sums.h"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "formats/block_lut.h"
#include "ops/bsmm.h"

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
    float *parts;
    unsigned *arrived; /* of each share and slice, as are ... */
    int *lock, *count; /* ... these */
};

/* Stores the sums of four tokens from `token` on to a row of the output that has N. */
template <class S>
__device__ __forceinline__ void store_tokens(float *row, const float (&x)[4], int token, int N)
{
    if (S::V == 4 && token < N) store_vector(row + token, x);
#pragma unroll
    for (int j = 0; S::V == 1 && j < 4; j++)
        if (token + j < N) row[token + j] = x[j];
}

/* Adds what other thread blocks have written: from L2, where it is. */
template <class S>
__device__ __forceinline__ void add_tokens(float (&x)[4], const float *row, int token, int N)
{
    if (S::V == 4 && token < N) {
        float old[4];
        load_vector_l2(old, row + token);
#pragma unroll
        for (int j = 0; j < 4; j++)
            x[j] += old[j];
    }
#pragma unroll
    for (int j = 0; S::V == 1 && j < 4; j++)
        if (token + j < N) x[j] += __ldcg(row + token + j);
}

/* ---- the ways --------------------------------------------------------------------------------- */

/* A thread's quads of sums lie THREADS apart, so that a warp writes 512 bytes at once. */
template <class S> __device__ __forceinline__ float *part_of(const product_of &a, int part, int q)
{
    const size_t of_slice = (size_t)part * gridDim.y + blockIdx.y;
    return a.parts + ((of_slice * S::QUADS + q) * THREADS + threadIdx.x) * 4;
}

/* Leaves the sums. True in the thread block that comes last: its sums are then those of all. */
template <class S>
__device__ __forceinline__ bool add_parts(const product_of &a, int share, float (&sum)[S::QUADS][4])
{
    const int first = a.part_start[share - 1], end = a.part_start[share];
    const int own = first + blockIdx.x - a.first_segment[share - 1];
#pragma unroll
    for (int q = 0; q < S::QUADS; q++)
        store_vector(part_of<S>(a, own, q), sum[q]);
    if (!comes_last(a.arrived + (share - 1) * gridDim.y + blockIdx.y, end - first)) return false;
        /* BEGIN STUDENT: all parts, from the first to the last, whoever made them */
#pragma unroll
    for (int q = 0; q < S::QUADS; q++)
        for (int part = first; part < end; part++) {
            float x[4];
            load_vector_l2(x, part_of<S>(a, part, q));
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum[q][j] = part == first ? x[j] : sum[q][j] + x[j];
        }
    /* END STUDENT */
    return true;
}

/* Stores a slice's sums to its place in the output; share: see block_lut.h. */
template <class S>
__device__ __forceinline__ void finish(const product_of &a, int output, int share,
                                       float (&sum)[S::QUADS][4])
{
    float *const out = a.out + ((size_t)output * S::B + S::first_feature()) * a.N;
    const int place = (share - 1) * gridDim.y + blockIdx.y;
    const bool locked = share > 0 && a.how == SUM_LOCKS;
    if (share > 0 && a.how == SUM_PARTS && !add_parts<S>(a, share, sum)) return;
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
        if (before > 0) add_tokens<S>(sum[q], row, token, a.N);
        store_tokens<S>(row, sum[q], token, a.N);
    }
    if (!locked) return;
    __syncthreads(); /* all have read the count */
    if (threadIdx.x == 0) a.count[place] = before + 1;
    block_unlock(a.lock + place);
}

#endif
