/*
 * bit_tiles.cu - numbers the nonzeros of a pattern, sets their bits, and lists the tiles that have one.
 */
#include "formats/bit_tiles.h"

#include "device/cuda_try.h"
#include "device/parallel_for.cuh"
#include "device/scan.h"
#include "formats/ascending.h"

constexpr int64_t MOST_ELEMENTS = INT64_C(1) << 31;

/* The nonzeros of a pattern, in an order in which columns of a row ascend. */
struct nonzeros {
    const int *row, *col_idx; /* of each, as they stand in CSR */
    const int *order;         /* NULL: as they stand there */

    __device__ int place(int64_t i) const { return order ? order[i] : (int)i; }
    __device__ bool is_new(int64_t i) const
    {
        if (i == 0) return true;
        const int z = place(i), before = place(i - 1);
        return row[z] != row[before] || col_idx[z] != col_idx[before];
    }
};

struct mark_new {
    nonzeros all;
    int *mark;

    __device__ void operator()(int64_t i) const { mark[i] = all.is_new(i); }
};

/* number: the elements before each nonzero, in that order; one more: all of them. */
struct list_begins {
    nonzeros all;
    int count;
    const int *number;
    int *begin;

    __device__ void operator()(int64_t i) const
    {
        if (i == count || all.is_new(i)) begin[number[i]] = (int)i;
    }
};

/* Sets the bit of an element; the first of a row and strip says so, and marks its tile. */
struct set_bit {
    nonzeros all;
    bit_tiles t;
    const int *number; /* NULL: as nonzeros stand in CSR */
    int *used;

    __device__ void operator()(int64_t i) const
    {
        const int z = all.place(i), column = all.col_idx[z], row = all.row[z];
        const int strip = column / STRIP_COLS, bit = column % STRIP_COLS;
        const size_t piece = (size_t)strip * t.rows + row;
        if (!all.is_new(i)) return;
        atomicOr(&t.d_bits[piece * STRIP_WORDS + bit / 32], 1u << bit % 32);
        if (i > 0) {
            const int before = all.place(i - 1);
            if (all.row[before] == row && all.col_idx[before] / STRIP_COLS == strip) return;
        }
        t.d_first[piece] = number ? number[i] : (int)i;
        atomicOr(&used[row / t.tile_rows * t.strips + strip], 1);
    }
};

/* place: the used tiles before each one, and of all. */
struct list_used_tiles {
    const int *place;
    int *tile;

    __device__ void operator()(int64_t i) const
    {
        if (place[i + 1] > place[i]) tile[place[i]] = (int)i;
    }
};

/* Numbers the elements of sorted nonzeros: d_number has room for one more than there are nonzeros. */
static cudaError_t number_elements(const nonzeros &all, int nnz, int *d_number, bit_tiles *t)
{
    CUDA_TRY(device_parallel_for(nnz, mark_new{all, d_number}, 0));
    CUDA_TRY(cudaMemset(d_number + nnz, 0, sizeof *d_number));
    CUDA_TRY(device_exclusive_scan(d_number, nnz + 1, 0));
    CUDA_TRY(cudaMalloc(&t->d_begin, (nnz + 1) * sizeof *t->d_begin));
    return device_parallel_for((int64_t)nnz + 1, list_begins{all, nnz, d_number, t->d_begin}, 0);
}

