/*
 * store_rows.cuh - stores what a warp's tensor core has summed up, whole lines of memory at a time.
 */
#ifndef DEVICE_STORE_ROWS_CUH
#define DEVICE_STORE_ROWS_CUH

#include "device/swizzle.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"

/* Stores 16 rows of sums as numbers of 16 bits. The sums are TILES fragments side by side, as mma.cuh draws D. They go through
 * `room`, 64 columns at a time, so that 8 lanes write 128 bytes of a row. room: 16 x 64 numbers of the warp's own shared memory,
 * at a multiple of 16 bytes. Rows of `out` lie `pitch` numbers apart. Rows from `rows` on are left out, and columns from `columns`
 * on, a multiple of 8. finish(x) turns a sum into what is stored. All lanes call. */
template <class H, int TILES, class F>
__device__ __forceinline__ void store_rows(H *room, const float (&sum)[TILES][4], H *out,
                                           size_t pitch, int rows, int columns, F finish)
{
    static_assert(sizeof(H) == 2 && TILES % 8 == 0);
    const auto place = [](int r, int piece) { return r * 64 + swizzled_piece<128>(r, piece) * 8; };
    const int lane = lane_id();
#pragma unroll
    for (int q = 0; q < TILES / 8; q++) {
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float *const s = &sum[8 * q + j][2 * h];
                const H x[2] = {finish(s[0]), finish(s[1])};
                store_vector(room + place(lane / 4 + 8 * h, j) + lane % 4 * 2, x);
            }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int r = 4 * i + lane / 8, column = 64 * q + lane % 8 * 8;
            H x[8];
            if (r >= rows || column >= columns) continue;
            load_vector_plain(x, room + place(r, lane % 8));
            store_vector(out + (size_t)r * pitch + column, x);
        }
    }
}

#endif
