/*
 * lane_major_decode.cuh - how a lane reads the lane-major format: from a mask and a bank to fragments of A,
 * in the innermost loop of a kernel.
 *
 *     start_readers()   at the first quad of a step: finds the banks of a warp's slots
 *     look_at_quad()    loads all words that a quad of a slot needs, and moves on to the quad's end
 *     decode()          makes one of the quad's four fragments of them; in ascending order
 *
 * A lane has eight elements of a fragment, the words a[0] to a[3] with two each. The stored ones follow
 * each other in the lane's bank. One count of bits in the mask (popc) says how many lie before a fragment;
 * the four counts of a quad do not wait for each other.
 *
 * a[0] and a[1], the front, are taken from the first four halves of the fragment's values; a[2] and a[3],
 * the back, from the last four. So at a border between two fragments one address serves both: the back of
 * one and the front of the next. A selector for the byte permutation says which half goes where. It comes
 * from a table of 16 entries for the front and 16 for the back, by the four bits of the mask. One word of a
 * front or back has its values in one word of the bank. So the permutation can take its zeros from a
 * register that is zero. The other may need both words. If it needs a zero, three values are stored at most:
 * the half that is farthest from the border belongs to somebody else. The permutation can also fill a byte
 * with copies of a top bit, so of that half only a top bit need be cleared. The selector itself says which:
 * a digit from 8 on asks for copies, and the top bits of digits 1 and 3 lie where those of bytes are.
 *
 * The table's entries have 8 bytes: 16 of them lie in 32 banks, so lanes never conflict, whatever their
 * bits are. Neither do they in the values, since every lane has a bank of its own. The table stands at the
 * beginning of the block's dynamic shared memory, a multiple of 256.
 */
#ifndef FORMATS_LANE_MAJOR_DECODE_CUH
#define FORMATS_LANE_MAJOR_DECODE_CUH

#include "device/bits.cuh"
#include "device/shared.cuh"
#include "device/warp.cuh"
#include "formats/lane_major_layout.cuh"

/* ---- the table ------------------------------------------------------------------------------------ */

/* Selectors of a front, or of a back: of the word that has one source, and, in both halves, of the other one. */
struct table_entry {
    uint32_t one, other;
};
constexpr int TABLE_ENTRIES = 32; /* 16 for fronts, 16 for backs */
constexpr uint32_t BACKS = 16 * sizeof(table_entry);

/* Selects half `place` of a window of two words for half `to` of the result. */
static __device__ uint32_t half_selector(int place, int to)
{
    return (uint32_t)(2 * place | (2 * place + 1) << 4) << 8 * to;
}

/* Fills that half with copies of the top bit of a byte of the window. */
static __device__ uint32_t copies_selector(int byte, int to)
{
    return (0x88u | byte | byte << 4) << 8 * to;
}

/* The entry for fronts (entry < 16) or backs with elements `entry % 16`. A front has zeros for its other word
 * in half 3 of the window, bytes 6 and 7, a back in half 0: the first byte for the word's lower half, the second for
 * the upper. */
static __device__ table_entry make_entry(int entry)
{
    const bool back = entry >= 16;
    uint32_t one = 0, other = 0;
    int place = back ? 4 - __popc(entry % 16) : 0; /* in the window of four halves */
    for (int i = 0; i < 4; i++) {
        const bool stored = entry >> i & 1, has_one_source = i / 2 == back;
        if (has_one_source) /* halves 0 and 1 of a front, 2 and 3 of a back; else the second source */
            one |= half_selector(stored ? place % 2 : 2, i % 2);
        else if (stored)
            other |= half_selector(place, i % 2);
        else
            other |= copies_selector((back ? 0 : 6) + i % 2, i % 2);
        place += stored;
    }
    return {one, other | other << 16};
}

/* ---- a lane's place in its bank --------------------------------------------------------------------- */

/* A row of 128 bytes has two halves in each bank. An address plus 64 times the halves that have been read:
 * bit 6 tells which half it is, and the bits above are the address of the row. */
constexpr uint32_t HALF_STEP = ROW_BYTES / 2;

