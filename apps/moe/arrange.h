/*
 * arrange.h - the way of tokens to their experts and back: gates, the sort, the layout of blocks, and both moves of rows.
 * All of it is made on the device, and nothing waits for the host.
 *
 * A slot is a choice: slot t * chosen + j is the j-th expert of token t. A row is a place of a slot among those of its
 * expert. Rows of an expert are in the order of their tokens, and are filled up with rows of zeros to a multiple of the block.
 *
 * As a layout this is block-diagonal with ragged steps: hidden numbers are a matrix of rows x (experts * hidden) whose
 * blocks exist where a row meets its own expert. A row of blocks has hidden / block of them, side by side. So the expert of each
 * row says all, and the blocks are stored without the rest: [row][hidden].
 *
 * Functions enqueue on `stream`, and return what the launch said.
 */
#ifndef MOE_ARRANGE_H
#define MOE_ARRANGE_H

#include "numbers.h"
#include "shape.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Up to TILE_ROWS rows of one expert. Tiles of an expert that follow each other form a band, whose rows and one stripe of
 * weights fit into L2: products take them together. */
typedef struct row_tile {
    int expert, row, rows;
    int band, of_band; /* the band's first tile, and how many it has */
} row_tile;

enum { BAND_TILES = 8 };

/* Where each slot goes. Arrays on the device. */
typedef struct arrangement {
    int *expert;    /* [slots] */
    float *gate;    /* [slots] */
    int *order;     /* [slots]: slots, by expert and then by token */
    int *start;     /* [experts + 1]: where an expert begins in `order` */
    int *first;     /* [experts + 1]: and its first row; in the end, where no row is any more */
    row_tile *tile; /* [most tiles] */
    int *tiles;     /* 1: how many there are */
    int *slot_of;   /* [most rows]: -1 where a row fills up */
    int *row_of;    /* [slots] */
    int *workspace; /* arrange_workspace(slots) ints */
} arrangement;

size_t arrange_workspace(int slots);

/* Sets expert and gate from logits [tokens][experts] and the bias of each expert. Of equal logits the lower expert's wins. */
cudaError_t arrange_choose(const moe_shape *s, const float *logits, const float *bias,
                           const arrangement *a, cudaStream_t stream);

/* Sets order, start, first, tile and tiles. capacity 0: rows of an expert follow those of the one before; else they begin
 * at expert * capacity, a multiple of the block that no expert passes. */
cudaError_t arrange_layout(const moe_shape *s, int capacity, const arrangement *a,
                           cudaStream_t stream);

/* rows[r] = the row of x of r's token, or zeros. Sets slot_of and row_of. x and rows: fp16 [.][features]. */
cudaError_t arrange_gather(const moe_shape *s, const void *x, const arrangement *a, void *rows,
                           cudaStream_t stream);

/* out[t] = the sum over the token's slots, in their order, of gate * y[row_of]. fp32, rounded once to fp16. */
cudaError_t arrange_combine(const moe_shape *s, const void *y, const arrangement *a, void *out,
                            cudaStream_t stream);

/* x = max(0, x) of fp16 numbers, behind a product that does not do it itself. count: a multiple of 8. */
cudaError_t relu_run(int64_t count, void *x, cudaStream_t stream);

/* ---- inputs ------------------------------------------------------------------------------------ */

enum filled { FILL_X, FILL_ROUTER, FILL_UP, FILL_DOWN };

/* Fills an array of fp16 with its numbers: see numbers.h. count: its elements. */
cudaError_t numbers_fill(const number_source *n, enum filled what, int64_t count, void *to,
                         cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
