/*
 * b_tiles.cu - a contender for the kernel matrix: tiles of B, once those built on the host and on the GPU are found
 * to be the same to the bit.
 */
#include "formats/b_tiles.cuh"

#include <vector>

template <class T> static bool same(const T *d_one, const T *d_other, int64_t count)
{
    const size_t bytes = (size_t)count * sizeof(T);
    std::vector<unsigned char> one(bytes + 1), other(bytes + 1);
    if (bytes == 0) return true;
    return cudaMemcpy(one.data(), d_one, bytes, cudaMemcpyDeviceToHost) == cudaSuccess &&
           cudaMemcpy(other.data(), d_other, bytes, cudaMemcpyDeviceToHost) == cudaSuccess &&
           one == other;
}

static bool same_tiles(const b_tiles &a, const b_tiles &b, int rows)
{
    const int64_t segments = (int64_t)a.tiles * rows;
    return a.tiles == b.tiles && a.chunks == b.chunks && a.num_pairs == b.num_pairs &&
           a.where == ON_DEVICE && b.where == ON_DEVICE && b_tiles_bytes(&a) == b_tiles_bytes(&b) &&
           same(a.d_place, b.d_place, segments) && same(a.d_segment, b.d_segment, segments) &&
           same(a.d_first, b.d_first, (int64_t)a.chunks * a.tiles + 1) &&
           same(a.d_chunk_row, b.d_chunk_row, a.chunks + 1) &&
           same(a.d_pairs, b.d_pairs, a.num_pairs);
}

/* The bytes said are those of at least a pair a nonzero, and a segment a row. */
static bool has_bytes(const b_tiles &a, const spmm_matrix &A)
{
    return b_tiles_bytes(&a) >= A.nnz * sizeof(int2) + A.rows * sizeof(int4);
}

static cudaError_t compare(const spmm_plan *plan, const b_tiles_shape &shape)
{
    const spmm_matrix &A = plan->A;
    b_tiles *of_host = NULL, *of_gpu = NULL;
    cudaError_t error = b_tiles_build(ON_HOST, &A, plan->N, &shape, &of_host);
    if (error == cudaSuccess) error = b_tiles_build(ON_DEVICE, &A, plan->N, &shape, &of_gpu);
    if (error == cudaSuccess && A.rows > 0 &&
        !(same_tiles(*of_host, *of_gpu, A.rows) && has_bytes(*of_gpu, A)))
        error = cudaErrorUnknown;
    b_tiles_free(of_host);
    b_tiles_free(of_gpu);
    return error;
}

static cudaError_t prepare(spmm_plan *plan)
{
    if (plan->N == 1) { /* C has no part in what is compared but the number of its slices */
        CUDA_TRY(compare(plan, {.row_lanes = 8, .threads = 384, .waves = 4}));
        CUDA_TRY(compare(plan, {.row_lanes = 32, .threads = 768, .waves = 1}));
    }
    return spmm_nest(plan, spmm_find("b_tiles", PRECISION_FP32), NULL, NULL);
}

static spmm_contender host_and_gpu = {
    .base = {.lab = 112, .name = "tiles of host and GPU"},
    .prepare = prepare,
    .run = spmm_nested_run,
    .release = spmm_nested_release,
};
SPMM_REGISTER(host_and_gpu)
