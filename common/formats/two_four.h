/*
 * two_four.h - a pruned matrix for sparse tensor cores: of each four neighbouring elements of a row the first two in
 * the "2:4" form, and whatever is left over in CSR. Any matrix of 16-bit values, kept bit by bit; made from TCA-BME.
 *
 *     four         4 columns of a row, from a multiple of 4 on: of its elements the first two are kept here, the
 *                  others are the rest. Where there are fewer than two, zeros fill up the highest free places
 *     group        64 x 64: four strips of 16 rows, as in TCA-BME; groups come row by row of groups
 *     values       1024 bytes a strip of a group: two fragments of mma_sparse.cuh's A, 16 x 32 elements each. A lane's
 *                  four words of a fragment are neighbours, so it takes them with one load of 16 bytes
 *     metadata     128 bytes a strip of a group: a word a lane. With lane = 4 g + t its low half is of row g, its high
 *                  half of row g + 8, columns 16 t to 16 t + 15; so SELECTOR 0 is the left fragment's, 1 the right one's
 *
 * The rest is CSR: elements that found no place, in the order of their columns, and then those that A names again. An
 * element that is +0 is of the rest, too: among the values it would be taken for a zero that fills up.
 *
 * Bytes: 9/8 for each element of whole groups, 6 for one of the rest, 4 (rows + 1). Elements that are left independently
 * with probability d leave 4 d^3 (1 - d) + 2 d^4 of each four to the rest.
 *
 * N. Zheng et al., "SparTA", OSDI 2022, for the split; PTX ISA, "mma.sp", for the places of values and metadata.
 */
#ifndef FORMATS_TWO_FOUR_H
#define FORMATS_TWO_FOUR_H

#include "device/exec_space.h"
#include "formats/tca_bme.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FOUR = 4,
    FOURS = GROUP_SIDE / FOUR,                /* of a row of a group */
    STRIP_STORED = MMA_SIDE * GROUP_SIDE / 2, /* values of a strip of a group */
    STRIP_METADATA = 32,                      /* words */
    GROUP_STORED = STRIPS * STRIP_STORED,
    GROUP_METADATA = STRIPS * STRIP_METADATA
};

/* All zero: none. */
typedef struct two_four {
    enum exec_space where;
    int rows, cols;     /* of the matrix */
    int down, across;   /* rows of groups; groups in each */
    uint16_t *values;   /* down * across * GROUP_STORED */
    uint32_t *metadata; /* down * across * GROUP_METADATA */
    int num_rest;
    int *rest_ptr; /* rows + 1 */
    int *rest_col; /* num_rest */
    uint16_t *rest_value;
} two_four;

/* Returns the bytes of all arrays, exactly. */
static inline int64_t two_four_bytes(const two_four *m)
{
    const int64_t groups = (int64_t)m->down * m->across;
    return groups * (2 * GROUP_STORED + 4 * GROUP_METADATA) + 4 * ((int64_t)m->rows + 1) +
           6 * (int64_t)m->num_rest;
}

/* Whether its zeros are too many: more than 4 times the bytes of CSR with 16-bit values, and more than 16 MB; or more
 * than 2 GiB in any case. */
static inline bool two_four_unsuited(int64_t rows, int64_t cols, int64_t nnz)
{
    const double stored = 1.125 * (double)rows * (double)cols;
    const double csr = 4 * ((double)rows + 1) + 6 * (double)nnz;
    return stored > 0x1p31 || (stored > 0x1p24 && stored > 4 * csr);
}

/* Makes it from the other format, in the space where that is: *m gets the same bits in both. On error *m is all zero.
 * New values of the same pattern need a new format, since an element of +0 has another place. */
cudaError_t two_four_build(enum exec_space where, const tca_bme *from, two_four *m);

void two_four_free(two_four *m);

#ifdef __cplusplus
}
#endif
#endif
