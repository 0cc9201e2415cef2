/*
 * block_gradients.cu - mutants of the gradient of block-sparse weights (lab 51): pairs, alpha and beta, gates that stop.
 * A thread block a block of dW, a thread an element.
 */
#include "mutant.h"

#include "device/cuda_try.h"
#include "ops/bsmm_update.h"

#include <stdlib.h>

enum bug {
    HEALTHY_GRADIENT,
    BETA_FOR_EACH_PAIR,
    BETA_OF_THE_OUTPUT,
    ALPHA_OF_THE_SUM_WITH_U,
    FIRST_PAIR_ALONE,
    GATE_MULTIPLIED_TWICE,
    CLOSED_GATE_MULTIPLIES,
    CLOSED_GATE_WRITES_NOTHING,
    CLOSED_GATE_DROPS_U,
    STOP_APPLIES_THE_GATE,
    GRADIENT_TRANSPOSED,
    LAST_TOKEN_DROPPED,
    DY_OF_THE_BLOCK_ROW,
};

struct gradient_args {
    const int2 *place;
    const float *X, *dY, *U, *gate;
    float *dW;
    int B, N, C, K, pairs;
    float alpha, beta;
    bool applies;
};

template <bug BUG> static __global__ void gradient_mutant_kernel(const gradient_args a)
{
    const int2 place = a.place[blockIdx.x];
    const float gate = a.gate ? a.gate[blockIdx.x] : 1;
    const bool applies = a.applies || BUG == STOP_APPLIES_THE_GATE;
    const bool closed = gate == 0;
    if (closed && BUG == CLOSED_GATE_WRITES_NOTHING) return;
    float factor = applies ? a.alpha * gate : a.alpha;
    if (BUG == GATE_MULTIPLIED_TWICE) factor *= gate;
    for (int e = threadIdx.x; e < a.B * a.B; e += blockDim.x) {
        const int i = BUG == GRADIENT_TRANSPOSED ? e % a.B : e / a.B;
        const int j = BUG == GRADIENT_TRANSPOSED ? e / a.B : e % a.B;
        const int column = BUG == DY_OF_THE_BLOCK_ROW ? place.x * a.B % a.K / a.B : place.y;
        const size_t at = (size_t)blockIdx.x * a.B * a.B + e;
        const float old =
            a.beta == 0 ? 0 : a.beta * (BUG == BETA_OF_THE_OUTPUT ? a.dW[at] : a.U[at]);
        float sum = 0, x = 0;
        for (int p = 0; p < (BUG == FIRST_PAIR_ALONE ? 1 : a.pairs); p++)
            for (int t = 0; t < a.N - (BUG == LAST_TOKEN_DROPPED); t++)
                sum += a.X[((size_t)p * a.C + place.x * a.B + i) * a.N + t] *
                       a.dY[((size_t)p * a.K + column * a.B + j) * a.N + t];
        if (!closed || BUG == CLOSED_GATE_MULTIPLIES) x = factor * sum;
        if (BUG == ALPHA_OF_THE_SUM_WITH_U)
            x = closed ? old : factor * (sum + old);
        else if (!closed || BUG != CLOSED_GATE_DROPS_U)
            x += (BUG == BETA_FOR_EACH_PAIR ? a.pairs : 1) * old;
        a.dW[at] = x;
    }
}

static cudaError_t prepare(bsmm_update_plan *plan)
{
    const block_layout *l = plan->layout;
    int2 *place = (int2 *)malloc(((size_t)l->blocks + 1) * sizeof *place);
    for (int b = 0; b < l->blocks; b++)
        place[b] = make_int2(l->row[b], l->col[b]);
    CUDA_TRY(cudaMalloc(&plan->state, ((size_t)l->blocks + 1) * sizeof *place));
    CUDA_TRY(
        cudaMemcpy(plan->state, place, (size_t)l->blocks * sizeof *place, cudaMemcpyHostToDevice));
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
    const gradient_args a = {(const int2 *)plan->state,
                             (const float *)in->X,
                             (const float *)in->dY,
                             (const float *)in->U,
                             in->gate,
                             (float *)dW,
                             plan->block,
                             plan->N,
                             plan->layout->rows * plan->block,
                             plan->layout->cols * plan->block,
                             plan->pairs,
                             plan->alpha,
                             plan->beta,
                             plan->gates == BSMM_UPDATE_APPLY};
    gradient_mutant_kernel<BUG><<<plan->layout->blocks, 64, 0, stream>>>(a);
    return cudaGetLastError();
}

/* Numbers of the knobs' combinations, with blocks of 8: BLOCK runs fastest, then PAIRS, GATES, ALPHA and BETA. */
enum {
    ONE_PAIR = 0,
    TWO_PAIRS = 4,
    GATES_APPLY = 4 * 8,
    GATES_STOP = 4 * 8 * 2,
    HALF_ALPHA = 4 * 8 * 3,
    BETA_ONE = 4 * 8 * 3 * 2,
};

#define GRADIENT_MUTANT(bug, knobs, diagnosis)        \
    static bsmm_update_contender mutant_##bug = {     \
        .base = {.lab = ON_FEW_BLOCKS + SHOWS_ALWAYS, \
                 .after = (knobs),                    \
                 .name = #bug,                        \
                 .summary = diagnosis},               \
        .prepare = prepare,                           \
        .run = run<bug>,                              \
        .release = release,                           \
    };                                                \
    BSMM_UPDATE_REGISTER(mutant_##bug)

GRADIENT_MUTANT(HEALTHY_GRADIENT, TWO_PAIRS + GATES_APPLY + BETA_ONE, NULL)
GRADIENT_MUTANT(BETA_FOR_EACH_PAIR, TWO_PAIRS + GATES_APPLY + BETA_ONE,
                "beta was applied for each pair")
GRADIENT_MUTANT(BETA_OF_THE_OUTPUT, TWO_PAIRS + GATES_APPLY + BETA_ONE, "nothing was written")
GRADIENT_MUTANT(FIRST_PAIR_ALONE, TWO_PAIRS + GATES_APPLY + BETA_ONE,
                "only the first pair was summed")
GRADIENT_MUTANT(GATE_MULTIPLIED_TWICE, TWO_PAIRS + GATES_APPLY + BETA_ONE,
                "the gate was multiplied in twice")
GRADIENT_MUTANT(CLOSED_GATE_MULTIPLIES, TWO_PAIRS + GATES_APPLY + BETA_ONE,
                "NaN or infinity computed")
GRADIENT_MUTANT(CLOSED_GATE_WRITES_NOTHING, TWO_PAIRS + GATES_APPLY + BETA_ONE,
                "never written: only empty rows")
GRADIENT_MUTANT(CLOSED_GATE_DROPS_U, TWO_PAIRS + GATES_APPLY + BETA_ONE, "only empty rows")
GRADIENT_MUTANT(ALPHA_OF_THE_SUM_WITH_U, HALF_ALPHA + BETA_ONE, "wrong values")
GRADIENT_MUTANT(STOP_APPLIES_THE_GATE, GATES_STOP, "wrong values")
GRADIENT_MUTANT(GRADIENT_TRANSPOSED, ONE_PAIR, "the block was taken transposed")
GRADIENT_MUTANT(LAST_TOKEN_DROPPED, ONE_PAIR, "wrong values")
GRADIENT_MUTANT(DY_OF_THE_BLOCK_ROW, ONE_PAIR, "wrong values")
