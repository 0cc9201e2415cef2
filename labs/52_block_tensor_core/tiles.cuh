/*
 * tiles.cuh - tiles of X and blocks of W in shared memory: a ring of steps, fetched ahead by asynchronous copies; and the
 * way of results out.
 *
 * Rows of a tile are B numbers of 16 bits, B / 8 pieces of 16 bytes. Piece c of row r lies at c ^ swizzle(r). So eight rows
 * of one piece, which ldmatrix reads at once, lie in eight different groups of four banks.
 */
#ifndef BLOCK_TENSOR_CORE_TILES_CUH
#define BLOCK_TENSOR_CORE_TILES_CUH

#include "device/async_copy.cuh"
#include "device/half.cuh"
#include "device/mma.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "ops/bsmm.h"

/* Features and threads of a thread block. Eight warps: two by tokens, four by 32 features. */
constexpr int FEATURES = 128, THREADS = 256;

/* Arguments of the kernel. entry, start: block_walk.h. */
struct walk_of {
    const int *entry, *start;
    const void *W, *in;
    const float *gate;
    void *out;
    int N, ins, outs; /* tokens; features in and out */
    int stride;
    float *parts;
    unsigned *arrived; /* of each tile of the output */
};

/* Steps that lie in shared memory. A step: T rows of X, then FEATURES rows of blocks, each at its fixed place. The tile of
 * results, in rows padded by 8, takes the ring's place at the end. */
template <int B, int T> struct ring {
    static constexpr int STAGES = B == 64 ? 3 : 4;
    static constexpr int STAGE = (T + FEATURES) * B; /* numbers */
    static constexpr int TILE = T * (FEATURES + 8);
    static constexpr int BYTES = 2 * (STAGES * STAGE > TILE ? STAGES * STAGE : TILE);
};

/* Where piece `c` of row `r` lies, in numbers from the tile's beginning. */
template <int B> __device__ __forceinline__ int place(int r, int c)
{
    constexpr int PIECES = B / 8; /* a row: 8, 4 or 2 of the 8 pieces that 32 banks hold */
    int s = 0;
    /* BEGIN STUDENT: rows that begin in the same bank must differ in what they are swizzled by */
    s = PIECES == 8 ? r % 8 : PIECES == 4 ? r / 2 % 4 : r / 4 % 2;
    /* END STUDENT */
    return r * B + (c ^ s) * 8;
}

/* Starts the copies of a step: its rows of X, and of blocks those that are there and open. Tokens behind the last become
 * 0. */
template <class H, int B, int T, bool GATED>
__device__ __forceinline__ void fetch(const walk_of &a, const int *entry, H *stage, int token0)
{
    constexpr int PIECES = B / 8;
    const H *const X = (const H *)a.in + (size_t)entry[0] * B, *const W = (const H *)a.W;
    for (int i = threadIdx.x; i < T * PIECES; i += THREADS) {
        const int r = i / PIECES, c = i % PIECES, token = token0 + r;
        const bool is_there = token < a.N;
        async_copy_zfill<16>(stage + place<B>(r, c),
                             X + (size_t)(is_there ? token : 0) * a.ins + c * 8, is_there ? 16 : 0);
    }
    stage += T * B;
    for (int i = threadIdx.x; i < FEATURES * PIECES; i += THREADS) {
        const int row = i / PIECES, c = i % PIECES, block = entry[1 + row / B];
        if (block < 0 || (GATED && a.gate[block] == 0)) continue;
        async_copy<16>(stage + row / B * B * B + place<B>(row % B, c),
                       W + ((size_t)block * B + row % B) * B + c * 8);
    }
}

/* Stores the tile: through shared memory, so that 16 lanes write 256 bytes of a token. token, feature: the warp's first. */
template <class H, int T>
__device__ __forceinline__ void store_tile(const walk_of &a, H *tile,
                                           const float (&sum)[T / 32][4][4], int token0, int token,
                                           int feature)
{
    constexpr int PITCH = FEATURES + 8;
    const int row = token + lane_id() / 4, column = feature + lane_id() % 4 * 2;
#pragma unroll
    for (int m = 0; m < T / 32; m++)
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const H x[2] = {narrow<H>(sum[m][n][2 * h]), narrow<H>(sum[m][n][2 * h + 1])};
                store_vector(tile + (row + 16 * m + 8 * h) * PITCH + column + 8 * n, x);
            }
    __syncthreads();
    const int feature0 = blockIdx.x * FEATURES;
    for (int i = threadIdx.x; i < T * FEATURES / 8; i += THREADS) {
        const int r = i / (FEATURES / 8), c = i % (FEATURES / 8) * 8;
        H x[8];
        if (token0 + r >= a.N || feature0 + c >= a.outs) continue;
        load_vector_plain(x, tile + r * PITCH + c);
        store_vector((H *)a.out + (size_t)(token0 + r) * a.outs + feature0 + c, x);
    }
}

#endif
