/*
 * two_four.cu - from TCA-BME to 2:4 and CSR: count what each row of each group leaves to the rest, scan, and put every
 * element in its place.
 */
#include "formats/two_four.h"

#include "device/bits.cuh"
#include "device/cuda_try.h"
#include "device/exec_space.cuh"

/* One row of a group: 16 fours, two in each of eight bitmaps. */
struct group_row {
    const tca_bme &from;
    int64_t group;
    int row; /* 0 .. GROUP_SIDE - 1 */

    /* Calls each(four, place, value, is_kept) for its elements, in the order of their columns. */
    template <class F> __host__ __device__ void for_each(const F &each) const
    {
        const uint64_t *const bitmap = from.bitmap + group * GROUP_BITMAPS;
        const int strip = row / MMA_SIDE, lower = row % MMA_SIDE / BITMAP_SIDE;
        const int end = (strip + 1) * STRIP_BITMAPS;
        int begin = from.offset[group]; /* of the bitmap's values */
        for (int tile = 0; tile < end; tile++) {
            if (tile / STRIP_BITMAPS == strip && tile % 2 == lower)
                look_at(bitmap[tile], begin, tile % STRIP_BITMAPS / 2 * 2, each);
            begin += count_bits(bitmap[tile]);
        }
    }

    /* The bitmap's two fours of this row, the first of which has number `four`. */
    template <class F>
    __host__ __device__ void look_at(uint64_t bitmap, int begin, int four, const F &each) const
    {
        const int first = row % BITMAP_SIDE * BITMAP_SIDE;
        for (int half = 0, kept = 0; half < 2; half++, kept = 0)
            for (int place = 0; place < FOUR; place++) {
                const int bit = first + FOUR * half + place;
                if (!(bitmap >> bit & 1)) continue;
                const uint16_t value =
                    from.values[begin + count_bits(bitmap & ((UINT64_C(1) << bit) - 1))];
                const bool is_kept = value != 0 && kept < 2;
                kept += is_kept;
                each(four + half, place, value, is_kept);
            }
    }
};

/* Where a row's pieces of the rest begin: one for each group, and one for its repeats. */
static __host__ __device__ int64_t piece_of(const two_four &m, int64_t row, int group)
{
    return row * (m.across + 1) + group;
}

/* piece[p]: the elements that piece p has of the rest. Index: a row and a group of it, or its repeats. */
struct count_rest {
    tca_bme from;
    two_four m;
    int *piece;

    __host__ __device__ void operator()(int64_t i) const
    {
        const int64_t row = i / (m.across + 1);
        const int column = (int)(i % (m.across + 1));
        int count = 0;
        if (column == m.across) {
            if (from.num_repeats) count = from.repeat_ptr[row + 1] - from.repeat_ptr[row];
        } else {
            const group_row own = {from, row / GROUP_SIDE * m.across + column,
                                   (int)(row % GROUP_SIDE)};
            own.for_each([&](int, int, uint16_t, bool is_kept) { count += !is_kept; });
        }
        piece[i] = count;
    }
};

/* Where element `slot` (0 or 1) of a four is stored: a fragment of 32 columns has 8 fours. */
static __host__ __device__ size_t stored_at(int64_t group, int row, int four, int slot)
{
    const int strip = row / MMA_SIDE, lower = row % MMA_SIDE / 8;
    const int lane = row % 8 * 4 + four % 4, word = four % 8 / 4 * 2 + lower;
    const size_t fragment = ((size_t)group * STRIPS + strip) * 2 + four / 8;
    return (fragment * 32 + lane) * 8 + 2 * word + slot;
}

/* Returns the four's places with zeros for what is missing: the highest ones that are free. */
static __host__ __device__ unsigned filled_up(unsigned places)
{
    for (unsigned place = FOUR; count_bits(places) < 2;) {
        place--;
        places |= 1u << place;
    }
    return places;
}

/* Index: a row of whole groups, and a group of it. values are zero before. */
struct put_elements {
    tca_bme from;
    two_four m;
    const int *piece;