static cudaError_t list_tiles(int *d_used, int grid_tiles, bit_tiles *t)
{
    CUDA_TRY(device_exclusive_scan(d_used, grid_tiles + 1, 0));
    CUDA_TRY(cudaMemcpy(&t->num_tiles, d_used + grid_tiles, sizeof t->num_tiles,
                        cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMalloc(&t->d_tile, (t->num_tiles + 1) * sizeof *t->d_tile));
    CUDA_TRY(device_parallel_for(grid_tiles, list_used_tiles{d_used, t->d_tile}, 0));
    return cudaDeviceSynchronize();
}

static cudaError_t set_bits(const nonzeros &all, int nnz, const int *d_number, bit_tiles *t)
{
    const size_t pieces = (size_t)t->strips * t->rows;
    const size_t bits = pieces * STRIP_WORDS * sizeof *t->d_bits;
    const int grid_tiles = ((t->rows - 1) / t->tile_rows + 1) * t->strips;
    int *d_used = NULL;
    cudaError_t error;
    CUDA_TRY(cudaMalloc(&t->d_bits, bits));
    CUDA_TRY(cudaMalloc(&t->d_first, pieces * sizeof *t->d_first));
    CUDA_TRY(cudaMemset(t->d_bits, 0, bits));
    CUDA_TRY(cudaMemset(t->d_first, 0, pieces * sizeof *t->d_first));
    CUDA_TRY(cudaMalloc(&d_used, (grid_tiles + 1) * sizeof *d_used));
    CUDA_TRY_GOTO(error, done, cudaMemset(d_used, 0, (grid_tiles + 1) * sizeof *d_used));
    CUDA_TRY_GOTO(error, done, device_parallel_for(nnz, set_bit{all, *t, d_number, d_used}, 0));
    error = list_tiles(d_used, grid_tiles, t);
done:
    cudaFree(d_used);
    return error;
}

static cudaError_t build(const device_csr *A, bit_tiles *t)
{
    int *d_row = NULL, *d_number = NULL;
    nonzeros all;
    cudaError_t error;
    CUDA_TRY(cudaMalloc(&d_row, A->nnz * sizeof *d_row));
    CUDA_TRY_GOTO(error, done, nonzeros_list_rows(A, d_row));
    CUDA_TRY_GOTO(error, done, nonzeros_ascending_order(A, d_row, &t->d_order));
    all = nonzeros{d_row, A->d_col_idx, t->d_order};
    if (t->d_order) {
        CUDA_TRY_GOTO(error, done, cudaMalloc(&d_number, (A->nnz + 1) * sizeof *d_number));
        CUDA_TRY_GOTO(error, done, number_elements(all, A->nnz, d_number, t));
    }
    error = set_bits(all, A->nnz, d_number, t);
done:
    cudaFree(d_row);
    cudaFree(d_number);
    return error;
}

const char *bit_tiles_unsuited(int64_t rows, int64_t cols)
{
    if (cols == 0 || rows <= MOST_ELEMENTS / cols) return NULL;
    return "it has more than 2^31 elements, zeros counted: too many for dense tiles";
}

cudaError_t bit_tiles_build(const device_csr *A, int tile_rows, bit_tiles *tiles)
{
    *tiles = bit_tiles{
        .rows = A->rows, .strips = (A->cols + STRIP_COLS - 1) / STRIP_COLS, .tile_rows = tile_rows};
    if (bit_tiles_unsuited(A->rows, A->cols)) return cudaErrorNotSupported;
    if (A->nnz == 0) return cudaSuccess;
    const cudaError_t error = build(A, tiles);
    if (error != cudaSuccess) bit_tiles_free(tiles);
    return error;
}

size_t bit_tiles_bytes(const bit_tiles *t, int64_t nnz)
{
    /* The last tile of a strip may have fewer rows. */
    const size_t of_row = STRIP_WORDS * sizeof *t->d_bits + sizeof *t->d_first;
    const size_t tiles = (size_t)t->num_tiles * t->tile_rows, all = (size_t)t->rows * t->strips;
    return (tiles < all ? tiles : all) * of_row + t->num_tiles * sizeof *t->d_tile +
           (t->d_order ? 2 * nnz * sizeof *t->d_order : 0);
}

void bit_tiles_free(bit_tiles *t)
{
    cudaFree(t->d_tile);
    cudaFree(t->d_bits);
    cudaFree(t->d_first);
    cudaFree(t->d_begin);
    cudaFree(t->d_order);
    *t = bit_tiles{};
}
