/*
 * cuda_try.h - checking every call of the CUDA runtime without burying the code that makes it.
 */
#ifndef DEVICE_CUDA_TRY_H
#define DEVICE_CUDA_TRY_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Remembers which call failed and where, for cuda_failure_text; returns `error`. Of the calls that
 * pass on one error the innermost counts. */
cudaError_t cuda_failed(cudaError_t error, const char *call, const char *file, int line);

/* "cudaMalloc(&p, bytes) at labs/05_split_rows/lab.cu:120: out of memory": where CUDA_TRY first saw
 * `error` on this thread since this was asked last, or the runtime's own text for it if it did not.
 * The string lives until the next failure. */
const char *cuda_failure_text(cudaError_t error);

/* The same for what failed on another thread, or in a library: `text` is all that cuda_failure_text will say. */
cudaError_t cuda_failed_as(cudaError_t error, const char *text);

/* Returns from the calling function with the error if `call` fails. */
#define CUDA_TRY(call)                                                                    \
    do {                                                                                  \
        cudaError_t error_ = (call);                                                      \
        if (error_ != cudaSuccess) return cuda_failed(error_, #call, __FILE__, __LINE__); \
    } while (0)

/* The same for functions with one cleanup label: stores the error in `result` and goes there. */
#define CUDA_TRY_GOTO(result, label, call)                  \
    do {                                                    \
        result = (call);                                    \
        if (result != cudaSuccess) {                        \
            cuda_failed(result, #call, __FILE__, __LINE__); \
            goto label;                                     \
        }                                                   \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
