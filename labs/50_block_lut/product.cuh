/*
 * product.cuh - what a warp does with a step: STEP input features, times the tokens of the thread block.
 *
 * The input features of a segment's open blocks follow each other, block behind block; STEP of them are a step. B = 8 has
 * two blocks a step, B = 16 one, B = 32 half of one. A lane has 8 x 8 sums where B is 32 or 64 and TOKENS is 64:
 *
 *   lane              a = lane % 2 + lane / 16 * 2, 0 to 3        b = lane / 2 % 8
 *   output feature i  i / Q * 4 Q + a * Q + i % Q: groups of Q    of FEATURES / 4
 *   token j           j / 4 * 32 + 4 b + j % 4: groups of four    of TOKENS / 8
 *
 * Shared memory can serve a load of 16 bytes to half a warp at once. Lanes l and l ^ 1, or lanes l and l ^ 2, must
 * want the same. In this order they do. So 64 multiply-adds have four loads of two wavefronts.
 */
#ifndef BLOCK_LUT_PRODUCT_CUH
#define BLOCK_LUT_PRODUCT_CUH

#include "finish.cuh"

#include "device/async_copy.cuh"

constexpr int STEP = 16, STAGES = 2;
constexpr int DEPTH = 2; /* input features whose weights a lane holds */

/* Returns the lane without a sign: so its division by a power of two is one shift. */
__device__ __forceinline__ unsigned lane_number()
{
    return (unsigned)lane_id();
}

/* A block to multiply with. */
struct listed_block {
    int input, block;
    float gate;
};

/* A step in shared memory. fprop has W as it lies: a row of W for each input feature. bprop has a row for each output
 * feature, so that four input features are one load; feature i of lanes with a is row 4 i + a. */
template <class S> struct stage {
    static constexpr int PITCH = S::TRANSPOSED ? STEP + 4 : S::FEATURES;
    alignas(16) float W[S::TRANSPOSED ? S::FEATURES : STEP][PITCH];
    alignas(16) float in[STEP][S::TOKENS];
};

/* A lane's sums: its output features and tokens. */
template <class S> struct lane_sums {
    static constexpr int I = S::FEATURES / 4, J = S::TOKENS / 8, Q = I < 4 ? I : 4;
    /* Turns of DEPTH input features that are one piece of code. Several of bprop need more registers than the 128 that
     * four thread blocks on a multiprocessor leave. */
    static constexpr int TURNS = S::TRANSPOSED ? 1 : 4;
    float sum[I][J];

    static __device__ __forceinline__ int a() { return lane_number() % 2 + lane_number() / 16 * 2; }
    static __device__ __forceinline__ int b() { return lane_number() / 2 % 8; }
    static __device__ __forceinline__ int feature(int a, int i)
    {
        return i / Q * 4 * Q + a * Q + i % Q;
    }
};

/* ---- a step comes to shared memory ------------------------------------------------------------- */

/* The first 16 bytes of W that a lane copies in a step: where they go, and their input and output feature. */
struct piece {
    int row, column, in, out;
};

template <class S> __device__ __forceinline__ piece first_piece()
{
    constexpr int PIECES = S::FEATURES / 4; /* of a row in fprop */
    const unsigned lane = lane_number();
    if (S::TRANSPOSED) {
        /* Eight lanes store at once: two rows, and 4 * PITCH = 80 floats between them, which is half of the banks. */
        const int row = lane / 4 % 2 * 4 + lane / 8, in = lane % 4 * 4;
        return {row, in, in, lane_sums<S>::feature(row % 4, row / 4)};
    }
    const int row = lane / PIECES, out = lane % PIECES * 4;
    return {row, out, row, out};
}

/* The warp's pieces of W in a step. */
template <class S> constexpr int W_TURNS = S::FEATURES *STEP / 4 / WARP_SIZE;

/* The block behind an input feature of a step, of `count` listed ones. */
template <class S>
__device__ __forceinline__ const listed_block &block_of(const listed_block *list, int count,
                                                        int step, int in)
{
    const int place = step * STEP / S::B + in / S::B;
    return list[S::B < STEP ? min(place, count - 1) : place];
}

/* Whether there is one: with B = 8 the last step may have a single block. */
template <class S> __device__ __forceinline__ bool has_block(int count, int step, int in)
{
    return S::B >= STEP || step * (STEP / S::B) + in / S::B < count;
}

/* Where a lane's copies begin, in every step alike. Pieces of later turns lie at the same distance behind the first one for
 * all lanes: a constant in W, rows of N numbers in the input. So a step has few addresses to compute. */
