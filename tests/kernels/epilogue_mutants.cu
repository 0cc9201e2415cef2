/*
 * epilogue_mutants.cu - the check of epilogues is checked: a thread an element, and the ways to get its end wrong.
 */
#include "device/epilogue.cuh"
#include "epilogue.h"

enum bug {
    HEALTHY,
    BIAS_MISSING,
    BIAS_OF_THE_NEXT_ROW,
    BIAS_OF_THE_COLUMN,
    RELU_MISSING,
    RELU_BEFORE_BIAS,
    RELU_OF_A_PARTIAL_SUM,
    BIAS_OF_EACH_PARTIAL_SUM,
    EMPTY_ROWS_WITHOUT_BIAS,
    NAN_LOST,
    APPLIED_TWICE, /* it does not say that it applies it */
};

template <bug BUG>
static __global__ void spmm_epilogue_kernel(const spmm_matrix A, int N, const row_epilogue e,
                                            const float *B, float *C)
{
    const int row = blockIdx.x, j = blockIdx.y * blockDim.x + threadIdx.x;
    if (j >= N) return;
    const int start = A.d_row_ptr[row], end = A.d_row_ptr[row + 1];
    float sum[1] = {}, part[1] = {};
    for (int k = start; k < end; k++) {
        const float product = A.d_values[k] * B[(size_t)A.d_col_idx[k] * N + j];
        if (k - start < (end - start) / 2)
            part[0] += product;
        else
            sum[0] += product;
    }
    const row_epilogue bias = {e.d_bias, false}, relu = {NULL, e.relu};
    int from = row;
    if (BUG == BIAS_OF_THE_NEXT_ROW) from = (row + 1) % A.rows;
    if (BUG == BIAS_OF_THE_COLUMN) from = j % A.rows;
    if (BUG == RELU_OF_A_PARTIAL_SUM) apply_epilogue(relu, row, part);
    if (BUG == BIAS_OF_EACH_PARTIAL_SUM) apply_epilogue(bias, row, part);
    sum[0] += part[0];
    if (BUG == RELU_BEFORE_BIAS) apply_epilogue(relu, row, sum);
    if (BUG == BIAS_MISSING || (BUG == EMPTY_ROWS_WITHOUT_BIAS && start == end))
        apply_epilogue(relu, from, sum);
    else if (BUG == RELU_MISSING || BUG == RELU_BEFORE_BIAS)
        apply_epilogue(bias, from, sum);
    else
        apply_epilogue(e, from, sum);
    if (BUG == NAN_LOST && e.relu) sum[0] = fmaxf(0, sum[0]);
    C[(size_t)row * N + j] = sum[0];
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const dim3 grid(plan->A.rows, (plan->N + 31) / 32);
    if (plan->A.rows == 0) return cudaSuccess;
    spmm_epilogue_kernel<BUG><<<grid, 32, 0, stream>>>(plan->A, plan->N, plan->epilogue, B, C);
    return cudaGetLastError();
}

/* They are not registered: the matrix would take them for labs. */
#define EPILOGUE_MUTANT(bug)                                                   \
    {                                                                          \
        .base = {.operation = &spmm_operation, .name = #bug}, .run = run<bug>, \
        .applies_epilogue = bug != APPLIED_TWICE                               \
    }

static const spmm_contender MUTANTS[] = {
    EPILOGUE_MUTANT(HEALTHY),
    EPILOGUE_MUTANT(BIAS_MISSING),
    EPILOGUE_MUTANT(BIAS_OF_THE_NEXT_ROW),
    EPILOGUE_MUTANT(BIAS_OF_THE_COLUMN),
    EPILOGUE_MUTANT(RELU_MISSING),
    EPILOGUE_MUTANT(RELU_BEFORE_BIAS),
    EPILOGUE_MUTANT(RELU_OF_A_PARTIAL_SUM),
    EPILOGUE_MUTANT(BIAS_OF_EACH_PARTIAL_SUM),
    EPILOGUE_MUTANT(EMPTY_ROWS_WITHOUT_BIAS),
    EPILOGUE_MUTANT(NAN_LOST),
    EPILOGUE_MUTANT(APPLIED_TWICE),
};
[[maybe_unused]] static const bool added =
    (EPILOGUE_MUTANTS = {MUTANTS, sizeof MUTANTS / sizeof MUTANTS[0]}, true);
