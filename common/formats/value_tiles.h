/*
 * value_tiles.h - values that move to places anywhere, by way of shared memory: cut into tiles of neighbours, and in each
 * tile ordered by where they go.
 *
 * A block reads a tile as it lies, and writes it in the order of the places. Values that go to neighbouring places then
 * leave in the same sectors, as far as one tile has them.
 */
#ifndef FORMATS_VALUE_TILES_H
#define FORMATS_VALUE_TILES_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Places in a tile have 16 bits. */
enum { VALUE_TILE_MOST = 65536 };

/* The format. Tile t has the values t * length and on; the arrays have an element for each value, tile by tile, and lie on
 * the device. */
typedef struct value_tiles {
    int count, length; /* of tiles; of values in a tile */
    int *d_to;         /* where a value goes, ascending in each tile */
    uint16_t *d_at;    /* and which of its tile's values it is */
} value_tiles;

/* Cuts `count` values, of which value z goes to d_to[z]: each to a place of its own. length: up to
 * VALUE_TILE_MOST. The caller frees *tiles; on error *tiles is empty, and nothing is left allocated. */
cudaError_t value_tiles_build(const int *d_to, int count, int length, value_tiles *tiles);

void value_tiles_free(value_tiles *tiles);

#ifdef __cplusplus
}
#endif
#endif
