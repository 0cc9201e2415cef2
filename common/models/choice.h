/*
 * choice.h - the one rule that chooses a kernel: candidates -> estimate -> best.
 *
 * A candidate is every lab's contender of an operation that registers an estimate. The rule sees the
 * statistics of the row lengths, rows, cols, the width and the device's facts, never a name. Each
 * model says in its own file what it was fitted on; INFINITY says that it holds nothing of a matrix.
 */
#ifndef MODELS_CHOICE_H
#define MODELS_CHOICE_H

#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MAX_CANDIDATES = 32 };

typedef struct candidate {
    const contender *contender;
    double us; /* microseconds of one run, by the contender's own estimate */
} candidate;

/* Lists the candidates of this program in an operation and precision, the least estimate first. Of equal estimates the
 * later lab comes first: its kernel grew out of the other's. Returns how many have a finite one. */
int choice_candidates(const operation *op, enum precision precision, const row_stats *stats,
                      int width, candidate list[MAX_CANDIDATES]);

#ifdef __cplusplus
}
#endif
#endif
