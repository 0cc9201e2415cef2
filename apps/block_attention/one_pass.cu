/*
 * one_pass.cu - attention of a block of queries in one walk along its blocks of keys: scores, softmax and weighted sum, all in
 * registers. A thread block has B queries; blocks of K and V come to shared memory ahead of their use.
 *
 * A warp multiplies 16 or 32 queries. With 32 it reads K and V from shared memory half as often, but holds twice the registers. A
 * warpgroup of Hopper multiplies 64 queries by a block that it never reads into registers at all.
 */
#include "device/async_copy.cuh"
#include "device/cuda_try.h"
#include "device/facts.h"
#include "device/half.cuh"
#include "device/mma.cuh"
#include "device/pdl.cuh"
#include "device/power.cuh"
#include "device/swizzle.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "device/wgmma.cuh"
#include "kernels.h"

#include <math.h>

/* Tiles are B rows of D numbers of 16 bits. Q has one, and each step of the ring two: of K and of V. A warp has M times 16
 * queries; UNIT is what multiplies them. */
template <int B, int D, one_pass_unit UNIT> struct one_pass_shape {
    static constexpr int M = UNIT == ONE_PASS_MMA32 ? 2 : 1;
    static constexpr int THREADS = B / (16 * M) * WARP_SIZE;
    static constexpr int TILE = B * D;
    static constexpr int STAGES = D == 128 ? 2 : 3;
    static constexpr int BYTES = 2 * TILE * (1 + 2 * STAGES);
    /* A multiprocessor's, at least, where registers allow it: 16 warps. At D = 64 their shared memory just fits, too. */
    static constexpr int BLOCKS = M == 1 && D < 128 ? 16 * WARP_SIZE / THREADS : 1;
};

/* Where piece c of row r lies in a tile. */
template <int D> __device__ __forceinline__ int place(int r, int c)
{
    return r * D + swizzled_piece<2 * D>(r, c) * 8;
}

/* Starts copying a tile of rows that follow each other in memory. */
template <class H, int B, int D, int THREADS>
__device__ __forceinline__ void fetch(H *tile, const H *from)
{
    constexpr int PIECES = D / 8;
    for (int i = threadIdx.x; i < B * PIECES; i += THREADS) {
        const int r = i / PIECES, c = i % PIECES;
        async_copy<16>(tile + place<D>(r, c), from + r * D + c * 8);
    }
}

/* Makes 16 columns of results the left operand of a product. Layouts agree: each number stays in its lane. */
template <class H>
__device__ __forceinline__ void make_left(const float (&first)[4], const float (&second)[4],
                                          uint32_t (&a)[4])
{
    const H x[8] = {narrow<H>(first[0]),  narrow<H>(first[1]),  narrow<H>(first[2]),
                    narrow<H>(first[3]),  narrow<H>(second[0]), narrow<H>(second[1]),
                    narrow<H>(second[2]), narrow<H>(second[3])};
    memcpy(a, x, sizeof a);
}

/* State of 16 queries. Of these a lane has two: rows g and g + 8 of the fragments (mma.cuh). most: the largest exponent so far;
 * total: this lane's part of the sum of powers; out: the sum of rows of V, each times its power. */
template <int D> struct queries {
    float most[2] = {-INFINITY, -INFINITY}, total[2] = {}, out[D / 8][4] = {};

    /* Makes room for exponents up to `exponent`: what was added under a smaller one is scaled down. */
    __device__ __forceinline__ void raise(int half, float exponent)
    {
        const float old = most[half];
        most[half] = fmaxf(old, exponent);
        const float shrink = power_of_2(old - most[half]);
        total[half] *= shrink;
#pragma unroll
        for (int f = 0; f < D / 8; f++)
            out[f][2 * half] *= shrink, out[f][2 * half + 1] *= shrink;
    }
};

/* Reads a warp's queries, from row `row` of the tile on: left operands. */
template <class H, int D, int M>
__device__ __forceinline__ void read_queries(const H *Q, int row, uint32_t (&q)[M][D / 16][4])
{
    const int lane = lane_id();
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int k = 0; k < D / 16; k++)
            ldmatrix_x4(q[m][k], Q + place<D>(row + 16 * m + lane % 16, 2 * k + lane / 16));
}

