/*
 * honest.h - lab 1 as it should be, for cheats that do the work now and then. The test copies it into
 * each submission.
 */
#ifndef CHEATS_HONEST_H
#define CHEATS_HONEST_H

#include "ops/spmm.h"

/* The product; its first `rows` rows. */
cudaError_t honest_run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream);
cudaError_t honest_rows(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream,
                        int rows);

/* A kernel with a thread for each row; launches it for `rows` of them. */
typedef void row_kernel(int rows, int N, const int *row_ptr, const int *col_idx,
                        const float *values, const float *B, float *C);
cudaError_t honest_launch(row_kernel *kernel, const spmm_plan *plan, const float *B, float *C,
                          cudaStream_t stream, int rows);

/* Registers `run_function` as lab 1. */
#define CHEAT(run_function)                                          \
    static spmm_contender lab1 = {                                   \
        .base = {.lab = 1, .name = "row_per_thread", .summary = ""}, \
        .run = run_function,                                         \
    };                                                               \
    SPMM_REGISTER(lab1)

#endif
