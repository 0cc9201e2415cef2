/*
 * fragments.h - SpMM for pruned weights on tensor cores: in fp32, to its precision, and in 16 bits.
 *
 * A is cut into panels of rows. A panel's columns that hold any nonzero are numbered through and
 * taken a chunk at a time; a warp multiplies a strip of 16 rows by one fragment of those columns at once,
 * two right operands of an mma. What is stored are words: a float, or the 16-bit numbers of two neighbours
 * among those columns, of which one may be zero. Words of a chunk that are not zero follow each other in
 * the order in which lanes want them; a bit says whether a lane's word is there.
 *
 * Zeros between nonzeros are multiplied. A row of B with an Inf or NaN in it therefore spoils all
 * rows of a panel if one of them refers to it, and no others; finite inputs give what the other
 * labs give. fragments.md derives why three products of rounded numbers are as good as one in fp32.
 */
#ifndef LAB10_FRAGMENTS_H
#define LAB10_FRAGMENTS_H

#include "ops/spmm.h"

#include <type_traits>

constexpr int STRIP = 16;           /* rows that a warp takes at once */
constexpr int FRAGMENT_WORDS = 8;   /* of a row of A, that an mma takes */
constexpr int CHUNK_FRAGMENTS = 16; /* a stage: two mask words of 4 bits a fragment */
constexpr int WORD_FRAGMENTS = 8;   /* fragments that a mask word tells of */
constexpr int MASK_WORDS = CHUNK_FRAGMENTS / WORD_FRAGMENTS;
constexpr int NO_COLUMN = -1;
constexpr int ROUND_LINES = 4; /* that a warp copies at a time */

/* Of T, the numbers of A, B and C: float, __half or __nv_bfloat16. Columns of A in a word, in a fragment
 * and in a chunk. */
template <class T> constexpr int PER_WORD = sizeof(uint32_t) / sizeof(T);
template <class T> constexpr int FRAGMENT = FRAGMENT_WORDS *PER_WORD<T>;
template <class T> constexpr int CHUNK = CHUNK_FRAGMENTS *FRAGMENT<T>;
/* Rows with fewer nonzeros are multiplied in fp32: their bound is too tight for three products. Products
 * of 16-bit numbers are exact. */
template <class T> constexpr int SHORT_ROW = std::is_same_v<T, float> ? 32 : 0;

/* What a block does: the rows of a panel, so many columns of C, and one of so many shares of the panel's
 * chunks. */
typedef struct fragment_shape {
    int panel_rows; /* 16, 32, 64 or 128 */
    int width;      /* 32 or 64 */
    int splits;     /* 1, 2, 4 or 8 */
} fragment_shape;

template <class T> const T *values_of(const spmm_matrix &A)
{
    if constexpr (std::is_same_v<T, float>)
        return A.d_values;
    else
        return (const T *)A.d_values16;
}

/* What it takes to fetch a chunk. */
template <class T> struct chunk_map {
    int column[CHUNK<T>]; /* of A, ascending; NO_COLUMN where the panel has no more */
    int first_line;       /* in d_lines */
    int lines;            /* how many */
    int unused[2];        /* to a multiple of 16 bytes */
};

/* A line is 32 words, one for each lane. A chunk's first line says at which line each strip's block
 * begins. A block is MASK_WORDS lines of masks, then as many lines of values as its fullest lane has.
 * Bit 4 f + e of lane (g, t) = lane 4 g + t: of fragment f there is the word in row g + 8 (e / 2),
 * place t + 4 (e % 2) of the row's FRAGMENT_WORDS. */
template <class T> struct row_fragments {
    fragment_shape shape;
    int panels, long_rows;
    int stage_lines; /* of the largest chunk */
    int stages;      /* chunks in shared memory: one to work on, others on their way */
    int *d_order;    /* A.rows rows: in the plan's order those with SHORT_ROW nonzeros and more, and
                           then the others */
    int *d_panel_chunk;  /* panels + 1: a panel's first chunk */
    chunk_map<T> *d_map; /* of each chunk, and one more */
    uint32_t *d_lines;   /* and ROUND_LINES more */
    /* Where blocks share a panel: */
    float *d_partial;    /* [panel][slice][share][row of the panel][column] */
    unsigned *d_arrived; /* shares done of a panel and a slice; 0 between runs */
};

/* The shape for which rows of these statistics should take the least time on an H200; returns that time
 * in microseconds. */
double fragments_choose(const row_stats *stats, int N, enum precision precision,
                        fragment_shape *shape);

/* Whether fragments can take the plan's matrix: on a device of compute capability 8.0 and up, if the bits
 * of every column of every panel are few enough to be worth making; in 16 bits also N must be even, and
 * the columns of each row ascend, so that none comes twice: their sum would have to be rounded. */
bool fragments_suit(const spmm_plan *plan, enum precision precision);

/* Makes the blocks of plan->A on the device, its rows taken in plan->d_row_order. Panels that do not
 * fit into shared memory become smaller ones, and no panel has more shares than A's columns make chunks,
 * as fragments->shape then says. On error nothing is left allocated. */
template <class T>
cudaError_t fragments_prepare(const spmm_plan *plan, const fragment_shape *shape,
                              row_fragments<T> *fragments);

/* Enqueues C = A * B. */
template <class T>
cudaError_t fragments_run(const row_fragments<T> *fragments, const spmm_plan *plan, const T *B,
                          T *C, cudaStream_t stream);

template <class T> void fragments_free(row_fragments<T> *fragments);

/* How many stages a block should have of `shared_limit` bytes, the most that a block may use; what its
 * stages need; and permission for its kernel to use so much. */
template <class T> int fragments_stages(const row_fragments<T> *fragments, size_t shared_limit);
template <class T> size_t fragments_shared_bytes(const row_fragments<T> *fragments);
template <class T>
cudaError_t fragments_allow_shared(const row_fragments<T> *fragments, int N, size_t bytes);

/* Positions in the family's plan.tuning. */
enum { FRAGMENTS_WIDTH, FRAGMENTS_PANEL, FRAGMENTS_SPLIT };

/* The family in a precision, for lab 10's table; not registered as a lab of its own. */
const spmm_contender *fragments_family(enum precision precision);

#endif
