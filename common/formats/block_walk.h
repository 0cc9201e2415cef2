/*
 * block_walk.h - lists for thread blocks that make several neighbouring blocks of outputs together: an input block is then
 * fetched once for all of them.
 *
 * `group` neighbouring output blocks are a group. Its list has an entry for each input block that at least one of them
 * sums over. An entry has `stride` ints: {input block, number of the weight block of each output, or -1 where there is
 * none}. The rest is padding, to 16 bytes. A list may be cut into pieces of like length, which are added up.
 */
#ifndef FORMATS_BLOCK_WALK_H
#define FORMATS_BLOCK_WALK_H

#include "matrix/block_layout.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct block_walk {
    int group, stride;   /* outputs of a group; ints of an entry */
    int groups, entries; /* of all groups */
    int pieces;          /* of each group's list */
    int *host_entry, *d_entry;
    /* First entry of piece p of group g, at g * pieces + p; and the end. */
    int *host_start, *d_start;
} block_walk;

/* Makes the lists of the layout's columns (fprop), or rows (`rows`, bprop). group: 1 to 32. pieces: 1 or more. The caller
 * frees *walk. On error *walk is NULL and nothing is left allocated. */
cudaError_t block_walk_build(const block_layout *layout, bool rows, int group, int pieces,
                             block_walk **walk);

/* Bytes of the lists. */
size_t block_walk_bytes(const block_walk *walk);

void block_walk_free(block_walk *walk);

#ifdef __cplusplus
}
#endif
#endif
