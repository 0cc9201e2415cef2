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

/* Tokens of a thread block, and its threads: each has 4 x 4 of B x TOKENS sums. */
constexpr int TOKENS = 64;
template <int B> constexpr int THREADS = B *TOKENS / 16;

/* Arguments of the kernel. */
struct product_of {
    const int *lut;
    const float *W, *in, *gate;
    float *out;
    int N, how;
    const int *part_start, *first_segment; /* of each share: block_lut.h */
    float *parts;
    unsigned *arrived; /* of each share and tile of tokens, as are ... */
    int *lock, *count; /* ... these */
};

/* The numbers of a row for four tokens from `token` on; 0 behind the last. ALIGNED: N is a multiple of 4. */
template <bool ALIGNED>
__device__ __forceinline__ void load_tokens(float (&x)[4], const float *row, int token, int N)
{
#pragma unroll
    for (int j = 0; j < 4; j++)
        x[j] = !ALIGNED && token + j < N ? row[token + j] : 0;
    if (ALIGNED && token < N) load_vector(x, row + token);
}

template <bool ALIGNED>
__device__ __forceinline__ void store_tokens(float *row, const float (&x)[4], int token, int N)
{
    if (ALIGNED && token < N) store_vector(row + token, x);
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (!ALIGNED && token + j < N) row[token + j] = x[j];
}

/* Adds what other thread blocks have written: from L2, where it is. */
template <bool ALIGNED>
__device__ __forceinline__ void add_tokens(float (&x)[4], const float *row, int token, int N)
{
    if (ALIGNED && token < N) {
        float old[4];
        load_vector_l2(old, row + token);
#pragma unroll
        for (int j = 0; j < 4; j++)
            x[j] += old[j];
    }
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (!ALIGNED && token + j < N) x[j] += __ldcg(row + token + j);
}

/* ---- the ways --------------------------------------------------------------------------------- */

/* A thread's four rows of sums lie THREADS apart, so that a warp writes 512 bytes at once. */
template <int B> __device__ __forceinline__ float *part_of(const product_of &a, int part, int row)
{
    const size_t of_tile = (size_t)part * gridDim.y + blockIdx.y;
    return a.parts + ((of_tile * 4 + row) * THREADS<B> + threadIdx.x) * 4;
}

/* Leaves the sums. True in the thread block that comes last: its sums are then those of all. */
template <int B>
__device__ __forceinline__ bool add_parts(const product_of &a, int share, float (&sum)[4][4])
{
    const int first = a.part_start[share - 1], end = a.part_start[share];
    const int own = first + blockIdx.x - a.first_segment[share - 1];
#pragma unroll
    for (int i = 0; i < 4; i++)
        store_vector(part_of<B>(a, own, i), sum[i]);
    if (!comes_last(a.arrived + (share - 1) * gridDim.y + blockIdx.y, end - first)) return false;
        /* BEGIN STUDENT: all parts, from the first to the last, whoever made them */
#pragma unroll
    for (int i = 0; i < 4; i++)
        for (int part = first; part < end; part++) {
            float x[4];
            load_vector_l2(x, part_of<B>(a, part, i));
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum[i][j] = part == first ? x[j] : sum[i][j] + x[j];
        }
    /* END STUDENT */
    return true;
}

/* Stores sum[i][j] to feature 4 * (thread / 16) + i of the output, token 4 * (thread % 16) + j; share: see block_lut.h. */
template <int B, bool ALIGNED>
__device__ __forceinline__ void finish(const product_of &a, int output, int share,
                                       float (&sum)[4][4])
{
    const int token = blockIdx.y * TOKENS + threadIdx.x % 16 * 4;
    float *const out = a.out + ((size_t)output * B + threadIdx.x / 16 * 4) * a.N;
    const int place = (share - 1) * gridDim.y + blockIdx.y;
    if (share > 0 && a.how == SUM_ATOMICS) {
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (token + j < a.N) atomicAdd(out + (size_t)i * a.N + token + j, sum[i][j]);
        return;
    }
    if (share > 0 && a.how == SUM_PARTS && !add_parts<B>(a, share, sum)) return;
    const bool locked = share > 0 && a.how == SUM_LOCKS;
    if (locked) {
        block_lock(a.lock + place);
        const int before = __ldcg(a.count + place); /* from L2, too: L1 may hold an older count */
        if (before > 0)
#pragma unroll
            for (int i = 0; i < 4; i++)
                add_tokens<ALIGNED>(sum[i], out + (size_t)i * a.N, token, a.N);
        __syncthreads(); /* all have read the count */
        if (threadIdx.x == 0) a.count[place] = before + 1;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        store_tokens<ALIGNED>(out + (size_t)i * a.N, sum[i], token, a.N);
    if (locked) block_unlock(a.lock + place);
}

#endif