template <bool EVEN> struct bank_reader {
    uint32_t bank; /* 4 * number; if EVEN, `at` has it */
    uint32_t at;   /* address of a bank's first row + HALF_STEP * halves */
    uint32_t front[2];

    /* The five words around the row of `place`: the row itself is word[2]. */
    __device__ __forceinline__ void look(uint32_t place, uint32_t (&word)[5]) const
    {
        const uint32_t address = EVEN ? place : (place & ~(ROW_BYTES - 1u)) | bank;
#pragma unroll
        for (int i = 0; i < (EVEN ? 4 : 5); i++)
            word[i] = load_shared<uint32_t>(address + (i - LOOK_BACK) * ROW_BYTES);
    }

    /* The four halves from a place on, of which `shift`, modulo 32, is 16 if it is odd. */
    __device__ __forceinline__ void set_front(const uint32_t (&word)[5], uint32_t shift)
    {
        front[0] = EVEN ? word[2] : __funnelshift_r(word[2], word[3], shift);
        front[1] = EVEN ? word[3] : __funnelshift_r(word[3], word[4], shift);
    }

    /* With bank `number`, behind so many halves. */
    __device__ __forceinline__ void start(uint32_t first_row, uint32_t number, uint32_t halves)
    {
        uint32_t word[5];
        bank = 4 * number;
        at = first_row + HALF_STEP * halves + (EVEN ? bank : 0);
        look(at, word);
        set_front(word, 16 * halves);
    }
};

/* Starts the lane's readers of SLOTS_READ slots from number `slot` on, in the step at address `step`, which has
 * `quads` quads. */
template <bool EVEN, int SLOTS_READ>
static __device__ __forceinline__ void start_readers(uint32_t step, int slot, int quads,
                                                     bank_reader<EVEN> (&reader)[SLOTS_READ])
{
    const uint32_t notes = step + 2 * (slot * LANES + lane_id());
#pragma unroll
    for (int i = 0; i < SLOTS_READ; i++) {
        const uint32_t note = load_shared<uint16_t>(notes + 2 * i * LANES);
        reader[i].start(step + value_row(quads) * ROW_BYTES, bank_of(note), above_of(note));
    }
}

/* Loads the lane's masks of a quad, of as many slots as there are masks. */
template <int SLOTS_READ>
static __device__ __forceinline__ void load_masks(uint32_t at, uint32_t (&mask)[SLOTS_READ])
{
#pragma unroll
    for (int i = 0; i < SLOTS_READ; i++)
        mask[i] = load_shared<uint32_t>(at + i * ROW_BYTES);
}

/* ---- a quad ----------------------------------------------------------------------------------------- */

/* Words that are loaded for a quad of a strip. */
struct quad_words {
    uint32_t word[4][5]; /* around each fragment's end */
    uint32_t shift[4];
    uint2 front[4], back[4]; /* table entries */
};

/* Loads it, and moves the reader on to the quad's end. */
template <bool EVEN>
static __device__ __forceinline__ void look_at_quad(uint32_t table, uint32_t mask,
                                                    bank_reader<EVEN> &reader, quad_words &w)
{
    constexpr uint32_t NIBBLES = 0x78787878; /* 8 * 15 in each byte */
    const uint32_t fronts = mask << 3 & NIBBLES, backs = mask >> 1 & NIBBLES;
    const uint32_t begin = reader.at, shift = begin / (HALF_STEP / 16);
#pragma unroll
    for (int f = 0; f < 4; f++) {
        /* Counts this fragment and those before. */
        const uint32_t halves = __popc(mask << (24 - 8 * f));
        reader.at = begin + HALF_STEP * halves;
        w.shift[f] = shift + 16 * halves;
        reader.look(reader.at, w.word[f]);
        /* The table begins at a multiple of 256: its address with the lowest byte replaced. */
        w.front[f] = load_shared<uint2>(select_bytes(fronts, table, 0x7650 | f));
        w.back[f] = load_shared<uint2>(select_bytes(backs, table, 0x7650 | f) + BACKS);
    }
}

/* Fragment f of a quad of which all has been loaded; fragments in this order. */
template <bool EVEN>
static __device__ __forceinline__ void decode(const quad_words &w, int f, bank_reader<EVEN> &reader,
                                              uint32_t (&a)[4])
{
    const uint32_t(&word)[5] = w.word[f];
    const uint32_t back0 = EVEN ? word[0] : __funnelshift_r(word[0], word[1], w.shift[f]);
    const uint32_t back1 = EVEN ? word[1] : __funnelshift_r(word[1], word[2], w.shift[f]);
    const uint2 front = w.front[f], back = w.back[f];
    a[0] = select_bytes(reader.front[0], 0, front.x);
    a[1] = select_bytes(reader.front[0], reader.front[1] & ~(front.y & 0x80800000), front.y);
    a[2] = select_bytes(back0 & ~(back.y & 0x8080), back1, back.y);
    a[3] = select_bytes(back1, 0, back.x);
    reader.set_front(word, w.shift[f]);
}

#endif
