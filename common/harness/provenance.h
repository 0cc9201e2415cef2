/*
 * provenance.h - which code produced a number.
 */
#ifndef HARNESS_PROVENANCE_H
#define HARNESS_PROVENANCE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The commit this program was built from, "-dirty" appended if tracked files differed from it;
 * "unknown" outside a git checkout. */
const char *provenance_commit(void);

/* Whether a region of that lab still held the starter's TODO when this program was built. */
bool provenance_unwritten(int lab);

#ifdef __cplusplus
}
#endif

#endif
