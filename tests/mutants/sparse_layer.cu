/*
 * sparse_layer.cu - mutants of a training step (lab 41): weights of another time, gradients that are lost, orders that
 * do not agree. A thread a result.
 */
#include "device/cuda_try.h"
#include "device/half.cuh"
#include "formats/transposed_pattern.h"
#include "mutant.h"
#include "ops/sparse_layer.h"

#include <stdlib.h>

enum bug {
    LAYER_HEALTHY,
    COLUMNS_OF_PREPARE,
    DUPLICATES_IN_REVERSE,
    GRADIENT_OVERWRITTEN,
    GRADIENT_ADDED,
    UPDATED_BEFORE_DX,
    COLUMNS_NOT_UPDATED,
    COLUMNS_IN_ROW_ORDER,
    MASTER_IN_HALF,
    FIRST_STEP_ALONE,
};

constexpr int BLOCK = 128;

/* plan->state: the transpose, and for one mutant its values as they were. */
struct kept {
    transposed_pattern *pattern;
    void *d_by_column;
};

/* The place of nonzero i of the transpose among those of its row and column, counted from the other end. */
static __device__ int reversed(const device_csr &T, int column, int i)
{
    int first = i, last = i;
    while (first > T.d_row_ptr[column] && T.d_col_idx[first - 1] == T.d_col_idx[i])
        first--;
    while (last + 1 < T.d_row_ptr[column + 1] && T.d_col_idx[last + 1] == T.d_col_idx[i])
        last++;
    return first + last - i;
}

/* A row of Y, a thread a column. */
template <class T> static __global__ void forward_kernel(device_csr W, const T *X, T *Y, int N)
{
    const int row = blockIdx.x, n = blockIdx.y * BLOCK + threadIdx.x;
    if (n >= N) return;
    float sum = 0;
    for (int z = W.d_row_ptr[row]; z < W.d_row_ptr[row + 1]; z++)
        sum += widen(narrow<T>(W.d_values[z])) * widen(X[(size_t)W.d_col_idx[z] * N + n]);
    Y[(size_t)row * N + n] = narrow<T>(sum);
}

/* A row of dX, with weights by column, or with those of another array in W's order. */
template <class T>
static __global__ void backward_kernel(device_csr P, const int *place, const T *by_column,
                                       const float *in_order, const T *dY, T *dX, int N)
{
    const int column = blockIdx.x, n = blockIdx.y * BLOCK + threadIdx.x;
    if (n >= N) return;
    float sum = 0;
    for (int i = P.d_row_ptr[column]; i < P.d_row_ptr[column + 1]; i++) {
        const T w = in_order ? narrow<T>(in_order[place[i]]) : by_column[i];
        sum += widen(w) * widen(dY[(size_t)P.d_col_idx[i] * N + n]);
    }
    dX[(size_t)column * N + n] = narrow<T>(sum);
}

/* The weights of a column after the step: a block a column, a thread a nonzero. */
template <bug BUG, class T>
static __global__ void update_kernel(device_csr W, device_csr P, const int *place,
                                     sparse_layer_inputs in, sparse_layer_outputs out,
                                     const T *before, int steps, int N, float eta)
{
    const int column = blockIdx.x;
    for (int i = P.d_row_ptr[column] + threadIdx.x; i < P.d_row_ptr[column + 1]; i += BLOCK) {
        const int z = place[i], row = P.d_col_idx[i];
        float gradient = 0;
        const int counted = BUG == FIRST_STEP_ALONE ? 1 : steps;
        for (int t = BUG == GRADIENT_OVERWRITTEN ? steps - 1 : 0; t < counted; t++) {
            const T *dy = (const T *)in.dY[t] + (size_t)row * N;
            const T *x = (const T *)in.X[t] + (size_t)column * N;
            float sum = 0;
            for (int n = 0; n < N; n++)
                sum += widen(dy[n]) * widen(x[n]);
            gradient += sum;
        }
        const float step = BUG == GRADIENT_ADDED ? -eta * gradient : eta * gradient;
        const float w = W.d_values[z] - step;
        const int to = BUG == DUPLICATES_IN_REVERSE  ? reversed(P, column, i)
                       : BUG == COLUMNS_IN_ROW_ORDER ? z
                                                     : i;
        out.W[z] = BUG == MASTER_IN_HALF ? widen(narrow<__half>(w)) : w;
        ((T *)out.by_column)[to] = BUG == COLUMNS_NOT_UPDATED ? before[i] : narrow<T>(w);
    }
}

