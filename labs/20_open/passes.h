/*
 * passes.h - the plan of the gather kernel: every row cut into segments, the segments of a pass dealt
 * into bins by length.
 *
 * A pass is a launch. Pass 0 has what no block of columns wanted, and the empty rows; pass 1 + b has
 * block b. A row's first segment is stored to C, later ones are added to what is there when all passes
 * before have ended: so no atomics are needed, and the sum has one order.
 *
 *   bin        segments of           worked on by
 *   LONG       more than 4 SERIAL    blocks, a part of 16 SERIAL nonzeros each; the last one adds up
 *   MEDIUM     more than SERIAL      the groups of a warp
 *   SHORT      more than PACK        a group
 *   PACK_16    9 .. 16               a group, from a packet of 16 slots
 *   PACK_8     5 .. 8                ... shared with 1 other row
 *   PACK_4     3 or 4                ... 3 others
 *   PACK_2     2                     ... 7 others
 *   PACK_1     1                     ... 15 others
 *   EMPTY      0: zeros              a group, for 8 rows
 *
 * Only pass 0 has packets and empty rows. A "position" is a segment's place in the order (pass, bin,
 * longest first, and what is alike so far as row_order says); a group is as many lanes as a slice of C
 * needs.
 */
#ifndef LAB20_PASSES_H
#define LAB20_PASSES_H

#include "labs/10_row_swizzle/length_bins.h"
#include "labs/10_row_swizzle/split.h"

/* The order of segments that are alike in pass, bin and, where that counts, window and length: as their
 * rows come, or by a column that the row has, so that rows which share it run side by side and find its
 * row of B in L1. Only pass 0: a block of columns need not have that column. */
enum row_order { AS_THEY_COME, BY_FIRST_COLUMN, BY_LAST_COLUMN };

/* What a plan is made for. */
typedef struct passes_shape {
    int lanes;    /* of a group; SHORT and longer segments begin at multiples of so many pairs */
    int slices;   /* of C's columns */
    int serial;   /* nonzeros that one group walks */
    int pack;     /* rows up to so long go into packets: 0 or 16 */
    int window;   /* rows that are sorted by length together; 0: all */
    int order;    /* enum row_order */
    int blocks;   /* of columns; 0: a single pass */
    int shortest; /* a segment of a block is worth reading and writing C from so many nonzeros on */
} passes_shape;

typedef struct passes_plan {
    passes_shape shape;
    row_split split;
    int passes;
    int first[MAX_SEGMENTS * NUM_BINS + 1]; /* position at which each bin of each pass begins */
    int packet[NUM_BINS];                   /* number of the first packet of each bin */
    int part_length;
    int first_long[MAX_SEGMENTS + 1]; /* LONG segments, counted over all passes, before each pass */
    int first_part[MAX_SEGMENTS + 1]; /* their parts likewise */

    site where;       /* the arrays lie; ON_DEVICE once the plan is built */
    int64_t *d_place; /* of each segment: its first pair; negative: there is no such segment */
    int *d_row;       /* at each position: the row; ADDS is set if it already has a sum in C */
    int2 *d_span;     /* first pair, in units of `lanes`, and nonzeros, of SHORT and longer ones */
    int2 *d_pairs;    /* (column, bits of the value): rounds of `lanes`, then packets */
    int64_t packets_at; /* where those begin; a hole has column -1 */
    int64_t num_pairs;
    int2 *d_part;         /* of each part: its LONG segment, its number in it */
    int *d_first_part_of; /* of each LONG segment: its first part; one more: their number */
    float *d_partial;     /* sums of each part, N floats */
    unsigned *d_arrived;  /* parts done, of each LONG segment and slice; 0 between runs */
} passes_plan;

constexpr int ADDS = 1 << 31;

/* On error nothing is left allocated. `blocks` may become fewer: A's segments are counted by int. */
cudaError_t passes_build(site where, const spmm_plan *plan, const passes_shape *shape,
                         passes_plan *passes);

/* Takes over A's values as they are now; its pattern must be that of the plan. */
cudaError_t passes_update_values(const spmm_matrix *A, passes_plan *passes);

void passes_free(passes_plan *passes);

#endif
