/*
 * session.h - one run of a lab's program over all its datasets and widths.
 */
#ifndef HARNESS_SESSION_H
#define HARNESS_SESSION_H

#include "harness/options.h"

/* Does what the command line asks for: prints tables, writes CSV and JSON, complains on standard
 * error as "lab3: ..." line by line, goes on with the next dataset where one fails. Returns the
 * exit code: the gravest thing that happened. */
enum status session_run(const options *o, const char *program);

#endif
