/*
 * bit_tiles.cu - sets the bits of a pattern, and lists the tiles that have one.
 */
#include "formats/bit_tiles.h"

#include "device/cuda_try.h"
#include "device/parallel_for.cuh"
#include "device/scan.h"
#include "device/warp.cuh"
#include "formats/ascending.h"

constexpr int THREADS = 256, THREAD_WARPS = THREADS / WARP_SIZE;
constexpr int64_t MOST_ELEMENTS = INT64_C(1) << 31;

/* A warp for each row; used[tile] becomes 1 where a nonzero lies in the tile. */
static __global__ void set_bits_kernel(const __grid_constant__ bit_tiles t,
                                       const int *__restrict__ row_ptr,
                                       const int *__restrict__ col_idx, int *used)
{
    const int row = blockIdx.x * THREAD_WARPS + (int)threadIdx.x / WARP_SIZE;
    if (row >= t.rows) return;
    const int begin = row_ptr[row], end = row_ptr[row + 1];
    for (int z = begin + lane_id(); z < end; z += WARP_SIZE) {
        const int column = col_idx[z], strip = column / STRIP_COLS;
        const size_t at = (size_t)strip * t.rows + row;
        atomicOr(&t.d_bits[at * STRIP_WORDS + column % STRIP_COLS / 32], 1u << column % 32);
        if (z > begin && col_idx[z - 1] / STRIP_COLS == strip) continue;
        t.d_first[at] = z;
        atomicOr(&used[row / t.tile_rows * t.strips + strip], 1);
    }
}

/* place: the used tiles before each one, and of all. */
struct list_used_tiles {
    const int *place;
    int *tile;

    __host__ __device__ void operator()(int64_t i) const
    {
        if (place[i + 1] > place[i]) tile[place[i]] = (int)i;
    }
};

static cudaError_t list_tiles(int *d_used, int grid_tiles, bit_tiles *t)
{
    CUDA_TRY(device_exclusive_scan(d_used, grid_tiles + 1, 0));
    CUDA_TRY(cudaMemcpy(&t->num_tiles, d_used + grid_tiles, sizeof t->num_tiles,
                        cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMalloc(&t->d_tile, (t->num_tiles + 1) * sizeof *t->d_tile));
    CUDA_TRY(device_parallel_for(grid_tiles, list_used_tiles{d_used, t->d_tile}, 0));
    return cudaDeviceSynchronize();
}

static cudaError_t build(const device_csr *A, bit_tiles *t)
{
    const size_t pieces = (size_t)t->strips * t->rows,
                 bits = pieces * STRIP_WORDS * sizeof *t->d_bits;
    const int grid_tiles = ((t->rows - 1) / t->tile_rows + 1) * t->strips;
    int *d_used = NULL;
    cudaError_t error;
    CUDA_TRY(cudaMalloc(&t->d_bits, bits));
    CUDA_TRY(cudaMalloc(&t->d_first, pieces * sizeof *t->d_first));
    CUDA_TRY(cudaMemset(t->d_bits, 0, bits));
    CUDA_TRY(cudaMemset(t->d_first, 0, pieces * sizeof *t->d_first));
    CUDA_TRY(cudaMalloc(&d_used, (grid_tiles + 1) * sizeof *d_used));
    CUDA_TRY_GOTO(error, done, cudaMemset(d_used, 0, (grid_tiles + 1) * sizeof *d_used));
    set_bits_kernel<<<(t->rows - 1) / THREAD_WARPS + 1, THREADS>>>(*t, A->d_row_ptr, A->d_col_idx,
                                                                   d_used);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    error = list_tiles(d_used, grid_tiles, t);
done:
    cudaFree(d_used);
    return error;
}

const char *bit_tiles_unsuited(int64_t rows, int64_t cols)
{
    if (cols == 0 || rows <= MOST_ELEMENTS / cols) return NULL;
    return "it has more than 2^31 elements, zeros counted: too many for dense tiles";
}

cudaError_t bit_tiles_build(const device_csr *A, int tile_rows, bit_tiles *tiles)
{
    bool ascend;
    *tiles = bit_tiles{
        .rows = A->rows, .strips = (A->cols + STRIP_COLS - 1) / STRIP_COLS, .tile_rows = tile_rows};
    if (bit_tiles_unsuited(A->rows, A->cols)) return cudaErrorNotSupported;
    CUDA_TRY(columns_ascend(A, &ascend));
    if (!ascend) return cudaErrorNotSupported;
    if (A->nnz == 0) return cudaSuccess;
    const cudaError_t error = build(A, tiles);
    if (error != cudaSuccess) bit_tiles_free(tiles);
    return error;
}

size_t bit_tiles_bytes(const bit_tiles *t)
{
    /* The last tile of a strip may have fewer rows. */
    const size_t of_row = STRIP_WORDS * sizeof *t->d_bits + sizeof *t->d_first;
    const size_t tiles = (size_t)t->num_tiles * t->tile_rows, all = (size_t)t->rows * t->strips;
    return (tiles < all ? tiles : all) * of_row + t->num_tiles * sizeof *t->d_tile;
}

void bit_tiles_free(bit_tiles *t)
{
    cudaFree(t->d_tile);
    cudaFree(t->d_bits);
    cudaFree(t->d_first);
    *t = bit_tiles{};
}
