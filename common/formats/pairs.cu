#include "formats/pairs.cuh"

#include "device/cuda_try.h"

constexpr int THREADS = 256;

/* Makes a pair a thread. */
template <class H, class P>
static __global__ void make_pairs_kernel(int nnz, const int *__restrict__ col_idx,
                                         const H *__restrict__ values, P *__restrict__ pairs)
{
    const int k = blockIdx.x * THREADS + threadIdx.x;
    if (k < nnz) make_pair(pairs[k], col_idx[k], values[k]);
}

template <class H, class P> static cudaError_t build(const spmm_matrix *A, void **d_pairs)
{
    CUDA_TRY(cudaMalloc(d_pairs, A->nnz * sizeof(P) + 1));
    if (A->nnz == 0) return cudaSuccess;
    make_pairs_kernel<<<(A->nnz - 1) / THREADS + 1, THREADS>>>(
        A->nnz, A->d_col_idx, (const H *)A->d_values16, (P *)*d_pairs);
    CUDA_TRY(cudaGetLastError());
    return cudaSuccess;
}

template <class H> static cudaError_t build(const spmm_matrix *A, void **d_pairs)
{
    return pairs_are_packed(A) ? build<H, packed_pair>(A, d_pairs)
                               : build<H, wide_pair>(A, d_pairs);
}

cudaError_t pairs_build(const spmm_matrix *A, enum precision precision, void **d_pairs)
{
    return precision == PRECISION_FP16 ? build<__half>(A, d_pairs)
                                       : build<__nv_bfloat16>(A, d_pairs);
}
