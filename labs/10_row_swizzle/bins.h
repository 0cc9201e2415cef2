/*
 * bins.h - lab 10's own kernel family: rows sorted into bins by length, each bin with as many lanes
 * a row as its length deserves, all in one launch.
 *
 *   bin       rows of                a row is worked on by                      a warp takes
 *   LONG      more than 4 SERIAL     blocks of 16 groups, 16 SERIAL nonzeros    a quarter of a part
 *   MEDIUM    more than SERIAL       the groups of a warp                       1 row
 *   SHORT     more than PACK         a group                                    4 rows
 *   PACK_16   9 .. 16                a group, from a packet of 16 slots         4 packets, 4 rows
 *   PACK_8    5 .. 8                 ... which it shares with 1 other row       4 packets, 8 rows
 *   PACK_4    3 or 4                 ... 3 others                                          16
 *   PACK_2    2                      ... 7 others                                          32
 *   PACK_1    1                      ... 15 others                                         64
 *   EMPTY     0                      a group, which writes zeros                32 rows
 *
 * A group is 8 lanes of 4 columns, or more lanes with fewer where N does not divide by 4 (the
 * figures for "a warp takes" are for 8). Bins come in this order in the grid, so that the longest
 * pieces of work start first.
 */
#ifndef LAB10_BINS_H
#define LAB10_BINS_H

#include "length_bins.h"
#include "ops/spmm.h"

/* The matrix as the kernel reads it: a "position" is a row's place in the order of bins. */
typedef struct bins_layout {
    int first[NUM_BINS + 1]; /* position where each bin begins */
    int *d_order;            /* row at each position */
    int2 *d_span;            /* first pair, nonzeros; for positions up to first[PACK_16] */
    int2 *d_pairs;           /* (column, bits of the value) in the order of positions */
    int2 *d_packets;         /* the same in slots, column -1 in those left over */
    int packet[NUM_BINS];    /* number of the first packet of each bin of packets */
    /* Rows of LONG are cut into parts of part_length nonzeros, the last one shorter. */
    int part_length, num_parts;
    int2 *d_part;        /* position of the row, place of the part in it */
    int *d_first_part;   /* of each LONG position, and one more: the number of parts */
    float *d_partial;    /* sums of a part, N floats each */
    unsigned *d_arrived; /* parts done of a LONG position in a slice; 0 between runs */
} bins_layout;

/* Lays out A in plan->d_row_order, each bin for itself. `lanes`: a group's, and a row begins at a
 * multiple of so many pairs and is filled up to one with copies of its last pair. `slices`: columns
 * of C are computed in so many slices. On error nothing is left allocated. */
cudaError_t bins_layout_build(const spmm_plan *plan, int serial, int pack, int lanes, int slices,
                              bins_layout *layout);
void bins_layout_free(bins_layout *layout);

/* What bins should take on an H200, in microseconds, SERIAL being 64. */
double bins_estimate(const row_stats *stats, int N);

/* SERIAL, as the rule has it: nonzeros that one group walks alone. */
int bins_serial(const row_stats *stats, int N);

/* The family, for lab 10's table; not registered as a lab of its own. */
enum { BINS_WIDTH, BINS_SERIAL = 3, BINS_PACK };
extern const spmm_contender bins_family;

#endif
