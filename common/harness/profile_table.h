/*
 * profile_table.h - counters and findings for people, at 100 columns.
 */
#ifndef HARNESS_PROFILE_TABLE_H
#define HARNESS_PROFILE_TABLE_H

#include "results/row.h"

/* Explains the columns of profile_print. */
void profile_legend(FILE *out);

/* Prints the counts of one contender: each kernel of run as a whole and line by line, with the source
 * beside the numbers; kernels of prepare in one line, unless they do more than run. */
void profile_print(FILE *out, const char *name, const inspection *i);

/* Prints the findings of the checks of one contender. */
void findings_print(FILE *out, const char *name, const inspection *i);

/* The counters in which the labs differ, a line a lab. */
void profiles_compare(FILE *out, const row *rows, const char *const *names, size_t count);

/* Prints the estimates for the GPU that was modelled. */
void predictions_print(FILE *out, const row *rows, const char *const *names, size_t count);

#endif
