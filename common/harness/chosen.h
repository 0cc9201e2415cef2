/*
 * chosen.h - who is run: of the contenders linked in, those that the command line asks for.
 */
#ifndef HARNESS_CHOSEN_H
#define HARNESS_CHOSEN_H

#include "harness/options.h"

/* The lab the program is named after: the last of those linked in. */
const contender *own_lab(void);

/* The operation that it runs unless --op says another: the first of the linked ones that it has a contender of. */
const operation *own_operation(void);

/* The last lab of that operation. */
const contender *last_lab_of(const operation *op);

/* Whether a lab of that number is linked in. */
bool holds_lab(int lab);

/* Whether these options have `c` run beside the own lab: its operation, precision and rivals decide. */
bool contender_is_chosen(const contender *c, const options *o);

#endif