/* score = Q K^T of a warp's queries and a block of keys. */
template <class H, int B, int D, int M>
__device__ __forceinline__ void multiply_keys(const H *K, const uint32_t (&q)[M][D / 16][4],
                                              float (&score)[M][B / 8][4])
{
    const int lane = lane_id();
#pragma unroll
    for (int k = 0; k < D / 16; k++)
#pragma unroll
        for (int n = 0; n < B / 16; n++) {
            /* A row of K is a column of K^T. x[0], x[1]: both halves of the depth, of 8 keys; x[2], x[3]: of the next 8. */
            uint32_t x[4];
            ldmatrix_x4(x, K + place<D>(16 * n + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const uint32_t b[2] = {x[2 * h], x[2 * h + 1]};
                    mma_m16n8k16<H>(score[m][2 * n + h], q[m][k], b);
                }
        }
}

/* In the block on the diagonal, keys behind a query count nothing. row: the first of 16 queries in the block. */
template <int B> __device__ __forceinline__ void mask(float (&score)[B / 8][4], int row)
{
    const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int n = 0; n < B / 8; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (8 * n + 2 * t + e % 2 > row + g + e / 2 * 8) score[n][e] = -INFINITY;
}

/* Turns scores of 16 queries into powers of 2 under their largest exponent, and adds them up. */
template <int B, int D>
__device__ __forceinline__ void exponentiate(float (&score)[B / 8][4], float factor,
                                             queries<D> &own)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float most = -INFINITY;
#pragma unroll
        for (int n = 0; n < B / 8; n++)
            most = fmaxf(most, fmaxf(score[n][2 * half], score[n][2 * half + 1]));
        own.raise(half, subwarp_max<4>(most) * factor);
#pragma unroll
        for (int n = 0; n < B / 8; n++)
#pragma unroll
            for (int e = 2 * half; e < 2 * half + 2; e++) {
                score[n][e] = power_of_2(fmaf(score[n][e], factor, -own.most[half]));
                own.total[half] += score[n][e];
            }
    }
}

/* out += P V, P being powers. */
template <class H, int B, int D, int M>
__device__ __forceinline__ void add_values(const H *V, const float (&power)[M][B / 8][4],
                                           queries<D> (&own)[M])
{
    const int lane = lane_id();
#pragma unroll
    for (int n = 0; n < B / 16; n++) {
        uint32_t p[M][4];
#pragma unroll
        for (int m = 0; m < M; m++)
            make_left<H>(power[m][2 * n], power[m][2 * n + 1], p[m]);
#pragma unroll
        for (int f = 0; f < D / 16; f++) {
            uint32_t x[4];
            ldmatrix_x4_trans(x, V + place<D>(16 * n + lane % 16, 2 * f + lane / 16));
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const uint32_t b[2] = {x[2 * h], x[2 * h + 1]};
                    mma_m16n8k16<H>(own[m].out[2 * f + h], p[m], b);
                }
        }
    }
}

/* The same two products by a warpgroup, whose warps have 16 queries each: K and V are read where they lie. A row of K is a column of
 * K^T, and a product takes 16 numbers of each; a row of V is a row, and a product takes 16 of them. Queries are read anew for each
 * block: nvcc would not keep them (wgmma.cuh). That is half of what the products read of shared memory. */
template <class H, int B, int D>
__device__ __forceinline__ void multiply_keys_at_once(const H *Q, int row, const H *K,
                                                      float (&score)[B / 8][4])
{
    const uint64_t keys = wgmma_operand<2 * D>(K);
    uint32_t q[1][D / 16][4];
    read_queries<H, D, 1>(Q, row, q);
    wgmma_fence(q[0], score);
#pragma unroll
    for (int k = 0; k < D / 16; k++)
        wgmma_k16<H, false>(score, q[0][k], keys + k * (2 * 16 / 16));
    wgmma_commit();
    wgmma_wait(score);
}