template <class S> struct lane_copies {
    /* Counts copies of a row of the input; rows of a turn, and turns of a row. */
    static constexpr int PIECES = S::TOKENS / S::V,
                         ROWS = PIECES < WARP_SIZE ? WARP_SIZE / PIECES : 1,
                         ACROSS = PIECES < WARP_SIZE ? 1 : PIECES / WARP_SIZE;
    piece of_W;
    int row, column;     /* of the input: in the step, in the slice */
    const float *W, *in; /* in block 0, and in its rows of the input */

    __device__ lane_copies(const product_of &a)
        : of_W(first_piece<S>()), row(lane_number() / PIECES), column(lane_number() % PIECES * S::V)
    {
        const int in_feature = of_W.in % S::B, out = S::first_feature() + of_W.out;
        W = a.W + (S::TRANSPOSED ? out * S::B + in_feature : in_feature * S::B + out);
        in = a.in + (size_t)row * a.N + S::first_token() + column;
    }
    /* Rows of the stage, and numbers of W, between the lane's first piece and that of a turn. */
    static __device__ __forceinline__ int row_of_turn(int turn)
    {
        return S::TRANSPOSED ? turn * 8 : turn * WARP_SIZE / (S::FEATURES / 4);
    }
    static __device__ __forceinline__ int number_of_turn(int turn)
    {
        const int feature = lane_sums<S>::feature(0, 2 * turn);
        return S::B * (S::TRANSPOSED ? feature : row_of_turn(turn));
    }
};

/* Starts copying a step of `count` listed blocks. What is behind the last block or token becomes 0. */
template <class S>
__device__ __forceinline__ void fetch(const product_of &a, const lane_copies<S> &lane,
                                      const listed_block *list, int count, int step, stage<S> &to)
{
    constexpr int B = S::B;
    const int first = step * STEP % B; /* input feature of its block */
    const piece &p = lane.of_W;
    const size_t block = block_of<S>(list, count, step, p.in).block;
    const float *const W = lane.W + (block * (B * B) + (S::TRANSPOSED ? first : first * B));
#pragma unroll
    for (int t = 0; t < W_TURNS<S>; t++)
        async_copy_zfill<16>(&to.W[p.row + lane.row_of_turn(t)][p.column],
                             W + lane.number_of_turn(t), has_block<S>(count, step, p.in) ? 16 : 0);
    const float *in = NULL;
#pragma unroll
    for (int row = 0; row < STEP; row += lane.ROWS) {
        if (row % B == 0) /* a block's first one */
            in = lane.in + (size_t)(block_of<S>(list, count, step, row).input * B + first) * a.N;
#pragma unroll
        for (int t = 0; t < lane.ACROSS; t++) {
            const int column = lane.column + t * WARP_SIZE * S::V;
            const bool is_there = S::first_token() + column < a.N && has_block<S>(count, step, row);
            async_copy_zfill<4 * S::V>(&to.in[lane.row + row][column],
                                       in + (int64_t)(row % B) * a.N + t * WARP_SIZE * S::V,
                                       is_there ? 4 * S::V : 0);
        }
    }
}

/* Multiplies what this lane has copied of W, all of one block, by its gate. */
template <class S>
__device__ __forceinline__ void scale(const lane_copies<S> &lane, const listed_block *list,
                                      int count, int step, stage<S> &s)
{
    const piece &p = lane.of_W;
    const float gate = block_of<S>(list, count, step, p.in).gate;
#pragma unroll
    for (int t = 0; t < W_TURNS<S>; t++) {
        float *const at = &s.W[p.row + lane.row_of_turn(t)][p.column];
        float w[4];
        load_vector_plain(w, at);
#pragma unroll
        for (int i = 0; i < 4; i++)
            w[i] *= gate;
        store_vector(at, w);
    }
}

/* ---- products ---------------------------------------------------------------------------------- */

