/*
 * attention_problem.h - what problems of attention and of its backward pass are made of, and the exact attention of a
 * row: not for contenders.
 */
#ifndef OPS_ATTENTION_PROBLEM_H
#define OPS_ATTENTION_PROBLEM_H

#include "ops/attention.h"
#include "ops/inputs.h"

/* The inputs on the host. A mode leaves those empty that it does not name. */
typedef struct attention_problem {
    enum attention_mode mode;
    int heads, d;
    double scale;
    int32_t *row_ptr;
    numbers values; /* p in mode WEIGHTED, else the bias; no floats where there is none */
    numbers Q, K, V;
    numbers el, er, a;
} attention_problem;

/* Makes them for problem p, whose pattern, width, seed and precision count. On failure nothing is left. */
enum status attention_problem_create(const problem *p, enum attention_mode mode, int heads,
                                     bool bias, attention_problem *own, error_text *error);
void attention_problem_free(attention_problem *own);

/* The scores of row i and head h in fp64, and how far a kernel may be off each. Both have room for the row. */
void attention_scores(const problem *p, const attention_problem *own, int64_t row, int head,
                      double *score, double *error);

/* The exact O[row][head], how far a correct kernel may be off, as it is stored, and the same of lse: d elements, and
 * one. False: no memory for the row's scores. */
bool attention_row(const problem *p, const attention_problem *own, int64_t row, int head, double *O,
                   double *O_bound, double *lse, double *lse_bound);

#endif
