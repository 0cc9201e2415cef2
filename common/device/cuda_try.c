#include "device/cuda_try.h"

#include <stdbool.h>
#include <stdio.h>

static _Thread_local cudaError_t last_error;
static _Thread_local char last_text[512];

cudaError_t cuda_failed(cudaError_t error, const char *call, const char *file, int line)
{
    if (error != last_error) { /* else it has been seen where it happened, and is passed on here */
        last_error = error;
        snprintf(last_text, sizeof last_text, "%s at %s:%d: %s", call, file, line,
                 cudaGetErrorString(error));
    }
    return error;
}

cudaError_t cuda_failed_as(cudaError_t error, const char *text)
{
    last_error = error;
    snprintf(last_text, sizeof last_text, "%s", text);
    return error;
}

const char *cuda_failure_text(cudaError_t error)
{
    const bool seen = error == last_error && error != cudaSuccess;
    last_error = cudaSuccess;
    return seen ? last_text : cudaGetErrorString(error);
}
