/*
 * epilogue.h - products with a bias and a ReLU, of contenders that apply them and of those behind which spmm_run does.
 */
#ifndef TESTS_KERNELS_EPILOGUE_H
#define TESTS_KERNELS_EPILOGUE_H

#include "harness/device.h"
#include "ops/spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the fault that they show on matrices with rows of every kind, by bias, ReLU and both: within the bound of the oracle's
 * product, to the bit with whole numbers, and with a NaN that must stay one. NULL: nothing. */
const char *epilogue_failure(const contender *c, const device_info *device);

/* Epilogues that are wrong on purpose; the first one is right. A student's tree has none: their kernels would be solutions. */
typedef struct epilogue_mutants {
    const spmm_contender *first;
    int count;
} epilogue_mutants;
extern epilogue_mutants EPILOGUE_MUTANTS;

#ifdef __cplusplus
}
#endif
#endif
