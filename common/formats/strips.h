/*
 * strips.h - nonzeros in strips of 32, whatever their rows: for products whose result is a number for
 * each nonzero. Nothing is added up across nonzeros, so no row need be whole.
 *
 * A segment is a row's stored nonzeros, or the part of them that lies in one block of columns. Segments
 * follow each other: those of the first block by row, then those of the second, and so on. A nonzero's
 * position in that order is its place; place 32 s begins strip s. The row of a place is its segment's:
 * a strip says which segment its first place belongs to, and has a bit for each place that begins
 * another. That is a quarter of a byte a nonzero, where a list of rows takes 4.
 *
 * With one block, places are the positions of CSR.
 */
#ifndef FORMATS_STRIPS_H
#define FORMATS_STRIPS_H

#include "ops/device_csr.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { STRIP = 32 }; /* places of a strip */

typedef struct strip {
    int segment;                     /* that the first place belongs to */
    unsigned starts;                 /* bit i: place i begins another; never bit 0 */
} __attribute__((aligned(8))) strip; /* one load */

/* The format. Its arrays lie on the device. */
typedef struct strips {
    int places, segments, blocks;
    strip *d_strip;      /* one for each 32 places */
    int *d_row;          /* of each segment */
    int *d_offset;       /* of each segment: what to add to a place for that in CSR; NULL: 0 */
    int *d_own_column;   /* of each place; NULL: places are those of CSR */
    const int *d_column; /* of each place: the same array, or CSR's */
} strips;

/* Builds the strips of W's pattern on the device. blocks: how many blocks of columns are wanted, 1 or
 * more. There is one block only where the columns of a row do not ascend: its part of a block would not
 * be in one piece. The pattern's arrays are borrowed as long as the format lives. The caller frees *s. On
 * error *s is NULL and nothing is left allocated. */
cudaError_t strips_build(const device_csr *W, int blocks, strips **s);

/* Bytes of the format, columns included: a product reads them all once. */
size_t strips_bytes(const strips *s);

void strips_free(strips *s);

#ifdef __cplusplus
}
#endif
#endif