template <class H, int B, int D>
__device__ __forceinline__ void add_values_at_once(const H *V, const float (&power)[B / 8][4],
                                                   float (&out)[D / 8][4])
{
    const uint64_t values = wgmma_operand<2 * D>(V);
    uint32_t p[B / 16][4];
#pragma unroll
    for (int n = 0; n < B / 16; n++)
        make_left<H>(power[2 * n], power[2 * n + 1], p[n]);
    wgmma_fence(p, out);
#pragma unroll
    for (int n = 0; n < B / 16; n++)
        wgmma_k16<H, true>(out, p[n], values + n * (16 * 2 * D / 16));
    wgmma_commit();
    wgmma_wait(out);
}

/* Stores O of 16 queries, by way of `tile`, where their rows of Q were: only this warp has read them. */
template <class H, int D>
__device__ __forceinline__ void store(const queries<D> &own, H *tile, H *O, int row)
{
    constexpr int PIECES = D / 8;
    const int lane = lane_id();
    const float one[2] = {1 / subwarp_sum<4>(own.total[0]), 1 / subwarp_sum<4>(own.total[1])};
    __syncwarp(); /* other lanes have read Q, perhaps since the last barrier */
#pragma unroll
    for (int f = 0; f < D / 8; f++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const H x[2] = {narrow<H>(own.out[f][2 * half] * one[half]),
                            narrow<H>(own.out[f][2 * half + 1] * one[half])};
            store_vector(tile + place<D>(row + lane / 4 + 8 * half, f) + lane % 4 * 2, x);
        }
    __syncwarp();
    for (int i = lane; i < 16 * PIECES; i += WARP_SIZE) {
        const int r = row + i / PIECES, c = i % PIECES;
        H x[8];
        load_vector_plain(x, tile + place<D>(r, c));
        store_vector(O + r * D + c * 8, x);
    }
}

/* Thread block (x, y): a block of queries of head y. Those with most blocks of keys come first. */
template <class H, int B, int D, one_pass_unit UNIT>
static __global__ void __launch_bounds__(one_pass_shape<B, D, UNIT>::THREADS,
                                         one_pass_shape<B, D, UNIT>::BLOCKS)
    one_pass_kernel(const one_pass a)
{
    typedef one_pass_shape<B, D, UNIT> shape;
    constexpr int THREADS = shape::THREADS, STAGES = shape::STAGES, M = shape::M;
    extern __shared__ __align__(1024) unsigned char shared[];
    H *const Q = (H *)shared, *const ring = Q + shape::TILE;
    const int block_row = gridDim.x - 1 - blockIdx.x, row = warp_id() * 16 * M;
    const size_t head = (size_t)blockIdx.y * a.length * D, mine = head + (size_t)block_row * B * D;
    const int *const col = a.col + a.row_ptr[block_row];
    const int steps = a.row_ptr[block_row + 1] - a.row_ptr[block_row];
    const H *const K = (const H *)a.K + head, *const V = (const H *)a.V + head;
    const float factor = a.scale * 1.44269504f; /* log2(e): powers are of 2 */
    const auto fetch_step = [&](int step) {
        const size_t from = (size_t)col[step] * B * D;
        H *const to = ring + step % STAGES * 2 * shape::TILE;
        fetch<H, B, D, THREADS>(to, K + from);
        fetch<H, B, D, THREADS>(to + shape::TILE, V + from);
    };
    fetch<H, B, D, THREADS>(Q, (const H *)a.Q + mine);
    for (int step = 0; step < STAGES - 1; step++) {
        if (step < steps) fetch_step(step);
        async_commit(); /* an empty group keeps the count right */
    }
    async_wait<STAGES - 2>();
    __syncthreads(); /* Q is there */
    queries<D> own[M];
    uint32_t q[M][D / 16][4];
    if (UNIT != ONE_PASS_WGMMA) read_queries<H, D, M>(Q, row, q);
    for (int step = 0; step < steps; step++) {
        async_wait<STAGES - 2>();
        if (UNIT == ONE_PASS_WGMMA) wgmma_publish();
        __syncthreads(); /* this step has arrived, and all warps are done with the one before */
        if (step + STAGES - 1 < steps) fetch_step(step + STAGES - 1);
        async_commit();
        const H *const keys = ring + step % STAGES * 2 * shape::TILE, *const values =
                                                                          keys + shape::TILE;
        float score[M][B / 8][4] = {};
        if constexpr (UNIT == ONE_PASS_WGMMA)
            multiply_keys_at_once<H, B, D>(Q, row, keys, score[0]);
        else
            multiply_keys<H, B, D, M>(keys, q, score);
#pragma unroll
        for (int m = 0; m < M; m++) {
            if (step == steps - 1) mask<B>(score[m], row + 16 * m);
            exponentiate<B, D>(score[m], factor, own[m]);
        }
        if constexpr (UNIT == ONE_PASS_WGMMA)
            add_values_at_once<H, B, D>(values, score[0], own[0].out);
        else
            add_values<H, B, D, M>(values, score, own);
    }
#pragma unroll
    for (int m = 0; m < M; m++)
        store<H, D>(own[m], Q, (H *)a.O + mine, row + 16 * m);
}

