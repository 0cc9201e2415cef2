/*
 * groups.h - SpMM for pruned weights: R rows share each row of B that one of them needs.
 *
 * A is cut into panels of rows and B into tiles of rows, which a block brings into shared memory
 * one after the other. Inside a panel R neighbouring rows (of the plan's row order) are a group:
 * its list names the columns that any of its rows has, with R values each, 0 where a row has none.
 * A lane loads its part of B's row once and uses it R times from registers.
 *
 * Those zeros are multiplied. A row of B with an Inf or NaN in it therefore spoils all rows of a
 * group if one of them refers to it, and no others; finite inputs give what the other labs give.
 */
#ifndef LAB10_GROUPS_H
#define LAB10_GROUPS_H

#include "ops/spmm.h"

/* What is decided when the lists are made. */
typedef struct groups_shape {
    int R;         /* rows a group: 2, 4, 8 */
    int width;     /* columns of B and C a block computes: 32, 64, 128 */
    int C;         /* of them a lane has: 8; or 16 where R < 8, width > 32 and N % 4 == 0 */
    int tile_rows; /* rows of B a tile: 32, 64, 128, 256 */
    int warps;     /* a block: 4, 8, 16 */
    int ways;      /* of them share max(R, 4) rows: 1, 2, 4 */
} groups_shape;

typedef struct row_groups {
    groups_shape shape;
    int panels;         /* of warps / ways * max(R, 4) rows */
    int stage;          /* 16-byte units of shared memory for a tile and its lists */
    int *d_panel_visit; /* panels + 1: a panel's first visit */
    int2 *d_visit; /* of each pair of a panel and a tile that meet in a nonzero, and one more: tile
                           number, where its lists begin in d_lists */
    float4 *d_lists; /* for each visit the columns of its groups and their values */
} row_groups;

/* The shape for which rows of these statistics should take the least time on an H200: groups.md. */
groups_shape groups_choose(const row_stats *stats, int N);

/* Makes the lists of plan->A on the host, its rows taken in plan->d_row_order. Any matrix: one that
 * does not fit only takes long. What a shape asks for and cannot have is replaced, as
 * groups->shape then says: tiles too large for shared memory, and C = 16 where there is no such
 * kernel. On error nothing is left allocated. */
cudaError_t groups_prepare(const spmm_plan *plan, const groups_shape *shape, row_groups *groups);

/* Enqueues C = A * B. */
cudaError_t groups_run(const row_groups *groups, const spmm_plan *plan, const float *B, float *C,
                       cudaStream_t stream);

void groups_free(row_groups *groups);

/* The family, for lab 10's table; not registered as a lab of its own. */
extern const spmm_contender groups_family;

#endif
