/*
 * square.cuh - a square of blocks of dW, which one thread block makes: which of them exist and are open, and how their sums
 * leave. What multiplies is up to others: warps (lab.cu), or warpgroups of Hopper (warpgroup.cuh).
 *
 * A square has 128 input features and 128 output features. Warpgroups may take two side by side as one: 256 output
 * features. COLUMNS says which.
 */
#ifndef GRADIENTS_TENSOR_CORE_SQUARE_CUH
#define GRADIENTS_TENSOR_CORE_SQUARE_CUH

#include "device/half.cuh"
#include "device/partial_sums.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"

/* Features of a square's side, and threads: eight warps. */
constexpr int SQUARE = 128, THREADS = 256;

/* Warpgroups multiply cells of so many features on either side: a block of 64, or several smaller ones. */
constexpr int CELL = 64;

/* Arguments of a kernel. place: row and column of each block; first: the first block of each square, and their end. Pairs
 * follow each other in memory, so their tokens are tokens of one pair. */
struct gradient_of {
    const int2 *place;
    const int *first;
    const void *X, *dY, *U;
    const float *gate;
    void *dW;
    int tokens, C, K;
    float alpha, beta;
    bool applies_gates;
    float *parts;
    unsigned *arrived; /* of each square */
};

/* Blocks of a square. An absent block has the number -1 and, as a stopped one, the factor 0. */
template <int B, int COLUMNS> struct square_of {
    static constexpr int DOWN = SQUARE / B, ACROSS = COLUMNS / B, MOST = DOWN * ACROSS;
    static constexpr int CELLS_ACROSS = COLUMNS / CELL;
    int block[MOST];
    float factor[MOST];
    /* A bit for each stripe of B features of X, and of dY: whether an open block reads it. */
    unsigned used[2];
    /* A bit for each cell, row by row: whether an open block lies in it. */
    unsigned cells;

    /* Which of two neighbouring blocks in an array of DOWN x ACROSS the features belong to. */
    static __device__ __forceinline__ int at(int input, int output)
    {
        return input / B * ACROSS + output / B;
    }

    /* The first features of a square, from the place of one of its blocks. */
    static __device__ __forceinline__ int2 corner(int2 place)
    {
        return make_int2(place.x / DOWN * SQUARE, place.y / ACROSS * COLUMNS);
    }
};

/* Fills the square for all threads. Blocks of a square have neighbouring numbers, as numbers are in z-order. */
template <int B, int COLUMNS>
__device__ __forceinline__ void look_up(const gradient_of &a, square_of<B, COLUMNS> &s)
{
    typedef square_of<B, COLUMNS> S;
    const int first = a.first[blockIdx.x], count = a.first[blockIdx.x + 1] - first;
    if (threadIdx.x < S::MOST) {
        s.block[threadIdx.x] = -1;
        s.factor[threadIdx.x] = 0;
    }
    if (threadIdx.x == 0) s.used[0] = s.used[1] = s.cells = 0;
    __syncthreads();
    if ((int)threadIdx.x < count) {
        const int block = first + threadIdx.x;
        const int row = a.place[block].x % S::DOWN, column = a.place[block].y % S::ACROSS;
        const float gate = a.gate ? a.gate[block] : 1;
        const float factor = gate == 0 ? 0 : a.applies_gates ? a.alpha * gate : a.alpha;
        s.block[row * S::ACROSS + column] = block;
        s.factor[row * S::ACROSS + column] = factor;
        if (factor != 0) {
            atomicOr(&s.used[0], 1u << row);
            atomicOr(&s.used[1], 1u << column);
            atomicOr(&s.cells, 1u << (row * B / CELL * S::CELLS_ACROSS + column * B / CELL));
        }
    }
    __syncthreads();
}

/* ---- the end ----------------------------------------------------------------------------------- */

/* Leaves the sums of a piece; true in the thread block that comes last, whose sums are then those of all, in order. */
template <int COUNT>
__device__ __forceinline__ bool add_pieces(const gradient_of &a, float (&sum)[COUNT][4])
{
    const auto number = [](int piece) { return (size_t)blockIdx.x * gridDim.y + piece; };
    return add_parts<THREADS>(a.parts, a.arrived + blockIdx.x, blockIdx.y, 0, gridDim.y, number,
                              sum);
}

/* Sums of a square lie in shared memory as fp32, in rows so long: pairs of half a warp begin in different banks. */
__host__ __device__ constexpr int sums_pitch(int columns)
{
    return columns + 8;
}

/* Lays out a warp's sums of 16 rows: TILES fragments side by side, as mma.cuh draws D. */
template <int COLUMNS, int TILES>
__device__ __forceinline__ void lay_out(float *sums, int row, int column,
                                        const float (&sum)[TILES][4])
{
    const int lane = lane_id();
#pragma unroll
    for (int n = 0; n < TILES; n++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const float x[2] = {sum[n][2 * h], sum[n][2 * h + 1]};
            store_vector(sums + (row + lane / 4 + 8 * h) * sums_pitch(COLUMNS) + column + 8 * n +
                             lane % 4 * 2,
                         x);
        }
}

/* Stores factor * sum + beta * U for each block of the square, rounded once. A warp writes a row of the square, and lanes
 * of a block write neighbouring numbers. */
template <class H, int B, int COLUMNS>
__device__ __forceinline__ void store_square(const gradient_of &a, const square_of<B, COLUMNS> &s,
                                             const float *sums)
{
    for (int i = warp_id(); i < COLUMNS; i += THREADS / 32) {
        const int r = i % SQUARE, c = i / SQUARE * SQUARE + lane_id() * 4, j = s.at(r, c);
        const int block = s.block[j];
        if (block < 0) continue;
        const size_t at = ((size_t)block * B + r % B) * B + c % B;
        const float factor = s.factor[j];
        float x[4];
        H result[4], u[4];
        load_vector_plain(x, sums + r * sums_pitch(COLUMNS) + c);
        if (a.beta != 0) load_vector_plain(u, (const H *)a.U + at);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            /* BEGIN STUDENT: a stopped block is beta * U, without the sum */
            float w = factor == 0 ? 0 : factor * x[e];
            if (a.beta != 0) w += a.beta * widen(u[e]);
            result[e] = narrow<H>(w);
            /* END STUDENT */
        }
        store_vector((H *)a.dW + at, result);
    }
}

#endif
