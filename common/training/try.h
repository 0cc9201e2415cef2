/*
 * try.h - what functions of a trained network return, when something that they call fails. Each macro wants an
 * `error_text *error` in scope.
 */
#ifndef TRAINING_TRY_H
#define TRAINING_TRY_H

#include "harness/device.h"
#include "library/sparse_plan.h"

#define TRY(call)                                 \
    do {                                          \
        const enum status status_ = (call);       \
        if (status_ != STATUS_OK) return status_; \
    } while (0)
#define TRY_CUDA(call)                                                     \
    do {                                                                   \
        const cudaError_t cuda_ = (call);                                  \
        if (cuda_ != cudaSuccess) return device_fail(cuda_, #call, error); \
    } while (0)
#define TRY_PLAN(call)                                          \
    do {                                                        \
        const enum sparse_status plan_ = (call);                \
        if (plan_ != SPARSE_OK) return plan_fail(plan_, error); \
    } while (0)

/* Puts the library's reason into the text. */
static inline enum status plan_fail(enum sparse_status status, error_text *error)
{
    return fail(error,
                status == SPARSE_NO_MEMORY  ? STATUS_MEMORY
                : status == SPARSE_UNSUITED ? STATUS_SKIPPED
                                            : STATUS_RUNTIME,
                "%s", sparse_error_text());
}

#endif
