/*
 * calculators.h - what formats of pruned weights are worth, by the formulas of ops/storage.h: by sparsity, where each begins
 * to pay and ceases to, and for the 31 shapes of language models.
 */
#ifndef LLM_DECODE_CALCULATORS_H
#define LLM_DECODE_CALCULATORS_H

#include "matrix/status.h"
#include "ops/storage.h"

/* The sparsity from which on format `a` takes no more bytes than `b`; NAN: at no sparsity up to 0.999. */
double calculators_crossing(enum storage a, enum storage b, int64_t rows, int64_t cols);

/* Prints the tables for products with N columns; the shapes at `sparsity`. Least times are those of the rates that were
 * measured on `gpu`, if they were. csv: NULL; or where rows of the shapes go, "-" being standard output, which then has
 * nothing else. */
enum status calculators_print(double sparsity, int N, const char *gpu, const char *csv,
                              error_text *error);

#endif
