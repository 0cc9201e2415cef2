/*
 * check.h - is attention right? Against fp64 with derived bounds, and by what must hold for every row.
 */
#ifndef BLOCK_ATTENTION_CHECK_H
#define BLOCK_ATTENTION_CHECK_H

#include "attend.h"

/* Checks, each in a run of its own inputs but for the second.
 *
 *   oracle    O of sampled rows, all of them in small problems, is within the bound of the operation attention (its sum in
 *             fp64: ops/attention_problem.c). Some rows of Q are large, so that the running maximum moves
 *   ones      shares of each row sum to 1: the first number of every row of V is 1, so that of O is
 *   whole     Q is 0 and V whole numbers: O of each row is their mean, with no more than the roundings of a share, of the
 *             quotient and of the result. One key too many or too few shows
 *   causal    other K and V from the middle of a block on: O of all queries before have the same bits
 *   absent    K and V of a block of keys are NaN: O of all queries without that block have the same bits. Dense products
 *             by cuBLAS have no absent blocks
 */
enum checked {
    CHECKED_ORACLE,
    CHECKED_ONES,
    CHECKED_WHOLE,
    CHECKED_CAUSAL,
    CHECKED_ABSENT,
    NUM_CHECKED
};

const char *checked_name(enum checked what);

/* Largest error over its bound; more than 1 is wrong, and infinite where bits differ. Negative: not checked. */
typedef struct verdict {
    double worst[NUM_CHECKED];
    int64_t row[NUM_CHECKED]; /* where: of all heads, head * length + query */
} verdict;

double verdict_worst(const verdict *v);

/* Uploads inputs, runs, and judges. STATUS_WRONG names the first check that fails. Inputs are left as `oracle` has them, and O is
 * NaN. */
enum status check_attention(const attend *a, uint64_t seed, verdict *v, error_text *error);

/* Judges what runs since have left in O by `oracle` and `ones`; v keeps the worst. */
enum status check_again(const attend *a, uint64_t seed, verdict *v, error_text *error);

#endif
