/*
 * verify.h - the verdict: every element of a result against the operation's fp64 oracle.
 */
#ifndef HARNESS_VERIFY_H
#define HARNESS_VERIFY_H

#include "ops/operation.h"

/* The oracle's results for one problem: kept in memory where they fit, else computed again for each
 * comparison. */
typedef struct reference {
    const problem *problem;
    double *value;       /* out_rows x out_cols, or NULL: recompute */
    float *bound;        /* the same shape, rounded up */
    double bound_factor; /* errors may be this many times the bound; 0: 1 */
} reference;

enum { SHOWN_ERRORS = 5 };

/* Whether `x` is what outputs are filled with before a run: a NaN with every bit set. */
bool is_unwritten(float x);

typedef struct wrong_element {
    int64_t row, col, row_length;
    double want, bound;
    float got;
} wrong_element;

/* What a comparison found. The counts below `bad` describe the wrong elements and feed the
 * diagnosis. */
typedef struct comparison {
    int64_t elements, bad;
    double worst; /* largest |got - want| / bound; infinity if any is not finite */
    wrong_element shown[SHOWN_ERRORS]; /* the first ones in row-major order */
    int64_t unwritten;                 /* still hold the fill pattern */
    int64_t not_finite;                /* NaN or infinite, but not the fill pattern */
    int64_t zero, doubled;             /* got exactly 0; got 2 * want within the bound */
    int64_t bad_rows, first_row, last_row;
    int64_t first_col, last_col;        /* columns that hold wrong elements lie between */
    int64_t bad_cols;                   /* and this many of them do */
    int64_t shortest_bad, longest_good; /* row lengths: of rows with and without wrong elements */
    int64_t longest_bad, shortest_good;
} comparison;

/* Computes the oracle, in parallel, unless it would take more than half of the memory available. */
void reference_create(const problem *p, reference *ref);
void reference_destroy(reference *ref);

/* Compares `got` (out_rows x out_cols) with the oracle. An element passes if
 * |got - want| <= bound, an accept form that NaN and infinity fail. STATUS_MEMORY if there is no
 * room for scratch. */
enum status verify(const reference *ref, const float *got, comparison *result, error_text *error);

/* One sentence on what the wrong elements have in common, for a comparison with bad > 0:
 * "wrong values: only columns >= 32 of 33", "never written: only the last row, 41", ... */
void diagnose(const problem *p, const comparison *result, char *text, size_t bytes);

#endif
