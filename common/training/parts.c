#include "training/parts.h"

#include <stddef.h>

const char *const PARTS_OF_LAYERS[] = {"forward", "input_gradient", "weight_gradient",
                                       "update",  "other",          NULL};

cudaError_t parts_mark(parts *p, int ended)
{
    if (!p) return cudaSuccess;
    if (p->count == MAX_MARKS) return cudaErrorInvalidValue;
    if (p->count == p->made) {
        const cudaError_t error = cudaEventCreate(&p->events[p->made]);
        if (error != cudaSuccess) return error;
        p->made++;
    }
    p->ended[p->count] = ended;
    return cudaEventRecord(p->events[p->count++], NULL);
}

cudaError_t parts_begin(parts *p)
{
    if (p) p->count = 0;
    return parts_mark(p, 0); /* no part: the first one begins */
}

cudaError_t parts_add(const parts *p, double *ms)
{
    cudaError_t error = cudaEventSynchronize(p->events[p->count - 1]);
    for (int i = 1; i < p->count && error == cudaSuccess; i++) {
        float took = 0;
        error = cudaEventElapsedTime(&took, p->events[i - 1], p->events[i]);
        ms[p->ended[i]] += took;
    }
    return error;
}

void parts_free(parts *p)
{
    for (int i = 0; i < p->made; i++)
        cudaEventDestroy(p->events[i]);
    p->made = p->count = 0;
}
