/*
 * fast.h - what others than the harness ask of lab 9's second contender.
 */
#ifndef LAB9_FAST_H
#define LAB9_FAST_H

#include "ops/spmm.h"

/* Positions in spmm_plan.tuning. */
enum { TUNE_STEP, TUNE_EVEN, TUNE_WAYS };

/* Its prepare, for so many blocks, 1 to MOST_BLOCKS. The contender takes as many as the GPU has
 * multiprocessors; tests take few, which go round all stages on a small matrix. */
cudaError_t fast_prepare(spmm_plan *plan, int blocks);

#endif
