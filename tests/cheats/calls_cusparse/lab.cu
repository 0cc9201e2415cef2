/* Lets the vendor do the work. */
#include "honest.h"
#include "ops/spmm.h"

extern "C" int cusparseCreate(void **handle);
extern "C" int cusparseSpMM(void *, int, int, const void *, void *, void *, const void *, void *,
                            int, int, void *);

static cudaError_t run(const spmm_plan *, const float *, float *, cudaStream_t)
{
    void *handle;
    cusparseCreate(&handle);
    cusparseSpMM(handle, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL);
    return cudaSuccess;
}

CHEAT(run)
