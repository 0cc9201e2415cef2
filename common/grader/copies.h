/*
 * copies.h - whether host code may copy between the host's memory and the device's.
 */
#ifndef GRADER_COPIES_H
#define GRADER_COPIES_H

#include <stdbool.h>

/* From now on; at first it may. What is refused fails with cudaErrorNotPermitted. */
void copies_allow(bool allowed);

#endif
