/*
 * block_lut.h - look-up tables of block-sparse products: for each output block the list of blocks that it sums over, cut
 * into segments of like length, so that thread blocks have like work.
 *
 * One buffer of ints. First a header of four for each segment, then pairs, one for each block of each segment:
 *
 *   header   {place of the first pair, in pairs from the beginning of the buffer; pairs; output block; share}
 *   pair     {input block, number of the block}
 *
 * Segments of one output have the same share, 1, 2 ...: it numbers the outputs that have several, and those have to agree
 * about who writes. A segment with share 0 is alone. An output without blocks has a segment without pairs, at the end, or in
 * pieces at its place: somebody must write its zeros.
 *
 * The table is made on the host: a layout is fixed for the whole of a training.
 *
 * Source: the look-up tables of openai/blocksparse (Gray, Radford, Kingma: GPU Kernels for Block-Sparse Weights, 2017).
 */
#ifndef FORMATS_BLOCK_LUT_H
#define FORMATS_BLOCK_LUT_H

#include "matrix/block_layout.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BLOCK_LUT_HEADER = 4 }; /* ints */

/* Where lists are cut. Evenly, into as few segments as have at most `longest` pairs; these differ by one at most, and
 * outputs with longer segments come first: thread blocks start in this order, and short ones fill the gaps. Or by the
 * published rule, on the lengths of the pass's own outputs, or of the columns in both passes. The published layouts are
 * symmetric, so it makes no difference there. Or nowhere.
 *
 * Or into pieces: the lists of all outputs, one behind the other, are cut into `pieces` parts of like cost, whatever outputs these
 * have. A thread block then takes a piece, which may have several segments. A pair costs 1, and so does an output. Nobody begins
 * or ends a list for one pair alone. */
enum block_lut_rule {
    BLOCK_LUT_EVEN,
    BLOCK_LUT_OWN,
    BLOCK_LUT_COLUMNS,
    BLOCK_LUT_PIECES,
    BLOCK_LUT_UNCUT
};

typedef struct block_lut {
    int segments;
    int shares;         /* outputs with several segments */
    int parts;          /* segments of those */
    int longest;        /* pairs of the longest segment */
    int ints;           /* of the buffer */
    int *host, *device; /* the buffer, twice */
    /* Where parts of shared outputs are left: part_start[share - 1] is the first, of each share; shares + 1 of them.
     * Segments of a share follow each other in the table, so that number minus first_segment[share - 1] is the part. */
    int *part_start, *first_segment; /* on the host */
    int *d_part_start, *d_first_segment;
    /* BLOCK_LUT_PIECES: the first segment of each piece, pieces + 1 of them. By the other rules a segment is a piece, and both
     * arrays are NULL. */
    int pieces;
    int *first_of_piece, *d_first_of_piece;
} block_lut;

/* Makes the table of the layout's columns (fprop), or rows (`rows`, bprop), by that rule. limit: at least 1; BLOCK_LUT_EVEN's
 * `longest`, or the pieces wanted by BLOCK_LUT_PIECES, of which there may be fewer. The caller frees *lut. On error *lut is NULL
 * and nothing is left allocated. */
cudaError_t block_lut_build(const block_layout *layout, bool rows, enum block_lut_rule rule,
                            int limit, block_lut **lut);

/* Counts the segments of all outputs that BLOCK_LUT_EVEN would make. */
int64_t block_lut_even_segments(const block_layout *layout, bool rows, int longest);

/* Bytes of the table on the device. */
size_t block_lut_bytes(const block_lut *lut);

void block_lut_free(block_lut *lut);

#ifdef __cplusplus
}
#endif
#endif