/* This lane's weights of DEPTH input features, from feature `in` of the step on. */
template <class S>
__device__ __forceinline__ void load_weights(float (&w)[DEPTH][lane_sums<S>::I], const stage<S> &s,
                                             int in)
{
    constexpr int I = lane_sums<S>::I, Q = lane_sums<S>::Q;
    const int a = lane_sums<S>::a();
#pragma unroll
    for (int i = 0; S::TRANSPOSED && i < I; i++) {
        float both[DEPTH] = {};
        /* BEGIN STUDENT: DEPTH weights of feature i, in one load; which row has it? */
        load_vector_plain(both, &s.W[4 * i + a][in]);
        /* END STUDENT */
#pragma unroll
        for (int d = 0; d < DEPTH; d++)
            w[d][i] = both[d];
    }
#pragma unroll
    for (int d = 0; !S::TRANSPOSED && d < DEPTH; d++)
#pragma unroll
        for (int i = 0; i < I; i += Q) {
            float group[Q];
            load_vector_plain(group, &s.W[in + d][lane_sums<S>::feature(a, i)]);
#pragma unroll
            for (int q = 0; q < Q; q++)
                w[d][i + q] = group[q];
        }
}

/* Adds a step's products to this lane's sums. */
template <class S> __device__ __forceinline__ void multiply_add(const stage<S> &s, lane_sums<S> &to)
{
    using sums = lane_sums<S>;
    constexpr int I = sums::I, J = sums::J;
#pragma unroll(sums::TURNS)
    for (int in = 0; in < STEP; in += DEPTH) {
        float w[DEPTH][I];
        load_weights(w, s, in);
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            float x[J / 4][4];
#pragma unroll
            for (int j = 0; j < J / 4; j++)
                load_vector_plain(x[j], &s.in[in + d][j * 32 + sums::b() * 4]);
                /* BEGIN STUDENT: the outer product of w[d] and x */
#pragma unroll
            for (int i = 0; i < I; i++)
#pragma unroll
                for (int j = 0; j < J; j++)
                    to.sum[i][j] += w[d][i] * x[j / 4][j % 4];
            /* END STUDENT */
        }
    }
}

/* ---- a warp's share of the list, and the sum of the warps ---------------------------------------- */

/* A warp's own shared memory: its ring, and in the end its sums. Eight lanes store to two rows that are Q apart, so Q *
 * PITCH floats should be half of the banks: 16 and a multiple of 32. */
template <class S> union warp_memory {
    static constexpr int PITCH = S::TOKENS + 16 / lane_sums<S>::Q;
    stage<S> ring[STAGES];
    alignas(16) float sums[S::FEATURES][PITCH];
};

/* Multiplies steps w, w + WARPS ... of `count` listed blocks, w being this warp. Nobody but the warp touches its ring, so
 * no warp waits for another. */
template <class S>
__device__ __forceinline__ void multiply_list(const product_of &a, const listed_block *list,
                                              int count, stage<S> (&ring)[STAGES], lane_sums<S> &to)
{
    const lane_copies<S> lane(a);
    const int steps = (count * S::B + STEP - 1) / STEP;
#pragma unroll
    for (int s = 0; s < STAGES; s++) {
        const int step = warp_id() + s * WARPS;
        if (step < steps) fetch(a, lane, list, count, step, ring[s]);
        async_commit();
    }
    for (int step = warp_id(), s = 0; step < steps; step += WARPS, s = s + 1 < STAGES ? s + 1 : 0) {
        async_wait<STAGES - 1>();
        if (a.gate) scale(lane, list, count, step, ring[s]);
        __syncwarp(); /* the copies of all lanes are there */
        multiply_add(ring[s], to);
        __syncwarp(); /* all have read */
        if (step + STAGES * WARPS < steps)
            fetch(a, lane, list, count, step + STAGES * WARPS, ring[s]);
        async_commit();
    }
}

/* Adds the sums of all warps, in the warps' order: the same bits in every run. */
template <class S>
__device__ __forceinline__ void add_warps(warp_memory<S> (&memory)[WARPS], const lane_sums<S> &own,
                                          float (&sum)[S::QUADS][4])
{
    constexpr int I = lane_sums<S>::I, J = lane_sums<S>::J;
    float(&sums)[S::FEATURES][warp_memory<S>::PITCH] = memory[warp_id()].sums;
#pragma unroll
    for (int i = 0; i < I; i++)
#pragma unroll
        for (int j = 0; j < J; j += 4) {
            const float four[4] = {own.sum[i][j], own.sum[i][j + 1], own.sum[i][j + 2],
                                   own.sum[i][j + 3]};
            store_vector(&sums[own.feature(own.a(), i)][j / 4 * 32 + own.b() * 4], four);
        }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < S::QUADS; q++) {
        /* BEGIN STUDENT: add up four tokens of the warps' sums */
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            float x[4];
            load_vector_plain(x, &memory[w].sums[S::feature(q)][S::column()]);
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum[q][j] += x[j];
        }
        /* END STUDENT */
    }
}

#endif
