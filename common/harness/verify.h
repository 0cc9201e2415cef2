/*
 * verify.h - the verdict: every element of a result against the operation's fp64 oracle; of a huge result all elements
 * of a sample of rows.
 *
 * A result is huge with more than 2^31 elements, or 2^37 products behind it: the oracle's numbers would not fit in memory,
 * or take minutes. The sample is then a share of rows that is drawn with a fixed seed, of about 2^27 elements and 2^31
 * products. To it belong the first and the last row of each range (problem.range_first), the longest row, and the first
 * and the last empty one. A row outside of it is held to be written and finite; if it is not, it is compared, too.
 */
#ifndef HARNESS_VERIFY_H
#define HARNESS_VERIFY_H

#include "ops/operation.h"

/* The oracle's results for one problem: kept in memory where they fit, else computed again for each
 * comparison. */
typedef struct reference {
    const problem *problem;
    struct {
        double *value;      /* an element each, in the output's order; or NULL: recompute */
        float *bound;       /* the same, rounded up */
        uint8_t *in_sample; /* of each row, where a sample of them is compared; NULL: all are */
    } outputs[MAX_OUTPUTS];
    double bound_factor;     /* errors may be this many times the bound; 0: 1 */
    double product_rounding; /* error of each product of a contender, in units of u; 0: none */
    bool flushes_subnormals; /* a contender's additions take numbers below 2^-126 for zero */
} reference;

enum { SHOWN_ERRORS = 5 };

/* Whether `x` is what outputs are filled with before a run: a NaN with every bit set. */
bool is_unwritten(float x);

typedef struct wrong_element {
    int64_t row, place; /* which of the row's elements, from 0 */
    int64_t col;        /* its column: in a dense output the same as its place */
    int64_t at;         /* which of the output's elements: of a pattern, the nonzero's number */
    int64_t row_length;
    double want, bound;
    float got;
} wrong_element;

/* Result of a comparison. The counts below `which` describe the wrong elements of one output, and feed
 * the diagnosis. */
typedef struct comparison {
    int64_t elements, bad; /* of all outputs: those compared, and the wrong ones */
    double worst;          /* largest |got - want| / bound; infinity if any is not finite */
    int which;             /* the first output that has wrong elements */
    int64_t which_elements, which_bad; /* its elements, and the wrong ones among them */
    wrong_element shown[SHOWN_ERRORS]; /* the first ones in row-major order */
    int64_t unwritten;                 /* still hold the fill pattern */
    int64_t not_finite;                /* NaN or infinite, but not the fill pattern */
    int64_t zero, doubled;             /* got exactly 0; got 2 * want within the bound */
    int64_t bad_rows, first_row, last_row;
    int64_t first_at, last_at;          /* the first and the last wrong element */
    int64_t bad_places;                 /* places of a row that hold wrong elements, ... */
    int64_t first_place, last_place;    /* ... which lie between these */
    int64_t shortest_bad, longest_good; /* row lengths: of rows with and without wrong elements */
    int64_t longest_bad, shortest_good;
} comparison;

/* Computes the oracle, in parallel, unless it would take more than half of the memory available. */
void reference_create(const problem *p, reference *ref);
void reference_destroy(reference *ref);

/* Compares got[i], a float for each element of output i, with the oracle. An element passes if
 * |got - want| <= bound, an accept form that NaN and infinity fail. STATUS_MEMORY if there is no
 * room for scratch. */
enum status verify(const reference *ref, const float *const *got, comparison *result,
                   error_text *error);

/* One sentence on what the wrong elements have in common, for a comparison with bad > 0:
 * "wrong values: only columns >= 32 of 33", "never written: only the last row, 41",
 * "wrong values: only from nonzero 32 of a row on", ... */
void diagnose(const problem *p, const comparison *result, char *text, size_t bytes);

#endif
