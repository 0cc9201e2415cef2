/*
 * npy.h - numpy's array format, as far as sparse matrices use it: numeric arrays of one or three
 * dimensions and short strings, in either byte order. Layout: "\x93NUMPY", version, header length, a Python
 * dictionary with 'descr' (the type), 'fortran_order' and 'shape', then the elements.
 */
#ifndef MATRIX_NPY_H
#define MATRIX_NPY_H

#include "matrix/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the bytes come from: reads exactly `bytes` of them, or fails. */
typedef struct npy_source {
    const char *name; /* for messages: "graph.npz:indices.npy" */
    enum status (*read)(void *from, void *buffer, size_t bytes, error_text *error);
    void *from;
    int64_t most_bytes; /* no array can be larger; what a header promises beyond is refused */
} npy_source;

typedef struct npy_array {
    char kind;     /* 'b' bool, 'i', 'u', 'f', 'S' bytes, 'U' unicode, as in numpy */
    int size;      /* bytes an element */
    int64_t count; /* elements; 1 for a scalar */
    int64_t block_rows, block_cols; /* the last two of three dimensions; 0 of a scalar or vector */
    bool swapped;                   /* big-endian */
} npy_array;

/* Reads the header. Other types and shapes are refused. */
enum status npy_open(const npy_source *source, npy_array *array, error_text *error);

/* Types that an array is wanted as. */
enum npy_target { NPY_INT32, NPY_INT64, NPY_FLOAT, NPY_BOOL };
size_t npy_target_bytes(enum npy_target target);

/* Reads the elements to `out`, which has room for array->count of `target`. Integers come from
 * integers, and one that does not fit is refused with its position; floats come from any number;
 * bools, of one byte, from bools. */
enum status npy_read(const npy_source *source, const npy_array *array, enum npy_target target,
                     void *out, error_text *error);

/* Reads a single string of up to capacity - 1 ASCII letters. */
enum status npy_read_string(const npy_source *source, const npy_array *array, char *out,
                            size_t capacity, error_text *error);

#endif