    __host__ __device__ void operator()(int64_t i) const
    {
        const int64_t row = i / m.across;
        const int column = (int)(i % m.across), in_group = (int)(row % GROUP_SIDE);
        const group_row own = {from, row / GROUP_SIDE * m.across + column, in_group};
        unsigned places[FOURS] = {};
        int rest = row < m.rows ? piece[piece_of(m, row, column)] : 0;
        own.for_each([&](int four, int place, uint16_t value, bool is_kept) {
            if (is_kept) {
                places[four] |= 1u << place;
            } else {
                m.rest_col[rest] = column * GROUP_SIDE + four * FOUR + place;
                m.rest_value[rest++] = value;
            }
        });
        own.for_each([&](int four, int place, uint16_t value, bool is_kept) {
            const unsigned below = filled_up(places[four]) & ((1u << place) - 1);
            if (is_kept) m.values[stored_at(own.group, in_group, four, count_bits(below))] = value;
        });
        put_metadata(own.group, in_group, places);
    }

    /* Four times 16 bits, which are halves of the words of four lanes. */
    __host__ __device__ void put_metadata(int64_t group, int row,
                                          const unsigned (&places)[FOURS]) const
    {
        uint16_t *const halves = (uint16_t *)m.metadata;
        const size_t strip = (size_t)group * STRIPS + row / MMA_SIDE;
        for (int t = 0; t < 4; t++) {
            unsigned bits = 0;
            for (int four = 4 * t; four < 4 * t + 4; four++) {
                const unsigned two = filled_up(places[four]);
                const unsigned first = two & 1 ? 0 : two & 2 ? 1 : 2;
                const unsigned second = two & 8 ? 3 : two & 4 ? 2 : 1;
                bits |= (first | second << 2) << 4 * (four % 4);
            }
            const size_t lane = row % 8 * 4 + t;
            halves[(strip * STRIP_METADATA + lane) * 2 + row % MMA_SIDE / 8] = (uint16_t)bits;
        }
    }
};

/* Index: a row. What A names again follows the row's other elements. */
struct put_repeats {
    tca_bme from;
    two_four m;
    const int *piece;

    __host__ __device__ void operator()(int64_t row) const
    {
        m.rest_ptr[row] = piece[piece_of(m, row, 0)];
        if (row == m.rows || !from.num_repeats) return;
        int rest = piece[piece_of(m, row, m.across)];
        for (int k = from.repeat_ptr[row]; k < from.repeat_ptr[row + 1]; k++) {
            m.rest_col[rest] = from.repeat_col[k];
            m.rest_value[rest++] = from.repeat_value[k];
        }
    }
};

static cudaError_t fill(const tca_bme *from, two_four *m, int **piece)
{
    const exec_space where = m->where;
    const int64_t groups = tca_bme_groups(from), pieces = (int64_t)m->rows * (m->across + 1);
    CUDA_TRY(allocate(where, piece, pieces + 1));
    CUDA_TRY(parallel_for(where, pieces, count_rest{*from, *m, *piece}));
    CUDA_TRY(space_exclusive_scan(where, *piece, (int)pieces + 1));
    CUDA_TRY(space_fetch(where, &m->num_rest, *piece + pieces, sizeof m->num_rest));
    CUDA_TRY(allocate(where, &m->values, groups * GROUP_STORED));
    CUDA_TRY(allocate(where, &m->metadata, groups * GROUP_METADATA));
    CUDA_TRY(allocate(where, &m->rest_ptr, m->rows + 1));
    CUDA_TRY(allocate(where, &m->rest_col, m->num_rest));
    CUDA_TRY(allocate(where, &m->rest_value, m->num_rest));
    CUDA_TRY(parallel_for(where, groups * GROUP_SIDE, put_elements{*from, *m, *piece}));
    return parallel_for(where, (int64_t)m->rows + 1, put_repeats{*from, *m, *piece});
}

cudaError_t two_four_build(exec_space where, const tca_bme *from, two_four *m)
{
    int *piece = NULL;
    *m = two_four{};
    m->where = where;
    m->rows = from->rows;
    m->cols = from->cols;
    m->down = from->down;
    m->across = from->across;
    cudaError_t error = fill(from, m, &piece);
    if (error == cudaSuccess && where == ON_DEVICE) error = cudaDeviceSynchronize();
    space_free(where, piece);
    if (error != cudaSuccess) two_four_free(m);
    return error;
}

void two_four_free(two_four *m)
{
    space_free(m->where, m->values);
    space_free(m->where, m->metadata);
    space_free(m->where, m->rest_ptr);
    space_free(m->where, m->rest_col);
    space_free(m->where, m->rest_value);
    *m = two_four{};
}
