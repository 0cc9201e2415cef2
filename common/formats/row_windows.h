/*
 * row_windows.h - A for products on tensor cores, however sparse it is: windows of 16 rows, whose nonzeros are
 * cut into runs of eight. (Published as block-row partition, BRP.)
 *
 * Nonzeros of a window are sorted by column, then by row. A run is eight of them: a 16 x 8 operand of an mma in which
 * each column holds one nonzero. A column of A with several nonzeros in the window is repeated. So all runs have one
 * size, and need nothing but each nonzero's column and row. A nonzero takes 8 bytes, as in CSR: its value, and a key,
 *
 *     key = column * 16 + row in the window
 *
 * Up to seven nonzeros of a window are left over. Either they are residual, rows for CUDA cores, or one more run is
 * filled up: value 0, and the key of the window's last nonzero, whose row of B is read anyway.
 *
 * Work is cut into items: a window, or a part of one with many runs. The longest come first.
 *
 * Products multiply the zeros of a run. So an Inf or NaN in a row of B spoils all 16 rows of a window if one of them
 * refers to that row. It spoils no others.
 *
 * Source: BRP-SpMM (IPDPS 2025) for windows, runs and the residual; key, items and filling up are this suite's.
 */
#ifndef FORMATS_ROW_WINDOWS_H
#define FORMATS_ROW_WINDOWS_H

#include "device/exec_space.h"
#include "ops/device_csr.h"

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WINDOW_ROWS = 16,
    RUN = 8,                     /* nonzeros */
    MAX_WINDOW_COLUMNS = 1 << 28 /* of A: a key has 32 bits */
};

/* Says of a row of the residual that a window has stored to it before. */
enum { RESIDUAL_ADDS = 1 << 31 };

typedef struct row_windows_shape {
    bool residual;         /* what is left over of a window is residual; else a run is filled up */
    int short_row;         /* rows with fewer nonzeros are residual, all of each; 0: none */
    int longest;           /* runs of an item, at most 256 */
    enum exec_space where; /* who builds: both make the same format, to the bit */
} row_windows_shape;

/* A warp's work: `runs` runs from the first. shared: which of the shared windows this is a part of; -1: the item is the
 * whole window. */
typedef struct window_item {
    int window, first_run, runs, shared;
} __attribute__((aligned(16))) window_item;

/* A window of several items. Item i of it begins at run first_run + i * longest, and is part first_part + i of all. */
typedef struct shared_window {
    int window, first_run, parts, first_part;
} __attribute__((aligned(16))) shared_window;

/* The format. Its arrays lie on the device. */
typedef struct row_windows {
    row_windows_shape shape;
    int rows, nnz;
    int window_rows; /* rows that lie in windows: all but short ones */
    int windows, runs, items;
    int shared, parts; /* windows of several items, and the items of those */
    int rest_rows;     /* rows of the residual; a short row without nonzeros is one, too */
    int rest;          /* its nonzeros */
    float *d_value;    /* RUN of each run */
    uint32_t *d_key;   /* the same */
    window_item *d_item;
    shared_window *d_shared;
    int *
        d_row; /* the row at each place of the windows, window_rows of them; NULL: they come as in A */
    int *d_rest_row, *d_rest_start; /* row | RESIDUAL_ADDS; rest_rows + 1 */
    int *d_rest_column;
    float *d_rest_value;
    int *
        d_source; /* the place in CSR of each number of d_value, then of d_rest_value; -1: filled up. Products
                      do not read it: new values do */
} row_windows;

/* Builds the windows of A, whose values are fp32, rows taken in the order d_row_order (borrowed during the call; NULL:
 * as they come). Columns may come in any order, and more than once. The caller frees *windows. cudaErrorNotSupported:
 * A has more than MAX_WINDOW_COLUMNS columns. On error *windows is NULL and nothing is left allocated. */
cudaError_t row_windows_build(const device_csr *A, const int *d_row_order,
                              const row_windows_shape *shape, row_windows **windows);

/* Gives the format A's new values; its pattern is the one of the build. */
cudaError_t row_windows_update_values(const device_csr *A, row_windows *windows);

/* Adds the residual times B to what the windows have stored to C, and stores rows that have none in windows: enqueued on
 * `stream`, behind the product of the windows. B and C: N columns, row-major, on the device. */
cudaError_t row_windows_multiply_rest(const row_windows *windows, int N, const float *B, float *C,
                                      cudaStream_t stream);

/* Bytes of the format that a product reads: 64 a run, 16 an item and a shared window, the residual, and rows' numbers. */
size_t row_windows_bytes(const row_windows *windows);

/* Bytes of the published format with these runs and this residual. Each nonzero of a run has a value, a column and a
 * row of 4 bytes, which makes 96 a run; each window has the number of its first run. */
size_t row_windows_published_bytes(const row_windows *windows);

void row_windows_free(row_windows *windows);

#ifdef __cplusplus
}
#endif
#endif
