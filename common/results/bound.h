/*
 * bound.h - the two figures that stand beside a time and are never mixed: the bound, below which no time
 * can be, and the rate of gathers, which reuse beats.
 */
#ifndef RESULTS_BOUND_H
#define RESULTS_BOUND_H

#include "results/limits.h"

/* Returns the least time of one run, in ms, of a contender of that precision that cannot do without
 * `least`. L2 is warm (left as the run before leaves it) or cold. Limits that nobody has measured leave
 * their term out: the bound is lower then, and still one. NAN where no term is left. */
double bound_ms(const machine_limits *limits, const least_work *least, enum precision precision,
                bool warm);

/* The names of the limits that the bound went without, as in "L2 read, fp16 peak"; empty: none. */
void bound_lacks(const machine_limits *limits, const least_work *least, enum precision precision,
                 char *text, size_t bytes);

/* Returns the time, in ms, of gathering without any reuse. Every nonzero fetches its own row of the
 * dense operand. The rate is that measured for rows of so many bytes out of a span of that size. What
 * reuses a row that it fetched can be faster. */
double gather_ms(const machine_limits *limits, const cost_model *model);

#endif
