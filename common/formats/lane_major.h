/*
 * lane_major.h - a pruned matrix in the order in which the lanes of a warp want it, made from TCA-BME
 * (tca_bme.h). 16-bit values only.
 *
 *     strip     16 rows, the height of an mma fragment
 *     quad      a strip's part of 64 columns: four fragments of 16 x 16, eight elements each for a lane
 *     mask      32 bits for each quad and lane: which of the lane's 32 elements are stored
 *     group     16 slots; of W ways, a group is 16 / W strips, and a strip's quads go to W slots in turn
 *     step      so many quads of every slot of a group: what a block fetches with one copy
 *
 * Blocks share the quads of all groups evenly, in one line: group by group, columns from left to
 * right. So the format is made for a number of blocks, that of the GPU's multiprocessors. A block's steps lie one
 * behind the other, those of a group that began in another block last.
 *
 * A step is one piece of memory, in rows of 128 bytes, 32 banks of shared memory side by side:
 *
 *     8 rows           notes: 16 bits for each slot and lane
 *     16 each quad     masks: a row a slot
 *     as many as need be   values
 *
 * Values fill the 32 banks from top to bottom, two to a word, one slot after the other. A lane has all its
 * values of a slot in one bank, which no other lane has for this slot: so a lane may look anywhere in
 * it, and there is no bank conflict. The lane with the most values has the bank that is filled the least
 * so far, and so on; so all banks are filled alike, and hardly a row is lost. The note says which bank it
 * is, and how many values are above.
 *
 * Exact bytes: 128 a row, 4 a step for the row where it begins, 16 a block.
 */
#ifndef FORMATS_LANE_MAJOR_H
#define FORMATS_LANE_MAJOR_H

#include "formats/tca_bme.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    STRIP_ROWS = 16,
    QUAD_COLUMNS = 64,
    LANES = 32,
    ROW_BYTES = 4 * LANES,
    SLOTS = 16,    /* of a group */
    MOST_WAYS = 4, /* 1, 2 or 4 */
    MOST_STEP = 4, /* quads: 16 * 4 * 32 elements are the most in a bank, and notes count to 2047 */
    MOST_BLOCKS = 192,
    EARLY_STEPS = 5,
    NOTE_ROWS = SLOTS / 2,
    /* Around the row that a lane has reached it looks at two before and two behind. */
    LOOK_BACK = 2,
    LOOK_AHEAD = 3
};

typedef struct lane_major_shape {
    int step;   /* quads, 1 to MOST_STEP */
    int blocks; /* 1 to MOST_BLOCKS */
    int ways;   /* slots of a strip: 1, 2 or 4. Of more ways fewer blocks share a strip */
    /* Each lane stores an even number of a fragment's elements, if need be one that is zero: then its
     * values are whole words, which need no shifting. */
    bool even;
} lane_major_shape;

/* Start of a block: where its first step begins, and the rows of each of the first ones; the block where the group begins
 * that ends here (this one, if none or it began here). They go to the kernel with its arguments, so that nothing waits
 * for a load. */
typedef struct block_start {
    uint32_t row;
    uint16_t rows[EARLY_STEPS];
    uint16_t begun_in;
} block_start;

/* Its arrays are on the device. */
typedef struct lane_major {
    lane_major_shape shape;
    int rows, cols;
    int quads;     /* of a slot */
    int groups;    /* of SLOTS slots */
    int steps;     /* of the block with the most */
    int most_rows; /* of a step */
    /* blocks * steps + 1: the row where each step begins. Steps that a block has not are empty. */
    uint32_t *begin;
    uint32_t *data; /* (all_rows + LOOK_AHEAD) * LANES words */
    int64_t all_rows;
    block_start start[MOST_BLOCKS];
} lane_major;

/* Whether 32 bits number all places of such a matrix: 2^31 elements, zeros and whole groups included. With
 * more ways than one the groups may hold four times as many zeros, which do not count: quads of slots are
 * numbered, and rows of 64 values. */
bool lane_major_fits(int64_t rows, int64_t cols);

/* Returns the bytes of all arrays, exactly. */
int64_t lane_major_bytes(const lane_major *m);

/* Makes it from the other format, on the device, for a matrix that fits. On error *m is all zero. New values
 * of the same pattern need a new format: what bank and row a value has depends on all bits of its step. */
cudaError_t lane_major_create(const tca_bme *from, const lane_major_shape *shape, lane_major *m);

void lane_major_destroy(lane_major *m);

#ifdef __cplusplus
}
#endif
#endif
