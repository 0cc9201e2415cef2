/*
 * gradients_tensor_core.cu - mutants of block gradients on tensor cores (lab 54): squares of blocks, steps of pairs, pieces,
 * and numbers of 16 bits. A thread block a square of 128 x 128 features, a thread an element of each of its blocks.
 */
#include "mutant.h"

#include "device/cuda_try.h"
#include "device/half.cuh"
#include "ops/bsmm_update.h"

#include <stdlib.h>

enum bug {
    HEALTHY_SQUARES,
    LAST_BLOCK_OF_A_SQUARE_LOST,
    FEATURES_OF_THE_SQUARES_CORNER,
    GATE_OF_THE_SQUARES_FIRST_BLOCK,
    STOPPED_BLOCK_OF_A_SQUARE_MULTIPLIES,
    TAIL_OF_A_PAIR_RUNS_ON,
    LAST_PIECE_OF_STEPS_LOST,
    PIECES_OF_STEPS_OVERLAP,
    PIECES_ROUNDED_TO_HALF,
    GRADIENT_SUMMED_IN_HALF,
    ROUNDED_BEFORE_U,
    SQUARE_STORED_TRANSPOSED,
};

constexpr int SQUARE = 128, STEP = 32, PIECES = 3;

struct square_args {
    const int2 *place;
    const int *first; /* the first block of each square, and their end */
    const __half *X, *dY, *U;
    const float *gate;
    __half *dW;
    int B, N, C, K, pairs;
    float alpha, beta;
};

/* The sum of an element over the steps of a piece; tokens of a step are those of one pair. */
template <bug BUG>
static __device__ float piece_of(const square_args &a, int piece, int input, int output)
{
    const int of_pair = (a.N + STEP - 1) / STEP, steps = of_pair * a.pairs;
    const int first = steps * piece / PIECES - (BUG == PIECES_OF_STEPS_OVERLAP && piece > 0);
    float sum = 0;
    for (int s = first; s < steps * (piece + 1) / PIECES; s++)
        for (int i = 0; i < STEP; i++) {
            const int pair = s / of_pair, token = s % of_pair * STEP + i;
            const bool runs_on = BUG == TAIL_OF_A_PAIR_RUNS_ON && pair + 1 < a.pairs;
            if (token >= a.N && !runs_on) break;
            const int64_t row = (int64_t)pair * a.N + token;
            sum += widen(a.X[row * a.C + input]) * widen(a.dY[row * a.K + output]);
            if (BUG == GRADIENT_SUMMED_IN_HALF) sum = widen(narrow<__half>(sum));
        }
    return BUG == PIECES_ROUNDED_TO_HALF ? widen(narrow<__half>(sum)) : sum;
}

template <bug BUG> static __global__ void square_mutant_kernel(const square_args a)
{
    const int first = a.first[blockIdx.x], end = a.first[blockIdx.x + 1];
    for (int b = first; b < end - (BUG == LAST_BLOCK_OF_A_SQUARE_LOST); b++) {
        const int2 place = a.place[BUG == FEATURES_OF_THE_SQUARES_CORNER ? first : b];
        const float gate = a.gate[BUG == GATE_OF_THE_SQUARES_FIRST_BLOCK ? first : b];
        const bool stopped = gate == 0 && BUG != STOPPED_BLOCK_OF_A_SQUARE_MULTIPLIES;
        for (int e = threadIdx.x; e < a.B * a.B; e += blockDim.x) {
            const int i = BUG == SQUARE_STORED_TRANSPOSED ? e % a.B : e / a.B;
            const int j = BUG == SQUARE_STORED_TRANSPOSED ? e / a.B : e % a.B;
            const size_t at = (size_t)b * a.B * a.B + e;
            float x = 0;
            for (int p = 0; !stopped && p < PIECES - (BUG == LAST_PIECE_OF_STEPS_LOST); p++)
                x += piece_of<BUG>(a, p, place.x * a.B + i, place.y * a.B + j);
            x *= stopped ? 0 : a.alpha * gate;
            if (BUG == ROUNDED_BEFORE_U) x = widen(narrow<__half>(x));
            a.dW[at] = narrow<__half>(x + a.beta * widen(a.U[at]));
        }
    }
}

