/*
 * bit_tiles.cu - numbers the nonzeros of a pattern, sets their bits, and lists the tiles that have one.
 */
#include "formats/bit_tiles.h"

#include "device/argsort.h"
#include "device/cuda_try.h"
#include "device/parallel_for.cuh"
#include "device/scan.h"
#include "formats/ascending.h"

constexpr int64_t MOST_ELEMENTS = INT64_C(1) << 31;

/* What numbering takes. All arrays are of the nonzeros as they stand in CSR. */
struct numbering {
    int nnz;
    const int *col_idx;
    int *row;
    int *naming; /* how often the element was named before; NULL: each is named once */
    int *order;  /* of each number: its nonzero; NULL: nonzeros are numbered as they stand */
};

/* In numbers by row and column, namings of one element follow each other. */
struct count_namings {
    numbering n;
    int *most;

    __device__ bool same(int z, int other) const
    {
        return n.row[z] == n.row[other] && n.col_idx[z] == n.col_idx[other];
    }
    __device__ void operator()(int64_t i) const
    {
        if (i > 0 && same(n.order[i], n.order[i - 1])) return; /* another index counts it */
        int naming = 0;
        for (int64_t k = i; k < n.nnz && same(n.order[i], n.order[k]); k++)
            n.naming[n.order[k]] = naming++;
        atomicMax(most, naming - 1);
    }
};

/* Sets the bit of number i; the first of a row and strip says so, and marks its tile. */
struct set_bit {
    numbering n;
    bit_tiles t;
    int *used;

    __device__ size_t piece_of(int z) const
    {
        const int naming = n.naming ? n.naming[z] : 0;
        const int strip = naming * t.col_strips + n.col_idx[z] / STRIP_COLS;
        return (size_t)strip * t.rows + n.row[z];
    }
    __device__ void operator()(int64_t i) const
    {
        const int z = n.order ? n.order[i] : (int)i, bit = n.col_idx[z] % STRIP_COLS;
        const size_t piece = piece_of(z);
        atomicOr(&t.d_bits[piece * STRIP_WORDS + bit / 32], 1u << bit % 32);
        if (i > 0 && piece_of(n.order ? n.order[i - 1] : (int)i - 1) == piece) return;
        t.d_first[piece] = (int)i;
        const int strip = (int)(piece / t.rows);
        atomicOr(&used[n.row[z] / t.tile_rows * t.strips + strip], 1);
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

/* Sorted nonzeros by naming before all else. *most: namings of an element but the first. */
static cudaError_t sort_by_naming(numbering *n, int *d_most, int *most)
{
    CUDA_TRY(cudaMalloc(&n->naming, n->nnz * sizeof *n->naming));
    CUDA_TRY(cudaMemset(d_most, 0, sizeof *d_most));
    CUDA_TRY(device_parallel_for(n->nnz, count_namings{*n, d_most}, 0));
    CUDA_TRY(cudaMemcpy(most, d_most, sizeof *most, cudaMemcpyDeviceToHost));
    return *most ? device_argsort(n->naming, *most, n->order, n->nnz, 0) : cudaSuccess;
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

static cudaError_t set_bits(const numbering *n, bit_tiles *t)
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
    CUDA_TRY_GOTO(error, done, device_parallel_for(n->nnz, set_bit{*n, *t, d_used}, 0));
    error = list_tiles(d_used, grid_tiles, t);
done:
    cudaFree(d_used);
    return error;
}

static cudaError_t build(const device_csr *A, numbering *n, int *d_most, bit_tiles *t)
{
    int most = 0;
    CUDA_TRY(cudaMalloc(&n->row, A->nnz * sizeof *n->row));
    CUDA_TRY(nonzeros_list_rows(A, n->row));
    CUDA_TRY(nonzeros_ascending_order(A, n->row, &n->order));
    if (n->order) CUDA_TRY(sort_by_naming(n, d_most, &most));
    if (A->cols > MOST_ELEMENTS / A->rows / (most + 1)) return cudaErrorNotSupported;
    t->strips = t->col_strips * (most + 1);
    CUDA_TRY(set_bits(n, t));
    t->d_order = n->order;
    n->order = NULL;
    return cudaSuccess;
}

const char *bit_tiles_unsuited(int64_t rows, int64_t cols)
{
    if (cols == 0 || rows <= MOST_ELEMENTS / cols) return NULL;
    return "it has more than 2^31 elements, zeros counted: too many for dense tiles";
}

cudaError_t bit_tiles_build(const device_csr *A, int tile_rows, bit_tiles *tiles)
{
    numbering n = {.nnz = A->nnz, .col_idx = A->d_col_idx};
    int *d_most = NULL;
    *tiles = bit_tiles{.rows = A->rows,
                       .col_strips = (A->cols + STRIP_COLS - 1) / STRIP_COLS,
                       .tile_rows = tile_rows};
    if (bit_tiles_unsuited(A->rows, A->cols)) return cudaErrorNotSupported;
    if (A->nnz == 0) return cudaSuccess;
    CUDA_TRY(cudaMalloc(&d_most, sizeof *d_most));
    const cudaError_t error = build(A, &n, d_most, tiles);
    cudaFree(d_most);
    cudaFree(n.row);
    cudaFree(n.naming);
    cudaFree(n.order);
    if (error != cudaSuccess) bit_tiles_free(tiles);
    return error;
}

size_t bit_tiles_bytes(const bit_tiles *t, int64_t nnz)
{
    /* The last tile of a strip may have fewer rows. */
    const size_t of_row = STRIP_WORDS * sizeof *t->d_bits + sizeof *t->d_first;
    const size_t tiles = (size_t)t->num_tiles * t->tile_rows, all = (size_t)t->rows * t->strips;
    return (tiles < all ? tiles : all) * of_row + t->num_tiles * sizeof *t->d_tile +
           (t->d_order ? nnz * sizeof *t->d_order : 0);
}

void bit_tiles_free(bit_tiles *t)
{
    cudaFree(t->d_tile);
    cudaFree(t->d_bits);
    cudaFree(t->d_first);
    cudaFree(t->d_order);
    *t = bit_tiles{};
}
