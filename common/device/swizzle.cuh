/*
 * swizzle.cuh - where a row's pieces of 16 bytes lie in shared memory, so that reads of eight rows meet all banks.
 *
 * ldmatrix reads one piece of eight rows at once. Rows of 128 bytes begin in the same bank: each of the eight moves the piece to
 * another place. Two rows of 64 bytes, or four of 32, fill all banks together, and move their pieces alike. The copy engine leaves
 * boxes in this layout (tensor_map.cuh), and wgmma takes it (wgmma.cuh).
 */
#ifndef DEVICE_SWIZZLE_CUH
#define DEVICE_SWIZZLE_CUH

/* Returns the place of piece `c` of row `r`, among the pieces of its row:
 *
 *     128 bytes     c ^ r % 8          64 bytes     c ^ r / 2 % 4          32 bytes     c ^ r / 4 % 2
 *
 * Longer rows, multiples of 128 bytes, are like those of 128. The tile begins at a multiple of eight rows. */
template <int ROW_BYTES> __host__ __device__ __forceinline__ int swizzled_piece(int r, int c)
{
    static_assert(ROW_BYTES == 32 || ROW_BYTES == 64 || (ROW_BYTES > 0 && ROW_BYTES % 128 == 0));
    constexpr int ROWS = ROW_BYTES < 128 ? 128 / ROW_BYTES : 1; /* that fill all banks together */
    return c ^ r / ROWS % (8 / ROWS);
}

#endif