/* The weights of now, by column. */
template <class T> static __global__ void copy_kernel(device_csr W, const int *place, T *by_column)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < W.nnz) by_column[i] = narrow<T>(W.d_values[place[i]]);
}

template <bug BUG, class T> static cudaError_t prepare(sparse_layer_plan *plan)
{
    const size_t bytes = plan->W.nnz * sizeof(T);
    kept *own = (kept *)calloc(1, sizeof *own);
    if (!own) return cudaErrorMemoryAllocation;
    plan->state = own;
    CUDA_TRY(transposed_pattern_build(&plan->W, &own->pattern));
    CUDA_TRY(cudaMalloc(&own->d_by_column, bytes));
    copy_kernel<T>
        <<<plan->W.nnz / BLOCK + 1, BLOCK>>>(plan->W, own->pattern->d_place, (T *)own->d_by_column);
    return cudaGetLastError();
}

static void release(sparse_layer_plan *plan)
{
    kept *own = (kept *)plan->state;
    transposed_pattern_free(own->pattern);
    cudaFree(own->d_by_column);
    free(own);
}

template <bug BUG, class T>
static cudaError_t run(const sparse_layer_plan *plan, const sparse_layer_inputs *in,
                       const sparse_layer_outputs *out, cudaStream_t stream)
{
    const kept *own = (const kept *)plan->state;
    const device_csr &P = own->pattern->T;
    const int N = plan->N, blocks = (N + BLOCK - 1) / BLOCK;
    const T *now = (const T *)in->by_column;
    const T *used = BUG == COLUMNS_OF_PREPARE ? (const T *)own->d_by_column : now;
    update_kernel<BUG, T><<<P.rows, BLOCK, 0, stream>>>(plan->W, P, own->pattern->d_place, *in,
                                                        *out, now, plan->steps, N, plan->eta);
    for (int t = 0; t < plan->steps; t++) {
        forward_kernel<T><<<dim3(plan->W.rows, blocks), BLOCK, 0, stream>>>(
            plan->W, (const T *)in->X[t], (T *)out->Y[t], N);
        backward_kernel<T><<<dim3(P.rows, blocks), BLOCK, 0, stream>>>(
            P, own->pattern->d_place, used, BUG == UPDATED_BEFORE_DX ? out->W : NULL,
            (const T *)in->dY[t], (T *)out->dX[t], N);
    }
    return cudaGetLastError();
}

/* Numbers of combinations of knobs (problem_turn_knobs): three time steps, and two orders of W. */
enum { THREE_STEPS_TWO_ORDERS = 5 };

#define LAYER_MUTANT_IN(kind, type, bug, diagnosis)         \
    static sparse_layer_contender mutant_##bug##_##kind = { \
        .base = {.lab = SHOWS_ALWAYS,                       \
                 .after = THREE_STEPS_TWO_ORDERS,           \
                 .name = #bug,                              \
                 .summary = diagnosis,                      \
                 .precision = PRECISION_##kind},            \
        .prepare = prepare<bug, type>,                      \
        .run = run<bug, type>,                              \
        .release = release,                                 \
    };                                                      \
    SPARSE_LAYER_REGISTER(mutant_##bug##_##kind)
#define LAYER_MUTANT(bug, diagnosis) LAYER_MUTANT_IN(FP32, float, bug, diagnosis)

LAYER_MUTANT(LAYER_HEALTHY, NULL)
LAYER_MUTANT(COLUMNS_OF_PREPARE, "with other inputs only")
LAYER_MUTANT(DUPLICATES_IN_REVERSE, "the new W by column: wrong values")
LAYER_MUTANT(GRADIENT_OVERWRITTEN,
             "the last time step's gradient stands in place of the sum of all")
LAYER_MUTANT(GRADIENT_ADDED, "the gradient was added, not subtracted")
LAYER_MUTANT(UPDATED_BEFORE_DX, "dX: wrong values")
LAYER_MUTANT(COLUMNS_NOT_UPDATED, "it is the weight before the step")
LAYER_MUTANT(COLUMNS_IN_ROW_ORDER, "the new W by column: wrong values")
LAYER_MUTANT(FIRST_STEP_ALONE, "the new W: wrong values")
LAYER_MUTANT_IN(FP16, __half, LAYER_HEALTHY, NULL)
LAYER_MUTANT_IN(FP16, __half, MASTER_IN_HALF, "the new W: wrong values")
