/*
 * dense_rows.cuh - 64 rows of a dense 16-bit matrix at a time on their way to shared memory, for kernels that multiply
 * zeros: a row that no element of the sparse matrix multiplies is not read, and becomes zero, whatever it holds.
 */
#ifndef DEVICE_DENSE_ROWS_CUH
#define DEVICE_DENSE_ROWS_CUH

#include "device/async_copy.cuh"
#include "device/half.cuh"

constexpr int DENSE_ROWS = 64;

/* The source. */
template <class H> struct dense_rows {
    const H *B;
    int N;
    int per_copy;         /* columns that one copy brings: 8, 4, 2 or 1, a divisor of N */
    const uint64_t *used; /* bit k % 64 of word k / 64: whether A's column k has an element */
};

/* Returns the most columns that a copy may bring without straddling two rows of N. */
inline int dense_per_copy(int N)
{
    int per_copy = 8;
    while (N % per_copy)
        per_copy /= 2;
    return per_copy;
}

/* Elements from a row in shared memory to the next: 16 bytes more than a multiple of 32, so that the eight rows of which
 * ldmatrix takes 16 bytes each lie in different banks. Rows of 16 bytes do so anyway. */
constexpr int dense_pitch(int tile_n)
{
    return tile_n == 8 ? 8 : tile_n + 8;
}

template <int THREADS, int TILE_N, int PER_COPY, class H>
static __device__ void copy_dense_vectors(const dense_rows<H> &from, size_t first, uint64_t used,
                                          int j, H (&to)[DENSE_ROWS][dense_pitch(TILE_N)])
{
    constexpr int COPIES = TILE_N / PER_COPY,
                  BYTES = PER_COPY * sizeof(H); /* of a row; of a copy */
#pragma unroll 1 /* or its addresses take the registers of the sums */
    for (unsigned i = threadIdx.x; i < DENSE_ROWS * COPIES; i += THREADS) {
        const unsigned row = i / COPIES, column = i % COPIES * PER_COPY;
        const bool wanted = (used >> row & 1) && j + (int)column < from.N;
        const H *const source = from.B + (wanted ? (first + row) * from.N + j + column : 0);
        if constexpr (BYTES > 2)
            async_copy_zfill<BYTES>(&to[row][column], source, wanted ? BYTES : 0);
        else /* which is too little for an asynchronous copy */
            to[row][column] = wanted ? *source : half_of_bits<H>(0);
    }
}

/* Starts copying rows `first` to `first` + 63, columns j to j + TILE_N - 1, by all THREADS of a block. Bit i of `used`:
 * whether row first + i is read; what is not, and columns from N on, becomes zero. */
template <int THREADS, int TILE_N, class H>
static __device__ void copy_dense_rows(const dense_rows<H> &from, size_t first, uint64_t used,
                                       int j, H (&to)[DENSE_ROWS][dense_pitch(TILE_N)])
{
    switch (from.per_copy) {
    case 8:
        copy_dense_vectors<THREADS, TILE_N, 8>(from, first, used, j, to);
        break;
    case 4:
        copy_dense_vectors<THREADS, TILE_N, 4>(from, first, used, j, to);
        break;
    case 2:
        copy_dense_vectors<THREADS, TILE_N, 2>(from, first, used, j, to);
        break;
    default:
        copy_dense_vectors<THREADS, TILE_N, 1>(from, first, used, j, to);
    }
}

#endif
