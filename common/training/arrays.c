#include "training/arrays.h"

#include "training/try.h"

#include <stdlib.h>

enum status arrays_allocate(device_arrays *own, void *array, size_t count, error_text *error)
{
    void **const to = array, **const more = realloc(own->at, (own->count + 1) * sizeof *own->at);
    if (!more) return fail(error, STATUS_MEMORY, "no memory");
    own->at = more;
    TRY_CUDA(cudaMalloc(to, (count + 1) * sizeof(float)));
    own->at[own->count++] = *to;
    TRY_CUDA(cudaMemset(*to, 0xff, (count + 1) * sizeof(float)));
    return STATUS_OK;
}

enum status arrays_upload(device_arrays *own, void *array, const void *from, size_t count,
                          error_text *error)
{
    TRY(arrays_allocate(own, array, count, error));
    TRY_CUDA(cudaMemcpy(*(void **)array, from, count * sizeof(float), cudaMemcpyHostToDevice));
    return STATUS_OK;
}

void arrays_free(device_arrays *own)
{
    for (int i = 0; i < own->count; i++)
        cudaFree(own->at[i]);
    free(own->at);
    *own = (device_arrays){0};
}

enum status array_sum(const float *d_array, int count, double *sum, error_text *error)
{
    float *each = malloc(count * sizeof *each);
    if (!each) return fail(error, STATUS_MEMORY, "no memory for a sum");
    const cudaError_t cuda =
        cudaMemcpy(each, d_array, count * sizeof *each, cudaMemcpyDeviceToHost);
    *sum = 0;
    for (int i = 0; i < count && cuda == cudaSuccess; i++)
        *sum += each[i];
    free(each);
    return cuda == cudaSuccess ? STATUS_OK : device_fail(cuda, "fetching a sum", error);
}
