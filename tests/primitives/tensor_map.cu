/*
 * tensor_map.cu - device/tensor_map.cuh against the PTX ISA: where each number of a box lies in shared memory, as the
 * swizzle moves the bits of an address; rows and columns outside the matrix; several boxes for one barrier.
 */
#include "tests/primitives/primitives.h"

#include "device/swizzle.cuh"
#include "device/tensor_map.cuh"

struct box_of {
    tensor_map map;
    int row, column, bytes;
};

/* Copies the box to shared memory at 1024 times `tile`, and from there, as it lies, to `to`. */
__global__ void box_kernel(const __grid_constant__ box_of a, int tile, uint16_t *to)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    mbarrier *const full = (mbarrier *)shared;
    unsigned char *const box = shared + 1024 * tile;
    if (threadIdx.x == 0) {
        mbarrier_init(full, 1);
        mbarrier_publish();
        mbarrier_expect(full, a.bytes);
        tensor_copy(box, &a.map, a.row, a.column, full);
    }
    __syncthreads();
    mbarrier_wait(full, 0);
    for (int i = threadIdx.x; i < a.bytes / 2; i += blockDim.x)
        to[i] = ((const uint16_t *)box)[i];
}

/* The swizzles of 128, 64 and 32 bytes as the ISA draws them: bits 7, 8 and 9 of the address, or fewer, are added to
 * bits 4, 5 and 6. */
static int swizzled(int at, int row_bytes)
{
    const int bits = row_bytes == 128 ? 0x380 : row_bytes == 64 ? 0x180 : 0x080;
    return at ^ (at & bits) >> 3;
}

/* Holds device/swizzle.cuh against that. */
template <int ROW_BYTES> static void places()
{
    int wrong = 0;
    for (int r = 0; r < 16; r++)
        for (int c = 0; c < ROW_BYTES / 16; c++)
            wrong += r * ROW_BYTES + swizzled_piece<ROW_BYTES>(r, c) * 16 !=
                     swizzled(r * ROW_BYTES + c * 16, ROW_BYTES);
    tap_ok(wrong == 0, "places of pieces in rows of %d bytes", ROW_BYTES);
}

static void box(int rows, int columns, int box_rows, int box_columns, int row, int column)
{
    enum { MOST = 256 * 64 };
    const int count = rows * columns, bytes = box_rows * box_columns * 2;
    uint16_t *from = (uint16_t *)malloc((size_t)count * 2), to[MOST];
    int wrong = 0;
    for (int i = 0; i < count; i++)
        from[i] = (uint16_t)(i + 1);
    uint16_t *d_from = to_device(from, (size_t)count), *d = device_zeros<uint16_t>(MOST);
    box_of a = {};
    CUDA(tensor_map_make(&a.map, d_from, (size_t)rows, (size_t)columns, box_rows, box_columns));
    a.row = row;
    a.column = column;
    a.bytes = bytes;
    box_kernel<<<1, 64, 1024 * 2 + bytes>>>(a, 1, d);
    FINISH();
    to_host(to, d, MOST);
    CUDA(cudaFree(d_from));
    for (int r = 0; r < box_rows; r++)
        for (int c = 0; c < box_columns; c++) {
            const bool is_there =
                row + r >= 0 && row + r < rows && column + c >= 0 && column + c < columns;
            const int want = is_there ? from[(row + r) * columns + column + c] : 0;
            wrong += to[swizzled((r * box_columns + c) * 2, box_columns * 2) / 2] != want;
        }
    free(from);
    tap_ok(wrong == 0, "box of %d x %d at (%d, %d) of %d x %d", box_rows, box_columns, row, column,
           rows, columns);
}

/* Checks that the host is told what a map cannot describe. */
static void refused(void)
{
    tensor_map map;
    char *d = device_zeros<char>(4096);
    tap_ok(tensor_map_make(&map, d, 16, 64, 16, 64) == cudaSuccess &&
               tensor_map_make(&map, d + 8, 16, 64, 16, 64) != cudaSuccess &&
               tensor_map_make(&map, d, 16, 60, 16, 64) != cudaSuccess &&
               tensor_map_make(&map, d, 16, 64, 257, 64) != cudaSuccess,
           "an address, a pitch or a box that a map cannot have is refused");
    CUDA(cudaFree(d));
}

int main()
{
    places<128>();
    places<64>();
    places<32>();
    if (compute_capability() < 90) {
        tap_skip("compute capability 9.0 and up", "boxes of a matrix");
        return tap_done();
    }
    for (int columns : {64, 32, 16}) {
        box(256, 2 * columns, 128, columns, 0, 0);
        box(256, 2 * columns, 64, columns, 24, columns);
        box(100, 3 * columns, 128, columns, 37, columns); /* rows beyond the last */
        box(40, 2 * columns, 16, columns, -3, 8); /* before the first; no multiple of the box */
        box(40, 2 * columns, 8, columns, 80, columns + 8); /* nothing of it is there */
    }
    refused();
    return tap_done();
}
