/*
 * lane_major_layout.cuh - how the lane-major format is cut: what its encoders and the kernel share.
 */
#ifndef FORMATS_LANE_MAJOR_LAYOUT_CUH
#define FORMATS_LANE_MAJOR_LAYOUT_CUH

#include "formats/lane_major.h"

/* ---- the work ------------------------------------------------------------------------------------- */

/* Quads are numbered in one line: number / quads is the group, number % quads the place in its
 * slots. `all` of them times MOST_BLOCKS are fewer than 2^32: see lane_major_fits. */
__host__ __device__ static inline uint32_t first_quad(uint32_t all, uint32_t blocks, uint32_t block)
{
    return all * block / blocks;
}

/* The block that has the quad of this number. */
__host__ __device__ static inline uint32_t owner_of(uint32_t all, uint32_t blocks, uint32_t number)
{
    return ((number + 1) * blocks - 1) / all;
}

/* Strips of a group. Slot number s has strip s % strips of it, and of that every quad that comes in
 * turn s / strips. */
__host__ __device__ static inline int group_strips(const lane_major &m)
{
    return SLOTS / m.shape.ways;
}

/* Place in the matrix of a slot's quad of this number; the matrix may end before it. */
struct slot_quad {
    int strip, quad;
    __host__ __device__ slot_quad(const lane_major &m, int number, int slot)
        : strip(number / m.quads * group_strips(m) + slot % group_strips(m)),
          quad(number % m.quads * m.shape.ways + slot / group_strips(m))
    {
    }
};

/* Goes through the steps of a block. What it has of a group that began in another block comes last. The sums of
 * that are put together in the block where the group ends. So this block has its own at hand then, and those of
 * the others are there, or nearly. */
struct step_cursor {
    int quads, step;
    int begin, end;  /* the block's quads */
    int quad, place; /* number of the step's first quad; the same in its slots */
    int left;        /* quads of the block that are still to come */

    __host__ __device__ step_cursor(const lane_major &m, int block)
        : quads(m.quads), step(m.shape.step),
          begin(first_quad(m.groups * quads, m.shape.blocks, block)),
          end(first_quad(m.groups * quads, m.shape.blocks, block + 1)), left(end - begin)
    {
        const int next_group = (begin + quads - 1) / quads * quads;
        go_to(next_group < end ? next_group : begin);
    }
    __host__ __device__ void go_to(int number)
    {
        quad = number;
        place = number % quads;
    }
    __host__ __device__ int group() const { return quad / quads; }
    /* Quads of this group from here on that are this block's. */
    __host__ __device__ int in_group() const { return min(min(left, end - quad), quads - place); }
    /* Quads of this step: no more than `step`, and all of one group. */
    __host__ __device__ int count() const { return min(step, in_group()); }
    __host__ __device__ void advance(int n)
    {
        left -= n;
        go_to(quad + n == end ? begin : quad + n);
    }
    __host__ __device__ void advance() { advance(count()); }
};

/* In which block the group begins that ends in this one, if it does not begin in it, too: else the block itself. */
__host__ static inline int begun_in(const lane_major &m, int block)
{
    const uint32_t quads = m.quads, all = m.groups * quads, blocks = m.shape.blocks;
    const uint32_t begin = first_quad(all, blocks, block), group = begin / quads;
    const bool ends = (group + 1) * quads <= first_quad(all, blocks, block + 1);
    return ends ? owner_of(all, blocks, group * quads) : block;
}

/* ---- a step ---------------------------------------------------------------------------------------- */

/* Its row with the masks of a quad of a slot, and the first one with values. */
__host__ __device__ static inline int mask_row(int quad, int slot)
{
    return NOTE_ROWS + quad * SLOTS + slot;
}
__host__ __device__ static inline int value_row(int quads)
{
    return NOTE_ROWS + quads * SLOTS;
}

/* Where a lane's values of a slot begin: what is above them in its bank, in halves of a word, and the
 * bank. */
