/*
 * fragments_suit.cu - which matrices fragments are made of.
 */
#include "device/cuda_try.h"
#include "device/warp.cuh"
#include "fragments.h"

constexpr int THREADS = 256, THREAD_WARPS = THREADS / WARP_SIZE;
constexpr int64_t MAX_USED_WORDS = 1 << 28; /* 1 GB, while prepare lists columns */

static bool bits_are_few(const spmm_matrix &A)
{
    return ((int64_t)A.rows + STRIP - 1) / STRIP * ((A.cols + 31) / 32) <= MAX_USED_WORDS;
}

static bool has_tensor_cores()
{
    int device, major;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) ==
               cudaSuccess &&
           major >= 8;
}

/* A warp for each row. */
static __global__ void find_descents_kernel(int rows, const int *__restrict__ row_ptr,
                                            const int *__restrict__ col_idx, int *found)
{
    const int row = blockIdx.x * THREAD_WARPS + (int)threadIdx.x / WARP_SIZE;
    if (row >= rows) return;
    for (int k = row_ptr[row] + 1 + lane_id(); k < row_ptr[row + 1]; k += WARP_SIZE)
        if (col_idx[k] <= col_idx[k - 1]) atomicOr(found, 1);
}

/* *ascend: whether every row names its columns in ascending order, and each once. */
static cudaError_t columns_ascend(const spmm_matrix &A, bool *ascend)
{
    int *d_found = NULL, found = 0;
    cudaError_t error;
    *ascend = true;
    if (A.rows == 0) return cudaSuccess;
    CUDA_TRY(cudaMalloc((void **)&d_found, sizeof *d_found));
    CUDA_TRY_GOTO(error, done, cudaMemset(d_found, 0, sizeof *d_found));
    find_descents_kernel<<<(A.rows - 1) / THREAD_WARPS + 1, THREADS>>>(A.rows, A.d_row_ptr,
                                                                       A.d_col_idx, d_found);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, cudaMemcpy(&found, d_found, sizeof found, cudaMemcpyDeviceToHost));
    *ascend = !found;
done:
    cudaFree(d_found);
    return error;
}

bool fragments_suit(const spmm_plan *plan, enum precision precision)
{
    bool ascend = true;
    if (!has_tensor_cores() || !bits_are_few(plan->A)) return false;
    if (precision == PRECISION_FP32) return true;
    return plan->N % 2 == 0 && columns_ascend(plan->A, &ascend) == cudaSuccess && ascend;
}
