/*
 * twin.h - the traced twin of a program: the same, with kernels that report what they do.
 *
 * A plain program is not slowed down by instruments it does not have. Asked for what only they know,
 * it becomes its twin, which the build puts beside it.
 */
#ifndef HARNESS_TWIN_H
#define HARNESS_TWIN_H

#include "harness/options.h"

/* Whether the options ask for instruments that this program lacks. */
bool twin_wanted(const options *o);

/* Replaces the running program by its twin, with the same arguments. A page beside --vs of a later lab,
 * which this program does not hold, is made by that lab's twin: it holds both. Returns only if that
 * cannot be: STATUS_SKIPPED where kernels run on a GPU, with what to use there; STATUS_USAGE if there
 * is no such lab; STATUS_RUNTIME if there is no twin, or an old one. `program` is "lab3". */
enum status twin_become(const char *program, const options *o, char **argv, error_text *error);

#endif