/* ---- launching --------------------------------------------------------------------------------- */

template <class H, int B, int D, one_pass_unit UNIT> static cudaError_t launch(const one_pass *a)
{
    typedef one_pass_shape<B, D, UNIT> shape;
    const auto kernel = one_pass_kernel<H, B, D, UNIT>;
    CUDA_TRY(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  shape::BYTES));
    kernel<<<dim3(a->length / B, a->heads), shape::THREADS, shape::BYTES>>>(*a);
    return cudaGetLastError();
}

/* Kernels of a warp's 16 queries fit every size, those of 32 all but the largest head. */
template <class H, int B> static cudaError_t launch_block(const one_pass *a)
{
    if (a->unit == ONE_PASS_MMA32)
        return a->d == 32 ? launch<H, B, 32, ONE_PASS_MMA32>(a)
                          : launch<H, B, 64, ONE_PASS_MMA32>(a);
    return a->d == 32   ? launch<H, B, 32, ONE_PASS_MMA16>(a)
           : a->d == 64 ? launch<H, B, 64, ONE_PASS_MMA16>(a)
                        : launch<H, B, 128, ONE_PASS_MMA16>(a);
}

template <class H> static cudaError_t launch_format(const one_pass *a)
{
    if (a->unit == ONE_PASS_WGMMA)
        return a->d == 32 ? launch<H, 64, 32, ONE_PASS_WGMMA>(a)
                          : launch<H, 64, 64, ONE_PASS_WGMMA>(a);
    return a->block == 32 ? launch_block<H, 32>(a) : launch_block<H, 64>(a);
}

cudaError_t one_pass_run(const one_pass *a)
{
    if (one_pass_unsuited(a->unit, a->precision, a->block, a->d)) return cudaErrorNotSupported;
    return a->precision == PRECISION_FP16 ? launch_format<__half>(a)
                                          : launch_format<__nv_bfloat16>(a);
}

const char *one_pass_name(enum one_pass_unit unit)
{
    static const char *const names[] = {"wgmma", "mma16", "mma32"};
    return names[unit];
}

const char *one_pass_unsuited(enum one_pass_unit unit, enum precision precision, int block, int d)
{
    const int capability = device_facts_get()->compute_capability;
    const auto kernel = one_pass_kernel<__half, 64, 64, ONE_PASS_WGMMA>;
    bool compiled;
    if (precision == PRECISION_FP32) return "tensor cores are for fp16 and bf16 here";
    if ((block != 32 && block != 64) || (d != 32 && d != 64 && d != 128))
        return "blocks of 32 and 64, heads of 32, 64 and 128";
    if (capability < 80) return "compute capability 8.0 is needed";
    if (unit == ONE_PASS_MMA32 && d == 128) return "mma32 is for heads up to 64";
    if (unit != ONE_PASS_WGMMA) return NULL;
    if (block != 64 || d == 128) return "wgmma is for blocks of 64, and heads up to 64";
    if (capability != 90 || compiled_for_90(kernel, &compiled) != cudaSuccess || !compiled)
        return "wgmma needs compute capability 9.0, and code for it (make ARCH=90)";
    return NULL;
}
