/*
 * tensor_map.cc - what a copy of a box of a matrix does. PTX ISA, "cp.async.bulk.tensor" and "Tensors: swizzling modes";
 * common/device/tensor_map.cuh draws the result.
 */
#include "simt/simt.h"

static const size_t NUMBER_BYTES = 2, PIECE = 16;

static size_t row_bytes(const simt_tensor_map *map)
{
    return (size_t)map->box_columns * NUMBER_BYTES;
}

size_t simt_tensor_bytes(const simt_tensor_map *map)
{
    return (size_t)map->box_rows * row_bytes(map);
}

/* The address in the window of shared memory, where a block's begins at 1024. */
static uint32_t window(const worker *self, const void *shared)
{
    const size_t each = (size_t)(self->shared_end - self->shared) / self->job->cluster;
    return 1024 + (uint32_t)((size_t)((const unsigned char *)shared - self->shared) % each);
}

void simt_tensor_check(const worker *self, const void *shared, const simt_tensor_map *map,
                       int column, const void *site)
{
    const size_t bytes = row_bytes(map);
    if (!simt_shared_holds(self, shared, simt_tensor_bytes(map)) ||
        (const unsigned char *)shared < self->shared)
        simt_fail(cudaErrorInvalidAddressSpace, site,
                  "cp.async.bulk.tensor of %zu bytes to %p: not the block's dynamic shared memory",
                  simt_tensor_bytes(map), shared);
    if (window(self, shared) % 128)
        simt_fail(cudaErrorMisalignedAddress, site,
                  "cp.async.bulk.tensor to %p: shared memory must be a multiple of 128", shared);
    if (column * NUMBER_BYTES % PIECE || (bytes != 128 && bytes != 64 && bytes != 32))
        simt_fail(cudaErrorInvalidValue, site,
                  "cp.async.bulk.tensor: a box of %zu bytes a row, from column %d on", bytes,
                  column);
}

/* The swizzle adds bits 7 and up of an address in shared memory to its bits 4 and up, without a carry. It takes 3, 2 and
 * 1 of them for rows of 128, 64 and 32 bytes. */
void simt_tensor_box(const worker *self, void *shared, const simt_tensor_map *map, int row,
                     int column)
{
    const uint32_t bytes = (uint32_t)row_bytes(map), mask = bytes / PIECE - 1,
                   begin = window(self, shared);
    for (int r = 0; r < map->box_rows; r++)
        for (uint32_t at = 0; at < bytes; at += PIECE) {
            const uint32_t address = begin + (uint32_t)r * bytes + at;
            const uint32_t swizzled = address ^ (address >> 7 & mask) << 4;
            unsigned char *to = (unsigned char *)shared + ((int64_t)swizzled - begin);
            const int64_t from_row = (int64_t)row + r, from_column = column + at / NUMBER_BYTES;
            const bool is_there = from_row >= 0 && from_row < (int64_t)map->rows &&
                                  from_column >= 0 && from_column < (int64_t)map->columns;
            if (is_there)
                memcpy(to,
                       (const char *)map->base +
                           ((size_t)from_row * map->columns + (size_t)from_column) * NUMBER_BYTES,
                       PIECE);
            else
                memset(to, 0, PIECE);
        }
}