__host__ __device__ static inline uint16_t make_note(uint32_t above, uint32_t bank)
{
    return (uint16_t)(above * LANES + bank);
}
__host__ __device__ static inline uint32_t above_of(uint32_t note)
{
    return note / LANES;
}
__host__ __device__ static inline uint32_t bank_of(uint32_t note)
{
    return note % LANES;
}

/* ---- elements ------------------------------------------------------------------------------------- */

/* A lane (g, t) has, of columns 8t to 8t + 7 of either 32 of a quad, those of rows g and g + 8. These
 * are 8 x 2 x 2 elements. The first four columns of the first 32 are its part of fragment 0, the last
 * four of fragment 1, and so on. So columns are taken in another order than they have in memory, within
 * each 32; B is brought into the same order (lane_major_operand.cuh).
 *
 * A lane has eight elements of fragment f. Number i is the half i % 2 of word a[i / 2]. It is in row
 * g + 8 * (i / 2 % 2). Its column is 32 (f / 2) + 8 t + 4 (f % 2) + 2 (i / 4) + i % 2. */
__host__ __device__ static inline int row_in_strip(int lane, int i)
{
    return lane / 4 + i / 2 % 2 * 8;
}
__host__ __device__ static inline int column_in_quad(int lane, int fragment, int i)
{
    return fragment / 2 * 32 + lane % 4 * 8 + fragment % 2 * 4 + i / 4 * 2 + i % 2;
}

/* The element's bit in the mask is number 8 f + i. With one more element where a fragment has an odd number. */
__host__ __device__ static inline uint32_t made_even(uint32_t elements)
{
    uint32_t odd = elements ^ elements >> 4;
    odd ^= odd >> 2;
    odd = (odd ^ odd >> 1) & 0x01010101;
    /* The lowest zero of each byte: adding one carries up to it. None has all ones and is odd. */
    for (int f = 0; f < 4; f++)
        if (odd >> 8 * f & 1) {
            const uint32_t byte = elements >> 8 * f & 0xff;
            elements |= (~byte & (byte + 1)) << 8 * f;
        }
    return elements;
}

/* ---- sizes ---------------------------------------------------------------------------------------- */

/* All but the arrays and what depends on their contents. */
__host__ static inline void lane_major_measure(const tca_bme *from, const lane_major_shape *shape,
                                               lane_major *m)
{
    const int strips = (from->rows + STRIP_ROWS - 1) / STRIP_ROWS;
    *m = {};
    m->shape = *shape;
    m->rows = from->rows;
    m->cols = from->cols;
    m->quads = (from->across + shape->ways - 1) / shape->ways;
    m->groups = (strips + group_strips(*m) - 1) / group_strips(*m);
    const int64_t all = (int64_t)m->groups * m->quads;
    if (m->shape.blocks > all) m->shape.blocks = (int)all;
    for (int b = 0; b < m->shape.blocks; b++) {
        int steps = 0;
        for (step_cursor at(*m, b); at.left > 0; at.advance())
            steps++;
        m->steps = max(m->steps, steps);
        m->start[b].begun_in = (uint16_t)begun_in(*m, b);
    }
}

/* Gives steps their places: from the rows of each, and one more entry, to the row where each begins,
 * and the last one ends. */
__host__ static inline void lane_major_place(uint32_t *rows, lane_major *m)
{
    int64_t next = 0;
    for (int b = 0; b < m->shape.blocks; b++) {
        m->start[b].row = (uint32_t)next;
        for (int i = 0; i < m->steps; i++) {
            uint32_t *const step = &rows[b * m->steps + i];
            const uint32_t n = *step;
            if (i < EARLY_STEPS) m->start[b].rows[i] = (uint16_t)n;
            m->most_rows = max(m->most_rows, (int)n);
            *step = (uint32_t)next;
            next += n;
        }
    }
    rows[m->shape.blocks * m->steps] = (uint32_t)next;
    m->all_rows = next;
}

#endif
