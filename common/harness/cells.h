/*
 * cells.h - what a command line would measure, for programs that plan measurements (scripts/bench).
 */
#ifndef HARNESS_CELLS_H
#define HARNESS_CELLS_H

#include "harness/options.h"

/* Writes CSV, a line for each dataset, width and precision that these options would run. Its
 * columns are those of row.h, as far as they are known before. The last lab among the contenders
 * stands for all of them. The last column, `spec`, names the dataset on a command line. Reads no
 * matrix and opens no device. */
enum status cells_write(FILE *out, const options *o, error_text *error);

#endif
