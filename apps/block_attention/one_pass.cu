/*
 * one_pass.cu - attention of a block of queries in one walk along its blocks of keys: scores, softmax and weighted sum, all in
 * registers. A warp has 16 or 32 queries, a thread block B of them; blocks of K and V come to shared memory ahead of their use.
 *
 * With 32 queries a warp reads K and V from shared memory half as often, but holds twice the registers.
 */
#include "device/async_copy.cuh"
#include "device/cuda_try.h"
#include "device/half.cuh"
#include "device/mma.cuh"
#include "device/power.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "kernels.h"

#include <math.h>

/* Tiles are B rows of D numbers of 16 bits. Q has one, and each step of the ring two: of K and of V. A warp has M times 16
 * queries. */
template <int B, int D, int M> struct one_pass_shape {
    static constexpr int THREADS = B / (16 * M) * WARP_SIZE;
    static constexpr int PIECES = D / 8; /* of 16 bytes, a row */
    static constexpr int TILE = B * D;
    static constexpr int STAGES =
        D == 128 ? 2 : 3; /* four thread blocks a multiprocessor at D = 64 */
    static constexpr int BYTES = 2 * TILE * (1 + 2 * STAGES);
};

/* Where piece c of row r lies in a tile. Eight rows of one piece, which ldmatrix reads at once, lie in different groups of four
 * banks: rows of 64 numbers and more begin in the same bank, of rows of 32 every second one does. */
template <int D> __device__ __forceinline__ int place(int r, int c)
{
    return r * D + (c ^ (D == 32 ? r / 2 % 4 : r % 8)) * 8;
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

/* Two neighbours of a fragment as one word. */
template <class H> __device__ __forceinline__ uint32_t two(float low, float high)
{
    const H x[2] = {narrow<H>(low), narrow<H>(high)};
    uint32_t word;
    memcpy(&word, x, sizeof word);
    return word;
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

/* out += P V. The layout of a result is that of a left operand: powers stay in their lanes. */
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
#pragma unroll
            for (int i = 0; i < 4; i++)
                p[m][i] = two<H>(power[m][2 * n + i / 2][i % 2 * 2],
                                 power[m][2 * n + i / 2][i % 2 * 2 + 1]);
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

/* Stores O of 16 queries, by way of `tile`, where their rows of Q were: only this warp has read them. */
template <class H, int D>
__device__ __forceinline__ void store(const queries<D> &own, H *tile, H *O, int row)
{
    constexpr int PIECES = D / 8;
    const int lane = lane_id();
    const float one[2] = {1 / subwarp_sum<4>(own.total[0]), 1 / subwarp_sum<4>(own.total[1])};
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
template <class H, int B, int D, int M>
static __global__ void __launch_bounds__(one_pass_shape<B, D, M>::THREADS)
    one_pass_kernel(const one_pass a, float factor)
{
    typedef one_pass_shape<B, D, M> shape;
    constexpr int THREADS = shape::THREADS, STAGES = shape::STAGES;
    extern __shared__ __align__(16) unsigned char shared[];
    H *const Q = (H *)shared, *const ring = Q + shape::TILE;
    const int block_row = gridDim.x - 1 - blockIdx.x, row = warp_id() * 16 * M, lane = lane_id();
    const size_t head = (size_t)blockIdx.y * a.length * D, mine = head + (size_t)block_row * B * D;
    const int *const col = a.col + a.row_ptr[block_row];
    const int steps = a.row_ptr[block_row + 1] - a.row_ptr[block_row];
    const H *const K = (const H *)a.K + head, *const V = (const H *)a.V + head;
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
    queries<D> own[M];
    uint32_t q[M][D / 16][4];
    for (int step = 0; step < steps; step++) {
        async_wait<STAGES - 2>();
        __syncthreads(); /* this step has arrived, and all warps are done with the one before */
        if (step + STAGES - 1 < steps) fetch_step(step + STAGES - 1);
        async_commit();
#pragma unroll
        for (int m = 0; step == 0 && m < M; m++)
#pragma unroll
            for (int k = 0; k < D / 16; k++)
                ldmatrix_x4(q[m][k], Q + place<D>(row + 16 * m + lane % 16, 2 * k + lane / 16));
        const H *const keys = ring + step % STAGES * 2 * shape::TILE;
        float score[M][B / 8][4] = {};
        multiply_keys<H, B, D, M>(keys, q, score);
#pragma unroll
        for (int m = 0; m < M; m++) {
            if (step == steps - 1) mask<B>(score[m], row + 16 * m);
            exponentiate<B, D>(score[m], factor, own[m]);
        }
        add_values<H, B, D, M>(keys + shape::TILE, score, own);
    }
#pragma unroll
    for (int m = 0; m < M; m++)
        store<H, D>(own[m], Q, (H *)a.O + mine, row + 16 * m);
}

template <class H, int B, int D, int M> static cudaError_t launch(const one_pass *a)
{
    typedef one_pass_shape<B, D, M> shape;
    const auto kernel = one_pass_kernel<H, B, D, M>;
    const float factor = (float)(a->scale * 1.4426950408889634); /* log2(e) */
    CUDA_TRY(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  shape::BYTES));
    kernel<<<dim3(a->length / B, a->heads), shape::THREADS, shape::BYTES>>>(*a, factor);
    return cudaGetLastError();
}

template <class H, int B> static cudaError_t launch_block(const one_pass *a)
{
    if (a->d == 128) return launch<H, B, 128, 1>(a); /* 32 queries would not fit into registers */
    if (a->warp_queries == 16) return a->d == 32 ? launch<H, B, 32, 1>(a) : launch<H, B, 64, 1>(a);
    return a->d == 32 ? launch<H, B, 32, 2>(a) : launch<H, B, 64, 2>(a);
}

template <class H> static cudaError_t launch_format(const one_pass *a)
{
    return a->block == 32 ? launch_block<H, 32>(a) : launch_block<H, 64>(a);
}

bool one_pass_suits(enum precision precision, int block, int d, int warp_queries)
{
    return precision != PRECISION_FP32 && (block == 32 || block == 64) &&
           (d == 32 || d == 64 || d == 128) &&
           (warp_queries == 16 || (warp_queries == 32 && d != 128));
}

cudaError_t one_pass_run(const one_pass *a)
{
    if (!one_pass_suits(a->precision, a->block, a->d, a->warp_queries))
        return cudaErrorNotSupported;
    return a->precision == PRECISION_FP16 ? launch_format<__half>(a)
                                          : launch_format<__nv_bfloat16>(a);
}
