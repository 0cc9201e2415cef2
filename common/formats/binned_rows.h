/*
 * binned_rows.h - rows of A, whole or cut into segments at blocks of columns, dealt into bins by
 * length.
 *
 *   bin        segments of           worked on by
 *   LONG       more than 4 SERIAL    blocks, 16 SERIAL nonzeros (a chunk) each; the last adds up
 *   MEDIUM     more than SERIAL      the groups of a warp
 *   SHORT      more than PACK        a group
 *   PACK_16    9 .. 16               a group, from a pack of 16 slots
 *   PACK_8     5 .. 8                ... shared with 1 other row
 *   PACK_4     3 or 4                ... 3 others
 *   PACK_2     2                     ... 7 others
 *   PACK_1     1                     ... 15 others
 *   EMPTY      0: zeros              a group, for 8 rows
 *
 * Rows that are cut have a segment in each column block where they have nonzeros enough. Column
 * block 0 is the rest: what no other block wanted, the empty rows, and all packed rows. Rows left
 * whole lie there, too. Column block 1 + b has columns b * block_cols and on. Each column block is
 * one launch. A row's first segment is stored to C, later ones are added when all launches before
 * have ended. So no atomics are needed, and the sum has one order.
 *
 * A "position" is a segment's place in the order (column block, bin, longest first, and among
 * equals as ORDER says). A group is as many lanes as a slice of C needs. A nonzero is kept as a
 * pair (column, bits of the value).
 */
#ifndef FORMATS_BINNED_ROWS_H
#define FORMATS_BINNED_ROWS_H

#include "device/exec_space.cuh"
#include "formats/binned_settings.h"
#include "ops/spmm.h"

/* The products that the rows are laid out for. */
typedef struct binned_rows_shape {
    int lanes;    /* of a group; SHORT and longer segments begin at multiples of this many pairs */
    int width;    /* columns of a slice of C: 16, 32 or 64 */
    int serial;   /* nonzeros that one group walks */
    int pack;     /* rows up to this length are packed: 0 or 16 */
    int window;   /* rows that are sorted by length together; 0: all */
    int order;    /* enum row_order */
    int blocks;   /* of columns; 0: rows stay whole */
    int shortest; /* nonzeros from which a segment is worth reading and writing C */
} binned_rows_shape;

typedef struct binned_rows binned_rows;

/* Lays out plan->A for products of plan->N columns, on the GPU or on the host: both give the same
 * bits. shape: of a width and lanes that plan->N allows (binned_settings.h). shape->blocks may
 * become fewer, since segments are counted by int: *rows keeps the shape that was built. The caller
 * frees *rows; on error it is NULL. */
cudaError_t binned_rows_build(exec_space where, const spmm_plan *plan,
                              const binned_rows_shape *shape, binned_rows **rows);

/* Takes over A's values as they are now; its pattern must be the one that was built from. */
cudaError_t binned_rows_update_values(const spmm_matrix *A, binned_rows *rows);

/* Says where it takes them to: see spmm_value_slots. */
cudaError_t binned_rows_value_slots(const spmm_matrix *A, const binned_rows *rows, int *d_slot,
                                    float **d_copies);

/* The shape that was built. */
const binned_rows_shape *binned_rows_built(const binned_rows *rows);

/* Bytes of the format that one product of one slice reads: pairs with what fills them up, rows and
 * spans of segments, chunks. */
size_t binned_rows_bytes(const binned_rows *rows);

/* The format_bytes of a contender whose plan->state is a binned_rows. */
size_t binned_rows_format_bytes(const spmm_plan *plan);

/* Frees the rows; NULL is allowed. */
void binned_rows_free(binned_rows *rows);

/* ---- settings that labs of binned rows have in common ---------------------------------------- */

constexpr tunable BINNED_WIDTH = {"WIDTH", "columns of C a slice", {16, 32, 64}, 3, 32};
constexpr tunable BINNED_SERIAL = {"SERIAL", "nonzeros one group walks", {64, 128, 256}, 3, 64};
constexpr tunable BINNED_PACK = {"PACK", "rows up to this length are packed", {0, 16}, 2, 0};
constexpr tunable BINNED_WINDOW = {
    "WINDOW", "rows sorted by length together; 0: all", {0, 4096}, 2, 0};
constexpr tunable BINNED_ORDER = {
    "ORDER", "rows alike in length: 0 as they come, 1 by first column, 2 by last", {0, 1, 2}, 3, 0};
constexpr tunable BINNED_HOST = {"HOST", "1: rows are laid out on the host", {0, 1}, 2, 0, true};

/* The shape of whole rows that the plan's settings ask for. Replaces settings that do not fit N or
 * the number of rows. */
binned_rows_shape binned_rows_settle(spmm_plan *plan);

#endif