static cudaError_t prepare(bsmm_update_plan *plan)
{
    const block_layout *l = plan->layout;
    const int side = SQUARE / plan->block;
    const size_t places = (size_t)l->blocks * sizeof(int2);
    int2 *place = (int2 *)malloc(places + ((size_t)l->blocks + 2) * sizeof(int));
    int *first = (int *)(place + l->blocks), *squares = first + l->blocks + 1;
    *squares = 0;
    for (int b = 0; b < l->blocks; b++) {
        place[b] = make_int2(l->row[b], l->col[b]);
        if (b == 0 || place[b].x / side != place[b - 1].x / side ||
            place[b].y / side != place[b - 1].y / side)
            first[(*squares)++] = b;
    }
    first[*squares] = l->blocks;
    plan->tuning[0] = *squares;
    const size_t bytes = places + ((size_t)l->blocks + 1) * sizeof(int);
    CUDA_TRY(cudaMalloc(&plan->state, bytes));
    CUDA_TRY(cudaMemcpy(plan->state, place, bytes, cudaMemcpyHostToDevice));
    free(place);
    return cudaSuccess;
}

static void release(bsmm_update_plan *plan)
{
    cudaFree(plan->state);
}

template <bug BUG>
static cudaError_t run(const bsmm_update_plan *plan, const bsmm_update_inputs *in, void *dW,
                       cudaStream_t stream)
{
    const int2 *place = (const int2 *)plan->state;
    const square_args a = {place,
                           (const int *)(place + plan->layout->blocks),
                           (const __half *)in->X,
                           (const __half *)in->dY,
                           (const __half *)in->U,
                           in->gate,
                           (__half *)dW,
                           plan->block,
                           plan->N,
                           plan->layout->rows * plan->block,
                           plan->layout->cols * plan->block,
                           plan->pairs,
                           plan->alpha,
                           plan->beta};
    square_mutant_kernel<BUG><<<plan->tuning[0], 64, 0, stream>>>(a);
    return cudaGetLastError();
}

/* The number of the knobs' combination: blocks of 8, two pairs, gates that multiply, and beta of 1. BLOCK runs fastest,
 * then PAIRS, GATES, ALPHA and BETA. Blocks of 8 are the cheapest, and no mutant needs an mma. */
enum { TWO_PAIRS = 4, GATES_APPLY = 4 * 8, BETA_ONE = 4 * 8 * 3 * 2 };

#define SQUARE_MUTANT(bug, diagnosis)                         \
    static bsmm_update_contender mutant_##bug = {             \
        .base = {.lab = ON_FEW_BLOCKS + SHOWS_ALWAYS,         \
                 .after = TWO_PAIRS + GATES_APPLY + BETA_ONE, \
                 .name = #bug,                                \
                 .summary = diagnosis,                        \
                 .precision = PRECISION_FP16},                \
        .prepare = prepare,                                   \
        .run = run<bug>,                                      \
        .release = release,                                   \
    };                                                        \
    BSMM_UPDATE_REGISTER(mutant_##bug)

SQUARE_MUTANT(HEALTHY_SQUARES, NULL)
SQUARE_MUTANT(LAST_BLOCK_OF_A_SQUARE_LOST, "never written")
SQUARE_MUTANT(FEATURES_OF_THE_SQUARES_CORNER, "wrong values")
SQUARE_MUTANT(GATE_OF_THE_SQUARES_FIRST_BLOCK, "wrong values")
SQUARE_MUTANT(STOPPED_BLOCK_OF_A_SQUARE_MULTIPLIES, "NaN or infinity computed")
SQUARE_MUTANT(TAIL_OF_A_PAIR_RUNS_ON, "wrong values")
SQUARE_MUTANT(LAST_PIECE_OF_STEPS_LOST, "wrong values")
SQUARE_MUTANT(PIECES_OF_STEPS_OVERLAP, "wrong values")
SQUARE_MUTANT(PIECES_ROUNDED_TO_HALF, "wrong values")
SQUARE_MUTANT(GRADIENT_SUMMED_IN_HALF, "wrong values")
SQUARE_MUTANT(ROUNDED_BEFORE_U, "wrong values")
SQUARE_MUTANT(SQUARE_STORED_TRANSPOSED, "the block was taken transposed")
