/*
 * ranks.h - the ranks of an exchange, as the command line and a launch want them.
 */
#ifndef HARNESS_RANKS_H
#define HARNESS_RANKS_H

#include "harness/options.h"

/* Chooses the exchange for --devices, and takes this process's place in a launch: its device, and, on all ranks but the
 * first, neither tables nor files. STATUS_USAGE: there are fewer devices than asked for, or no lab that uses several;
 * STATUS_SKIPPED: the program was built without NCCL. */
enum status ranks_begin(options *o, error_text *error);

/* Lets ranks part. Returns the exit status: where ranks were lost that is STATUS_RUNTIME on each of them, after a line that
 * says why; else `status`. */
enum status ranks_end(enum status status, const char *program);

#endif
